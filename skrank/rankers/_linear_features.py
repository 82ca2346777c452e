"""Standardised features of a linear ranker, without a copy of X."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias, TypeGuard, TypeVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.threads import cached_property

Matrix: TypeAlias = np.ndarray | csr_matrix
M = TypeVar("M", np.ndarray, csr_matrix)
T = TypeVar("T")

_BLOCK = 2**17  # entries of X that are converted or centred at a time
_EXTREME = 2**300  # squares and sums of values from 1 / _EXTREME to _EXTREME are finite and not 0
_ROUNDING = 8 * np.finfo(np.float64).eps  # a feature with deviation / mean below it is constant


@dataclass(frozen=True, eq=False)
class RowParts:
    """Objects that hold all rows: one object, or on Dask one object per partition.

    A subclass calls functions on the workers of Dask.
    """

    parts: Sequence[Any]

    def collect(self, function: Callable[..., T], *arguments: object) -> list[T]:
        """``function(part, *arguments)`` of each part."""
        return [function(part, *arguments) for part in self.parts]

    def map(self, function: Callable[..., object], *arguments: object) -> RowParts:
        """As `collect`, but the results stay where the parts are."""
        return RowParts(self.collect(function, *arguments))


def is_sparse(X: Matrix) -> TypeGuard[csr_matrix]:
    return issparse(X)


def products(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision, with equal results for equal rows.

    BLAS computes rows in groups: the last bit of a product depends on neighbouring rows, and equal
    documents would not tie.
    """
    if is_sparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in row_blocks(X):
        block = np.ascontiguousarray(X[rows], dtype=np.float64)
        np.einsum("ij,j->i", block, weights, out=out[rows])
    return out


def sum_arrays(sums: Sequence[np.ndarray]) -> np.ndarray:
    """Sum of arrays, such as the results of `RowParts.collect`."""
    return reduce(np.add, sums)


def row_blocks(X: Matrix) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries; of a sparse matrix, with at least 1 per column."""
    n_rows, n_features = X.shape
    step = _BLOCK // max(1, n_features)
    if is_sparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


class Scales(NamedTuple):
    """Means and standard deviations of features.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Means of the features, times 2**-exponents.
    deviation : ndarray of shape (n_features,)
        Standard deviations of the features, times 2**-exponents; inf for a constant feature.
    exponents : int ndarray of shape (n_features,)
        0, except for features whose squares would overflow or underflow.
    """

    center: np.ndarray
    deviation: np.ndarray
    exponents: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the features; inf for a constant feature."""
        return np.ldexp(self.deviation, self.exponents)


class WeightedRows:
    """Features of some rows with a weight per query, and weighted sums of these rows.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite in rows of a weight above 0, in the caller's row order.
    judgments : Judgments
    query_weights : ndarray of shape (n_queries,)
        From 0 to 1.
    """

    def __init__(self, X: Matrix, judgments: Judgments, query_weights: np.ndarray) -> None:
        self.X = without_duplicates(X) if is_sparse(X) else X
        self.judgments, self.query_weights = judgments, query_weights
        queries = judgments.queries
        self.weights = queries.scatter(np.repeat(query_weights, queries.sizes))

    def __sizeof__(self) -> int:
        return bytes_of(self.X) + self.weights.nbytes

    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def first_row(self) -> np.ndarray | None:
        """The first row of a weight above 0."""
        if not self.weights.any():
            return None
        first = int(np.argmax(self.weights > 0))
        row = self.X[first : first + 1].sum(axis=0)  # as an array, also if X is sparse
        return np.asarray(row, dtype=np.float64).ravel()

    def largest(self) -> np.ndarray:
        """Largest absolute value of each feature in rows of a weight above 0.

        Returns 0 for features in single precision, whose squares do not overflow in double.
        """
        largest = np.zeros(self.X.shape[1])
        if self.X.dtype == np.float64:
            for block, _ in self._blocks():
                top = abs(block).max(axis=0)
                largest = np.maximum(largest, top.toarray()[0] if is_sparse(top) else top)
        return largest

    def sums(self, center: np.ndarray, exponents: np.ndarray | None) -> np.ndarray:
        """Weighted sums of (x - center) and of (x - center)^2, with x = X / 2**exponents."""
        sums = np.zeros((2, len(center)))
        for block, mass in self._blocks():
            if exponents is not None:
                block = times_powers(block, -exponents)
            if is_sparse(block):
                away = with_entries(block, block.data - center[block.indices])
                sums += away.T @ mass, with_entries(away, away.data**2).T @ mass
            else:
                away = block - center
                sums += mass @ away, mass @ away**2
        if is_sparse(self.X):
            sums += -self._absent * center, self._absent * center**2
        return sums

    @cached_property
    def _absent(self) -> np.ndarray:
        """Weight of the rows without an entry, by column; 0 if all rows have an entry."""
        weight, count = np.zeros((2, self.X.shape[1]))
        for block, mass in self._blocks():
            ones = with_entries(block, np.ones(len(block.data)))
            weight += ones.T @ mass
            count += ones.T @ np.ones(len(mass))
        rest = np.maximum(self.weights.sum() - weight, 0)
        return np.where(count < np.count_nonzero(self.weights), rest, 0)

    def _blocks(self) -> Iterator[tuple[Matrix, np.ndarray]]:
        """Blocks of the rows with a weight above 0, and their weights."""
        for rows in row_blocks(self.X):
            kept = self.weights[rows] > 0
            if kept.all():
                yield self.X[rows], self.weights[rows]
            elif kept.any():
                yield self.X[rows][kept], self.weights[rows][kept]


def scales_of(rows: RowParts, least: np.ndarray | float = 0.0) -> Scales:
    """Means and standard deviations of the features of all WeightedRows.

    `least` is a lower bound for the deviation of each feature that is not constant.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center, deviation = moments(rows)
    exponents = np.zeros(len(center), dtype=np.int32)
    if _is_extreme(deviation).any():
        largest = np.max(rows.collect(WeightedRows.largest), axis=0)
        unsafe = _is_extreme(largest) & (largest > 0)
        if unsafe.any():
            exponents = np.where(unsafe, np.frexp(largest)[1], 0)
            center, deviation = moments(rows, exponents)
    constant = deviation <= _ROUNDING * np.abs(center)
    constant |= np.ldexp(deviation, exponents) < np.finfo(np.float64).tiny
    deviation = np.maximum(deviation, np.ldexp(least, -exponents))
    return Scales(center, np.where(constant, np.inf, deviation), exponents)


def moments(rows: RowParts, exponents: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature, divided by 2**exponents.

    The first pass sums differences from the first row, the second pass differences from the mean of
    the first pass: large values that differ little lose no digits, and the deviation of a constant
    is exactly 0.
    """
    origin = next(row for row in rows.collect(WeightedRows.first_row) if row is not None)
    origin = origin if exponents is None else np.ldexp(origin, -exponents)
    total = sum(rows.collect(WeightedRows.total))
    mean = origin + sum_arrays(rows.collect(WeightedRows.sums, origin, exponents))[0] / total
    rest, squares = sum_arrays(rows.collect(WeightedRows.sums, mean, exponents)) / total
    return mean, np.sqrt(np.maximum(squares - rest**2, 0))


class ScaledFeatures:
    """The linear map from weights to scores: features minus mean, divided by standard deviation.

    Scores and gradients are sorted by query. The mean does not change differences of scores inside
    a query, but it limits rounding errors: the gradients of a query sum to 0 only in single
    precision, and a large mean would multiply the remainder. The mean is subtracted from products,
    so that sparse features stay sparse.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite, in the caller's row order.
    queries : Queries
    weights : ndarray of shape (n_queries,)
        Features of queries of weight 0 may be extreme; their scores are 0.
    scales : Scales
    """

    def __init__(self, X: Matrix, queries: Queries, weights: np.ndarray, scales: Scales) -> None:
        self.X, self.queries, self.scales = X, queries, scales
        if scales.exponents.any():
            self.X = times_powers(X, -scales.exponents)
        self._unweighted = np.flatnonzero(np.repeat(weights == 0, queries.sizes))

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row."""
        given = weights / self.scales.deviation
        scores = self.queries.gather(products(self.X, given))
        scores -= self.scales.center @ given
        scores[self._unweighted] = 0
        return scores

    def slopes(self, by_score: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights, from the gradient with respect to the scores."""
        by_score = self.queries.scatter(by_score.astype(np.float64))
        if is_sparse(self.X):
            total = self.X.T @ by_score
        else:
            total = np.zeros_like(self.scales.center)
            for rows in row_blocks(self.X):
                total += by_score[rows] @ self.X[rows].astype(np.float64, copy=False)
        return (total - by_score.sum() * self.scales.center) / self.scales.deviation


def without_duplicates(X: csr_matrix) -> csr_matrix:
    """X, or a copy in which entries of the same row and column are summed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _is_extreme(values: np.ndarray) -> np.ndarray:
    """True where squares or their sums may overflow or underflow; True for NaN."""
    return ~((values >= 1 / _EXTREME) & (values <= _EXTREME))


def times_powers(X: M, exponents: np.ndarray) -> M:
    """A copy of X with each column times a power of 2."""
    if is_sparse(X):
        return with_entries(X, np.ldexp(X.data, exponents[X.indices]))
    return np.ldexp(X, exponents)


def with_entries(X: csr_matrix, entries: np.ndarray) -> csr_matrix:
    """A matrix with the sparsity pattern of X and other entries."""
    return csr_matrix((entries, X.indices, X.indptr), X.shape)


def bytes_of(X: Matrix) -> int:
    """Bytes of the entries of X and of their indexes."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else X.nbytes
