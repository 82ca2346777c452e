"""Mean, standard deviation and standard error of differences, also of weighted queries."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Weights: TypeAlias = np.ndarray | None  # of shape (n_queries,); None: equal weights

ROUNDING = 1e-12  # differences of at most this share of the largest |score| are set to 0
EQUAL = 1 - 1e-9  # t >= EQUAL * u counts as t >= u, so that rounding does not break ties


def moments(z: np.ndarray, weights: Weights = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row of `z`, of shape (n_rows, n_queries).

    A constant row has exactly this constant as mean, and exactly 0 as standard deviation. A mean
    that is 0 up to rounding is exactly 0.

    With weights, the variance is the mean of the weighted estimate of `variance_shares` and of the
    unweighted variance. The weighted estimate allows for a variance that depends on the weight, but
    is noisy where few queries have most of the weight.
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
    r"""Factors f such that ``f @ (z - weighted_mean)**2`` estimates the variance of a difference.

    With :math:`h_i = w_i / \sum_j w_j`, the deviation of query i from the weighted mean has the
    variance :math:`\sigma^2 c_i`, with :math:`c_i = 1 - 2 h_i + \sum_j h_j^2`. The factor is
    :math:`f_i = h_i^2 / (c_i \sum_j h_j^2)`: dividing by :math:`c_i` is the leverage correction HC2
    (MacKinnon and White, 1985). Equal weights give 1 / (n - 1).

    With `counts` of shape (n_draws, n_queries), a query occurs that often in each draw.
    """
    counts = np.ones_like(weights) if counts is None else counts
    total, square = (counts @ weights)[..., None], (counts @ weights**2)[..., None]
    factor = 1 - 2 * weights / total + square / total**2
    # In a draw that repeats a single query, factor and deviation are 0: a divisor of 1 avoids NaN.
    return counts * weights**2 / square / np.where(factor > ROUNDING, factor, 1.0)


def effective_size(n_queries: int, weights: Weights) -> float:
    """Kish's effective number of queries, ``sum(w)**2 / sum(w**2)``."""
    return n_queries if weights is None else weights.sum() ** 2 / (weights**2).sum()


def ratio(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``mean / spread``, where 0 / 0 is 0 and any other mean over 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def student_t(z: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Mean, standard error of the mean, t and degrees of freedom (n_queries - 1) of each row."""
    mean, std = moments(z, weights)
    error = std / np.sqrt(effective_size(z.shape[1], weights))
    return mean, error, ratio(mean, error), z.shape[1] - 1
