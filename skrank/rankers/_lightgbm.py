"""LightGBM under a GroupedRanker: sizes of queries, weights per row, one callback that stops."""

from __future__ import annotations

from functools import partial
from inspect import signature

import skrank.lightgbm
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._typing import Options
from skrank.rankers._rows import Part
from skrank.rankers._training import VALIDATION, Backend, Fitted, Fitting, HeldOut, started


def fit_lightgbm(fitting: Fitting[Part], *, ranks: bool = False) -> Fitted:
    """Train an estimator of LightGBM; for `ranks`, on queries."""
    fitting = started(fitting, "init_score")
    estimator, train, valid, task, params = fitting
    objective = None
    if task.objective is not None:
        objective = skrank.lightgbm.objective(task.objective)
        objective.positions = train.positions
        estimator.set_params(objective=objective)
    if task.metrics and (task.objective is not None or valid is not None):
        estimator.set_params(metric="None")  # its own metrics would also stop the training
    if ranks:
        params["group"] = train.queries.sizes
        check.query_weights(train.weights, train.queries)
    if train.start is not None:
        params["init_score"] = train.start
    if valid is not None:
        params |= _validation(fitting, valid, ranks)
    estimator.fit(train.X, train.y, sample_weight=train.weights, **params)
    if objective is not None:
        objective.positions = None  # the fitted estimator keeps the objective, but no rows
    evals = estimator.evals_result_.get(VALIDATION, {}) if valid is not None else {}
    return Fitted(estimator, estimator.best_iteration_ or estimator.n_estimators_, evals)


def _validation(fitting: Fitting[Part], valid: Part, ranks: bool) -> Options:
    """What `fit` is told of the validation part, and of when to stop."""
    added: Options = {"eval_names": [VALIDATION]}
    if "eval_X" in signature(fitting.estimator.fit).parameters:  # LightGBM 4.7 deprecates eval_set
        added |= {"eval_X": (valid.X,), "eval_y": (valid.y,)}
    else:
        added["eval_set"] = [(valid.X, valid.y)]
    if ranks:
        added["eval_group"] = [valid.queries.sizes]
    if valid.weights is not None:
        added["eval_sample_weight"] = [valid.weights]
    if valid.start is not None:
        added["eval_init_score"] = [valid.start]
    if fitting.task.metrics:
        added["eval_metric"] = HeldOut(valid, fitting.task.metrics)
    if fitting.task.rounds is not None:
        stop = import_booster("lightgbm").early_stopping(
            fitting.task.rounds, first_metric_only=True, verbose=False
        )
        added["callbacks"] = [*(fitting.params.get("callbacks") or ()), stop]
    return added


RANKER = Backend(partial(fit_lightgbm, ranks=True), "n_estimators", True, True, True, True)
REGRESSOR = Backend(fit_lightgbm, "n_estimators", takes_metrics=True, takes_start=True)
CLASSIFIER = Backend(fit_lightgbm, "n_estimators")
