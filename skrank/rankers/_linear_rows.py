"""Losses, gradients, curvatures and metrics on the training rows of a linear ranker."""

from __future__ import annotations

from typing import cast

import numpy as np

from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._typing import Options
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.objectives._bound import BoundLoss, BoundObjective
from skrank.rankers._feature_columns import EncoderFolds, TrainingColumns
from skrank.rankers._feature_map import FeatureMap
from skrank.rankers._linear_features import (
    RowParts,
    ScaledFeatures,
    Scales,
    WeightedRows,
    bytes_of,
    scales_of,
)

# Single precision is enough for the gradient of a smooth mean over queries, and kernels are many
# times as fast in it. Sums over rows are taken in double precision.
_PRECISION = np.float32


def linear_rows(columns: RowParts, feature_map: FeatureMap) -> tuple[RowParts, np.ndarray]:
    """Fit a map to `TrainingColumns`. Returns LinearRows, and the deviations of their features."""
    folds = feature_map.decide(columns)
    weighted = columns.map(_weighted, feature_map, folds)
    scales = scales_of(weighted, feature_map.least_deviations())
    return weighted.map(LinearRows, scales), scales.scale


def _weighted(
    columns: TrainingColumns, feature_map: FeatureMap, folds: EncoderFolds | None
) -> WeightedRows:
    numbers, categories, rows = columns
    queries = None if folds is None else rows.row_numbers
    X = feature_map.features_of(numbers, categories, folds, queries)
    return WeightedRows(X, rows.judgments, rows.weights)


class LinearRows:
    """Training rows: all rows on one machine, or the rows of one partition.

    The cached attributes follow from the arguments and are not pickled, so that Dask can move the
    rows to another worker.
    """

    def __init__(self, rows: WeightedRows, scales: Scales) -> None:
        self.judgments, self.weights = rows.judgments, rows.query_weights
        self.features = ScaledFeatures(rows.X, rows.judgments.queries, rows.query_weights, scales)
        self._bound: tuple[Objective, BoundObjective, np.ndarray] | None = None
        self._derived: tuple[object, ...] | None = None
        self._plan: tuple[Metric, Plan] | None = None

    def __getstate__(self) -> Options:
        return vars(self) | {"_bound": None, "_derived": None, "_plan": None}

    def __sizeof__(self) -> int:
        return bytes_of(self.features.X) + 40 * self.judgments.queries.n_rows

    def masses(self) -> np.ndarray:
        """Sums of the weights of queries with a relevant document, and of the weights of rows."""
        relevant = self.judgments.totals(self.judgments.labels > 0)
        sizes = self.judgments.queries.sizes
        return np.array([self.weights[relevant > 0].sum(), self.weights @ sizes])

    def spread(self, weights: np.ndarray) -> float:
        """Weighted sum of the squares of scores that are centred by query."""
        queries = self.judgments.queries
        scores = queries.centered(self.features.scores(weights))
        return float(self.weights @ np.add.reduceat(scores**2, queries.indptr[:-1]))

    def loss(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """Sum of the losses of a differentiable objective (first entry), and its gradient."""
        bound, (grad, hess) = self._bind(objective)
        losses = cast(BoundLoss, bound).losses(self.features.scores(weights), grad, hess)
        return np.append(losses.sum(), self.features.slopes(grad))

    def slopes(self, objective: Objective, number: int, weights: np.ndarray) -> np.ndarray:
        """Gradient of an objective with respect to the weights, in round `number`."""
        (grad, _) = self._derivatives(objective, number, weights)
        return self.features.slopes(grad)

    def curvature(
        self, objective: Objective, number: int, weights: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        """X^T diag(hess) X @ direction, with X centred by query, in round `number`."""
        _, hess = self._derivatives(objective, number, weights)
        queries = self.judgments.queries
        rows = hess * queries.centered(self.features.scores(direction))
        return self.features.slopes(queries.centered(rows))

    def values(self, metric: Metric, tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of a metric, and their weights in means, of shape (n_tried, n_queries)."""
        if self._plan is None or self._plan[0] != metric:
            self._plan = metric, metric.bind(self.judgments)
        plan, queries = self._plan[1], self.judgments.queries
        values, mass = np.empty((2, len(tried), len(queries)))
        for number, weights in enumerate(tried):
            ranking = Ranking(self.judgments, queries.scatter(self.features.scores(weights)))
            values[number], mass[number] = plan.values(ranking), plan.mass(ranking)
        return values, mass * self.weights

    def _derivatives(self, objective: Objective, number: int, weights: np.ndarray) -> np.ndarray:
        """First and second derivatives with respect to the scores, in round `number`; cached."""
        key = objective, number, weights.tobytes()
        bound, derivatives = self._bind(objective)
        if self._derived != key:
            bound.round = number
            bound.gradient(self.features.scores(weights), *derivatives)
            self._derived = key
        return derivatives

    def _bind(self, objective: Objective) -> tuple[BoundObjective, np.ndarray]:
        """The objective bound to these rows, and a buffer for first and second derivatives."""
        if self._bound is None or self._bound[0] != objective:
            self._bound = self._derived = None  # frees memory first
            buffer = np.empty((2, self.judgments.queries.n_rows), _PRECISION)
            self._bound = objective, objective.bind(self.judgments, self.weights), buffer
        return self._bound[1:]
