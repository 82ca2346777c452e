"""Cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.metric import Metric
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Gain, Scale, check_gain, discounts, gain_per_code


@register("cg")
@dataclass(frozen=True, kw_only=True)
class CG(Metric):
    r"""Cumulated gain: the sum of the gains of the first k documents, in any order.

    .. math:: CG@k = \sum_{r \le k} \text{gain}(y_r)

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        See `DCG`.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, inf).

    References
    ----------
    K. Jarvelin, J. Kekalainen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 2002.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("cg(gain=linear)@2")([2, 0, 1], [0.9, 0.5, 0.1])
    2.0
    """

    value_range = "[0, inf)"
    orderless: ClassVar[bool] = True

    gain: Gain = parameter("exp2", check_gain)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain by label; all ranks up to the cut-off weigh 1."""
        gain = gain_per_code(self.gain, scale.labels, scale.place)
        return QuadraticTables(gain, discounts(np.ones_like, scale.longest, k))


cg_score = score_function(CG, 3.0, k=2)
