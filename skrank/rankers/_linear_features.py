"""Features as a linear ranker trains on them: in units of their spread, and not copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.sparsefuncs import min_max_axis

from skrank._engine.queries import Queries
from skrank._typing import Table

_BLOCK = 2**17  # entries of X that are taken at a time: converted or centred copies stay small
_EXTREME = 2**300  # squares and sums of features between its inverse and it are doubles
_ROUNDING = 8 * np.finfo(np.float64).eps  # a smaller spread, as a share of the mean, is rounding


def products(X: Table, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision, each row by itself.

    BLAS adds up rows in groups, so that a score would depend on the rows beside it in its last bit,
    and equal documents would not tie.
    """
    if issparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in _blocks(X):
        block = np.ascontiguousarray(X[rows], dtype=np.float64)
        np.einsum("ij,j->i", block, weights, out=out[rows])
    return out


def _blocks(X: Any) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries, in a wide sparse matrix with one per column."""
    n_rows, n_features = X.shape
    step = _BLOCK // n_features
    if issparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


class ScaledFeatures:
    """Features less their mean, over their standard deviation: a map from weights to scores.

    Scores, and the slopes along them, are contiguous by query. Subtracting the mean changes no
    difference inside a query, but rounding: slopes along the scores of a query add up to 0 in
    single precision only, and a large mean would multiply the rest. Sparse features stay sparse:
    their means are subtracted from the products.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite, in the caller's row order.
    queries : Queries
    weights : ndarray of shape (n_queries,)
        Of the queries, in means and deviations: from 0 to 1, and not all 0.

    Attributes
    ----------
    scale : ndarray of shape (n_features,)
        Standard deviations in the units of `X`; inf for a feature that is constant, or whose
        deviation is so small that the inverse is no double.
    """

    def __init__(self, X: Table, queries: Queries, weights: np.ndarray) -> None:
        row_weights = queries.scatter(np.repeat(weights, queries.sizes))
        X = _without_duplicates(X)
        exponents = np.zeros(X.shape[1], dtype=np.int32)
        with np.errstate(over="ignore", invalid="ignore"):
            center, deviation = _moments(X, row_weights)
        if X.dtype == np.float64 and _is_extreme(deviation).any():
            exponents = _exponents(X, row_weights)
            if exponents.any():
                X = _times_powers(X, -exponents)
                center, deviation = _moments(X, row_weights)
        self.X, self.queries, self.center = X, queries, center
        scale = np.ldexp(deviation, exponents)
        constant = deviation <= _ROUNDING * np.abs(self.center)
        constant |= scale < np.finfo(np.float64).tiny
        self.scale = np.where(constant, np.inf, scale)
        self._deviation = np.where(constant, np.inf, deviation)
        self._unweighted = np.flatnonzero(np.repeat(weights == 0, queries.sizes))

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row; 0 in queries of weight 0, whose features may be anywhere."""
        given = weights / self._deviation
        scores = self.queries.gather(products(self.X, given))
        scores -= self.center @ given
        scores[self._unweighted] = 0
        return scores

    def slopes(self, rows: np.ndarray) -> np.ndarray:
        """Slope along each weight of a function with these slopes along the scores of rows."""
        rows = self.queries.scatter(rows.astype(np.float64))
        if issparse(self.X):
            total = self.X.T @ rows
        else:
            total = np.zeros_like(self.center)
            for block in _blocks(self.X):
                total += rows[block] @ self.X[block].astype(np.float64, copy=False)
        return (total - rows.sum() * self.center) / self._deviation


def _without_duplicates(X: Any) -> Any:
    """X, or a copy of a sparse matrix that gives an entry in parts, with their sum."""
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _exponents(X: Table, weights: np.ndarray) -> np.ndarray:
    """Powers of 2 of the magnitude of features whose squares may be no doubles; 0 for all others.

    Rows of weight 0 do not count.
    """
    largest = np.zeros(X.shape[1])
    for block, _ in _weighted_blocks(X, weights):
        low, high = min_max_axis(block, axis=0) if issparse(X) else (block.min(0), block.max(0))
        largest = np.maximum(largest, np.maximum(high, -low))
    return np.where(_is_extreme(largest) & (largest > 0), np.frexp(largest)[1], 0)


def _is_extreme(values: np.ndarray) -> np.ndarray:
    """Whether squares, or sums of them, may leave the range of doubles; NaN comes of such sums."""
    return ~((values >= 1 / _EXTREME) & (values <= _EXTREME))


def _times_powers(X: Any, exponents: np.ndarray) -> Any:
    """A copy of X with each column times a power of 2."""
    if issparse(X):
        return _with_entries(X, np.ldexp(X.data, exponents[X.indices]))
    return np.ldexp(X, exponents)


def _moments(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature.

    Differences are taken from the first row, and then from the mean so found: large values that
    hardly differ lose no digits, and a constant has a deviation of exactly 0.
    """
    first = int(np.argmax(weights > 0))
    near = np.zeros(X.shape[1])
    if issparse(X):
        row = slice(X.indptr[first], X.indptr[first + 1])
        near[X.indices[row]] = X.data[row]
    else:
        near[:] = X[first]
    absent = _absent(X, weights) if issparse(X) else 0.0
    total = weights.sum()
    mean = near + _sums(X, weights, near, absent)[0] / total
    rest, squares = _sums(X, weights, mean, absent) / total
    return mean, np.sqrt(np.maximum(squares - rest**2, 0))


def _sums(
    X: Any, weights: np.ndarray, center: np.ndarray, absent: np.ndarray | float
) -> np.ndarray:
    """Weighted sums of the differences from a center, and of their squares, by feature."""
    sums = np.zeros((2, len(center)))
    for block, mass in _weighted_blocks(X, weights):
        if issparse(X):
            away = _with_entries(block, block.data - center[block.indices])
            sums += away.T @ mass, _with_entries(block, away.data**2).T @ mass
        else:
            away = block - center
            sums += mass @ away, mass @ away**2
    sums += -absent * center, absent * center**2
    return sums


def _absent(X: csr_matrix, weights: np.ndarray) -> np.ndarray:
    """Weight of the rows that have no entry in a column; exactly 0 where all rows have one."""
    weight, count = np.zeros((2, X.shape[1]))
    for block, mass in _weighted_blocks(X, weights):
        ones = _with_entries(block, np.ones(block.nnz))
        weight += ones.T @ mass
        count += ones.T @ np.ones(len(mass))
    return np.where(count < np.count_nonzero(weights), np.maximum(weights.sum() - weight, 0), 0)


def _with_entries(X: csr_matrix, entries: np.ndarray) -> csr_matrix:
    """Other numbers in the same places."""
    return csr_matrix((entries, X.indices, X.indptr), X.shape)


def _weighted_blocks(X: Table, weights: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows with a weight above 0, and their weights, some at a time."""
    for rows in _blocks(X):
        kept = weights[rows] > 0
        if kept.all():
            yield X[rows], weights[rows]
        elif kept.any():
            yield X[rows][kept], weights[rows][kept]
