"""Features of a linear ranker, in units of their standard deviation, without a copy of X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeGuard, TypeVar

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.sparsefuncs import min_max_axis

from skrank._engine.queries import Queries

Matrix: TypeAlias = np.ndarray | csr_matrix
M = TypeVar("M", np.ndarray, csr_matrix)

_BLOCK = 2**17  # entries of X that are converted or centred at a time
_EXTREME = 2**300  # squares and sums of values from 1 / _EXTREME to _EXTREME are finite and not 0
_ROUNDING = 8 * np.finfo(np.float64).eps  # a smaller spread, as a share of the mean, is rounding


def is_sparse(X: Matrix) -> TypeGuard[csr_matrix]:
    return issparse(X)


def products(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision, each row by itself.

    BLAS computes rows in groups, so that the last bit of a score would depend on the neighbouring
    rows, and equal documents would not tie.
    """
    if is_sparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in row_blocks(X):
        block = np.ascontiguousarray(X[rows], dtype=np.float64)
        np.einsum("ij,j->i", block, weights, out=out[rows])
    return out


def row_blocks(X: Matrix) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries; of a sparse matrix, with at least 1 per column."""
    n_rows, n_features = X.shape
    step = _BLOCK // max(1, n_features)
    if is_sparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


class ScaledFeatures:
    """Features minus their mean, over their standard deviation: a linear map of weights to scores.

    Scores and gradients are contiguous by query. Subtracting the mean changes no difference inside
    a query, but limits rounding errors: gradients of a query add up to 0 in single precision only,
    and a large mean would multiply the remainder. The means of sparse features are subtracted from
    the products, so that the features stay sparse.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite, in the caller's row order.
    queries : Queries
    weights : ndarray of shape (n_queries,)
        Weights of the queries in means and deviations: from 0 to 1, and not all 0.

    Attributes
    ----------
    scale : ndarray of shape (n_features,)
        Standard deviations in the units of `X`; inf for a feature that is constant, or whose
        inverse deviation would overflow.
    """

    def __init__(self, X: Matrix, queries: Queries, weights: np.ndarray) -> None:
        row_weights = queries.scatter(np.repeat(weights, queries.sizes))
        X = without_duplicates(X) if is_sparse(X) else X
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
        """Score of each row; 0 in queries of weight 0, whose features may be extreme."""
        given = weights / self._deviation
        scores = self.queries.gather(products(self.X, given))
        scores -= self.center @ given
        scores[self._unweighted] = 0
        return scores

    def slopes(self, rows: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights, of that with respect to the scores of `rows`."""
        rows = self.queries.scatter(rows.astype(np.float64))
        if is_sparse(self.X):
            total = self.X.T @ rows
        else:
            total = np.zeros_like(self.center)
            for block in row_blocks(self.X):
                total += rows[block] @ self.X[block].astype(np.float64, copy=False)
        return (total - rows.sum() * self.center) / self._deviation


def without_duplicates(X: csr_matrix) -> csr_matrix:
    """X; if it has several entries in one place, a copy with their sum."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _exponents(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """Exponent (base 2) of each feature whose squares may overflow, or vanish; 0 for the others.

    Rows of weight 0 do not count.
    """
    largest = np.zeros(X.shape[1])
    for block, _ in _weighted_blocks(X, weights):
        low, high = min_max_axis(block, axis=0) if is_sparse(X) else (block.min(0), block.max(0))
        largest = np.maximum(largest, np.maximum(high, -low))
    return np.where(_is_extreme(largest) & (largest > 0), np.frexp(largest)[1], 0)


def _is_extreme(values: np.ndarray) -> np.ndarray:
    """True where squares or their sums may overflow or vanish; NaN results from such sums."""
    return ~((values >= 1 / _EXTREME) & (values <= _EXTREME))


def _times_powers(X: Matrix, exponents: np.ndarray) -> Matrix:
    """A copy of X with each column times a power of 2."""
    if is_sparse(X):
        return with_entries(X, np.ldexp(X.data, exponents[X.indices]))
    return np.ldexp(X, exponents)


def _moments(X: Matrix, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature.

    Sums are of differences from the first row, and then from the mean of the first pass: large
    values that hardly differ lose no digits, and a constant has a deviation of exactly 0.
    """
    first = int(np.argmax(weights > 0))
    near = np.zeros(X.shape[1])
    if is_sparse(X):
        row = slice(X.indptr[first], X.indptr[first + 1])
        near[X.indices[row]] = X.data[row]
    else:
        near[:] = X[first]
    absent = _absent(X, weights) if is_sparse(X) else 0.0
    total = weights.sum()
    mean = near + _sums(X, weights, near, absent)[0] / total
    rest, squares = _sums(X, weights, mean, absent) / total
    return mean, np.sqrt(np.maximum(squares - rest**2, 0))


def _sums(
    X: Matrix, weights: np.ndarray, center: np.ndarray, absent: np.ndarray | float
) -> np.ndarray:
    """Weighted sums of the differences from a center, and of their squares, by feature."""
    sums = np.zeros((2, len(center)))
    for block, mass in _weighted_blocks(X, weights):
        if is_sparse(block):
            away = with_entries(block, block.data - center[block.indices])
            sums += away.T @ mass, with_entries(block, away.data**2).T @ mass
        else:
            away = block - center
            sums += mass @ away, mass @ away**2
    sums += -absent * center, absent * center**2
    return sums


def _absent(X: csr_matrix, weights: np.ndarray) -> np.ndarray:
    """Weight of the rows without an entry, by column; exactly 0 if all rows have an entry."""
    weight, count = np.zeros((2, X.shape[1]))
    for block, mass in _weighted_blocks(X, weights):
        ones = with_entries(block, np.ones(block.nnz))
        weight += ones.T @ mass
        count += ones.T @ np.ones(len(mass))
    return np.where(count < np.count_nonzero(weights), np.maximum(weights.sum() - weight, 0), 0)


def with_entries(X: csr_matrix, entries: np.ndarray) -> csr_matrix:
    """A matrix with other entries in the places of those of X."""
    return csr_matrix((entries, X.indices, X.indptr), X.shape)


def _weighted_blocks(X: M, weights: np.ndarray) -> Iterator[tuple[M, np.ndarray]]:
    """Blocks of the rows with a weight above 0, and their weights."""
    for rows in row_blocks(X):
        kept = weights[rows] > 0
        if kept.all():
            yield X[rows], weights[rows]
        elif kept.any():
            yield X[rows][kept], weights[rows][kept]
