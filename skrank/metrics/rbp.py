"""Rank-biased precision and its residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Lists, Metric, Scale, discounts, register
from skrank.metrics.dcg import Gain, check_gain, gain_per_code
from skrank.metrics.quadratic import QuadraticTables


@register("rbp")
@dataclass(frozen=True, kw_only=True)
class RBP(Metric):
    r"""Rank-biased precision: gain per document seen by a user who goes on with probability p.

    .. math:: RBP = (1 - p) \sum_r p^{r-1} \text{gain}(y_r) / \text{gain}(\text{max grade})

    Parameters
    ----------
    p : float
        Persistence, in [0, 1).
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection, whose gain is the unit. Default: the highest label of the
        data that the metric meets.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1); an ideal list scores less than 1.

    See Also
    --------
    RBPResidual : how much documents without a label could add.

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

    p: float = 0.8
    gain: Gain = "linear"
    max_grade: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            p=check.check_persistence(self.p),
            gain=check_gain(self.gain),
            max_grade=check.check_max_grade(self.max_grade),
        )

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain per label, geometric weights per rank."""
        check.check_grades(scale.labels, scale.max_grade, str(self))
        top = gain_per_code(self.gain, np.array([float(scale.max_grade)]))[0]
        share = gain_per_code(self.gain, scale.labels) / top
        return QuadraticTables(share, _geometric(self.p, scale.longest, k))


def rbp_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    p: float = 0.8,
    gain: Gain = "linear",
    max_grade: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Rank-biased precision: mean over queries of `RBP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, p, gain, max_grade, condensed, empty, ties, average
        See `RBP`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import rbp_score
    >>> rbp_score([1, 0, 1], [0.9, 0.5, 0.1], p=0.5)
    0.625
    """
    metric = RBP(
        k=k,
        p=p,
        gain=gain,
        max_grade=max_grade,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("rbp_residual")
@dataclass(frozen=True, kw_only=True)
class RBPResidual(Metric):
    """Residual of rank-biased precision: what documents without a label could add to it at most.

    RBP lies between its value and value + residual, whatever the labels of the documents that were
    not judged and of those below the end of the list (or the cut-off).

    Parameters
    ----------
    p : float
        Persistence, in [0, 1), as for `RBP`.
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

    greater_is_better: ClassVar[bool] = False
    needs_relevant: ClassVar[bool] = False

    p: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(p=check.check_persistence(self.p))

    @property
    def untrainable(self) -> str | None:
        """Says nothing about relevance."""
        return "it says nothing about relevance: train on rbp."

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum is the weight of the documents not judged."""
        missing = (np.arange(len(scale.labels)) >= scale.unjudged).astype(np.float64)
        return QuadraticTables(missing, _geometric(self.p, scale.longest, k))

    def finish(self, sums: np.ndarray, lists: Lists) -> np.ndarray:
        """And of all ranks below the list."""
        return sums + self.p**lists.shown


def rbp_residual_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    p: float = 0.8,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Residual of rank-biased precision: mean over queries of `RBPResidual`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, p, condensed, empty, ties, average
        See `RBPResidual`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import rbp_residual_score
    >>> rbp_residual_score([1, float("nan")], [0.9, 0.5], p=0.5)
    0.5
    """
    metric = RBPResidual(k=k, p=p, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def _geometric(p: float, longest: int, k: int | None) -> np.ndarray:
    return discounts(lambda rank: (1 - p) * p ** (rank - 1), longest, k)
