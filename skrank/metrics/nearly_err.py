"""Nearly ERR: a mean gain per document that behaves like expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.user_models import ReaderModel, ReaderTables, insq_weights


@register("nearly_err")
@dataclass(frozen=True, kw_only=True)
class NearlyERR(ReaderModel):
    r"""Nearly ERR: mean gain of the documents read by a user whom gains satisfy.

    .. math:: C(i) = c_i \left(1 - \frac{\text{gain}(y_i)}{\text{gain}(\text{max grade})}\right)

    The user reads rank 1, and goes on from rank i to the next rank with probability C(i). The user
    thus reads rank r with probability C(1) ... C(r - 1). These probabilities, divided by their sum,
    are the weights of the gains.

    Parameters
    ----------
    patience : {"all", "rank", "rbp", "insq"}
        c_i, the share of the users who go on from rank i if its document does not satisfy them.
        "all": 1 (NERR8 of ir_measures). "rank": i / (i + 1), as in ERR (NERR9). "rbp": p (NERR10).
        "insq": ((i + 2T - 1) / (i + 2T))^2 (NERR11).
    p : float
        Persistence, in [0, 1), for "rbp".
    T : float
        Gain that the user wants in all, above 0, for "insq".
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        ``ties="average"`` is an error if ties change the value: there is no closed form.
        Range [0, 1].

    See Also
    --------
    ERR : expected reciprocal rank, which is not a mean gain per document.
    NearlyERRResidual : how much documents without a label could add to this value.

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

    untrainable: ClassVar[str | None] = (
        "the number of ranks that its user reads depends on the order: train on err."
    )

    patience: str = choice("rbp", ("all", "rank", "rbp", "insq"))
    p: float = parameter(0.9, check.check_persistence)
    T: float = number(1.0, 0, 1e6, open_low=True)

    def reader(self, gain: np.ndarray, ids: np.ndarray) -> ReaderTables:
        """Input of the compiled loop of this metric."""
        rank = np.arange(1.0, self.limit + 1)
        reach = {
            "all": np.ones_like(rank),
            "rank": 1 / rank,
            "rbp": self.p ** (rank - 1),
            "insq": insq_weights(self.T)(rank),
        }[self.patience]
        return ReaderTables("nearly_err", gain, self.limit, self.T, np.append(reach, 0.0), ids)


nearly_err_score = score_function(NearlyERR, 1.0)
