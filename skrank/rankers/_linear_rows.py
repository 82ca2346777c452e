"""Training rows of a linear ranker, of one machine or of the partitions of a Dask collection.

`TrainingRows` are columns as the user gave them. A feature map turns these into `LinearRows`, which
compute losses and gradients. `RowParts` adds up the results of several of either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from sklearn.preprocessing import StandardScaler

from skrank._engine.judgments import Judgments
from skrank._engine.plan import measure
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank._typing import Options
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.objectives._bound import BoundLoss, BoundObjective
from skrank.rankers._feature_numbers import missing_sums
from skrank.rankers._matrix import (
    Matrix,
    bytes_of,
    is_sparse,
    products,
    row_blocks,
    with_entries,
    without_duplicates,
)

T = TypeVar("T")

_ROUNDING = 8 * np.finfo(np.float64).eps  # a feature with deviation / mean below it is constant
# Single precision is enough for the gradient of a smooth mean over queries, and kernels are many
# times as fast in it. Sums over rows are taken in double precision.
_PRECISION = np.float32


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

    def sum(self, function: Callable[..., np.ndarray], *arguments: object) -> np.ndarray:
        """Sum of the results of `collect`."""
        return reduce(np.add, self.collect(function, *arguments))


class TrainingRows(NamedTuple):
    """Columns, labels and weights of the rows to train on.

    Vectors that follow from these are computed when they are used, since they need memory.

    Attributes
    ----------
    numbers : ndarray or csr_matrix of shape (n_rows, n_numbers)
        Columns of numbers.
    categories : DataFrame or ndarray of shape (n_rows, n_categories), or None
        Categorical columns.
    judgments : Judgments
    y : ndarray of shape (n_rows,)
        Labels in the caller's row order, as the columns.
    weights : ndarray of shape (n_queries,)
        Above 0, at most 1.
    query_numbers : ndarray of shape (n_queries,)
        Number of each query, by ascending query id of all partitions.
    rows_before : int
        Number of rows in previous partitions.
    """

    numbers: Matrix
    categories: Any
    judgments: Judgments
    y: np.ndarray
    weights: np.ndarray
    query_numbers: np.ndarray
    rows_before: int = 0

    @property
    def centered_grades(self) -> np.ndarray:
        """Grade of each row minus the mean grade of its query."""
        queries = self.judgments.queries
        return queries.scatter(queries.centered(queries.gather(self.y)))

    @property
    def query_of_row(self) -> np.ndarray:
        """Number of the query of each row."""
        queries = self.judgments.queries
        return queries.scatter(np.repeat(self.query_numbers, queries.sizes))

    def missing_sums(self) -> np.ndarray:
        """Sums that show whether NaN and grades correlate."""
        return missing_sums(self.numbers, self.centered_grades)

    def sample(self, step: int) -> Matrix:
        """Numbers of every `step`-th row, counted over all partitions."""
        return self.numbers[-self.rows_before % step :: step]

    def levels(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Categories, centred grades and query numbers of the rows."""
        return self.categories, self.centered_grades, self.query_of_row


class LinearRows:
    """Standardised features of training rows, with losses, gradients and metrics of their scores.

    Features are standardised without a copy of X: `center` is subtracted from products, so that
    sparse features stay sparse. The center does not change differences of scores inside a query,
    but it limits rounding errors: in single precision, the gradients of a query sum to 0 up to a
    relative error of 1e-7, which a large mean of a feature would multiply.

    The cached attributes follow from the arguments and are not pickled, so that Dask can move the
    rows to another worker.

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
        self.X = without_duplicates(X) if is_sparse(X) else X
        self.judgments, self.query_weights = judgments, query_weights
        self.center, self.deviation = center, deviation
        self._bound: tuple[Objective, BoundObjective, np.ndarray] | None = None
        self._derived: tuple[object, ...] | None = None

    def __getstate__(self) -> Options:
        return vars(self) | {"_bound": None, "_derived": None}

    def __sizeof__(self) -> int:
        return bytes_of(self.X) + 40 * self.judgments.queries.n_rows

    def moments(self) -> np.ndarray:
        """Weight of the rows, and weighted mean and variance of each feature, as three rows."""
        queries = self.judgments.queries
        weights = queries.scatter(np.repeat(self.query_weights, queries.sizes))
        scaler = StandardScaler(with_mean=not is_sparse(self.X))
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the variance
            for rows in row_blocks(self.X):
                block = self.X[rows].astype(np.float64, copy=False)
                scaler.partial_fit(block, sample_weight=weights[rows])
        total = np.full(self.X.shape[1], weights.sum())
        return np.array([total, scaler.mean_, scaler.var_], dtype=np.float64)

    def largest(self) -> np.ndarray:
        """Largest absolute value of each feature."""
        found = abs(self.X).max(axis=0)
        return found.toarray()[0] if is_sparse(self.X) else found

    def times_powers(self, exponents: np.ndarray) -> LinearRows:
        """These rows with the features times ``2**exponents``, which is exact."""
        if is_sparse(self.X):
            X = with_entries(self.X, np.ldexp(self.X.data, exponents[self.X.indices]))
        else:
            X = np.ldexp(self.X, exponents)
        return LinearRows(X, self.judgments, self.query_weights)

    def standardised(self, center: np.ndarray, deviation: np.ndarray) -> LinearRows:
        """These rows with features of mean 0 and standard deviation 1."""
        return LinearRows(self.X, self.judgments, self.query_weights, center, deviation)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row, sorted by query."""
        given = weights / self.deviation
        return self.judgments.queries.gather(products(self.X, given)) - self.center @ given

    def _by_weights(self, by_score: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights, from the gradient with respect to the scores."""
        by_score = self.judgments.queries.scatter(by_score.astype(np.float64))
        if is_sparse(self.X):
            total = self.X.T @ by_score
        else:
            total = np.zeros(self.X.shape[1])
            for rows in row_blocks(self.X):
                total += by_score[rows] @ self.X[rows].astype(np.float64, copy=False)
        return (total - by_score.sum() * self.center) / self.deviation

    def masses(self) -> np.ndarray:
        """Sums of the weights of queries with a relevant document, and of the weights of rows."""
        relevant = self.judgments.totals(self.judgments.labels > 0)
        sizes = self.judgments.queries.sizes
        return np.array([self.query_weights[relevant > 0].sum(), self.query_weights @ sizes])

    def centered_squares(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of the squares of scores that are centred by query."""
        queries = self.judgments.queries
        scores = queries.centered(self.scores(weights))
        return np.asarray(self.query_weights @ np.add.reduceat(scores**2, queries.indptr[:-1]))

    def loss(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """Sum of the losses of a differentiable objective (first entry), and its gradient."""
        bound, (grad, hess) = self._bind(objective)
        losses = cast(BoundLoss, bound).losses(self.scores(weights), grad, hess)
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


def standardised(rows: RowParts, least: np.ndarray | float) -> tuple[RowParts, np.ndarray]:
    """Standardise the features of LinearRows. Returns also the standard deviations.

    A deviation is inf for a constant feature, else at least `least`. Features whose squares
    overflow or underflow are first divided by powers of 2.
    """
    center, deviation = _moments(rows)
    exponents = np.zeros(len(center), dtype=np.int32)
    if _is_extreme(deviation).any():
        largest = np.max(rows.collect(LinearRows.largest), axis=0)
        unsafe = _is_extreme(largest) & (largest > 0)
        if unsafe.any():
            exponents = np.where(unsafe, np.frexp(largest)[1], 0)
            rows = rows.map(LinearRows.times_powers, -exponents)
            center, deviation = _moments(rows)
    constant = deviation <= _ROUNDING * np.abs(center)
    constant |= np.ldexp(deviation, exponents) < np.finfo(np.float64).tiny  # weights would overflow
    deviation = np.where(constant, np.inf, np.maximum(deviation, np.ldexp(least, -exponents)))
    return rows.map(LinearRows.standardised, center, deviation), np.ldexp(deviation, exponents)


def _is_extreme(values: np.ndarray) -> np.ndarray:
    """True where squares may overflow or underflow, and for NaN."""
    return ~((values > 1e-140) & (values < 1e140))


def _moments(rows: RowParts) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of the features; NaN or inf if squares overflow."""
    totals, means, variances = np.moveaxis(np.array(rows.collect(LinearRows.moments)), 1, 0)
    total = totals.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        center = (totals * means).sum(axis=0) / total
        variance = (totals * (variances + (means - center) ** 2)).sum(axis=0) / total
        return center, np.sqrt(variance)
