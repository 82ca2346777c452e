"""Nearly expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import (
    ReaderTables,
    UserModel,
    Weigh,
    gain_shares,
    insq_weights,
)


@register("nearly_err")
@dataclass(frozen=True, kw_only=True)
class NearlyERR(UserModel):
    r"""Nearly ERR: gain per document of a user whom each document satisfies by its gain.

    .. math:: C(i) = c_i \left(1 - \frac{\text{gain}(y_i)}{\text{gain}(\text{max grade})}\right)

    The user goes on from rank i with probability C(i), so that rank r has the weight
    C(1) ... C(r - 1) over the sum of these products.

    Parameters
    ----------
    patience : {"all", "rank", "rbp", "insq"}
        Who goes on from a document that does not satisfy, c_i: "all" users, which is NERR8 of
        ir_measures; i / (i + 1) of them, "rank", as in ERR (NERR9); p of them, "rbp" (NERR10); or
        ((i + 2T - 1) / (i + 2T))^2, "insq" (NERR11).
    p : float
        Persistence, in [0, 1), for "rbp".
    T : float
        Gain that the user wants in all, above 0, for "insq".
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
    ERR : the metric itself, which is not a mean gain per document.
    NearlyERRResidual : how much documents without a label could add.

    References
    ----------
    L. Azzopardi, J. Mackenzie, A. Moffat, ERR is not C/W/L: Exploring the Relationship Between
    Expected Reciprocal Rank and Other Metrics, ICTIR 2021.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("nearly_err", max_grade=2)([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.191
    """

    strict: ClassVar[bool] = True
    untrainable: ClassVar[str | None] = "how far its user reads depends on the order: train on err."

    patience: str = choice("rbp", ("all", "rank", "rbp", "insq"))
    p: float = parameter(0.9, check.check_persistence)
    T: float = number(1.0, 0, 1e6, open_low=True)

    def tables(self, scale: Scale, k: int | None) -> ReaderTables:
        """Read by a kernel of its own."""
        rank = np.arange(1.0, self.limit + 1)
        weights: dict[str, Weigh] = {
            "all": np.ones_like,
            "rank": np.reciprocal,
            "rbp": lambda rank: self.p ** (rank - 1),
            "insq": insq_weights(self.T),
        }
        reach = weights[self.patience](rank)
        return ReaderTables(
            "nearly_err", "nearly_err", gain_shares(self, self.gain, scale), self.limit, self.T,
            np.append(reach, 0.0), ids=scale.judgments.queries.ids,
        )  # fmt: skip


nearly_err_score = score_function(NearlyERR, 1.0)
