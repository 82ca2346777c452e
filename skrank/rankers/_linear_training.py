"""Training of the weights of a linear ranker: ridge regression, then less and less smoothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeGuard

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import measure
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank._progress import Bar
from skrank._warnings import warn
from skrank.metrics import Metric
from skrank.objectives import LambdaRank, Objective, SoftRank, SquaredError
from skrank.objectives._bound import BoundObjective
from skrank.objectives.base import ObjectiveMixture, metric_of, metric_or_objective

Matrix: TypeAlias = np.ndarray | csr_matrix

_BLOCK = 2**17  # entries of X that are converted or centred at a time
_ROUNDING = 8 * np.finfo(np.float64).eps  # deviation / mean of constants; 8 is a free choice
_LARGEST = 1e140  # of deviations: sums of squares of larger ones may overflow
# Single precision is enough for the gradient of a smooth mean over queries, and kernels are many
# times as fast in it. Sums over rows are taken in double precision.
_PRECISION = np.float32
# in units of the spread of scores; chosen on validation parts of LETOR
SIGMAS: tuple[float, ...] = (1.0, 0.5)
# penalty of the ridge regression per row, for features of variance 1; a tenth and ten times of it
# change nDCG@10 by less than .4 points on the collections of benchmarks/raw_features.py
_RIDGE = 0.005
_LEAST_CURVATURE = 1e-6  # lower bound of alpha in curvatures, so that Newton steps are finite
# of steps to try, in units of the Newton step: only short ones may raise a metric such as ERR@10
_LENGTHS = 4 * 0.5 ** np.arange(10)
_SMALL_LOSS = 1e-3  # smaller losses are rescaled: tolerances of scipy are absolute below 1

Solution = tuple[float, np.ndarray, int]  # alpha, weights, number of iterations


def stages(
    objective: str | Metric | Objective, sigmas: tuple[float, ...] | None
) -> list[Objective]:
    """The objectives of a training, in turn.

    First are differentiable functions of the scores, with the smoothing `sigmas`, in units of the
    spread of the start scores. The default is SIGMAS; for a function, the sigma of its first
    SoftRank, or 1. If `objective` has no smooth form, the last stage is an objective such as
    LambdaRank. Its gradient is not that of a function: Newton steps take the place of L-BFGS.
    """
    trained, default, final = metric_or_objective(objective), SIGMAS, []
    smooth: Objective | None = None
    if isinstance(trained, Metric):
        smooth, trained = _smooth(trained), LambdaRank(trained, norm=False)  # in the metric's unit
    elif trained.is_function:
        softened = [part.sigma for _, part in trained.terms if isinstance(part, SoftRank)]
        smooth, default = trained, tuple(softened[:1]) or (1.0,)
    if smooth is None:
        metric = metric_of(trained)
        if metric is None:
            raise ValueError(
                f"LinearRanker cannot train on {trained}: give a metric, or an objective that is a "
                "function or belongs to a metric: SoftRank, Softmax, SquaredError, LambdaRank, "
                "LambdaLoss."
            )
        smooth, final = _smooth_start(metric), [trained]
    return [_with_sigma(smooth, sigma) for sigma in sigmas or default] + final


def _smooth(metric: Metric) -> Objective | None:
    """SoftRank on a metric; None if it has no smooth form."""
    try:
        return SoftRank(metric)
    except ValueError:
        return None


def _smooth_start(metric: Metric) -> Objective:
    """The smooth form of a metric, else of the metric without its cut-off, else of GAP."""
    smooth = _smooth(metric)
    if smooth is None:
        with suppress(ValueError):  # a metric that needs its cut-off
            smooth = _smooth(replace(metric, k=None))
    return smooth or SoftRank("gap")


def _with_sigma(objective: Objective, sigma: float) -> Objective:
    """The objective with this sigma in each SoftRank."""
    if isinstance(objective, ObjectiveMixture):
        return objective.map(lambda part: _with_sigma(part, sigma))
    return replace(objective, sigma=sigma) if isinstance(objective, SoftRank) else objective


@dataclass(eq=False)
class Steps:
    """The steps of a training: each is counted, and measured with `measure`.

    Attributes
    ----------
    bar : Bar
    measure : callable, optional
        Value of weights on validation rows; higher is better.
    patience : int or None
        Number of steps without improvement after which training stops.
    values : list of float
        Value of each step.
    best : ndarray of shape (n_features,)
        Weights of the best step.
    stopped : bool
    """

    bar: Bar
    measure: Callable[[np.ndarray], float] | None = None
    patience: int | None = None
    values: list[float] = field(init=False, default_factory=list)
    best: np.ndarray = field(init=False)
    stopped: bool = field(init=False, default=False)

    def __call__(self, weights: np.ndarray) -> None:
        """Add a step; raises StopIteration, which L-BFGS of scipy obeys, if training stops."""
        self.bar.update(1)
        if self.measure is None:
            return
        self.values.append(self.measure(weights))
        best = int(np.argmax(self.values))
        if best == len(self.values) - 1:
            self.best = weights.copy()
        elif self.patience is not None and len(self.values) - 1 - best >= self.patience:
            self.stopped = True
            raise StopIteration


def _is_sparse(X: Matrix) -> TypeGuard[csr_matrix]:
    return issparse(X)


def _row_blocks(X: Matrix) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries; if sparse, plus n_features, the cost of a block."""
    n_rows, n_features = X.shape
    step = _BLOCK // max(1, n_features)
    if _is_sparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


def products(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision; blocks of rows limit the memory of the conversion."""
    if _is_sparse(X):
        return X @ weights
    return np.concatenate([X[rows] @ weights for rows in _row_blocks(X)])


@dataclass(eq=False)
class LinearTraining:
    """The training of weights on rows that are sorted by query.

    Features are standardised without a copy of X: `center` is subtracted from products, so that
    sparse features stay sparse. The center does not change differences of scores inside a query,
    but it limits rounding errors: in single precision, the gradients of a query sum to 0 up to a
    relative error of 1e-7, which a large mean of a feature would multiply.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Finite.
    judgments : Judgments
    query_weights : ndarray of shape (n_queries,)
        Above 0, at most 1.
    stages : list of Objective
        See `stages`.
    max_iter, tol, positive
        See LinearRanker.
    least : ndarray of shape (n_features,)
        Lower bound of `scale`.
    center, scale : ndarray of shape (n_features,)
        Means and standard deviations of the features; the latter are inf for constant features.
    mass : float
        Weight of the queries with a relevant document.
    """

    X: Matrix
    judgments: Judgments
    query_weights: np.ndarray
    stages: list[Objective]
    max_iter: int
    tol: float
    positive: bool
    least: np.ndarray
    center: np.ndarray = field(init=False)
    scale: np.ndarray = field(init=False)
    mass: float = field(init=False)
    _bound: tuple[Objective, BoundObjective, np.ndarray] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        sizes = self.judgments.queries.sizes
        weights = np.repeat(self.query_weights, sizes)
        scaler = StandardScaler(with_mean=not _is_sparse(self.X))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in _row_blocks(self.X):
                block = self.X[rows].astype(np.float64, copy=False)
                scaler.partial_fit(block, sample_weight=weights[rows])
        self.center, scale = scaler.mean_, np.sqrt(scaler.var_)
        if (feature := check.first(~(scale < _LARGEST))) >= 0:
            raise ValueError(
                f"feature {feature} has values beyond {_LARGEST:g}: give it in a larger unit."
            )
        constant = (scale <= _ROUNDING * np.abs(self.center)) | (scale < 1 / _LARGEST)
        self.scale = np.where(constant, np.inf, np.maximum(scale, self.least))
        relevant = self.judgments.totals(self.judgments.labels > 0) > 0
        self.mass = float(self.query_weights[relevant].sum())

    def start(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Start weights, by default of ridge regression, scaled so that scores have spread 1."""
        queries = self.judgments.queries
        rows = float(self.query_weights @ queries.sizes)
        if weights is None:
            ridge = SquaredError("linear", centered=True)
            weights, _ = self._minimise(ridge, rows, _RIDGE, np.zeros(len(self.scale)))
        scores = queries.centered(self.scores(weights))
        squares = self.query_weights @ np.add.reduceat(scores**2, queries.indptr[:-1])
        spread = np.sqrt(squares / rows)
        return weights / spread if spread > 0 else weights

    def path(self, alphas: np.ndarray, weights: np.ndarray, steps: Steps) -> Iterator[Solution]:
        """The solution for each alpha; each solution is the start for the next alpha."""
        if self.mass == 0:
            raise ValueError(
                "no training query has a relevant document (and a weight above 0). Labels must be "
                "grades, above 0 for relevant documents and 0 for others."
            )
        for alpha in alphas:
            n_iter = 0
            for stage in self.stages:
                if steps.stopped:
                    break
                if stage.is_function:
                    weights, number = self._minimise(stage, self.mass, alpha, weights, steps)
                else:
                    weights, number = self._newton_steps(stage, alpha, weights, steps)
                n_iter += number
                if number >= self.max_iter:
                    warn(
                        f"LinearRanker did not converge in max_iter={self.max_iter} iterations at "
                        f"alpha={alpha:g} on {stage}: raise max_iter, tol or alpha.",
                        ConvergenceWarning,
                    )
            yield alpha, weights, n_iter

    def _minimise(
        self,
        objective: Objective,
        mass: float,
        alpha: float,
        weights: np.ndarray,
        steps: Steps | None = None,
    ) -> tuple[np.ndarray, int]:
        """Weights that minimise sum(losses) / mass + alpha * sum(weights**2), and iterations."""
        first = self.loss(objective, np.zeros(len(weights)))[0] / mass
        # losses far below 1, such as squared errors of click rates, are divided by the first loss
        unit = first if 0 < first < _SMALL_LOSS else 1.0

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            total, slopes = self.loss(objective, weights)
            gradient = slopes / mass + 2 * alpha * weights
            return (total / mass + alpha * weights @ weights) / unit, gradient / unit

        bounds = None
        if self.positive:
            weights, bounds = np.maximum(weights, 0), [(0, None)] * len(weights)
        result = minimize(
            loss, weights, jac=True, method="L-BFGS-B", callback=steps, bounds=bounds,
            options={"maxiter": self.max_iter, "ftol": self.tol, "gtol": 1e-9},  # `tol` decides
        )  # fmt: skip
        return result.x, result.nit

    def _newton_steps(
        self, objective: Objective, alpha: float, weights: np.ndarray, steps: Steps
    ) -> tuple[np.ndarray, int]:
        """Weights after steps along Newton directions, and the number of steps.

        The length of a step is the best by the metric of the objective.
        """
        metric = metric_of(objective)
        assert metric is not None
        (best,) = self._values_at(weights[None], metric, alpha)
        for step in range(self.max_iter):
            tried = weights - np.outer(_LENGTHS, self._newton(objective, weights, alpha))
            tried = tried.clip(0) if self.positive else tried
            values = self._values_at(tried, metric, alpha)
            if max(values) <= best + self.tol:
                return weights, step
            best, weights = max(values), tried[int(np.argmax(values))]
            try:
                steps(weights)
            except StopIteration:
                return weights, step + 1
        return weights, self.max_iter

    @compiled()
    def _values_at(self, tried: np.ndarray, metric: Metric, alpha: float) -> np.ndarray:
        """Mean of the metric (negated if lower is better) minus penalty, for each of `tried`."""
        rankings = (Ranking(self.judgments, self.scores(weights)) for weights in tried)
        means = measure(self.judgments, rankings, [metric], self.query_weights).means()[:, 0]
        penalties = [alpha * weights @ weights for weights in tried]
        return (means if metric.greater_is_better else -means) - penalties

    def _newton(self, objective: Objective, weights: np.ndarray, alpha: float) -> np.ndarray:
        """Newton step d, with hessian @ d = gradient, by at most 20 conjugate gradients."""
        queries = self.judgments.queries
        bound, (grad, hess) = self._bind(objective)
        bound.gradient(self.scores(weights), grad, hess)
        slopes = self._by_weights(grad) / self.mass + 2 * alpha * weights

        def curve(direction: np.ndarray) -> np.ndarray:
            """The hessian times a direction: X^T diag(hess) X, with X centred by query."""
            direction = direction.ravel()
            least = 2 * max(alpha, _LEAST_CURVATURE)
            rows = queries.centered(hess * queries.centered(self.scores(direction)))
            return self._by_weights(rows) / self.mass + least * direction

        size = len(slopes)
        # with 100 iterations, ERR@10 as objective gives the same nDCG@10 on OHSUMED, +- .1 points
        step, _ = cg(LinearOperator((size, size), matvec=curve), slopes, maxiter=20)
        return step

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score of each row."""
        unscaled = weights / self.scale
        return products(self.X, unscaled) - self.center @ unscaled

    def loss(self, objective: Objective, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum of the losses of a differentiable objective, and its gradient."""
        bound, (grad, hess) = self._bind(objective)
        losses = bound.losses(self.scores(weights), grad, hess)
        return float(losses.sum()), self._by_weights(grad)

    def _by_weights(self, by_score: np.ndarray) -> np.ndarray:
        """Gradient with respect to the weights, from the gradient with respect to the scores."""
        by_score = by_score.astype(np.float64)
        if _is_sparse(self.X):
            total = self.X.T @ by_score
        else:
            total = np.zeros(self.X.shape[1])
            for rows in _row_blocks(self.X):
                total += by_score[rows] @ self.X[rows].astype(np.float64, copy=False)
        return (total - by_score.sum() * self.center) / self.scale

    def _bind(self, objective: Objective) -> tuple[BoundObjective, np.ndarray]:
        """The objective bound to the rows, and a buffer for first and second derivatives."""
        if self._bound is None or self._bound[0] != objective:
            self._bound = None  # frees memory first
            buffer = np.empty((2, self.judgments.queries.n_rows), _PRECISION)
            self._bound = objective, objective.bind(self.judgments, self.query_weights), buffer
        return self._bound[1:]
