"""LinearRows: standardised features of training rows, with losses and gradients of their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.preprocessing import StandardScaler

from skrank._engine.judgments import Judgments
from skrank._engine.plan import measure
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.objectives._bound import BoundObjective

Matrix: TypeAlias = np.ndarray | csr_matrix

_BLOCK = 2**17  # entries of X that are converted or centred at a time
_ROUNDING = 8 * np.finfo(np.float64).eps  # a feature with deviation / mean below it is constant
# Single precision is enough for the gradient of a smooth mean over queries, and kernels are many
# times as fast in it. Sums over rows are taken in double precision.
_PRECISION = np.float32


def _is_sparse(X: Matrix) -> TypeGuard[csr_matrix]:
    return issparse(X)


def _row_blocks(X: Matrix) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries; of a sparse matrix, with at least 1 per column."""
    n_rows, n_features = X.shape
    step = _BLOCK // max(1, n_features)
    if _is_sparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


def products(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision, with equal results for equal rows.

    BLAS computes rows in groups: the last bit of a product depends on neighbouring rows, and equal
    documents would not tie.
    """
    if _is_sparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in _row_blocks(X):
        block = np.ascontiguousarray(X[rows], dtype=np.float64)
        np.einsum("ij,j->i", block, weights, out=out[rows])
    return out


class LinearRows:
    """Standardised features of training rows, with losses, gradients and metrics of their scores.

    Features are standardised without a copy of X: `center` is subtracted from products, so that
    sparse features stay sparse. The center does not change differences of scores inside a query,
    but it limits rounding errors: in single precision, the gradients of a query sum to 0 up to a
    relative error of 1e-7, which a large mean of a feature would multiply.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite, in the caller's row order.
    judgments : Judgments
    query_weights : ndarray of shape (n_queries,)
        Above 0, at most 1.
    center, deviation : ndarray of shape (n_features,)
        Means and standard deviations of the features; the deviation of a constant feature is inf.
    """

    def __init__(
        self,
        X: Matrix,
        judgments: Judgments,
        query_weights: np.ndarray,
        center: np.ndarray | float = 0.0,
        deviation: np.ndarray | float = 1.0,
    ) -> None:
        if _is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.judgments, self.query_weights = judgments, query_weights
        self.center, self.deviation = center, deviation
        self._bound: tuple[Objective, BoundObjective, np.ndarray] | None = None
        self._derived: tuple[object, ...] | None = None

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Weighted means and deviations of the features; NaN or inf if squares overflow."""
        queries = self.judgments.queries
        weights = queries.scatter(np.repeat(self.query_weights, queries.sizes))
        scaler = StandardScaler(with_mean=not _is_sparse(self.X))
        total = weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in _row_blocks(self.X):
                block = self.X[rows].astype(np.float64, copy=False)
                scaler.partial_fit(block, sample_weight=weights[rows])
            # sums divided by the total, as the gradients: a mean alone may differ in its last bit
            center = np.asarray(total * scaler.mean_) / total
            squares = total * (scaler.var_ + (scaler.mean_ - center) ** 2)
            return center, np.sqrt(squares / total)

    def standardised(self, least: np.ndarray | float) -> tuple[LinearRows, np.ndarray]:
        """These rows with features of mean 0 and deviation 1. Returns also the deviations.

        A deviation is inf for a constant feature, else at least `least`. Features whose squares
        overflow or underflow are first divided by powers of 2.
        """
        X, (center, deviation) = self.X, self.moments()
        exponents = np.zeros(len(center), dtype=np.int32)
        if _is_extreme(deviation).any():
            largest = abs(X).max(axis=0)
            largest = largest.toarray()[0] if _is_sparse(X) else largest
            unsafe = _is_extreme(largest) & (largest > 0)
            if unsafe.any():
                exponents = np.where(unsafe, np.frexp(largest)[1], 0)
                if _is_sparse(X):
                    entries = np.ldexp(X.data, -exponents[X.indices])
                    X = csr_matrix((entries, X.indices, X.indptr), X.shape)
                else:
                    X = np.ldexp(X, -exponents)
                rows = LinearRows(X, self.judgments, self.query_weights)
                center, deviation = rows.moments()
        constant = deviation <= _ROUNDING * np.abs(center)
        tiny = np.finfo(np.float64).tiny  # weights of smaller deviations would overflow
        constant |= np.ldexp(deviation, exponents) < tiny
        deviation = np.where(constant, np.inf, np.maximum(deviation, np.ldexp(least, -exponents)))
        rows = LinearRows(X, self.judgments, self.query_weights, center, deviation)
        return rows, np.ldexp(deviation, exponents)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row, sorted by query."""
        given = weights / self.deviation
        return self.judgments.queries.gather(products(self.X, given)) - self.center @ given

    def _by_weights(self, by_score: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights, from the gradient with respect to the scores."""
        by_score = self.judgments.queries.scatter(by_score.astype(np.float64))
        if _is_sparse(self.X):
            total = self.X.T @ by_score
        else:
            total = np.zeros(self.X.shape[1])
            for rows in _row_blocks(self.X):
                total += by_score[rows] @ self.X[rows].astype(np.float64, copy=False)
        return (total - by_score.sum() * self.center) / self.deviation

    def masses(self) -> tuple[float, float]:
        """Sums of the weights of queries with a relevant document, and of the weights of rows."""
        relevant = self.judgments.totals(self.judgments.labels > 0)
        sizes = self.judgments.queries.sizes
        return float(self.query_weights[relevant > 0].sum()), float(self.query_weights @ sizes)

    def centered_squares(self, weights: np.ndarray) -> float:
        """Weighted sum of the squares of scores that are centred by query."""
        queries = self.judgments.queries
        scores = queries.centered(self.scores(weights))
        return float(self.query_weights @ np.add.reduceat(scores**2, queries.indptr[:-1]))

    def loss(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """Sum of the losses of a differentiable objective (first entry), and its gradient."""
        bound, (grad, hess) = self._bind(objective)
        losses = bound.losses(self.scores(weights), grad, hess)
        return np.append(losses.sum(), self._by_weights(grad))

    def slopes(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """Gradient of an objective with respect to the weights."""
        grad, _ = self._derivatives(objective, weights)
        return self._by_weights(grad)

    def curvature(
        self, objective: Objective, weights: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """X^T diag(hess) X @ direction, with X centred by query."""
        _, hess = self._derivatives(objective, weights)
        queries = self.judgments.queries
        rows = hess * queries.centered(self.scores(direction))
        return self._by_weights(queries.centered(rows))

    @compiled()
    def values(self, metric: Metric, tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of a metric, and their weights in means, of shape (n_tried, n_queries)."""
        each = (self.judgments.queries.scatter(self.scores(weights)) for weights in tried)
        rankings = (Ranking(self.judgments, scores) for scores in each)
        found = measure(self.judgments, rankings, [metric], self.query_weights)
        return found.values[:, 0], found.weights[:, 0]

    def _derivatives(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """First and second derivatives with respect to the scores; cached."""
        key = objective, weights.tobytes()
        bound, derivatives = self._bind(objective)
        if self._derived != key:
            bound.gradient(self.scores(weights), *derivatives)
            self._derived = key
        return derivatives

    def _bind(self, objective: Objective) -> tuple[BoundObjective, np.ndarray]:
        """The objective bound to these rows, and a buffer for first and second derivatives."""
        if self._bound is None or self._bound[0] != objective:
            self._bound = self._derived = None  # frees memory first
            buffer = np.empty((2, self.judgments.queries.n_rows), _PRECISION)
            self._bound = objective, objective.bind(self.judgments, self.query_weights), buffer
        return self._bound[1:]


def _is_extreme(values: np.ndarray) -> np.ndarray:
    """True where squares may overflow or underflow, and for NaN."""
    return ~((values > 1e-140) & (values < 1e140))
