"""Training of the weights of a linear ranker: ridge, then ever sharper forms of the metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from skrank._engine.judgments import Judgments
from skrank._engine.ranking import Ranking
from skrank.metrics import Metric, Mixture
from skrank.objectives import LambdaRank, Objective, SoftRank, SquaredError
from skrank.objectives._as_objective import metric_of, metric_or_objective
from skrank.objectives.base import BoundLoss
from skrank.objectives.mixture import ObjectiveMixture
from skrank.rankers._linear_features import ScaledFeatures

SIGMAS = (1.0, 0.5)  # times the spread of the scores; chosen on validation parts of LETOR
_RIDGE = 0.005  # penalty of the start per row, for features of variance 1
_LEAST_CURVATURE = 1e-6  # where all hessians and the penalty are 0
_LENGTHS = 4 * 0.5 ** np.arange(10)  # of steps, in units of Newton's step
_SMALL_LOSS = 1e-3  # of scores of 0; for losses below 1, tolerances of scipy are absolute

# Single precision is enough for the gradient of a smooth mean over queries, and kernels are many
# times as fast in it. Sums over rows are taken in double precision.
_PRECISION = np.float32

Solution = tuple[float, np.ndarray, int]  # alpha, the weights for it, number of iterations


@dataclass(frozen=True)
class Stages:
    """The objectives of a training, one after the other.

    Attributes
    ----------
    smooth : Objective
        A differentiable function of the scores.
    sigmas : tuple of float
        Smoothing of `smooth` in each stage, in units of the spread of the scores at the start.
    final : Objective or None
        LambdaRank or the like: gradients that belong to no function. Trained last.
    metric : Metric or None
        The metric that `final` increases.
    """

    smooth: Objective
    sigmas: tuple[float, ...]
    final: Objective | None = None
    metric: Metric | None = None

    @classmethod
    def of(cls, objective: str | Metric | Objective, sigmas: tuple[float, ...] | None) -> Stages:
        """The stages of an objective; without `sigmas`, its own or the default."""
        objective = metric_or_objective(objective)
        if isinstance(objective, Objective) and objective.is_function:
            own = [one.sigma for _, one in objective.terms if isinstance(one, SoftRank)]
            return cls(objective, sigmas or tuple(own[:1]) or (1.0,))
        if isinstance(objective, Objective):
            metric = metric_of(objective)
            if metric is None or objective.takes_positions:
                raise ValueError(
                    f"LinearRanker cannot train on {objective}: give a metric, or an objective "
                    "that is a function or belongs to a metric: SoftRank, Softmax, SquaredError, "
                    "LambdaRank, LambdaLoss."
                )
            return cls(_smooth_start(metric), sigmas or SIGMAS, objective, metric)
        smooth = _smooth(objective)
        if smooth is not None:
            return cls(smooth, sigmas or SIGMAS)
        final = LambdaRank(objective, norm=False)
        return cls(_smooth_start(objective), sigmas or SIGMAS, final, objective)

    def on_scale(self, max_grade: int) -> Stages:
        """The stages on a scale of grades."""
        return replace(
            self,
            smooth=self.smooth.on_scale(max_grade),
            final=self.final and self.final.on_scale(max_grade),
            metric=self.metric and self.metric.on_scale(max_grade),
        )


def _smooth(metric: Metric) -> Objective | None:
    """SoftRank on a metric, or on each part of a mixture; None if one has no smooth form."""
    try:
        parts = tuple((weight, SoftRank(part)) for weight, part in metric.terms)
    except ValueError:
        return None
    return parts[0][1] if len(parts) == 1 else ObjectiveMixture(parts)


def _smooth_start(metric: Metric) -> Objective:
    """The smooth form of a metric, else of the metric without its cut-off, else of GAP."""
    smooth = _smooth(metric)
    if smooth is None:
        try:
            parts = tuple((weight, replace(part, k=None)) for weight, part in metric.terms)
            smooth = _smooth(parts[0][1] if len(parts) == 1 else Mixture(parts=parts))
        except ValueError:  # a metric that needs its cut-off
            pass
    return smooth or SoftRank("gap")  # type: ignore[arg-type]  # SoftRank reads names


def _with_sigma(objective: Objective, sigma: float) -> Objective:
    """The objective with this sigma in each SoftRank."""
    if isinstance(objective, ObjectiveMixture):
        return objective.map(lambda part: _with_sigma(part, sigma))
    return replace(objective, sigma=sigma) if isinstance(objective, SoftRank) else objective


@dataclass(frozen=True, eq=False)
class LinearTraining:
    """The training of weights on some rows.

    Attributes
    ----------
    features : ScaledFeatures
    judgments : Judgments
    weights : ndarray of shape (n_queries,)
        0 for a query that is not trained on.
    stages : Stages
    max_iter, tol, positive
        See LinearRanker.
    """

    features: ScaledFeatures
    judgments: Judgments
    weights: np.ndarray
    stages: Stages
    max_iter: int
    tol: float
    positive: bool

    def start(self, given: np.ndarray | None = None) -> np.ndarray:
        """Weights to start from, by default of ridge, scaled so that scores have a spread of 1."""
        if given is None:
            squares = SquaredError("linear", centered=True)
            mass = self.weights @ self.judgments.queries.sizes
            zeros = np.zeros(len(self.features.scale))
            given = self._minimise(squares, mass, _RIDGE, zeros).x
        spread = self._spread(self.features.scores(given))
        return given / spread if spread > 0 else given

    def path(self, alphas: np.ndarray, weights: np.ndarray) -> Iterator[Solution]:
        """The solution for each alpha, which is the start for the next alpha."""
        relevant = self.judgments.totals(self.judgments.labels > 0)
        mass = self.weights[relevant > 0].sum()
        if mass == 0:
            raise ValueError(
                "no training query has a relevant document (and a weight above 0): there is "
                "nothing to learn. Are the labels grades, with 0 for documents not relevant?"
            )
        for alpha in alphas:
            n_iter = 0
            for sigma in self.stages.sigmas:
                found = self._minimise(_with_sigma(self.stages.smooth, sigma), mass, alpha, weights)
                weights, n_iter = found.x, n_iter + found.nit
                if found.nit >= self.max_iter:
                    warnings.warn(
                        f"LinearRanker did not converge in max_iter={self.max_iter} iterations at "
                        f"alpha={alpha:g}, sigma={sigma:g}: raise max_iter, tol or alpha.",
                        ConvergenceWarning,
                        stacklevel=3,
                    )
            if self.stages.final is not None:
                weights, steps = self._climb(alpha, mass, weights)
                n_iter += steps
            yield alpha, weights, n_iter

    def _spread(self, scores: np.ndarray) -> float:
        """Standard deviation inside queries."""
        queries = self.judgments.queries
        squares = np.add.reduceat(queries.centered(scores) ** 2, queries.indptr[:-1])
        return float(np.sqrt(self.weights @ squares / (self.weights @ queries.sizes)))

    def _minimise(
        self, objective: Objective, mass: float, alpha: float, weights: np.ndarray
    ) -> OptimizeResult:
        """Weights that minimise sum(losses) / mass + alpha * sum(weights**2)."""
        bound = cast(BoundLoss, objective.bind(self.judgments, self.weights))
        n_rows = self.judgments.queries.n_rows
        grad, hess = np.empty((2, n_rows), _PRECISION)
        # losses far below 1, such as squared errors of click rates, are minimised in their own unit
        unit = bound.losses(np.zeros(n_rows), grad, hess).sum() / mass
        unit = unit if 0 < unit < _SMALL_LOSS else 1.0

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            found = bound.losses(self.features.scores(weights), grad, hess)
            slopes = self.features.slopes(grad) / mass + 2 * alpha * weights
            return (found.sum() / mass + alpha * weights @ weights) / unit, slopes / unit

        return minimize(
            loss,
            np.maximum(weights, 0) if self.positive else weights,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(weights) if self.positive else None,
            options={"maxiter": self.max_iter, "ftol": self.tol, "gtol": 1e-9},
        )

    def _climb(self, alpha: float, mass: float, weights: np.ndarray) -> tuple[np.ndarray, int]:
        """Newton steps of the final objective, of the lengths that are best for the metric."""
        assert self.stages.final is not None
        assert self.stages.metric is not None
        bound = self.stages.final.bind(self.judgments, self.weights)
        plan = self.stages.metric.bind(self.judgments)
        sign = 1 if self.stages.metric.greater_is_better else -1
        queries = self.judgments.queries
        grad, hess = np.empty((2, queries.n_rows), _PRECISION)

        def value_at(weights: np.ndarray) -> float:
            ranking = Ranking(self.judgments, queries.scatter(self.features.scores(weights)))
            mean = plan.mean(ranking, plan.values(ranking), self.weights)
            return sign * mean - alpha * weights @ weights

        best = value_at(weights)
        for step in range(self.max_iter):
            bound.gradient(self.features.scores(weights), grad, hess)
            slopes = self.features.slopes(grad) / mass + 2 * alpha * weights
            tried = weights - np.outer(_LENGTHS, self._newton(slopes, hess, alpha, mass))
            tried = tried.clip(0) if self.positive else tried
            values = [value_at(one) for one in tried]
            if max(values) <= best + self.tol:
                return weights, step
            best, weights = max(values), tried[int(np.argmax(values))]
        return weights, self.max_iter

    def _newton(
        self, slopes: np.ndarray, hess: np.ndarray, alpha: float, mass: float
    ) -> np.ndarray:
        """Newton's step: the solution of curvature @ step = slopes, by conjugate gradients."""
        queries = self.judgments.queries

        def curve(weights: np.ndarray) -> np.ndarray:
            rows = hess * queries.centered(self.features.scores(weights.ravel()))
            least = 2 * max(alpha, _LEAST_CURVATURE)
            return self.features.slopes(queries.centered(rows)) / mass + least * weights.ravel()

        size = len(slopes)
        found, _ = cg(LinearOperator((size, size), matvec=curve), slopes, maxiter=20)
        return found
