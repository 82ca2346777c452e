"""Metrics of sets, which do not look at the order of what is shown: precision, recall, F."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import ORDERLESS, Lists, Metric, Scale, discounts, register
from skrank.metrics.quadratic import QuadraticTables


@dataclass(frozen=True, kw_only=True)
class SetMetric(Metric):
    """A ratio of two counts over the documents shown: the first k ranks, or the whole list."""

    averages: ClassVar[tuple[str, ...]] = ("macro", "micro", "geometric")

    @abstractmethod
    def hits(self, scale: Scale) -> np.ndarray:
        """Whether documents of each code are counted."""

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum counts the hits shown."""
        counted = self.hits(scale).astype(np.float64)
        return QuadraticTables(counted, discounts(np.ones_like, scale.longest, k))

    @abstractmethod
    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and denominator, from the number of hits shown."""

    def finish(self, sums: np.ndarray, lists: Lists) -> np.ndarray:
        """The ratio, 0 where nothing is shown."""
        part, whole = self.ratio(sums, lists)
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    def mass(self, lists: Lists) -> np.ndarray | None:
        """The denominators: their weighted mean is the ratio of the summed counts."""
        if self.average != "micro":
            return None
        return self.ratio(np.zeros_like(lists.shown), lists)[1]

    @property
    def untrainable(self) -> str | None:
        """Without a cut-off the order does not matter."""
        return ORDERLESS if self.k is None else None


@dataclass(frozen=True, kw_only=True)
class RelevantSet(SetMetric):
    """A set metric that counts relevant documents."""

    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))

    def hits(self, scale: Scale) -> np.ndarray:
        """Labels of at least `rel`."""
        return scale.labels >= self.rel


@register("precision", "p")
@dataclass(frozen=True, kw_only=True)
class Precision(RelevantSet):
    """Share of relevant documents among those shown.

    With a cut-off (P@k) always divided by k, also for shorter lists, as in TREC and ROMIP; without
    one by the number of documents retrieved, 0 if there are none.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, P(n) and precision; trec_eval, P_k and set_P.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("precision@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Relevant documents shown, of k or of the documents retrieved."""
        return hits, lists.shown if self.k is None else np.full_like(hits, self.k)


def precision_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Share of relevant documents among those shown: mean over queries of `Precision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Precision`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import precision_at_k_score
    >>> precision_at_k_score([0, 1, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = Precision(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("recall", "r")
@dataclass(frozen=True, kw_only=True)
class Recall(RelevantSet):
    """Share of the query's relevant documents that are shown.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, recall; trec_eval, recall_k and set_recall.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("recall@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Relevant documents shown, of all relevant documents."""
        return hits, lists.relevant


def recall_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Share of the relevant documents that are shown: mean over queries of `Recall`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Recall`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import recall_at_k_score
    >>> recall_at_k_score([0, 1, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = Recall(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("f1", "f")
@dataclass(frozen=True, kw_only=True)
class FBeta(RelevantSet):
    r"""Weighted harmonic mean of precision and recall.

    .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

    Parameters
    ----------
    beta : float
        Weight of recall against precision, above 0.
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; 0 where precision or recall is 0.

    References
    ----------
    ROMIP 2010, appendix A, F-measure. trec_eval's set_F.x has x in the place of beta squared.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("f1@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(beta=check.check_number("beta", self.beta, 0, 1e6, open_low=True))

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Both means at once: the product P R cancels."""
        shown = lists.shown if self.k is None else self.k
        return (1 + self.beta**2) * hits, self.beta**2 * lists.relevant + shown


def f_beta_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    beta: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Weighted harmonic mean of precision and recall: mean over queries of `FBeta`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, beta, condensed, empty, ties, average
        See `FBeta`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import f_beta_at_k_score
    >>> f_beta_at_k_score([0, 1, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = FBeta(
        k=k, rel=rel, beta=beta, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
