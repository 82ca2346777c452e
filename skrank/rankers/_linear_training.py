"""Training of the weights of a linear ranker: ridge regression, then less and less smoothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from skrank._engine.plan import average
from skrank.metrics import Metric, Mixture
from skrank.objectives import LambdaRank, Objective, SoftRank, SquaredError
from skrank.objectives.base import ObjectiveMixture, metric_of, metric_or_objective
from skrank.rankers._linear_rows import LinearRows

SIGMAS = (1.0, 0.5)  # in units of the spread of scores; chosen on validation parts of LETOR
_RIDGE = 0.005  # penalty of the ridge regression per row, for features of variance 1
_LEAST_CURVATURE = 1e-6  # lower bound of alpha in curvatures, so that Newton steps are finite
_LENGTHS = 4 * 0.5 ** np.arange(10)  # of steps to try, in units of the Newton step
# Losses and gradients are rounded to multiples of _GRID times a power of 2 near the loss of zero
# scores. The last bits of sums depend on the order of the rows, and L-BFGS would amplify them.
_GRID = 2.0**-36
_SMALL_LOSS = 1e-3  # smaller losses are rescaled: tolerances of scipy are absolute below 1

Solution = tuple[float, np.ndarray, int]  # alpha, weights, number of iterations


@dataclass(frozen=True)
class Stages:
    """The objectives of a training, in turn.

    Attributes
    ----------
    smooth : Objective
        A differentiable function of the scores.
    sigmas : tuple of float
        Smoothing of `smooth` in each stage, in units of the spread of the start scores.
    final : Objective or None
        Objective of the last stage, such as LambdaRank. Its gradient is not that of a function, so
        that Newton steps take the place of L-BFGS.
    metric : Metric or None
        The metric that the last stage improves.
    """

    smooth: Objective
    sigmas: tuple[float, ...]
    final: Objective | None = None
    metric: Metric | None = None

    @classmethod
    def of(cls, objective: str | Metric | Objective, sigmas: tuple[float, ...] | None) -> Stages:
        """The stages of an objective.

        Default of `sigmas`: SIGMAS; for a function, the sigma of its first SoftRank, or 1.
        """
        objective = metric_or_objective(objective)
        if isinstance(objective, Objective) and objective.is_function:
            own = [one.sigma for _, one in objective.terms if isinstance(one, SoftRank)]
            return cls(objective, sigmas or tuple(own[:1]) or (1.0,))
        if isinstance(objective, Objective):
            metric = metric_of(objective)
            if metric is None:
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
        """The stages for labels of this highest grade."""
        return replace(
            self,
            smooth=self.smooth.on_scale(max_grade),
            final=self.final and self.final.on_scale(max_grade),
            metric=self.metric and self.metric.on_scale(max_grade),
        )


def _smooth(metric: Metric) -> Objective | None:
    """SoftRank on a metric, or on each part of a mixture; None if a part has no smooth form."""
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
    rows : LinearRows
    scale : ndarray of shape (n_features,)
        Standard deviations of the features.
    stages : Stages
    max_iter, tol, positive
        See LinearRanker.
    """

    rows: LinearRows
    scale: np.ndarray
    stages: Stages
    max_iter: int
    tol: float
    positive: bool

    def start(self, given: np.ndarray | None = None) -> np.ndarray:
        """Start weights, by default of ridge regression, scaled so that scores have spread 1."""
        _, rows = self.rows.masses()
        if given is None:
            squares = SquaredError("linear", centered=True)
            given = self._minimise(squares, rows, _RIDGE, np.zeros(len(self.scale))).x
        spread = np.sqrt(self.rows.centered_squares(given) / rows)
        return given / spread if spread > 0 else given

    def path(self, alphas: np.ndarray, weights: np.ndarray) -> Iterator[Solution]:
        """The solution for each alpha; each solution is the start for the next alpha."""
        mass, _ = self.rows.masses()
        if mass == 0:
            raise ValueError(
                "no training query has a relevant document (and a weight above 0). Labels must be "
                "grades, above 0 for relevant documents and 0 for others."
            )
        for alpha in alphas:
            n_iter = 0
            for sigma in self.stages.sigmas:
                found = self._minimise(_with_sigma(self.stages.smooth, sigma), mass, alpha, weights)
                weights, n_iter = found.x, n_iter + found.nit
                self._warn_if_last(found.nit, f"alpha={alpha:g}, sigma={sigma:g}")
            if self.stages.final is not None:
                weights, steps = self._newton_steps(alpha, mass, weights)
                n_iter += steps
                self._warn_if_last(steps, f"alpha={alpha:g}, Newton steps")
            yield alpha, weights, n_iter

    def _warn_if_last(self, n_iter: int, stage: str) -> None:
        """Warn if a stage has ended at `max_iter`."""
        if n_iter >= self.max_iter:
            warnings.warn(
                f"LinearRanker did not converge in max_iter={self.max_iter} iterations at {stage}: "
                "raise max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=7,  # where fit is called
            )

    def _minimise(
        self, objective: Objective, mass: float, alpha: float, weights: np.ndarray
    ) -> OptimizeResult:
        """Weights that minimise sum(losses) / mass + alpha * sum(weights**2)."""
        first = self.rows.loss(objective, np.zeros(len(weights)))[0] / mass
        # losses far below 1, such as squared errors of click rates, are divided by the first loss
        unit = first if 0 < first < _SMALL_LOSS else 1.0
        grid = np.ldexp(_GRID, np.frexp(first)[1])

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            means = self.rows.loss(objective, weights) / mass
            value, *slopes = np.round(means / grid) * grid
            gradient = np.array(slopes) + 2 * alpha * weights
            return (value + alpha * weights @ weights) / unit, gradient / unit

        return minimize(
            loss,
            np.maximum(weights, 0) if self.positive else weights,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(weights) if self.positive else None,
            options={"maxiter": self.max_iter, "ftol": self.tol, "gtol": 1e-9},
        )

    def _newton_steps(
        self, alpha: float, mass: float, weights: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Steps along Newton directions of the final objective, of the best length by metric."""
        (best,) = self._values_at(weights[None], alpha)
        for step in range(self.max_iter):
            tried = weights - np.outer(_LENGTHS, self._newton(weights, alpha, mass))
            tried = tried.clip(0) if self.positive else tried
            values = self._values_at(tried, alpha)
            if max(values) <= best + self.tol:
                return weights, step
            best, weights = max(values), tried[int(np.argmax(values))]
        return weights, self.max_iter

    def _values_at(self, tried: np.ndarray, alpha: float) -> list[float]:
        """Mean of the metric (negated if lower is better) minus penalty, for each of `tried`."""
        metric = self.stages.metric
        assert metric is not None
        values, mass = self.rows.values(metric, tried)
        sign = 1 if metric.greater_is_better else -1
        return [
            sign * average(metric, values[i], mass[i]) - alpha * weights @ weights
            for i, weights in enumerate(tried)
        ]

    def _newton(self, weights: np.ndarray, alpha: float, mass: float) -> np.ndarray:
        """Newton step d, with hessian @ d = gradient, by at most 20 conjugate gradients."""
        assert self.stages.final is not None
        point = self.stages.final, weights
        slopes = self.rows.slopes(*point) / mass + 2 * alpha * weights

        def curve(direction: np.ndarray) -> np.ndarray:
            direction = direction.ravel()
            least = 2 * max(alpha, _LEAST_CURVATURE)
            sums = self.rows.curvature(*point, direction)
            return sums / mass + least * direction

        size = len(slopes)
        found, _ = cg(LinearOperator((size, size), matvec=curve), slopes, maxiter=20)
        return found
