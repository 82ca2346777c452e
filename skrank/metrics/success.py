"""Success: whether a relevant document is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.cascade import CascadeTables
from skrank._engine.metric import Metric
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.tables import Scale, discounts


@register("success", function="success_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Success(Metric):
    r"""Success: 1 if a relevant document is among the first k documents, else 0.

    .. math:: \max_{r \le k} [y_r \ge rel]

    The mean over queries is the hit rate.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Without a cut-off, all retrieved documents count. Range [0, 1].

    References
    ----------
    trec_eval, success_k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("success@2")([0, 1, 1], [0.9, 0.5, 0.1])
    1.0
    """

    orderless: ClassVar[bool] = True

    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """The first relevant document ends the search; all ranks up to the cut-off are worth 1."""
        found = (scale.labels >= self.rel).astype(np.float64)
        return CascadeTables(found, discounts(np.ones_like, scale.longest, k))


success_at_k_score = score_function(Success, 1.0, k=2)
