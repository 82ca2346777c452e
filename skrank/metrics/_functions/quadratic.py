"""Score functions of the family `quadratic`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from skrank._engine.gains import Gain
from skrank.metrics.ap import AP
from skrank.metrics.cg import CG
from skrank.metrics.dcg import DCG
from skrank.metrics.dcg import Discount
from skrank.metrics.gap import GAP
from skrank.metrics.ndcg import NDCG
from skrank.metrics.q import QMeasure
from skrank.metrics.r_precision import RPrecision
from skrank.metrics.rbp import RBP
from skrank.metrics.rbp_residual import RBPResidual


def average_precision_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, rel: float = 1.0, normalize: str = "all", condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Average precision: see `AP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, normalize, condensed, empty, ties, average
        See `AP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import average_precision_score
    >>> round(average_precision_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    metric = AP(
        k=k, rel=rel, normalize=normalize, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def cg_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, gain: Gain = "exp2", condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Cumulated gain: see `CG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, condensed, empty, ties, average
        See `CG`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import cg_score
    >>> cg_score([2, 0, 1], [0.9, 0.5, 0.1], k=2)
    3.0
    """
    metric = CG(
        k=k, gain=gain, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def dcg_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, gain: Gain = "exp2", discount: Discount = "log2", base: float = 2.0,
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Discounted cumulated gain: see `DCG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, discount, base, condensed, empty, ties, average
        See `DCG`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import dcg_score
    >>> dcg_score([2, 0, 1], [0.9, 0.5, 0.1])
    3.5
    """
    metric = DCG(
        k=k, gain=gain, discount=discount, base=base, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def gap_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, thresholds: Sequence[float] | None = None, max_grade: int | None = None,
    normalize: str = "all", labels: str | None = None, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Graded average precision: see `GAP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, thresholds, max_grade, normalize, labels, condensed, empty, ties, average
        See `GAP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import gap_score
    >>> round(gap_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8889
    """
    metric = GAP(
        k=k, thresholds=thresholds, max_grade=max_grade, normalize=normalize, labels=labels,
        condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def ndcg_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, gain: Gain = "exp2", discount: Discount = "log2", base: float = 2.0,
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Normalised discounted cumulated gain: see `NDCG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, discount, base, condensed, empty, ties, average
        See `NDCG`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import ndcg_score
    >>> round(ndcg_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9639
    """
    metric = NDCG(
        k=k, gain=gain, discount=discount, base=base, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def q_measure_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, beta: float = 1.0, gain: Gain = "linear", normalize: str = "all",
    condensed: bool = False, empty: str | int = "skip", ties: str = "average",
    average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Q-measure: see `QMeasure`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, beta, gain, normalize, condensed, empty, ties, average
        See `QMeasure`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import q_measure_score
    >>> round(q_measure_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9167
    """
    metric = QMeasure(
        k=k, beta=beta, gain=gain, normalize=normalize, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def r_precision_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, multiple: float = 1.0, rel: float = 1.0, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Precision at R: see `RPrecision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, multiple, rel, condensed, empty, ties, average
        See `RPrecision`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import r_precision_score
    >>> r_precision_score([2, 0, 1], [0.9, 0.5, 0.1])
    0.5
    """
    metric = RPrecision(
        k=k, multiple=multiple, rel=rel, condensed=condensed, empty=empty, ties=ties,
        average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def rbp_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, p: float = 0.8, gain: Gain = "linear", max_grade: int | None = None,
    rel: float | None = None, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Rank-biased precision: see `RBP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, p, gain, max_grade, rel, condensed, empty, ties, average
        See `RBP`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import rbp_score
    >>> round(rbp_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.264
    """
    metric = RBP(
        k=k, p=p, gain=gain, max_grade=max_grade, rel=rel, condensed=condensed, empty=empty,
        ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def rbp_residual_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, p: float = 0.8, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Residual of rank-biased precision: see `RBPResidual`.

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
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import rbp_residual_score
    >>> round(rbp_residual_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.512
    """
    metric = RBPResidual(
        k=k, p=p, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
