"""Rank correlations and overlaps of two rankings of systems or lists of items."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import ndtr

from skrank import _validation as check
from skrank.stats._resampling import query_counts, share_reached

_CELLS = 2**22  # most numbers in a block of rankings x systems x systems
_SIMULATED = 200  # pairs of rankings that estimate the moments of tau_ap at one value of tau


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau: concordant minus discordant pairs, as a share of all pairs.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, such as means of two metrics.

    Returns
    -------
    float
        In [-1, 1]. Pairs tied in `x` or `y` are neither concordant nor discordant, so tau is below
        1 for rankings with ties: see `tau_b`.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.kendall_tau([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.7, 0.5]), 3)
    0.667
    """
    first, second = check.check_rankings(x, y)
    return float(_tau(first[None], second[None], ties=False)[0])


def tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau_b, which corrects for ties, by `scipy.stats.kendalltau`.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems.

    Returns
    -------
    float
        In [-1, 1]; NaN if all systems tie in `x` or in `y`.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_b([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.6, 0.5]), 3)
    0.913
    """
    return float(scipy.stats.kendalltau(*check.check_rankings(x, y), variant="b").statistic)


def tau_ap(
    truth: ArrayLike, estimate: ArrayLike, *, ties: str = "a", symmetric: bool = False
) -> float:
    """AP correlation: Kendall's tau with more weight on the top of the ranking.

    Let m be the mean, over all systems but the first of the estimated ranking, of the share of the
    systems ranked above that are above in `truth`, too. AP correlation is ``2 * m - 1``.

    Parameters
    ----------
    truth, estimate : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    ties : {"a", "b"}
        "a" (accuracy): the mean over all orders of tied estimates; `truth` must have no ties.
        "b" (agreement): both rankings may have ties, and only pairs without ties count. The value
        is symmetric in `truth` and `estimate`.
    symmetric : bool
        With ``ties="a"``, the mean of ``tau_ap(x, y)`` and ``tau_ap(y, x)``.

    Returns
    -------
    float
        In [-1, 1]; NaN with ``ties="b"`` if all systems of a ranking tie.

    References
    ----------
    E. Yilmaz, J. A. Aslam, S. Robertson, A New Rank Correlation Coefficient for Information
    Retrieval, SIGIR 2008.
    J. Urbano, M. Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.7, 0.9, 0.6, 0.5]), 3)
    0.333
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.9, 0.7, 0.5, 0.6]), 3)
    0.778
    """
    x, y = check.check_rankings(truth, estimate)
    symmetric = check.check_flag("symmetric", symmetric)
    if check.check_choice("ties", ties, ("a", "b")) == "b":
        return float(_tau_ap_b(x[None], y[None])[0])
    for name, values in (("truth", x), ("estimate", y))[: 2 if symmetric else 1]:
        if len(np.unique(values)) < len(values):
            raise ValueError(
                f'{name} has ties, which ties="a" does not allow: pass ties="b", or break the ties.'
            )
    return (_tau_ap_a(x, y) + _tau_ap_a(y, x)) / 2 if symmetric else _tau_ap_a(x, y)


def _tau_ap_a(truth: np.ndarray, estimate: np.ndarray) -> float:
    """AP correlation with ties="a"."""
    above = estimate > estimate[:, None]
    n_above, concordant = above.sum(axis=1), (above & (truth > truth[:, None])).sum(axis=1)
    n_tied = (estimate == estimate[:, None]).sum(axis=1)
    ranks = np.arange(1, len(truth) + 1)
    weight = np.concatenate(([0.0], 1 / (ranks[1:] - 1)))  # of rank r: 1 / (r - 1)
    total = np.concatenate(([0.0], np.cumsum(weight)))
    # In random orders of a group of ties, a system takes each rank of the group equally often, and
    # half of the tied systems above a system are expected to be above it in `truth`.
    mean_weight = (total[n_above + n_tied] - total[n_above]) / n_tied
    inside = (ranks - 1 - np.sort(n_above)) / 2
    expected = concordant @ mean_weight + weight @ inside
    return float(2 * expected / (len(truth) - 1) - 1)


def _tau_ap_b(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """AP correlation with ties="b" of each row of `x` with the same row of `y`."""
    above_x, above_y = (scores[:, None, :] > scores[:, :, None] for scores in (x, y))
    concordant = (above_x & above_y).sum(axis=2)
    with np.errstate(invalid="ignore"):
        directions = [
            2 * (concordant / np.maximum(n_above, 1)).sum(axis=1) / (n_above > 0).sum(axis=1) - 1
            for n_above in (above_x.sum(axis=2), above_y.sum(axis=2))
        ]
    return (directions[0] + directions[1]) / 2


@dataclass(frozen=True, eq=False)
class RankCorrelation:
    """A rank correlation with its p-value and interval.

    Attributes
    ----------
    method : {"tau", "tau_b", "tau_ap"}
    value : float
    p_value : float
        Two-sided, of the hypothesis of no correlation.
    low, high : float
    confidence : float
    n_systems : int
    n_queries : int or None
        Number of queries, if scores per query were passed: the interval then resamples queries.
    """

    method: str
    value: float
    p_value: float
    low: float
    high: float
    confidence: float
    n_systems: int
    n_queries: int | None = None


def rank_correlation(
    x: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "tau_b",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: check.RandomState = 0,
) -> RankCorrelation:
    """Correlation of two rankings of the same systems, with a p-value and an interval.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,) or (n_queries, n_systems)
        Scores of the same systems, such as means of two metrics; or scores of the systems on the
        same queries, whose means are then correlated.
    method : {"tau", "tau_b", "tau_ap"}
        `kendall_tau`, `tau_b`, or `tau_ap` with ``ties="b"``, which is symmetric.
    confidence : float
        Level of the interval.
    n_resamples : int
        Number of random orders of systems for the p-value of "tau_ap", and of draws of queries. If
        at most this many orders exist (6! = 720 for 6 systems), all are visited.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    RankCorrelation
        Value, p-value and interval are NaN if the correlation is not defined, for example if all
        systems of a ranking tie.

    Notes
    -----
    For tau and tau_b, the p-value is that of `scipy.stats.kendalltau`. For tau_ap, the p-value is
    twice the smaller tail ``(1 + b) / (1 + n_resamples)`` of random orders of `y`, or the exact
    tail.

    Scores per system give an interval over systems, which are regarded as a sample of systems. The
    interval contains every correlation c with ``abs(value - c) <= q * std(c)``, where q is
    Student's quantile and std(c) is the standard deviation of the estimate if c is the true
    correlation of bivariate normal scores (by Esscher's formula for tau and tau_b, simulated for
    tau_ap). The width is above 0 also if two rankings are equal.

    Scores per query give an interval over queries for these systems: percentiles of the
    correlations of means over queries drawn with replacement. The levels of the percentiles are
    further out than those of `confidence`, because draws of few queries vary too little (the
    expanded percentile interval of Hesterberg 2015). Noise in the means lowers correlations, so the
    upper end is at least ``2 * value - low``. If all draws give the same correlation, the interval
    over systems is returned.

    References
    ----------
    F. Esscher, On a Method of Determining Correlation from the Ranks of the Variates, Skandinavisk
    Aktuarietidskrift 7, 1924. M. Kendall, J. D. Gibbons, Rank Correlation Methods, 5th edition,
    1990, chapter 10. T. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69(4), 2015.

    Examples
    --------
    >>> from skrank import stats
    >>> x, y = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 3, 4, 7, 5, 6, 8]
    >>> found = stats.rank_correlation(x, y)
    >>> round(found.value, 3), round(found.p_value, 4), round(found.low, 2), round(found.high, 2)
    (0.786, 0.0055, 0.11, 0.94)
    """
    check.check_choice("method", method, ("tau", "tau_b", "tau_ap"))
    confidence = check.check_share("confidence", confidence)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    per_query = None
    if np.ndim(x) == np.ndim(y) == 2:
        per_query = check.check_rankings_per_query(x, y)
        x, y = (scores.mean(axis=0) for scores in per_query)
    first, second = check.check_rankings(x, y)
    value = float(_correlations(first[None], second[None], method)[0])
    if math.isnan(value):
        p_value = low = high = value
    else:
        p_value = _p_value(first, second, value, method, n_resamples, seed)
        low = high = value
        if per_query is not None:
            drawn = query_counts(len(per_query[0]), n_resamples, seed)
            means = ([counts @ scores for scores in per_query] for counts in drawn)
            found = np.concatenate([_correlations(a, b, method) for a, b in means])
            low, high = _over_queries(found, value, confidence, len(per_query[0]))
        if low == high:
            low, high = _over_systems(value, len(first), method, confidence, seed)
    n_queries = None if per_query is None else len(per_query[0])
    return RankCorrelation(method, value, p_value, low, high, confidence, len(first), n_queries)


def _correlations(x: np.ndarray, y: np.ndarray, method: str) -> np.ndarray:
    """Correlation of each row of `x` with the same row of `y`; both (n_rankings, n_systems)."""
    measure = _tau_ap_b if method == "tau_ap" else partial(_tau, ties=method == "tau_b")
    rows = max(1, _CELLS // x.shape[1] ** 2)
    parts = [slice(start, start + rows) for start in range(0, len(x), rows)]
    return np.concatenate([measure(x[part], y[part]) for part in parts])


def _tau(x: np.ndarray, y: np.ndarray, *, ties: bool) -> np.ndarray:
    """Kendall's tau of each row, or tau_b if `ties` is True."""
    above_x, above_y = (scores[:, None, :] > scores[:, :, None] for scores in (x, y))
    concordant = (above_x & above_y).sum(axis=(1, 2))
    excess = concordant - (above_x & np.swapaxes(above_y, 1, 2)).sum(axis=(1, 2))
    if not ties:
        return excess / math.comb(x.shape[1], 2)
    with np.errstate(invalid="ignore"):
        return excess / np.sqrt(above_x.sum(axis=(1, 2)) * above_y.sum(axis=(1, 2)))


def _p_value(
    x: np.ndarray, y: np.ndarray, value: float, method: str, n_resamples: int, seed: int
) -> float:
    if method != "tau_ap":
        return float(scipy.stats.kendalltau(x, y).pvalue)
    every = math.factorial(len(y)) <= n_resamples
    random = np.random.default_rng(seed)
    copies = np.broadcast_to(y, (n_resamples, len(y)))
    orders = np.array([*itertools.permutations(y)]) if every else random.permuted(copies, axis=1)
    found = _correlations(np.broadcast_to(x, orders.shape), orders, method)
    tails = [int((sign * found >= sign * value - 1e-12).sum()) for sign in (1, -1)]
    return min(1.0, 2 * float(share_reached(np.array(min(tails)), len(found), every=every)))


def _over_systems(
    value: float, n_systems: int, method: str, confidence: float, seed: int
) -> tuple[float, float]:
    """Least and largest correlation c with ``abs(value - c) <= quantile * std(c)``."""
    if n_systems < 3:
        return -1.0, 1.0
    tau = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 2001))  # a grid that is finest near -1 and 1
    mean, variance = tau, _esscher(tau, n_systems)
    if method == "tau_ap":
        mean, variance = _simulated_moments(tau, n_systems, seed)
    quantile = float(scipy.stats.t.ppf((1 + confidence) / 2, n_systems - 1))
    near = mean[np.abs(mean - value) <= quantile * np.sqrt(variance) + 1e-12]
    return float(min(near.min(), value)), float(max(near.max(), value))


def _esscher(tau: np.ndarray, n_systems: int) -> np.ndarray:
    """Variance of Kendall's tau of samples of a bivariate normal distribution."""
    half = np.arcsin(np.sin(np.pi * tau / 2) / 2) * 2 / np.pi
    sum_ = 1 - tau**2 + 2 * (n_systems - 2) * (1 / 9 - half**2)
    return np.maximum(sum_, 0) * 2 / (n_systems * (n_systems - 1))


def _simulated_moments(tau: np.ndarray, n_systems: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of tau_ap in samples of bivariate normal distributions with these taus."""
    random = np.random.default_rng(seed)
    x, noise = random.normal(size=(2, _SIMULATED, n_systems))
    grid = tau[:: len(tau) // 20]
    angle = np.pi * grid / 2
    found = np.array([_correlations(x, np.sin(a) * x + np.cos(a) * noise, "tau_ap") for a in angle])
    return tuple(np.interp(tau, grid, row) for row in (found.mean(axis=1), found.var(axis=1)))


def _over_queries(
    found: np.ndarray, value: float, confidence: float, n_queries: int
) -> tuple[float, float]:
    """Percentiles of the correlations `found` of means over queries drawn with replacement."""
    quantile = scipy.stats.t.isf((1 - confidence) / 2, n_queries - 1)
    tail = ndtr(-math.sqrt(n_queries / (n_queries - 1)) * quantile)
    low, high = np.nanquantile(found, [tail, 1 - tail])
    return float(low), float(min(1.0, max(high, 2 * value - low)))


def rank_biased_overlap(x: ArrayLike, y: ArrayLike, *, p: float = 0.9, ties: str = "a") -> float:
    """Rank-biased overlap of two rankings of the same systems.

    ``sum((1 - p) * p**(d - 1) * agreement(d))`` over all depths d. The agreement at depth d is the
    number of systems in the first d ranks of both rankings, over d.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.
    ties : {"a", "b", "w"}
        "a": the expectation over independent random orders of ties, so that a ranking with ties has
        an overlap below 1 with itself. "b": the agreement of "a" is scaled at each depth so that
        the overlap of a ranking with itself is 1. "w": tied systems share the first of their ranks
        (Webber et al.).

    Returns
    -------
    float
        In [0, 1]. The agreement at depths beyond the last system is 1.

    See Also
    --------
    list_overlap : for lists of different items or lengths, which may be truncated.

    References
    ----------
    W. Webber, A. Moffat, J. Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions
    on Information Systems 28(4), 2010.
    M. Corsi, J. Urbano, The Treatment of Ties in Rank-Biased Overlap, SIGIR 2024.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.rank_biased_overlap([0.9, 0.7, 0.6, 0.5], [0.7, 0.9, 0.6, 0.5]), 3)
    0.9
    """
    first, second = check.check_rankings(x, y)
    p = check.check_share("p", p, ": with 1, no rank would have a weight")
    ties = check.check_choice("ties", ties, ("a", "b", "w"))
    in_x, in_y = (_chance_in_top(values, whole=ties == "w") for values in (first, second))
    overlap = (in_x * in_y).sum(axis=0)
    depth = np.arange(1, len(first) + 1)
    if ties == "a":
        size = depth.astype(np.float64)
    elif ties == "b":
        size = np.sqrt((in_x**2).sum(axis=0) * (in_y**2).sum(axis=0))
    else:
        size = (in_x.sum(axis=0) + in_y.sum(axis=0)) / 2
    weight = (1 - p) * p ** (depth - 1)
    return float(weight @ (overlap / size) + p ** len(first))


def _chance_in_top(scores: np.ndarray, *, whole: bool) -> np.ndarray:
    """Probability that a system (row) is in the first d ranks (column d - 1).

    If `whole` is True, all systems of a group of ties have the first rank of the group.
    """
    n_above = (scores > scores[:, None]).sum(axis=1)[:, None]
    n_tied = (scores == scores[:, None]).sum(axis=1)[:, None]
    depth = np.arange(1, len(scores) + 1)
    chance = np.clip((depth - n_above) / n_tied, 0, 1)
    return (chance > 0).astype(np.float64) if whole else chance


@dataclass(frozen=True)
class ListOverlap:
    """Rank-biased overlap of two truncated lists.

    Attributes
    ----------
    extrapolated : float
        Estimate for the complete lists, if the agreement at the last rank continues.
    lower : float
        Least possible value, if the lists have no further items in common.
    residual : float
        The greatest possible value is ``lower + residual``.
    p : float
    """

    extrapolated: float
    lower: float
    residual: float
    p: float


def list_overlap(x: Sequence[Hashable], y: Sequence[Hashable], *, p: float = 0.9) -> ListOverlap:
    """Rank-biased overlap of two lists that may be truncated, and may contain different items.

    Parameters
    ----------
    x, y : sequence of hashable
        Ids of the items in the order of their ranks, each at most once and without ties. The
        lengths may differ.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.

    Returns
    -------
    ListOverlap

    Raises
    ------
    ValueError
        If a list is empty, or contains an item twice or a set of items.

    See Also
    --------
    rank_biased_overlap : for complete rankings of the same systems, with ties.

    References
    ----------
    W. Webber, A. Moffat, J. Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions
    on Information Systems 28(4), 2010: equations 11 and 32, and section 4.3.

    Examples
    --------
    >>> from skrank import stats
    >>> found = stats.list_overlap(["a", "b", "c", "d"], ["b", "a", "e"])
    >>> round(found.extrapolated, 3), round(found.lower, 3), round(found.residual, 3)
    (0.63, 0.312, 0.543)
    """
    p = check.check_share("p", p, ": with 1, no rank would have a weight")
    both = check.check_ranked_items("x", x), check.check_ranked_items("y", y)
    short, long = sorted(both, key=len)
    s, n = len(short), len(long)
    first = {item: rank for rank, item in enumerate(short)}
    # an item is in the first d ranks of both lists if d is at least the larger of its two ranks
    later = [max(rank, first[item]) for rank, item in enumerate(long) if item in first]
    overlap = np.cumsum(np.bincount(np.array(later, dtype=np.int64), minlength=n))
    at_s, at_n = float(overlap[s - 1]), float(overlap[-1])
    # largest overlap: each list continues with the missing items of the other, and from this depth
    # on both contain the same items
    last = s + n - int(at_n)
    depth = np.arange(1, last + 1)
    weight = (1 - p) / p * p**depth / depth
    all_weights = (1 - p) / p * -math.log1p(-p)  # of all depths
    extrapolated = (
        weight[:n] @ overlap
        + weight[s:n] @ (at_s * (depth[s:n] - s) / s)
        + ((at_n - at_s) / n + at_s / s) * p**n
    )
    lower = weight[:n] @ (overlap - at_n) + at_n * all_weights
    gained = np.maximum(depth - s, 0) + np.maximum(depth - n, 0)
    residual = weight @ gained + p**last - at_n * (all_weights - weight.sum())
    return ListOverlap(float(extrapolated), float(lower), max(0.0, float(residual)), p)
