"""Features as a linear ranker trains on them: in units of their spread, and not copied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from skrank._engine.queries import Queries
from skrank._typing import Table

_BLOCK = 2**17  # entries of X that are taken at a time: converted or centred copies stay small


def products(X: Table, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision."""
    if issparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in _blocks(X):
        out[rows] = X[rows].astype(np.float64, copy=False) @ weights
    return out


def _blocks(X: np.ndarray) -> Iterator[slice]:
    step = max(1, _BLOCK // X.shape[1])
    return (slice(row, row + step) for row in range(0, len(X), step))


class ScaledFeatures:
    """Features less their mean, over their standard deviation: a map from weights to scores.

    Scores, and what is passed back along them, are contiguous by query. Means matter for the
    precision of sums only, since scores are compared inside a query: sparse features have none
    taken from them.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite, in the caller's row order.
    queries : Queries
    weights : ndarray of shape (n_queries,)
        Of the queries, in means and deviations.
    """

    def __init__(self, X: Table, queries: Queries, weights: np.ndarray) -> None:
        self.X = X
        self.queries = queries
        row_weights = queries.scatter(np.repeat(weights, queries.sizes))
        mean, variance = _moments(X, row_weights)
        n_rows, rounding = np.count_nonzero(row_weights), np.finfo(np.float64).eps
        constant = variance <= n_rows * rounding * variance + (n_rows * mean * rounding) ** 2
        self.scale = np.where(constant, np.inf, np.sqrt(variance))
        self.center = np.zeros_like(mean) if issparse(X) else mean

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row."""
        given = weights / self.scale
        scores = self.queries.gather(products(self.X, given))
        scores -= self.center @ given
        return scores

    def slopes(self, rows: np.ndarray) -> np.ndarray:
        """Slope along each weight of a function with these slopes along the scores of rows."""
        rows = self.queries.scatter(rows.astype(np.float64))
        if issparse(self.X):
            return self.X.T @ rows / self.scale
        total = np.zeros_like(self.center)
        for block in _blocks(self.X):
            total += rows[block] @ self.X[block].astype(np.float64, copy=False)
        return (total - rows.sum() * self.center) / self.scale


def _moments(X: Table, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each feature; `weights` of rows are not all 0."""
    if issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weights.astype(X.dtype))
        return mean.astype(np.float64), variance.astype(np.float64)
    mean, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in _blocks(X):
        mean += weights[rows] @ X[rows].astype(np.float64, copy=False)
    mean /= weights.sum()
    for rows in _blocks(X):
        variance += weights[rows] @ (X[rows] - mean) ** 2
    return mean, variance / weights.sum()
