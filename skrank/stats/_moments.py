"""Mean, standard deviation and standard error of differences, also of weighted queries."""

from __future__ import annotations

import numpy as np

# Differences below this share of the largest score are rounding, not differences.
ROUNDING = 1e-12
EQUAL = 1 - 1e-9  # statistics whose ratio is above this are equal but for rounding


def moments(z: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row.

    Of a constant row they are exactly the constant and 0; differences that cancel have mean 0.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_queries)
    weights : ndarray of shape (n_queries,), optional
        The deviations then count by the squares of their weights, as they do in the standard error
        of a weighted mean, and the divisor makes the variance unbiased where queries vary alike.

    Returns
    -------
    mean, std : ndarray of shape (n_rows,)
    """
    constant = (z == z[:, :1]).all(axis=1)
    if weights is None:
        mean, std = z.mean(axis=1), z.std(axis=1, ddof=1)
    else:
        mean = z @ weights / weights.sum()
        squares = (z - mean[:, None]) ** 2 @ weights**2
        std = np.sqrt(squares / variance_divisor(*power_sums(weights)))
    mean = np.where(constant, z[:, 0], mean)
    mean[np.abs(mean) <= ROUNDING * np.abs(z).max(axis=1)] = 0
    return mean, np.where(constant, 0.0, std)


def power_sums(weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sums of the weights, of their squares and of their cubes."""
    return weights.sum(), (weights**2).sum(), (weights**3).sum()


def variance_divisor(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Expected sum of ``w^2 (z - mean)^2`` for a variance of 1: n - 1 for weights of 1."""
    return second - 2 * third / first + (second / first) ** 2


def effective_size(n_queries: int, weights: np.ndarray | None) -> float:
    """Number of queries of equal weight whose mean varies as much (Kish)."""
    return n_queries if weights is None else weights.sum() ** 2 / (weights**2).sum()


def degrees_of_freedom(n_queries: int, weights: np.ndarray | None) -> float:
    """Degrees of freedom of the variance, by Satterthwaite's approximation: n - 1 if unweighted.

    At least 1, which two queries of any weights have.
    """
    if weights is None:
        return n_queries - 1
    squares = weights**2
    return max(1.0, squares.sum() ** 2 / (squares**2).sum() - 1)


def ratio(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``mean / spread``; for a spread of 0, 0 if the mean is 0 and else infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def student_t(
    z: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Mean and its standard error, t, and degrees of freedom, of each row."""
    mean, std = moments(z, weights)
    error = std / np.sqrt(effective_size(z.shape[1], weights))
    return mean, error, ratio(mean, error), degrees_of_freedom(z.shape[1], weights)
