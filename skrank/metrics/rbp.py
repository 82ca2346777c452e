"""Rank-biased precision and its residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import powers
from skrank._engine.metric import Counts, Metric, Values
from skrank._engine.names import register
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Gain, Scale, discounts


@register("rbp")
@dataclass(frozen=True, kw_only=True)
class RBP(Metric):
    r"""Rank-biased precision: mean gain of the documents that a user of persistence p reads.

    The user reads rank 1, and goes on from each rank to the next one with probability p.

    .. math:: RBP = (1 - p) \sum_r p^{r-1} \text{gain}(y_r) / \text{gain}(\text{max grade})

    Parameters
    ----------
    p : float
        Persistence: the probability of going on to the next rank, in [0, 1).
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    rel : float, optional
        Binary gains: 1 for labels of at least `rel`, 0 for all others; `gain` and `max_grade` must
        then be left out. Default: the gains that `gain` defines.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; an ideal list scores less than 1 unless p is 0.

    See Also
    --------
    RBPResidual : how much documents without a label could add to this value.

    References
    ----------
    A. Moffat, J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, TOIS
    2008.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("rbp(p=0.5)")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.625
    """

    p: float = parameter(0.8, check.check_persistence)
    gain: Gain = parameter("linear", check.check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)
    rel: float | None = parameter(None, check.check_rel)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rel is not None and (self.gain != "linear" or self.max_grade is not None):
            raise ValueError(
                f"rel={self.rel} defines binary gains, gain and max_grade define graded gains: "
                "leave out rel, or gain and max_grade, of rbp."
            )

    @property
    def needs_scale(self) -> bool:
        """True if no parameter gives the highest grade, by whose gain gains are divided."""
        return self.max_grade is None and self.rel is None

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain by label, and (1 - p) p^(r - 1) by rank."""
        weights = persistence_weights(self.p, scale.longest, k)
        if self.rel is not None:
            return QuadraticTables((scale.labels >= self.rel).astype(np.float64), weights)
        return QuadraticTables(scale.shares(self.gain), weights)


def persistence_weights(p: float, longest: int, k: int | None) -> np.ndarray:
    """(1 - p) p^(r - 1) of each rank r; the sum over all ranks is 1."""
    return discounts(lambda rank: (1 - p) * powers(p, rank - 1), longest, k)


@register("rbp_residual")
@dataclass(frozen=True, kw_only=True)
class RBPResidual(Metric):
    """Residual of rank-biased precision: its highest increase if unjudged documents were relevant.

    With complete judgments, RBP would lie between its present value and this value plus the
    residual, for all labels of the documents that were not judged, and of documents below the end
    of the list or below the cut-off. (With ``condensed=True``, for the latter only.)

    Parameters
    ----------
    p : float
        Persistence, in [0, 1); see `RBP`.
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range [0, 1]; lower is better.

    References
    ----------
    See `RBP`.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("rbp_residual(p=0.5)")([1, float("nan")], [0.9, 0.5])
    0.5
    """

    greater_is_better = False
    needs_relevant = False

    p: float = parameter(0.8, check.check_persistence)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum of the weights of ranks whose documents were not judged."""
        missing = (~scale.judged).astype(np.float64)
        return QuadraticTables(missing, persistence_weights(self.p, scale.longest, k))

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """The sum, plus p^n: the weight of all ranks below the n documents of the list."""
        return sums + powers(self.p, shown), None
