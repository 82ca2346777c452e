"""Score functions of the family `cascade`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from numpy.typing import ArrayLike

from skrank.metrics.err import ERR
from skrank.metrics.nerr import NERR
from skrank.metrics.pfound import PFound
from skrank.metrics.rr import RR
from skrank.metrics.success import Success


def err_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, max_grade: int | None = None, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Expected reciprocal rank: see `ERR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, max_grade, condensed, empty, ties, average
        See `ERR`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import err_score
    >>> round(err_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.7708
    """
    metric = ERR(
        k=k, max_grade=max_grade, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def nerr_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, max_grade: int | None = None, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Normalised expected reciprocal rank: see `NERR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, max_grade, condensed, empty, ties, average
        See `NERR`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import nerr_score
    >>> round(nerr_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9867
    """
    metric = NERR(
        k=k, max_grade=max_grade, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def pfound_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, p_rel: str | Mapping[float, float] = "romip", p_break: float = 0.15,
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Probability that a user finds what is wanted before tiring: see `PFound`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, p_rel, p_break, condensed, empty, ties, average
        See `PFound`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import pfound_score
    >>> round(pfound_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.3177
    """
    metric = PFound(
        k=k, p_rel=p_rel, p_break=p_break, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def reciprocal_rank_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, ruler: str | Sequence[float] | None = None,
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Reciprocal rank of the first relevant document: see `RR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, ruler, condensed, empty, ties, average
        See `RR`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([2, 0, 1], [0.9, 0.5, 0.1])
    1.0
    """
    metric = RR(
        k=k, rel=rel, ruler=ruler, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def success_at_k_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Whether a relevant document stands within the first k ranks : see `Success`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Success`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import success_at_k_score
    >>> success_at_k_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    1.0
    """
    metric = Success(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
