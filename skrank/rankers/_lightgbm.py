"""GroupedRanker with LightGBM: sizes of queries, weights per row, and a callback that stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature

import numpy as np
from scipy.special import expit

import skrank.lightgbm
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._typing import Estimator, Options, Table
from skrank.rankers._fit import VALIDATION, Booster, Fit, Validator
from skrank.rankers._rows import Part


class LightGBM(Booster):
    """Estimators of LightGBM."""

    rounds_parameter = "n_estimators"
    start_argument: str | None = "init_score"
    patience_parameters = (
        "early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change",
    )  # fmt: skip

    def train(self, fit: Fit) -> None:
        estimator, train, valid, arguments = fit.estimator, fit.train, fit.valid, fit.arguments
        objective = None
        if fit.objective is not None:
            check.check_bagging(estimator.get_params())
            objective = skrank.lightgbm.objective(fit.objective)
            objective.positions = train.positions
            estimator.set_params(objective=objective)
        if fit.metrics and (fit.objective is not None or valid is not None):
            estimator.set_params(metric="None")  # training would also stop by metrics of LightGBM
        if self.trains_on_queries:
            arguments["group"] = train.queries.sizes
            check.query_weights(train.weights, train.queries)  # raises if they vary inside a query
        if train.start is not None:
            arguments["init_score"] = train.start
        if valid is not None:
            arguments |= self._validation(fit, valid)
        estimator.fit(train.X, train.y, sample_weight=train.weights, **arguments)
        if objective is not None:
            objective.positions = None  # frees memory: the fitted estimator keeps the objective
        if valid is not None:
            fit.log = estimator.evals_result_.get(VALIDATION, {})
        fit.best_iteration = estimator.best_iteration_ or estimator.n_estimators_

    def _validation(self, fit: Fit, valid: Part) -> Options:
        """Arguments of `fit` for the validation rows and early stopping."""
        added: Options = {"eval_names": [VALIDATION]}
        if "eval_X" in signature(fit.estimator.fit).parameters:  # LightGBM 4.7 deprecates eval_set
            added |= {"eval_X": (valid.X,), "eval_y": (valid.y,)}
        else:
            added["eval_set"] = [(valid.X, valid.y)]
        if self.trains_on_queries:
            added["eval_group"] = [valid.queries.sizes]
        if valid.weights is not None:
            added["eval_sample_weight"] = [valid.weights]
        if valid.start is not None:
            added["eval_init_score"] = [valid.start]
        if fit.metrics:
            added["eval_metric"] = Validator(valid, fit.metrics)
        if fit.patience is not None:
            stop = import_booster("lightgbm").early_stopping(
                fit.patience, first_metric_only=True, verbose=False
            )
            added["callbacks"] = [*(fit.arguments.get("callbacks") or ()), stop]
        return added

    def categorical_features(
        self, estimator: Estimator, arguments: Options
    ) -> Sequence[str | int | bool] | None:
        own = estimator.get_params().get("categorical_feature")
        named = arguments.get("categorical_feature", own)
        return None if named is None or isinstance(named, str) else named  # "auto": by dtype

    def margins(self, estimator: Estimator, X: Table) -> np.ndarray:
        return estimator.predict(X, raw_score=True)

    def inverse_link(self, estimator: Estimator, margins: np.ndarray) -> np.ndarray:
        if self.trains_on_queries:
            return margins
        # LightGBM has no function from margins to predictions; the dumped model names the
        # objective, such as "binary sigmoid:1"
        model = estimator.booster_.dump_model(num_iteration=1)
        name, *parameters = model.get("objective", "none").split()
        if "sqrt" in parameters:  # reg_sqrt: trained on square roots of the labels
            return np.copysign(margins**2, margins)
        if name == "binary":
            return expit(float(parameters[0].removeprefix("sigmoid:")) * margins)
        return _INVERSE_LINKS[name](margins) if name in _INVERSE_LINKS else margins


_INVERSE_LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "poisson": np.exp,
    "gamma": np.exp,
    "tweedie": np.exp,
    "cross_entropy": expit,
    "cross_entropy_lambda": partial(np.logaddexp, 0),
}
