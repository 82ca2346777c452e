"""Fit: data, settings and result of a training. EstimatorKind: how a kind of estimator trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import ClassVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import measure
from skrank._engine.names import unique_metrics
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank._fitted import cloned, is_instance, predicted_scores
from skrank._progress import Bar
from skrank._typing import Columns, Estimator, Options, Table
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.objectives.base import metric_of
from skrank.rankers._rows import Part

_DEFAULT_METRIC = "ndcg@10"  # for early stopping on an objective without a metric
_ROWS = 100  # training rows on which predictions are compared with margins; a free choice

# linear starts that `shared_starts` has trained, by the hash of their parameters and rows
_SHARED: ContextVar[dict[str, Estimator] | None] = ContextVar("_SHARED", default=None)

Log = dict[str, list[float]]  # values per round, by the name of the metric


class EstimatorKind(ABC):
    """How estimators of one kind are trained, and what they support.

    Attributes
    ----------
    rounds_parameters : tuple of str
        Parameter of the estimator for the number of rounds, and then its other names, which win
        over it. Empty if the estimator does not train in rounds.
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
    on_workers : bool
        True if `train` computes start scores of training rows, on the workers of Dask.
    column_parameters : tuple of str
        Parameters of the estimator, or arguments of its fit, for columns that need not be numbers.
    categorical_parameter : str
        Parameter of the estimator, or argument of its fit, for categorical columns.
    forbidden_names : str
        Regular expression of names of columns that the estimator refuses.
    """

    rounds_parameters: tuple[str, ...] = ()
    patience_parameters: tuple[str, ...] = ()
    trains_on_queries: bool = False
    trains_objectives: bool = False
    follows_metrics: bool = False
    starts_from_scores: bool = False
    on_workers: bool = False
    column_parameters: tuple[str, ...] = ()
    categorical_parameter: str = ""
    forbidden_names: str = "(?!)"  # matches nothing

    @abstractmethod
    def train(self, fit: Fit) -> None:
        """Train `fit.estimator`; set `fit.best_iteration` and, with validation, `fit.log`."""

    def repeat(self, fit: Fit, stopped: Fit) -> None:
        """Make `train` repeat a training with its best number of rounds and its parameters.

        Libraries derive some parameters from the number of rounds, or from the validation rows.
        """
        assert stopped.best_iteration is not None
        # boosters train at least 1 round; predictions with a start ignore it if the best was 0
        name = self._rounds_name(fit.estimator)
        fit.estimator.set_params(**{name: max(stopped.best_iteration, 1)})

    def n_rounds(self, estimator: Estimator) -> int | None:
        """Number of rounds that an estimator will train; None if unknown."""
        return estimator.get_params(deep=False).get(self._rounds_name(estimator))

    def _rounds_name(self, estimator: Estimator) -> str:
        """The parameter that sets the number of rounds of an estimator."""
        params = estimator.get_params(deep=False)
        name, *aliases = self.rounds_parameters
        return next((alias for alias in aliases if params.get(alias) is not None), name)

    def categorical_features(self, estimator: Estimator, arguments: Options) -> Columns | None:
        """Categorical columns that the caller names; None if these are found by their dtype."""
        columns = arguments.get(self.categorical_parameter)
        if columns is None:
            columns = estimator.get_params(deep=False).get(self.categorical_parameter)
        return None if isinstance(columns, str) else columns  # "auto" of LightGBM

    def named_columns(self, estimator: Estimator, arguments: Options) -> set[object]:
        """Names or numbers of the columns that `column_parameters` name."""
        params, chosen = estimator.get_params(deep=False), set()
        for name in self.column_parameters:
            value = arguments.get(name, params.get(name))
            if value is not None and not isinstance(value, str):
                columns = np.asarray(value)
                chosen |= set(np.flatnonzero(columns) if columns.dtype == bool else value)
        return chosen

    def check_table(self, X: Table, estimator: Estimator) -> None:
        """Refuse names of columns that the estimator does not read; subclasses: also numbers."""
        check.check_names(X, self.forbidden_names, type(estimator).__name__)


class Booster(EstimatorKind):
    """Estimators of LightGBM, XGBoost or CatBoost: a subclass per library.

    Attributes
    ----------
    classes : tuple of str
        Module, base class of all its estimators, and class of its rankers.
    takes_callables : bool
        True if the objective may be a function that gets the queries.
    text_categories : bool
        True if the library accepts columns of text, but no missing values in categories.
    """

    classes: tuple[str, str, str]
    takes_callables: bool = True
    text_categories: bool = False

    def __init__(self, estimator: Estimator) -> None:
        library, _, ranker = self.classes
        self.trains_on_queries = is_instance(estimator, library, ranker)
        self.trains_objectives = self.trains_on_queries and self.takes_callables
        # a ranker that users derive may have predict_proba
        classifies = hasattr(estimator, "predict_proba") and not self.trains_on_queries
        self.follows_metrics = self.starts_from_scores = not classifies

    @abstractmethod
    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        """Sum of the rounds of a fitted estimator, before the link of its objective."""


@dataclass(frozen=True, eq=False)
class Start:
    """The scores that boosting starts from: the scores of a fitted `init` times a factor.

    A factor of 0 stands for no start: without `init`, or if its scores are constant inside queries.
    """

    init: Estimator | None = None
    factor: float = 0.0

    def scores(self, X: Table) -> np.ndarray:
        """Scores of rows."""
        return self.factor * np.asarray(predicted_scores(self.init, X), dtype=np.float64)

    def finite_scores(self, X: Table) -> np.ndarray:
        """Scores to train on; boosters would accept inf and NaN without an error."""
        return finite(self.scores(X), f"init={type(self.init).__name__}")


def finite(scores: np.ndarray, what: str) -> np.ndarray:
    """Scores; raises if some are not finite."""
    if (row := check.first(~np.isfinite(scores))) >= 0:
        raise ValueError(
            f"{what} scores row {row} as {scores[row]}, and sums need finite scores: choose "
            "another model, or impute missing values of X."
        )
    return scores


def objective_with_link(estimator: Estimator) -> ValueError:
    """The error for a start of a regressor whose predictions are not the sum of its rounds."""
    return ValueError(
        f"init cannot start {type(estimator).__name__}: its objective turns the sum of the rounds "
        "into predictions by a link, such as exp for counts. Leave init unset, or choose another "
        "objective, such as squared error."
    )


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
    bar : Bar
        Counts the rounds of boosters.
    valid_name : str
        Name of the validation rows in logs.
    validator : Validator or None
        Metrics on the validation rows, made by `run`; None without metrics or without these rows.
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
    bar: Bar = field(default_factory=Bar)
    valid_name: ClassVar[str] = "validation"
    validator: Validator | None = field(init=False, default=None)
    log: Log = field(init=False, default_factory=dict)
    best_iteration: int | None = field(init=False, default=None)

    def run(self) -> None:
        """Train the estimator."""
        start, kind, valid = self.start, self.kind, self.valid
        if kind.trains_on_queries and self.train.loaded is None:
            # raises if weights vary inside a query; workers check those of collections
            check.query_weights(self.train.weights, self.train.queries)
        if valid is not None and self.metrics:
            self.validator = Validator(valid, self.metrics)  # raises if a metric has no value
        if start.factor:
            if not kind.on_workers:
                self.train = replace(self.train, start=start.finite_scores(self.train.X))
            if valid is not None:
                self.valid = replace(valid, start=start.finite_scores(valid.X))
        kind.train(self)
        if not start.factor:
            return
        # only boosters have a start; of the scores of rankers, only the order counts
        if isinstance(kind, Booster) and not kind.trains_on_queries:
            X = _safe_indexing(self.train.X, np.arange(min(_ROWS, len(self.train.y))))
            if not np.array_equal(kind.margins(self.estimator, X), self.estimator.predict(X)):
                raise objective_with_link(self.estimator)
        if self.validator is not None and self.valid is not None and self.valid.start is not None:
            self.log_start(self.validator.means(self.valid.start))

    def log_start(self, means: Mapping[str, float]) -> None:
        """Insert the values of the start before those of the rounds.

        If training stops early, and no round is better, `best_iteration` becomes 0: predictions are
        the start.
        """
        self.log = {name: [means[name], *values] for name, values in self.log.items()}
        name, metric = next(iter(self.metrics.items()))
        best = max(self.log[name]) if metric.greater_is_better else min(self.log[name])
        if self.patience is not None and self.log[name][0] == best:
            self.best_iteration = 0

    def stop_early(self, rounds: Iterable[ArrayLike]) -> int:
        """The best round; sets `log`, which is cut where training would have stopped.

        For estimators that are measured after the training: `rounds` are the scores of the
        validation rows after each round. Without `patience`, all rounds.
        """
        assert self.validator is not None
        means = [self.validator.means(scores) for scores in rounds]
        self.log = {name: [of_round[name] for of_round in means] for name in self.metrics}
        name, metric = next(iter(self.metrics.items()))
        values = np.asarray(self.log[name]) * (1 if metric.greater_is_better else -1)
        if self.patience is None:
            return len(values)
        best = 0
        for number, value in enumerate(values):
            if value > values[best]:
                best = number
            elif number - best >= self.patience:
                self.log = {name: record[: number + 1] for name, record in self.log.items()}
                break
        return best + 1


@contextmanager
def shared_starts() -> Iterator[None]:
    """Inside this context, linear starts with equal parameters and rows are trained once."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def trained_start(
    kind: EstimatorKind, init: Estimator, scale: float | None, train: Part, *, shared: bool
) -> Start:
    """Train a clone of `init`, an estimator of this kind, or take that of `shared_starts`.

    Its scores are scaled to the standard deviation `scale`; None: they are not scaled. Callers
    share linear starts only, as the estimators of users may draw at random.
    """
    cache, fitted = _SHARED.get() if shared else None, None
    if cache is not None:
        queries = train.queries
        key = joblib.hash([init, train.X, train.y, train.weights, queries.ids, queries.sizes])
        fitted = cache.get(key)
    if fitted is None:
        fit = Fit(kind, cloned(init), replace(train, params={}))
        fit.run()
        fitted = fit.estimator
        if cache is not None:
            cache[key] = fitted
    start = Start(fitted, 1.0)
    if scale is None:
        return start
    spread = train.spread(start.finite_scores(train.X))
    return Start(fitted, scale / spread if spread > 0 else 0.0)


def fit_of(
    ranker: Estimator, kind: EstimatorKind, train: Part, valid: Part | None, max_grade: int
) -> Fit:
    """A training, not yet run, with the parameters of a GroupedRanker."""
    objective = None if ranker.objective is None else as_objective(ranker.objective)
    unscaled = metrics_of(ranker, kind, objective)
    metrics = {name: metric.on_scale(max_grade) for name, metric in unscaled.items()}
    estimator = cloned(ranker.estimator)
    if isinstance(kind, Booster):
        params = estimator.get_params(deep=False) | train.params
        if objective is not None:
            library, names = kind.classes[0].partition(".")[0], check.OBJECTIVE_PARAMETERS
            if params.get("objective") in check.DEFAULT_OBJECTIVES:
                params.pop("objective", None)
            check.check_bagging(params)
            check.refuse_params(params, names, "objective= of skrank.GroupedRanker")
            check.refuse_loss_params(library, params, metrics=bool(metrics))
        if metrics and (objective is not None or valid is not None):
            replaced = check.METRIC_PARAMETERS + check.CUT_OFFS
            check.refuse_params(params, replaced, "eval_metric= of skrank.GroupedRanker")
    if getattr(estimator, "callbacks", None):  # the caller reads the results of the originals
        estimator.set_params(callbacks=list(ranker.estimator.callbacks))
    return Fit(
        kind, estimator, train, valid, objective and objective.on_scale(max_grade),
        metrics, ranker._patience("rounds"), arguments=dict(train.params),
    )  # fmt: skip


def metrics_of(
    ranker: Estimator, kind: EstimatorKind, objective: Objective | None
) -> dict[str, Metric]:
    """Metrics for early stopping of a GroupedRanker; empty: the estimator's own metric."""
    chosen = ranker.eval_metric
    if chosen is None and objective is not None:
        chosen = metric_of(objective)
    if chosen is None and kind.trains_objectives:
        params = ranker.estimator.get_params(deep=False)
        if all(params.get(name) in check.NONE for name in check.METRIC_PARAMETERS):
            chosen = _DEFAULT_METRIC
    return {} if chosen is None else unique_metrics(chosen)


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
        self.plans = {name: metric.bind(self.judgments) for name, metric in metrics.items()}
        for name, plan in self.plans.items():
            empty = plan.empty if self.weights is None else plan.empty[self.weights > 0]
            if empty.all() or (plan.metric.empty == "nan" and empty.any()):
                raise ValueError(
                    f"{name} cannot decide when to stop: at least one validation query "
                    'of weight above 0, with empty="nan" each, needs a relevant document. Hold out '
                    "other queries, give others as X_val, or choose another metric."
                )

    def __deepcopy__(self, _: object) -> Validator:
        return self  # LightGBM copies metrics; this object never changes

    @compiled()
    def means(self, scores: ArrayLike) -> dict[str, float]:
        """Mean over queries of each metric, by name."""
        ranking, plans = Ranking(self.judgments, scores), list(self.plans.values())
        means = measure(self.judgments, [ranking], plans, self.weights).means()[0].tolist()
        return dict(zip(self.plans, means, strict=True))

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> list[tuple[str, float, bool]]:
        """Name, value and direction of each metric."""
        means = self.means(y_pred)
        return [(name, means[name], self.plans[name].metric.greater_is_better) for name in means]
