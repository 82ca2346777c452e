"""LightGBM under a GroupedRanker: sizes of queries, weights per row, one callback that stops."""

from __future__ import annotations

from functools import partial
from inspect import signature

import numpy as np
from scipy.special import expit

import skrank.lightgbm
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._typing import Estimator, Options, Table
from skrank.rankers._rows import Part
from skrank.rankers._training import (
    VALIDATION,
    Backend,
    Fitted,
    Fitting,
    HeldOut,
    InverseLink,
    identity,
    started,
)


def fit_lightgbm(fitting: Fitting[Part], *, ranks: bool = False) -> Fitted:
    """Train an estimator of LightGBM; for `ranks`, on queries."""
    fitting = started(fitting, "init_score")
    estimator, train, valid, task, params = fitting
    objective = None
    if task.objective is not None:
        check.check_bagging(estimator.get_params())
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


def _margins(estimator: Estimator, X: Table) -> np.ndarray:
    return estimator.predict(X, raw_score=True)


def _inverse_link(estimator: Estimator) -> InverseLink:
    """That of a fitted model, whose text names the objective, as in "binary sigmoid:1".

    LightGBM itself cannot predict from given scores.
    """
    model = estimator.booster_.dump_model(num_iteration=1)
    name, *parameters = model.get("objective", "none").split()
    if "sqrt" in parameters:  # it was trained on square roots
        return lambda margins: np.copysign(margins**2, margins)
    if name == "binary":
        sigmoid = float(parameters[0].removeprefix("sigmoid:"))
        return lambda margins: expit(sigmoid * margins)
    return _INVERSE_LINKS.get(name, identity)


_INVERSE_LINKS: dict[str, InverseLink] = {
    "poisson": np.exp,
    "gamma": np.exp,
    "tweedie": np.exp,
    "cross_entropy": expit,
    "cross_entropy_lambda": partial(np.logaddexp, 0),
}
RANKER = Backend(
    partial(fit_lightgbm, ranks=True), "n_estimators", ranks=True, trains_objective=True,
    takes_metrics=True, margins=_margins,
)  # fmt: skip
REGRESSOR = Backend(
    fit_lightgbm, "n_estimators", takes_metrics=True, margins=_margins, inverse_link=_inverse_link
)
CLASSIFIER = Backend(fit_lightgbm, "n_estimators")
