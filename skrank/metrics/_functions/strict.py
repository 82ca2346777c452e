"""Score functions of the family `strict`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from skrank.metrics.iap import InterpolatedAP
from skrank.metrics.infap import InfAP
from skrank.metrics.iprec import InterpolatedPrecision


def interpolated_average_precision_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None,
    levels: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    rel: float = 1.0, rounding: str = "up", condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Interpolated average precision: see `InterpolatedAP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, levels, rel, rounding, condensed, empty, ties, average
        See `InterpolatedAP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import interpolated_average_precision_score
    >>> round(interpolated_average_precision_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8485
    """
    metric = InterpolatedAP(
        k=k, levels=levels, rel=rel, rounding=rounding, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def infap_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Inferred average precision: see `InfAP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `InfAP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import infap_score
    >>> round(infap_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    metric = InfAP(
        k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def interpolated_precision_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, recall: float = 0.5, rel: float = 1.0, rounding: str = "up",
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Highest precision at any rank where recall has reached a level: see `InterpolatedPrecision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, recall, rel, rounding, condensed, empty, ties, average
        See `InterpolatedPrecision`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import interpolated_precision_score
    >>> interpolated_precision_score([2, 0, 1], [0.9, 0.5, 0.1])
    1.0
    """
    metric = InterpolatedPrecision(
        k=k, recall=recall, rel=rel, rounding=rounding, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
