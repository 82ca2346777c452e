"""How sure is a mean over queries: bootstrap confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from skrank import _validation as check
from skrank.stats._pairs import one_thread, same_queries
from skrank.stats._resampling import query_counts

METHOD_CHOICES = ("percentile", "bca")


@dataclass(frozen=True, eq=False)
class Interval:
    """Means and their confidence intervals: numbers, or arrays with one entry per column.

    Attributes
    ----------
    mean, low, high : float or ndarray of shape (n_columns,)
    confidence : float
    n_queries, n_dropped : int or int64 ndarray of shape (n_columns,)
        Topics that have a value and a weight above 0, and the others.
    """

    mean: Any
    low: Any
    high: Any
    confidence: float
    n_queries: Any
    n_dropped: Any


def bootstrap_interval(
    values: Any,
    *,
    confidence: float = 0.95,
    weights: Any = None,
    method: str = "percentile",
    n_resamples: int = 1000,
    random_state: check.RandomState = 0,
) -> Interval:
    """Bootstrap confidence intervals of (weighted) means over queries.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_columns)
        NaN = no value: the query is left out of its column.
    confidence : float
    weights : array-like of shape (n_queries,) or that of `values`, optional
        Weight of each query, or of each value, at least 0. Topics are drawn with equal chances and
        weigh what they weigh.
    method : {"percentile", "bca"}
        Quantiles of the means of resamples, as they are or corrected for bias and skewness (Efron
        1987), which helps with few queries.
    n_resamples : int
        Draws of queries with replacement, the same for all columns.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If a column has fewer than 2 queries with a value, or a value is infinite.

    References
    ----------
    B. Efron, Better Bootstrap Confidence Intervals, Journal of the American Statistical
    Association 82, 1987.

    Examples
    --------
    >>> from skrank import stats
    >>> interval = stats.bootstrap_interval([0.2, 0.4, 0.5, 0.5, 0.9], n_resamples=5000)
    >>> interval.mean, round(interval.low, 2), round(interval.high, 2)
    (0.5, 0.32, 0.72)
    """
    confidence = check.check_share("confidence", confidence)
    check.check_choice("method", method, METHOD_CHOICES)
    n_resamples = check.check_resamples(n_resamples)
    seed = check.check_random_state(random_state)
    check.check_same_index({"values": values, "weights": weights})
    matrix, weight, used = _check_values(values, weights)
    bounds = np.empty((3, matrix.shape[1]))
    for kept, columns in same_queries(used):
        block, w = (array[np.ix_(kept, columns)] for array in (matrix, weight))
        means = _resampled_means(block, w, n_resamples, seed)
        bounds[:, columns] = _interval(block, w, means, confidence, method == "bca")
    n_queries = used.sum(axis=0)
    found: tuple[Any, ...] = (*bounds, n_queries, len(matrix) - n_queries)
    if np.ndim(values) == 1:
        found = tuple(array.item() for array in found)
    mean, low, high, n_queries, n_dropped = found
    return Interval(mean, low, high, confidence, n_queries, n_dropped)


def _check_values(values: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of queries x columns, their weights, and which of them count."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(
            f"values has shape {matrix.shape}: pass one value per query, or queries x columns."
        )
    weight = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    if weight.shape not in ((), matrix.shape[:1], matrix.shape):
        raise ValueError(f"weights has shape {weight.shape}: pass one per query ({len(matrix)}).")
    weight = np.broadcast_to(weight[:, None] if weight.ndim == 1 else weight, matrix.shape)
    for name, bad in (
        ("values", np.isinf(matrix)),
        ("weights", ~((weight >= 0) & np.isfinite(weight))),
    ):
        if bad.any():
            raise ValueError(
                f"{name} of query {np.argwhere(bad)[0, 0]} are not usable: values must be finite "
                "or NaN, weights finite and at least 0."
            )
    used = ~np.isnan(matrix) & (weight > 0)
    few = np.flatnonzero(used.sum(axis=0) < 2)
    if len(few):
        raise ValueError(
            f"column {few[0]} of values has {used[:, few[0]].sum()} query(s) with a value (of "
            "weight above 0): an interval needs at least 2. Leave the column out."
        )
    return matrix, weight, used


def _resampled_means(
    values: np.ndarray, weights: np.ndarray, n_resamples: int, seed: int
) -> np.ndarray:
    """Weighted means of resamples of queries, of shape (n_resamples, n_columns)."""
    n_columns = values.shape[1]
    if (weights == weights[:, :1]).all():
        weights = weights[:, :1]
    weighted = np.column_stack([values * weights, weights])
    sums = np.empty((n_resamples, weighted.shape[1]))
    with one_thread():
        for drawn, counts in query_counts(len(values), n_resamples, seed):
            np.matmul(counts, weighted, out=sums[drawn])
    return sums[:, :n_columns] / sums[:, n_columns:]


def _interval(
    values: np.ndarray, weights: np.ndarray, means: np.ndarray, confidence: float, bca: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high of columns, given the means of resamples."""
    mean = np.average(values, axis=0, weights=weights)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if bca:
        levels = _bca_levels(values, weights, mean, means, tails)
        low, high = np.transpose(
            [np.quantile(*column) for column in zip(means.T, levels.T, strict=True)]
        )
    else:
        low, high = np.quantile(means, tails, axis=0)
    constant = np.ptp(values, axis=0) == 0  # else rounding would give it a width
    mean, low, high = (np.where(constant, values[0], bound) for bound in (mean, low, high))
    return mean, low, high


def _bca_levels(
    values: np.ndarray,
    weights: np.ndarray,
    mean: np.ndarray,
    means: np.ndarray,
    tails: np.ndarray,
) -> np.ndarray:
    """Levels of the quantiles that correct for bias and acceleration, of shape (2, n_columns)."""
    below = ((means < mean).mean(axis=0) + (means <= mean).mean(axis=0)) / 2
    bias = ndtri(np.clip(below, 0.5 / len(means), 1 - 0.5 / len(means)))
    influence = weights * (values - mean)
    spread = (influence**2).sum(axis=0) ** 1.5
    acceleration = np.divide(
        (influence**3).sum(axis=0), 6 * spread, out=np.zeros_like(spread), where=spread > 0
    )
    shifted = bias + ndtri(tails)[:, None]
    return ndtr(bias + shifted / (1 - acceleration * shifted))
