"""GroupedRanker with CatBoost: arguments for queries and weights, and metrics on whole queries.

CatBoost does not pass queries to an eval metric, but it passes all validation rows at once and in
their order. An eval metric that stores the judgments of these rows needs only the scores. CatBoost
calls objectives on blocks of rows in another order, so it cannot train on objectives of skrank.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._boosters.adapters import import_booster
from skrank._typing import Estimator, Options, Reduced, Table
from skrank.rankers._fit import VALIDATION, Booster, Fit, Validator, validation_log
from skrank.rankers._rows import Part

_NOT_MEASURED = -1.0  # value for training rows; not NaN, since CatBoost writes values as JSON
_PAIRS = {"pairs", "graph"}  # arguments of fit that are pairs of row numbers


class CatBoost(Booster):
    """Estimators of CatBoost."""

    classes = ("catboost", "CatBoost", "CatBoostRanker")
    rounds_parameter = "iterations"
    start_argument = "baseline"
    model_argument = "init_model"
    takes_callables = False
    patience_parameters = ("early_stopping_rounds", "od_wait")

    def __init__(self, estimator: Estimator) -> None:
        super().__init__(estimator)
        self.row_arguments = ("baseline", "subgroup_id")

    def select(self, params: Options, rows: np.ndarray, n_rows: int) -> Options:
        """As the base class; pairs of rows get the new numbers of their rows."""
        chosen = super().select(params, rows, n_rows)
        places = np.full(n_rows, -1)
        places[rows] = np.arange(len(rows))
        for name in _PAIRS & params.keys():
            weights = "pairs_weight" if name == "pairs" else None
            chosen |= _renumbered(name, params[name], places, weights, params)
        return chosen

    def train(self, fit: Fit) -> None:
        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        metric = None
        if self.trains_on_queries:
            _check_pairs(train)
        if valid is not None:
            params = estimator.get_params()
            columns = {
                name: arguments.get(name) or params.get(name)
                for name in ("cat_features", "text_features", "embedding_features")
            }
            rows = {
                name: valid.params.get(name) for name in (*_PAIRS, "pairs_weight", "subgroup_id")
            }
            arguments["eval_set"] = import_booster("catboost").Pool(
                valid.X,
                valid.y,
                baseline=valid.start,
                **columns | rows | self._queries_and_weights(valid, "weight"),
            )
            arguments["early_stopping_rounds"] = fit.patience
            if fit.metrics:
                metric = _metric_named(next(iter(fit.metrics)))
                metric.bind(valid, Validator(valid, fit.metrics))
                estimator.set_params(eval_metric=metric)
        arguments |= self._queries_and_weights(train, "sample_weight") | {"baseline": train.start}
        estimator.fit(train.X, train.y, **arguments)
        if valid is not None:
            fit.log = dict(estimator.get_evals_result().get(VALIDATION, {}))
        if metric is not None:
            fit.log = validation_log(metric.release(), fit.log[type(metric).__name__])
        fit.best_iteration = int(estimator.tree_count_)

    def set_rounds(self, fit: Fit, n_rounds: int) -> None:
        super().set_rounds(fit, n_rounds)
        fit.arguments.pop("callbacks", None)  # they watch or stop the training

    def model_to_continue(self, model: Any) -> tuple[Any, int]:
        if isinstance(model, (str, PathLike)):
            model = import_booster("catboost").CatBoost().load_model(model)
        # Of a model that was continued in this process, CatBoost 1.2.10 applies the last rounds
        # twice; of its copy, it does not.
        return model.copy(), int(model.tree_count_)

    def _queries_and_weights(self, part: Part, weight: str) -> Options:
        """Arguments for queries and weights; `weight` names the argument for weights of rows."""
        if not self.trains_on_queries:
            return {} if part.weights is None else {weight: part.weights}
        added: Options = {"group_id": part.queries.row_query}
        if part.query_weights is not None:
            added["group_weight"] = np.repeat(part.query_weights, part.queries.sizes)
        return added

    def categorical_features(
        self, estimator: Estimator, arguments: Options
    ) -> Sequence[str | int | bool] | None:
        return arguments.get("cat_features") or estimator.get_params().get("cat_features")

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        if self.trains_on_queries:
            return estimator.predict(X)  # a CatBoostRanker predicts margins
        return estimator.predict(X, prediction_type="RawFormulaVal")

    def inverse_link(self, estimator: Estimator, margins: np.ndarray) -> np.ndarray:
        loss = str(estimator.get_all_params()["loss_function"])
        return np.exp(margins) if loss.partition(":")[0] in ("Poisson", "Tweedie") else margins


def _renumbered(
    name: str, pairs: ArrayLike, places: np.ndarray, weights: str | None, params: Options
) -> Options:
    """Pairs of rows, and their weights, whose rows are both chosen; `places` is -1 for others."""
    if pairs is None:
        return {}
    if isinstance(pairs, (str, PathLike)):
        raise ValueError(
            f"{name}={str(pairs)!r} of fit is a file, whose row numbers skrank cannot change when "
            f"it sorts rows by query: read it, and give an array with two row numbers per pair."
        )
    numbers = np.asarray(pairs)
    n_rows = len(places)
    if numbers.ndim != 2 or numbers.shape[1] != 2 or numbers.dtype.kind not in "iu":
        raise ValueError(f"{name}= of fit must have two row numbers, which are integers, per pair.")
    outside = np.flatnonzero(((numbers < 0) | (numbers >= n_rows)).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{name}[{outside[0]}]={numbers[outside[0]].tolist()} of fit is no pair of row numbers "
            f"between 0 and {n_rows - 1}: pairs number the rows that fit gets, also in a fold."
        )
    numbers = places[numbers]
    kept = (numbers >= 0).all(axis=1)
    chosen: Options = {name: numbers[kept]}
    if weights is not None and params.get(weights) is not None:
        given = np.asarray(params[weights])
        if given.shape != kept.shape:
            raise ValueError(
                f"{weights}= of fit must have one weight for each of {len(kept)} pairs."
            )
        chosen[weights] = given[kept]
    return chosen


def _check_pairs(part: Part) -> None:
    """Raise if a pair joins documents of two queries."""
    pairs = part.params.get("pairs")
    if pairs is None:
        return
    first, second = part.queries.row_query[pairs].T
    if np.any(first != second):
        one = int(np.argmax(first != second))
        names = part.queries.name(first[one]), part.queries.name(second[one])
        raise ValueError(
            f"pairs= of fit joins documents of the queries {names[0]} and {names[1]}: pairs number "
            "the rows that fit gets, also in a fold, and both rows have one query."
        )


class _EvalMetric:
    """Metrics on the validation rows as `eval_metric` of CatBoost, which follows the first metric.

    CatBoost reads the name of the metric from the name of the class.
    """

    no_jit = True  # otherwise CatBoost tries to compile the methods with numba, and warns
    metrics: Validator | None = None
    labels: np.ndarray | None = None

    def bind(self, part: Part, metrics: Validator) -> None:
        """Set the validation rows."""
        self.metrics, self.labels = metrics, part.y.astype(np.float32)
        self.calls: list[dict[str, float]] = []

    def release(self) -> list[dict[str, float]]:
        """Values of all calls. Frees the rows: the estimator keeps `self`."""
        calls, self.calls, self.metrics, self.labels = self.calls, [], None, None
        return calls

    def __reduce__(self) -> Reduced:
        return _metric_named, (type(self).__name__,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of one training>"

    def __deepcopy__(self, _: object) -> _EvalMetric:
        return self  # CatBoost copies its parameters before it trains

    def is_max_optimal(self) -> bool:
        assert self.metrics is not None
        return next(iter(self.metrics.plans.values())).metric.greater_is_better

    def get_final_error(self, error: float, weight: float) -> float:
        return error

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: ArrayLike | None
    ) -> tuple[float, float]:
        if self.metrics is None or self.labels is None:
            raise ValueError("this eval_metric was for one training: set another one, or None.")
        if not np.array_equal(target, self.labels):
            return _NOT_MEASURED, 1.0
        (scores,) = approxes
        means = self.metrics.means(scores)
        self.calls.append(means)
        return next(iter(means.values())), 1.0


def _metric_named(name: str) -> _EvalMetric:
    """An eval metric, not yet bound to rows, whose class has this name."""
    return type(name, (_EvalMetric,), {})()
