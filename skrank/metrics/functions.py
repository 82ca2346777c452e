"""The metrics as functions with explicit signatures, which equal the fields of their classes."""

from __future__ import annotations

from typing import Any

from skrank.metrics.cascade import ERR, RR
from skrank.metrics.dcg import DCG, NDCG
from skrank.metrics.gap import GAP
from skrank.metrics.precision import AP, Precision


def gap_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    thresholds: Any = None,
    max_grade: int | None = None,
    normalize: str = "all",
    labels: str = "step",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Graded average precision.

    Mean over queries of `skrank.metrics.GAP`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, thresholds, max_grade, normalize, labels, condensed, empty, ties
        See `skrank.metrics.GAP`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import gap_score
    >>> round(gap_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8889
    """
    metric = GAP(
        k=k,
        thresholds=thresholds,
        max_grade=max_grade,
        normalize=normalize,
        labels=labels,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def average_precision_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1,
    normalize: str = "all",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Average precision.

    Mean over queries of `skrank.metrics.AP`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, rel, normalize, condensed, empty, ties
        See `skrank.metrics.AP`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import average_precision_score
    >>> round(average_precision_score([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    metric = AP(
        k=k,
        rel=rel,
        normalize=normalize,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def ndcg_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    gain: Any = "exp2",
    discount: str = "log2",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Normalised discounted cumulative gain.

    Mean over queries of `skrank.metrics.NDCG`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, gain, discount, condensed, empty, ties
        See `skrank.metrics.NDCG`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import ndcg_score
    >>> round(ndcg_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9639
    """
    metric = NDCG(
        k=k,
        gain=gain,
        discount=discount,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def dcg_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    gain: Any = "exp2",
    discount: str = "log2",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Discounted cumulative gain.

    Mean over queries of `skrank.metrics.DCG`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, gain, discount, condensed, empty, ties
        See `skrank.metrics.DCG`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import dcg_score
    >>> round(dcg_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    3.5
    """
    metric = DCG(
        k=k,
        gain=gain,
        discount=discount,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def err_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    max_grade: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Expected reciprocal rank.

    Mean over queries of `skrank.metrics.ERR`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, max_grade, condensed, empty, ties
        See `skrank.metrics.ERR`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import err_score
    >>> round(err_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.7708
    """
    metric = ERR(
        k=k,
        max_grade=max_grade,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def reciprocal_rank_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1,
    ruler: Any = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Reciprocal rank of the first relevant document.

    Mean over queries of `skrank.metrics.RR`, whose page says what the further parameters mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, rel, ruler, condensed, empty, ties
        See `skrank.metrics.RR`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import reciprocal_rank_score
    >>> round(reciprocal_rank_score([0, 1, 1], [0.9, 0.5, 0.1]), 4)
    0.5
    """
    metric = RR(
        k=k,
        rel=rel,
        ruler=ruler,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def precision_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = 10,
    rel: float = 1,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    sample_weight: Any = None,
) -> float:
    """Precision at k.

    Mean over queries of `skrank.metrics.Precision`, whose page says what the further parameters
    mean.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`; without it all rows are
        one ranked list.
    k, rel, condensed, empty, ties
        See `skrank.metrics.Precision`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import precision_at_k_score
    >>> round(precision_at_k_score([0, 1, 1], [0.9, 0.5, 0.1]), 4)
    0.2
    """
    metric = Precision(
        k=k,
        rel=rel,
        condensed=condensed,
        empty=empty,
        ties=ties,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
