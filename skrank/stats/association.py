"""Rank correlations of systems with p-values and intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import ndtr

from skrank import _validation as check
from skrank.stats._resampling import query_counts
from skrank.stats.correlation import tau_ap_b

METHOD_CHOICES = ("tau", "tau_b", "tau_ap")
_CELLS = 2**22  # of a block of rankings x systems x systems
_SIMULATED = 200  # rankings for the mean and variance of tau_ap at one strength of dependence


@dataclass(frozen=True, eq=False)
class RankCorrelation:
    """A rank correlation, its p-value and its interval.

    Attributes
    ----------
    method : {"tau", "tau_b", "tau_ap"}
    value : float
    p_value : float
        Two-sided, of no correlation.
    low, high : float
    confidence : float
    n_systems : int
    n_queries : int or None
        Queries that were resampled for the interval; None if it is one over systems.
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
    n_resamples: int = 1000,
    random_state: check.RandomState = 0,
) -> RankCorrelation:
    """Correlation of two rankings of the same systems, with a p-value and an interval.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,) or (n_queries, n_systems)
        Scores of the same systems, such as means of two metrics; or their scores on the same
        queries, whose means are correlated.
    method : {"tau", "tau_b", "tau_ap"}
        `kendall_tau`, `tau_b`, or `tau_ap` with ``ties="b"``, which is symmetric.
    confidence : float
        Level of the interval.
    n_resamples : int
        Random orders of systems for the p-value of "tau_ap", and draws of queries. Where there are
        no more orders than this (6 systems), all are visited.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    RankCorrelation
        All NaN where the correlation is not defined, as where all systems of a ranking tie.

    Notes
    -----
    For tau and tau_b, the p-value is that of `scipy.stats.kendalltau`. For tau_ap it is that of
    random orders of `y`: ``(1 + b) / (1 + n_resamples)``, the smaller tail twice.

    Scores of systems give an interval over systems, which are regarded as drawn from many. It holds
    the correlations from which the value is no further than Student's quantile times the standard
    deviation of the estimate at that correlation. The standard deviation is the one for scores of a
    bivariate normal distribution: by Esscher's formula for tau and tau_b, and simulated for tau_ap.
    So the interval has a width also where two rankings agree entirely.

    Scores per query give an interval over queries for these systems: percentiles of the
    correlations of means over queries drawn with replacement. The percentiles are further out than
    those of `confidence`, as draws of few queries vary too little (the expanded percentile interval
    of Hesterberg 2015). Chance in the means makes rankings less alike, so that the upper end is at
    least as far from the value as the lower end. Where all draws agree, the interval is the one
    over systems.

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
    check.check_choice("method", method, METHOD_CHOICES)
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
            low, high = _over_queries(per_query, value, method, confidence, n_resamples, seed)
        if low == high:
            low, high = _over_systems(value, len(first), method, confidence, seed)
    n_queries = None if per_query is None else len(per_query[0])
    return RankCorrelation(method, value, p_value, low, high, confidence, len(first), n_queries)


def _correlations(x: np.ndarray, y: np.ndarray, method: str) -> np.ndarray:
    """Correlation of each row of `x` with the same row of `y`, of shape (n_rankings, n_systems)."""
    measure = tau_ap_b if method == "tau_ap" else partial(_tau, ties=method == "tau_b")
    rows = max(1, _CELLS // x.shape[1] ** 2)
    parts = [slice(start, start + rows) for start in range(0, len(x), rows)]
    return np.concatenate([measure(x[part], y[part]) for part in parts])


def _tau(x: np.ndarray, y: np.ndarray, *, ties: bool) -> np.ndarray:
    """Kendall's tau of each row, or tau_b with `ties`."""
    above_x, above_y = (scores[:, None, :] > scores[:, :, None] for scores in (x, y))
    together = (above_x & above_y).sum(axis=(1, 2))
    excess = together - (above_x & np.swapaxes(above_y, 1, 2)).sum(axis=(1, 2))
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
    above, below = (np.count_nonzero(sign * found >= sign * value - 1e-12) for sign in (1, -1))
    share = min(above, below) / len(found) if every else (1 + min(above, below)) / (1 + n_resamples)
    return float(min(1.0, 2 * share))


def _over_systems(
    value: float, n_systems: int, method: str, confidence: float, seed: int
) -> tuple[float, float]:
    """Correlations from which `value` is no further than a quantile of its distribution there."""
    if n_systems < 3:
        return -1.0, 1.0
    tau = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 2001))  # a grid that is finest near the ends
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
    """Mean and variance of tau_ap of samples of normal distributions that have these taus."""
    random = np.random.default_rng(seed)
    x, noise = random.normal(size=(2, _SIMULATED, n_systems))
    grid = tau[:: len(tau) // 20]
    angle = np.pi * grid / 2
    found = np.array([_correlations(x, np.sin(a) * x + np.cos(a) * noise, "tau_ap") for a in angle])
    return tuple(np.interp(tau, grid, row) for row in (found.mean(axis=1), found.var(axis=1)))


def _over_queries(
    per_query: tuple[np.ndarray, np.ndarray],
    value: float,
    method: str,
    confidence: float,
    n_resamples: int,
    seed: int,
) -> tuple[float, float]:
    """Percentiles of the correlations of means over queries drawn with replacement."""
    x, y = per_query
    found = np.concatenate(
        [
            _correlations(counts @ x, counts @ y, method)
            for _, counts in query_counts(len(x), n_resamples, seed)
        ]
    )
    quantile = scipy.stats.t.isf((1 - confidence) / 2, len(x) - 1)
    tail = ndtr(-math.sqrt(len(x) / (len(x) - 1)) * quantile)
    low, high = np.nanquantile(found, [tail, 1 - tail])
    return float(low), float(min(1.0, max(high, 2 * value - low)))
