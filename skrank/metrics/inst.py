"""INST: the gain per document of a user who wants a certain gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register
from skrank._engine.parameters import number
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import ReaderTables, UserModel, gain_shares


@register("inst")
@dataclass(frozen=True, kw_only=True)
class INST(UserModel):
    r"""INST: gain per document of a user who stops the sooner, the more gain was found.

    .. math:: C(i) = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2, \quad
              T_i = T - \sum_{r \le i} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    The user goes on from rank i with probability C(i), so that rank r has the weight
    C(1) ... C(r - 1) over the sum of these products.

    Parameters
    ----------
    T : float
        Gain that the user wants in all, in documents of the highest grade, at least
        0.5.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection, whose gain is the unit. Default: that of all labels of the
        `skrank.with_groups` that the data come from, else the highest label of the data.
    k, condensed, empty, ties, average
        See `Metric`. k is the number of ranks that the user reads at most, 1000 without a cut-off
        as in cwl_eval. The mean over the orders of ties has no closed form: where it depends on
        that order, ``ties="average"`` is an error. Range [0, 1].

    See Also
    --------
    INSQ : a user who does not mind the gain seen, on which LambdaRank trains.
    INSTResidual : how much documents without a label could add.

    References
    ----------
    A. Moffat, P. Bailey, F. Scholer, P. Thomas, INST: An Adaptive Metric for Information Retrieval
    Evaluation, ADCS 2015.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("inst", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6639
    """

    strict: ClassVar[bool] = True
    untrainable: ClassVar[str | None] = (
        "how far its user reads depends on the order: train on insq."
    )

    T: float = number(1.0, 0.5, 1e6)

    def tables(self, scale: Scale, k: int | None) -> ReaderTables:
        """Read by a kernel of its own."""
        return ReaderTables(
            "inst", "inst", gain_shares(self, self.gain, scale), self.limit, self.T,
            np.zeros(self.limit + 1), ids=scale.judgments.queries.ids,
        )  # fmt: skip


inst_score = score_function(INST, 0.6639)
