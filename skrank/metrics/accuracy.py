"""Metrics of sets that also count what is not relevant: accuracy, error, share judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skrank.metrics.base import Lists, Scale, register
from skrank.metrics.sets import RelevantSet, SetMetric


@register("accuracy")
@dataclass(frozen=True, kw_only=True)
class Accuracy(RelevantSet):
    """Share of the query's documents that are rightly shown or rightly not shown.

    All documents of a query count, shown or not: give those not retrieved the score -inf.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, accuracy.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("accuracy@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6667
    """

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Relevant documents shown and others not shown, of all documents."""
        return 2 * hits + lists.total - lists.relevant - lists.shown, lists.total


def accuracy_at_k_score(
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
    """Share of documents rightly shown or not shown: mean over queries of `Accuracy`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Accuracy`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import accuracy_at_k_score
    >>> round(accuracy_at_k_score([1, 0, 1], [0.9, 0.5, 0.1], k=1), 4)
    0.6667
    """
    metric = Accuracy(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("error")
@dataclass(frozen=True, kw_only=True)
class Error(Accuracy):
    """Share of the query's documents that are wrongly shown or wrongly not shown: 1 - accuracy.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; lower is better.

    References
    ----------
    ROMIP 2010, appendix A, error.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("error@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.3333
    """

    greater_is_better: ClassVar[bool] = False

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Others shown and relevant documents not shown, of all documents."""
        right, total = super().ratio(hits, lists)
        return total - right, total

    @property
    def untrainable(self) -> str | None:
        """Trained on as accuracy."""
        return "its gradient is that of accuracy: train on accuracy with a cut-off."


def error_at_k_score(
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
    """Share of documents wrongly shown or not shown: mean over queries of `Error`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Error`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import error_at_k_score
    >>> round(error_at_k_score([1, 0, 1], [0.9, 0.5, 0.1], k=1), 4)
    0.3333
    """
    metric = Error(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("judged")
@dataclass(frozen=True, kw_only=True)
class Judged(SetMetric):
    """Share of the documents shown that were judged.

    Parameters
    ----------
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range [0, 1].

    References
    ----------
    ir_measures, Judged@k: divided by the length of lists shorter than k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("judged@2")([1, float("nan"), 1], [0.9, 0.5, 0.1])
    0.5
    """

    needs_relevant: ClassVar[bool] = False

    def hits(self, scale: Scale) -> np.ndarray:
        """Documents with a label."""
        return np.arange(len(scale.labels)) < scale.unjudged

    def ratio(self, hits: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
        """Judged documents shown, of the documents shown."""
        return hits, lists.shown

    @property
    def untrainable(self) -> str | None:
        """Says nothing about relevance."""
        return "it says nothing about relevance."


def judged_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Share of the documents shown that were judged: mean over queries of `Judged`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, condensed, empty, ties, average
        See `Judged`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import judged_at_k_score
    >>> judged_at_k_score([1, float("nan"), 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = Judged(k=k, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
