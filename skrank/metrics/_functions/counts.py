"""Score functions of the family `counts`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from numpy.typing import ArrayLike

from skrank.metrics.num_nonrel_judged_ret import NumNonrelevantRetrieved
from skrank.metrics.num_q import NumQueries
from skrank.metrics.num_rel import NumRelevant
from skrank.metrics.num_rel_ret import NumRelevantRetrieved
from skrank.metrics.num_ret import NumRetrieved


def num_nonrel_judged_ret_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "sum", sample_weight: ArrayLike | None = None
) -> float:
    """Number of documents retrieved that were judged not relevant: see `NumNonrelevantRetrieved`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `NumNonrelevantRetrieved`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import num_nonrel_judged_ret_score
    >>> num_nonrel_judged_ret_score([2, 0, 1], [0.9, 0.5, 0.1])
    1.0
    """
    metric = NumNonrelevantRetrieved(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def num_q_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "sum", sample_weight: ArrayLike | None = None
) -> float:
    """Number of queries that count in the means: see `NumQueries`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, condensed, empty, ties, average
        See `NumQueries`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import num_q_score
    >>> num_q_score([2, 0, 1], [0.9, 0.5, 0.1])
    1.0
    """
    metric = NumQueries(
        k=k, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def num_rel_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "sum", sample_weight: ArrayLike | None = None
) -> float:
    """Number of relevant documents: see `NumRelevant`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `NumRelevant`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import num_rel_score
    >>> num_rel_score([2, 0, 1], [0.9, 0.5, 0.1])
    2.0
    """
    metric = NumRelevant(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def num_rel_ret_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "sum", sample_weight: ArrayLike | None = None
) -> float:
    """Number of relevant documents retrieved: see `NumRelevantRetrieved`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `NumRelevantRetrieved`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import num_rel_ret_score
    >>> num_rel_ret_score([2, 0, 1], [0.9, 0.5, 0.1])
    2.0
    """
    metric = NumRelevantRetrieved(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def num_ret_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "sum", sample_weight: ArrayLike | None = None
) -> float:
    """Number of documents retrieved: see `NumRetrieved`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, condensed, empty, ties, average
        See `NumRetrieved`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import num_ret_score
    >>> num_ret_score([2, 0, 1], [0.9, 0.5, 0.1])
    3.0
    """
    metric = NumRetrieved(
        k=k, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
