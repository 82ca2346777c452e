"""Score functions of the family `sets`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from skrank.metrics.accuracy import Accuracy
from skrank.metrics.error import Error
from skrank.metrics.f_beta import FBeta
from skrank.metrics.judged import Judged
from skrank.metrics.precision import Precision
from skrank.metrics.recall import Recall
from skrank.metrics.relative_precision import RelativePrecision
from skrank.metrics.set_ap import SetAP
from skrank.metrics.utility import Utility


def accuracy_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Share of the query's documents that are rightly shown or rightly not shown: see `Accuracy`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import accuracy_at_k_score
    >>> round(accuracy_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2), 4)
    0.3333
    """
    metric = Accuracy(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def error_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Share of the query's documents that are wrongly shown or wrongly not shown: see `Error`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import error_at_k_score
    >>> round(error_at_k_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.3333
    """
    metric = Error(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def f_beta_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, beta: float = 1.0, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Weighted harmonic mean of precision and recall: see `FBeta`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import f_beta_at_k_score
    >>> f_beta_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = FBeta(
        k=k, rel=rel, beta=beta, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def judged_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Share of the documents shown that were judged: see `Judged`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import judged_at_k_score
    >>> judged_at_k_score([2, 0, 1], [0.9, 0.5, 0.1])
    1.0
    """
    metric = Judged(
        k=k, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def precision_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Share of relevant documents among those shown: see `Precision`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import precision_at_k_score
    >>> precision_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = Precision(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def recall_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Share of the query's relevant documents that are shown: see `Recall`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import recall_at_k_score
    >>> recall_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = Recall(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def relative_precision_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Precision over the highest precision possible: see `RelativePrecision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `RelativePrecision`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import relative_precision_at_k_score
    >>> relative_precision_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    metric = RelativePrecision(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def set_average_precision_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Average precision of a set: see `SetAP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `SetAP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import set_average_precision_at_k_score
    >>> set_average_precision_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.25
    """
    metric = SetAP(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def utility_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, weights: Sequence[float] = (1.0, -1.0, 0.0, 0.0),
    n_documents: int | None = None, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Weighted sum of the numbers of relevant and other documents: see `Utility`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, weights, n_documents, condensed, empty, ties, average
        See `Utility`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import utility_at_k_score
    >>> utility_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.0
    """
    metric = Utility(
        k=k, rel=rel, weights=weights, n_documents=n_documents, condensed=condensed, empty=empty,
        ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
