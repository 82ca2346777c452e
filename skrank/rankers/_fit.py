"""Fit: data, settings and result of a training. EstimatorKind: how a kind of estimator trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from skrank._engine.judgments import Judgments
from skrank._engine.names import unique_metrics
from skrank._engine.plan import average, measure
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank._fitted import cloned, is_instance, predicted_scores
from skrank._typing import Estimator, Options, Table
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.objectives.base import metric_of
from skrank.rankers._rows import Part

VALIDATION = "validation"  # name of the validation part in logs
_DEFAULT_METRIC = "ndcg@10"  # for early stopping of rankers with their own objective
_DEFAULT_PATIENCE = 50  # rounds

Log = dict[str, list[float]]  # values per round, by the name of the metric
Link = Callable[[np.ndarray], np.ndarray]
Links = Mapping[str, Link]  # by the name of the objective


class EstimatorKind(ABC):
    """How estimators of one kind are trained, and what they support.

    Attributes
    ----------
    rounds_parameter : str or None
        Parameter of the estimator for the number of rounds; None if it does not train in rounds.
    patience_parameters : tuple of str
        Parameters of the estimator for its own early stopping, on rows instead of queries.
    trains_on_queries : bool
        True for rankers.
    trains_objectives : bool
        True if the estimator can train on an `Objective`.
    follows_metrics : bool
        True if early stopping can follow a `Metric`.
    starts_from_scores : bool
        True if rounds can add to the scores of another model.
    start_argument : str or None
        Argument of `fit` of the estimator for start scores, such as "init_score".
    model_argument : str or None
        Argument of `fit` of the estimator for a fitted model whose training continues.
    links : dict of str to callable
        Inverse links of the objectives of regressors; `np.positive` for the identity.
    row_arguments : tuple of str or None
        Arguments of `fit` with an entry per row. None: all arguments with as many entries as there
        are rows, which is the convention of scikit-learn.
    """

    rounds_parameter: str | None = None
    model_argument: str | None = None
    row_arguments: tuple[str, ...] | None = None
    links: ClassVar[Links] = {}
    patience_parameters: tuple[str, ...] = ()
    trains_on_queries: bool = False
    trains_objectives: bool = False
    follows_metrics: bool = False
    starts_from_scores: bool = False
    start_argument: str | None = None

    @abstractmethod
    def train(self, fit: Fit) -> None:
        """Train `fit.estimator`; set `fit.best_iteration` and, with validation, `fit.log`."""

    def select(self, params: Options, rows: np.ndarray, n_rows: int) -> Options:
        """Arguments of `fit` for some rows, from those for `n_rows` rows."""
        return {
            name: _safe_indexing(value, rows) if self._is_per_row(name, value, n_rows) else value
            for name, value in params.items()
        }

    def _is_per_row(self, name: str, value: Any, n_rows: int) -> bool:
        if self.row_arguments is None:
            sized = isinstance(value, Sized) and not isinstance(value, (str, dict))
            return sized and len(value) == n_rows
        if name not in self.row_arguments or value is None:
            return False
        if not isinstance(value, Sized) or len(value) != n_rows:
            raise ValueError(f"{name}= of fit must have one entry for each of the {n_rows} rows.")
        return True

    def set_rounds(self, fit: Fit, n_rounds: int) -> None:
        """Make `train` add `n_rounds` rounds without validation rows, after a search for them.

        Callbacks of the caller ran in the search. Here only those run that change the training,
        such as schedules of learning rates.
        """
        if self.rounds_parameter is not None:
            # boosters train at least 1 round; predictions with a start ignore it if `n_rounds` is 0
            fit.estimator.set_params(**{self.rounds_parameter: max(n_rounds, 1)})
        if "early_stopping_rounds" in fit.estimator.get_params(deep=False):
            fit.estimator.set_params(early_stopping_rounds=None)

    def model_to_continue(self, model: Any) -> tuple[Any, int]:
        """The value of `model_argument` for a model of the caller, and its number of rounds."""
        raise NotImplementedError(f"{type(self).__name__}.model_argument is None")

    def categorical_features(
        self, estimator: Estimator, arguments: Options
    ) -> Sequence[str | int | bool] | None:
        """Categorical columns that parameters of the estimator, or arguments of its fit, name."""
        return None

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        """Sum of the rounds of a fitted estimator, before the inverse link of its objective."""
        raise NotImplementedError(f"{type(self).__name__}.starts_from_scores is False")

    def inverse_link(self, estimator: Estimator, margins: np.ndarray) -> np.ndarray:
        """Predictions from margins, such as exp(margins) for a Poisson objective."""
        return margins

    def link(self, estimator: Estimator, objective: str) -> Link:
        """The inverse link of an objective; raises if it is unknown."""
        if objective not in self.links:
            raise ValueError(
                f"init cannot start {type(estimator).__name__}: skrank does not know the inverse "
                f"link of {objective}, which turns margins into predictions. Leave init unset, or "
                "choose another objective."
            )
        return self.links[objective]


class Booster(EstimatorKind):
    """Estimators of LightGBM, XGBoost or CatBoost: a subclass per library.

    Attributes
    ----------
    classes : tuple of str
        Module, base class of all its estimators, and class of its rankers.
    takes_callables : bool
        True if the objective may be a function that gets the queries.
    """

    classes: tuple[str, str, str]
    takes_callables: bool = True

    def __init__(self, estimator: Estimator) -> None:
        library, _, ranker = self.classes
        self.trains_on_queries = is_instance(estimator, library, ranker)
        self.trains_objectives = self.trains_on_queries and self.takes_callables
        classifies = hasattr(estimator, "predict_proba") and not self.trains_on_queries
        self.follows_metrics = self.starts_from_scores = not classifies
        self.row_arguments = () if self.start_argument is None else (self.start_argument,)


@dataclass(frozen=True, eq=False)
class Start:
    """The scores that boosting starts from: the scores of a fitted `init` times a factor.

    A factor of 0 stands for no start: without `init`, or if its scores are constant inside queries.
    """

    init: Estimator | None = None
    factor: float = 0.0

    @classmethod
    def scaled(cls, init: Estimator, scale: float, spread: float) -> Start:
        """The scores of a fitted `init`, divided by their standard deviation and times `scale`."""
        return cls(init, scale / spread if spread > 0 else 0.0)

    def scores(self, X: Table) -> np.ndarray:
        """Scores of rows."""
        return self.factor * np.asarray(predicted_scores(self.init, X), dtype=np.float64)

    def finite_scores(self, X: Table) -> np.ndarray:
        """Scores to train on; boosters would accept inf and NaN without an error."""
        scores = self.scores(X)
        bad = scores[~np.isfinite(scores)]
        if len(bad):
            raise ValueError(
                f"init={type(self.init).__name__} scores {len(bad)} rows as {bad[0]}, and boosting "
                "needs finite scores: give another init, or impute missing values of X."
            )
        return scores

    def predictions(
        self, kind: EstimatorKind, estimator: Estimator, X: Table, n_rounds: int | None
    ) -> np.ndarray:
        """Predictions: the inverse link of the sum of these scores and the margins of the rounds.

        The scores are part of the margin, as are `base_margin` of XGBoost, `init_score` of LightGBM
        and `baseline` of CatBoost. With `n_rounds` = 0 and a start, no round is added.
        """
        if not self.factor:
            return predicted_scores(estimator, X)
        margins = self.scores(X)
        if n_rounds != 0:
            margins = margins + kind.margins(estimator, X)
        with np.errstate(over="ignore"):  # inf, as the estimator itself predicts
            return kind.inverse_link(estimator, margins)


@dataclass(eq=False)
class Fit:
    """One training of an estimator: its data and settings, and then its result.

    Attributes
    ----------
    kind : EstimatorKind
        Of the estimator.
    estimator : estimator
        A clone. The kind sets its parameters and trains it, or replaces it by a fitted one.
    train, valid : Part
        Rows to train on, and rows to validate on or None.
    objective : Objective or None
        None: the estimator's own.
    metrics : dict of str to Metric
        By the name that the user gave. Early stopping follows the first. Empty: the estimator's own
        metric.
    patience : int or None
        Rounds without improvement after which training stops; None: all rounds are trained.
    start : Start
        Scores to which the rounds of the estimator add.
    arguments : dict
        Further arguments for `fit` of the estimator; `kind.train` adds arguments.
    n_old : int
        Number of rounds of the model whose training continues, 0 without one.
    log : dict of str to list of float
        Result: values per round on the validation rows.
    best_iteration : int or None
        Result: number of rounds that predictions use; None for an estimator without rounds.
    """

    kind: EstimatorKind
    estimator: Estimator
    train: Part
    valid: Part | None = None
    objective: Objective | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    patience: int | None = None
    start: Start = field(default_factory=Start)
    arguments: Options = field(default_factory=dict)
    n_old: int = 0
    log: Log = field(init=False, default_factory=dict)
    best_iteration: int | None = field(init=False, default=None)

    def continue_from(self, model: Any) -> None:
        """Continue the training of a fitted model; a GroupedRanker with a start becomes the start.

        Boosters do not add the scores of a start and of an old model.
        """
        name = self.kind.model_argument
        assert name is not None
        if hasattr(model, "init_factor_"):  # a fitted GroupedRanker
            if model.init_factor_ and not self.kind.trains_on_queries:
                raise ValueError(
                    f"{name}= of fit is a regressor that started from scores of init, which cannot "
                    "be continued: train it anew, or with init=None."
                )
            if model.init_factor_:
                self.start = Start(model, 1.0)
                return
            model = model.estimator_
        try:
            self.arguments[name], self.n_old = self.kind.model_to_continue(model)
        except (TypeError, AttributeError):
            raise ValueError(
                f"{name}= of fit is {type(model).__name__}: give a fitted GroupedRanker or model "
                f"of the library of {type(self.estimator).__name__}, or the path of a model. The "
                "scores of any other fitted ranker are a start: set init=FrozenEstimator(ranker), "
                "of sklearn.frozen, and init_scale=None."
            ) from None

    def run(self, n_rounds: int | None = None) -> None:
        """Train the estimator; with `n_rounds`, this number of rounds, without early stopping."""
        start, valid = self.start, self.valid
        if self.kind.start_argument in self.arguments:
            self._take_start(self.kind.start_argument)
        if start.factor:
            self.train = replace(self.train, start=start.finite_scores(self.train.X))
            if valid is not None:
                self.valid = replace(valid, start=start.finite_scores(valid.X))
        if n_rounds is not None:
            self.kind.set_rounds(self, n_rounds - self.n_old)
        self.kind.train(self)
        if start.factor:
            self.kind.inverse_link(self.estimator, np.zeros(1))  # raises if it is unknown
            if n_rounds == 0:
                self.best_iteration = 0
            if self.valid is not None and self.metrics:
                scores = start.predictions(self.kind, self.estimator, self.valid.X, 0)
                self.log_start(Validator(self.valid, self.metrics).means(scores))

    def _take_start(self, name: str) -> None:
        """Move the start scores that were passed to `fit` as `name` to `train` and `valid`."""
        scores = self.arguments.pop(name)
        if scores is None:
            return
        if self.start.factor:
            raise ValueError(
                f"{name}= of fit and init of GroupedRanker are both given: give one of them."
            )
        if self.n_old:
            raise ValueError(
                f"{name}= and {self.kind.model_argument}= of fit are both given: leave {name} out, "
                "since training continues from the scores of the old model."
            )
        if self.valid is not None:
            if name not in self.valid.params:
                raise ValueError(
                    f"{name}= has scores of the training rows, but not of X_val: hold out a "
                    "validation_fraction of the training rows instead."
                )
            self.valid = replace(self.valid, start=np.asarray(self.valid.params[name]))
        self.train = replace(self.train, start=np.asarray(scores))

    def log_start(self, means: Mapping[str, float]) -> None:
        """Insert the values of the start before those of the rounds.

        If no round is better, `best_iteration` becomes 0: predictions are the start.
        """
        self.log = {name: [means[name], *values] for name, values in self.log.items()}
        name, metric = next(iter(self.metrics.items()))
        best = max(self.log[name]) if metric.greater_is_better else min(self.log[name])
        if self.log[name][0] == best:
            self.best_iteration = 0


def trained_start(kind: EstimatorKind, init: Estimator, scale: float | None, train: Part) -> Start:
    """Train a clone of `init`, an estimator of this kind.

    Its scores are scaled to the standard deviation `scale`; None: they are not scaled.
    """
    fit = Fit(kind, cloned(init), replace(train, params={}))
    fit.run()
    start = Start(fit.estimator, 1.0)
    if scale is None:
        return start
    return Start.scaled(fit.estimator, scale, train.spread(start.finite_scores(train.X)))


def fit_of(
    ranker: Estimator, kind: EstimatorKind, train: Part, valid: Part | None, max_grade: int
) -> Fit:
    """A training, not yet run, with the parameters of a GroupedRanker."""
    objective, rounds = ranker.objective, ranker.early_stopping_rounds
    if objective is not None:
        objective = as_objective(objective)
    found = metrics_of(ranker, kind, objective)
    metrics = {name: one.on_scale(max_grade) for name, one in found.items()}
    patience = _DEFAULT_PATIENCE if rounds == "auto" else rounds
    estimator = cloned(ranker.estimator)
    if getattr(estimator, "callbacks", None):  # the caller reads the results of the originals
        estimator.set_params(callbacks=list(ranker.estimator.callbacks))
    return Fit(
        kind, estimator, train, valid, objective and objective.on_scale(max_grade),
        metrics, patience, arguments=dict(train.params),
    )  # fmt: skip


def continues(ranker: Estimator, fit: Fit) -> bool:
    """True if the arguments of `fit` have a model whose training continues; sets it in `fit`."""
    name = fit.kind.model_argument
    model = None if name is None else fit.arguments.pop(name, None)
    if model is None:
        return False
    fit.continue_from(model)
    if ranker.init is not None and not fit.start.factor:
        raise ValueError(
            f"init of GroupedRanker and {name}= of fit are both given, and the model of {name} has "
            "no start. Set init=None. A model that was trained with init is continued from its "
            f"start if the fitted GroupedRanker is given: {name}=ranker, not ranker.estimator_."
        )
    return True


def metrics_of(
    ranker: Estimator, kind: EstimatorKind, objective: Objective | None
) -> dict[str, Metric]:
    """Metrics for early stopping of a GroupedRanker; empty: the estimator's own metric."""
    chosen = ranker.eval_metric
    if chosen is None and objective is not None:
        chosen = metric_of(objective)
    if chosen is None and kind.trains_objectives:
        params = ranker.estimator.get_params(deep=False)
        if not any(params.get(name) for name in ("metric", "metrics", "eval_metric")):
            chosen = _DEFAULT_METRIC
    return {} if chosen is None else unique_metrics(chosen)


def validation_log(calls: Sequence[Mapping[str, float]], record: Sequence[float]) -> Log:
    """Values of metrics per round on the validation rows, from the calls of an eval metric.

    Boosters do not say for which rows they call an eval metric. If the training rows have the same
    labels as the validation rows, calls for them come in between, in some rounds and before those
    for the validation rows. The booster's own `record` of the first metric says which calls count.
    """
    remaining, chosen = list(calls), []
    for value in reversed(record):
        while remaining and next(iter(remaining[-1].values())) != value:
            remaining.pop()
        if not remaining:
            raise RuntimeError(
                "the booster recorded a value of eval_metric that it did not compute, so that "
                "values cannot be assigned to rounds: leave eval_metric unset, and report it."
            )
        chosen.append(remaining.pop())
    return {name: [means[name] for means in reversed(chosen)] for name in chosen[0]}


class Validator:
    """Metrics on the validation rows, from one sort per round; a callable for LightGBM.

    Parameters
    ----------
    part : Part
        Validation rows, in the order of the scores that will be measured.
    metrics : mapping of str to Metric
    """

    def __init__(self, part: Part, metrics: Mapping[str, Metric]) -> None:
        self.judgments = Judgments(part.y, part.queries)
        self.weights = part.query_weights
        self.plans = {name: one.bind(self.judgments) for name, one in metrics.items()}
        for name, plan in self.plans.items():
            if plan.empty.all():
                raise ValueError(
                    f"no validation query has a relevant document, so {name} cannot decide when to "
                    "stop: hold out more queries, or give others as X_val."
                )

    def __deepcopy__(self, _: object) -> Validator:
        return self  # LightGBM copies metrics; this object never changes

    @compiled()
    def means(self, scores: ArrayLike) -> dict[str, float]:
        """Mean over queries of each metric, by name."""
        ranking, plans = Ranking(self.judgments, scores), list(self.plans.values())
        found = measure(self.judgments, [ranking], plans, self.weights)
        each = zip(self.plans.items(), found.values[0], found.weights[0], strict=True)
        return {name: average(plan.metric, *of) for (name, plan), *of in each}

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> list[tuple[str, float, bool]]:
        """Name, value and direction of each metric."""
        means = self.means(y_pred)
        return [(name, means[name], self.plans[name].metric.greater_is_better) for name in means]
