"""GroupedRanker with CatBoost: arguments for queries and weights, and metrics on whole queries.

CatBoost does not pass queries to an eval metric, but it passes all validation rows at once and in
their order. An eval metric that stores the judgments of these rows needs only the scores. CatBoost
calls objectives on blocks of rows in another order, so it cannot train on objectives of skrank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike

from skrank._boosters.adapters import import_booster
from skrank._progress import Bar
from skrank._typing import Estimator, Options, Reduced, Table
from skrank.rankers._fit import Booster, Fit, Log, Validator
from skrank.rankers._rows import Part, categories_of

# Parameters that CatBoost derives from the numbers of rounds and rows, and from validation rows
_DERIVED = {"learning_rate", "leaf_estimation_iterations", "bootstrap_type", "subsample"}
_NOT_MEASURED = -1.0  # value for training rows; not NaN, since CatBoost writes values as JSON


class CatBoost(Booster):
    """Estimators of CatBoost."""

    classes = ("catboost", "CatBoost", "CatBoostRanker")
    rounds_parameters = ("iterations", "n_estimators", "num_boost_round", "num_trees")
    takes_callables = False
    text_categories = True
    categorical_parameter = "cat_features"
    column_parameters = ("cat_features", "text_features", "embedding_features")
    patience_parameters = (
        "early_stopping_rounds", "od_wait", "od_type", "od_pval", "eval_fraction"
    )  # fmt: skip

    def repeat(self, fit: Fit, stopped: Fit) -> None:
        super().repeat(fit, stopped)
        params, used = fit.estimator.get_params(), stopped.estimator.get_all_params()
        names = _DERIVED - params.keys() - ({"learning_rate"} if "eta" in params else set())
        fit.estimator.set_params(**{name: used[name] for name in names if name in used})
        # use_best_model needs validation rows; a saved snapshot is that of the stopped training
        fit.estimator.set_params(use_best_model=False, save_snapshot=False)
        fit.arguments.pop("use_best_model", None)

    def train(self, fit: Fit) -> None:
        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        metric = None
        if self.categorical_features(estimator, arguments) is None:
            names = categories_of(train.X)
            arguments["cat_features"] = [list(train.X).index(name) for name in names] or None
        if valid is not None:
            of_fit = {key: value for key, value in arguments.items() if value is not None}
            params = estimator.get_params() | of_fit
            columns = self._queries_and_weights(valid, "weight")
            columns |= {name: params.get(name) for name in self.column_parameters}
            pool = import_booster("catboost").Pool
            arguments["eval_set"] = pool(valid.X, valid.y, baseline=valid.start, **columns)
            arguments["early_stopping_rounds"] = fit.patience
            if fit.patience is None:
                if params.get("use_best_model"):
                    raise ValueError(
                        "use_best_model=True of CatBoost contradicts early_stopping_rounds=None of "
                        "GroupedRanker, with which predictions use all rounds: leave out one."
                    )
                arguments["use_best_model"] = False
            if fit.validator is not None:
                metric = RankingMetric(valid.y, fit.validator)
                estimator.set_params(eval_metric=metric)
        arguments |= self._queries_and_weights(train, "sample_weight") | {"baseline": train.start}
        if type(fit.bar) is not Bar:  # no callback unless a bar is shown: GPUs refuse it

            def count(_: object) -> bool:
                fit.bar.update(1)
                return True  # False would stop the training

            counter = SimpleNamespace(after_iteration=count)
            arguments["callbacks"] = [*(arguments.get("callbacks") or ()), counter]
        estimator.fit(train.X, train.y, **arguments)
        if valid is not None:
            fit.log = dict(estimator.get_evals_result().get("validation", {}))
        if metric is not None:
            fit.log = validation_log(metric.release(), fit.log[RankingMetric.__name__])
        fit.best_iteration = int(estimator.tree_count_)

    def _queries_and_weights(self, part: Part, weight: str) -> Options:
        """Arguments for queries and weights; `weight` names the argument for weights of rows."""
        if not self.trains_on_queries:
            return {} if part.weights is None else {weight: part.weights}
        added: Options = {"group_id": part.queries.row_query}
        if part.query_weights is not None:
            added["group_weight"] = np.repeat(part.query_weights, part.queries.sizes)
        return added

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        if self.trains_on_queries:
            return estimator.predict(X)  # a CatBoostRanker predicts margins
        return estimator.predict(X, prediction_type="RawFormulaVal")


def validation_log(calls: Sequence[Mapping[str, float]], record: Sequence[float]) -> Log:
    """Values of metrics per round on the validation rows, from the calls of an eval metric.

    CatBoost does not say for which rows it calls an eval metric. If the training rows have the same
    labels as the validation rows, `calls` also has values for training rows: in some rounds, before
    those for the validation rows. `record`, the values of the first metric on the validation rows
    that CatBoost stored, shows which calls count.
    """
    remaining, chosen = list(calls), []
    for value in reversed(record):
        while remaining and next(iter(remaining[-1].values())) != value:
            remaining.pop()
        if not remaining:
            raise RuntimeError(
                "CatBoost recorded a value of eval_metric that was not computed, so that values "
                "cannot be assigned to rounds: leave eval_metric unset, and report it."
            )
        chosen.append(remaining.pop())
    return {name: [means[name] for means in reversed(chosen)] for name in chosen[0]}


class RankingMetric:
    """Metrics on the validation rows as `eval_metric` of CatBoost. The first decides when to stop.

    CatBoost logs the first metric under the name of this class. An object serves one training: the
    fitted estimator, its copies and its pickles have the object without the rows.
    """

    no_jit = True  # otherwise CatBoost tries to compile the methods with numba, and warns

    def __init__(self, y: np.ndarray | None = None, validator: Validator | None = None) -> None:
        self.labels = None if y is None else y.astype(np.float32)
        self.validator = validator
        self.calls: list[dict[str, float]] = []

    def release(self) -> list[dict[str, float]]:
        """Values of all calls. Frees the rows: the estimator keeps `self`."""
        calls, self.calls, self.validator, self.labels = self.calls, [], None, None
        return calls

    def __reduce__(self) -> Reduced:
        return RankingMetric, ()

    def __repr__(self) -> str:
        return "<eval metric of one training>"

    def __deepcopy__(self, _: object) -> RankingMetric:
        return self  # CatBoost copies its parameters before it trains

    def is_max_optimal(self) -> bool:
        assert self.validator is not None
        return next(iter(self.validator.plans.values())).metric.greater_is_better

    def get_final_error(self, error: float, weight: float) -> float:
        return error

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: ArrayLike | None
    ) -> tuple[float, float]:
        if self.validator is None or self.labels is None:
            raise ValueError("this eval_metric was for one training: set another one, or None.")
        if not np.array_equal(target, self.labels):
            return _NOT_MEASURED, 1.0
        (scores,) = approxes
        means = self.validator.means(scores)
        self.calls.append(means)
        return next(iter(means.values())), 1.0
