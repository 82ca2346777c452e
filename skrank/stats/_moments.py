"""Mean, standard deviation and standard error of differences, also of weighted queries."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Weights: TypeAlias = np.ndarray | None  # one per query; None: all the same

# Differences below this share of the largest score are rounding errors.
ROUNDING = 1e-12
EQUAL = 1 - 1e-9  # two statistics whose ratio lies above this differ by rounding only


def moments(z: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row.

    A constant row has exactly its constant as mean and exactly 0 as standard deviation. Differences
    that cancel have exactly the mean 0.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_queries)
    weights : ndarray of shape (n_queries,), optional
        With weights, the variance is the mean of two unbiased estimates: that of `variance_shares`
        follows a variance that depends on the weights, but few queries decide it; that without
        weights uses all queries alike.

    Returns
    -------
    mean, std : ndarray of shape (n_rows,)
    """
    constant = (z == z[:, :1]).all(axis=1)
    if weights is None:
        mean, std = z.mean(axis=1), z.std(axis=1, ddof=1)
    else:
        mean = z @ weights / weights.sum()
        corrected = (z - mean[:, None]) ** 2 @ variance_shares(weights)
        std = np.sqrt((corrected + z.var(axis=1, ddof=1)) / 2)
    mean = np.where(constant, z[:, 0], mean)
    mean[np.abs(mean) <= ROUNDING * np.abs(z).max(axis=1)] = 0
    return mean, np.where(constant, 0.0, std)


def variance_shares(weights: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    r"""Factors of the squared deviations from the weighted mean, in the estimate of the variance.

    With :math:`h_i` the weight of a query as a share of the sum of weights, the deviation of query
    i from the weighted mean has the variance :math:`\sigma^2 (1 - 2 h_i + \sum_j h_j^2)`. Its
    square is divided by that factor (the leverage correction HC2 of MacKinnon and White, 1985) and
    counts by :math:`h_i^2`, as in the variance of a weighted mean. Equal weights give 1 / (n - 1).

    Parameters
    ----------
    weights : ndarray of shape (n_queries,)
    counts : ndarray of shape (n_draws, n_queries), optional
        How often each query occurs. Default: once.

    Returns
    -------
    ndarray of shape (n_queries,) or (n_draws, n_queries)
    """
    counts = np.ones_like(weights) if counts is None else counts
    total, square = (counts @ weights)[..., None], (counts @ weights**2)[..., None]
    factor = 1 - 2 * weights / total + square / total**2
    # where a draw has one query only, its factor and its deviation are 0
    return counts * weights**2 / square / np.where(factor > ROUNDING, factor, 1.0)


def effective_size(n_queries: int, weights: Weights) -> float:
    """Number of queries of equal weight whose mean has the same variance (Kish)."""
    return n_queries if weights is None else weights.sum() ** 2 / (weights**2).sum()


def ratio(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``mean / spread``; where the spread is 0, 0 for a mean of 0 and infinite for any other."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def student_t(z: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Mean, its standard error, t, and degrees of freedom, of each row."""
    mean, std = moments(z, weights)
    error = std / np.sqrt(effective_size(z.shape[1], weights))
    return mean, error, ratio(mean, error), z.shape[1] - 1
