"""XGBoost under a GroupedRanker: `xgboost.train` where XGBRanker refuses what skrank gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

import skrank.xgboost
from skrank._boosters.adapters import import_booster
from skrank._engine.collection import LEVEL
from skrank._typing import Estimator, Options, Table
from skrank.rankers._rows import Part
from skrank.rankers._task import Task
from skrank.rankers._training import (
    VALIDATION,
    Backend,
    Fitted,
    Fitting,
    HeldOut,
    InverseLink,
    Log,
    identity,
    started,
)

if TYPE_CHECKING:
    import xgboost


def fit_xgboost(fitting: Fitting[Part], *, ranks: bool = False) -> Fitted:
    """Train an estimator of XGBoost; for `ranks`, on queries."""
    estimator = fitting.estimator
    if LEVEL in list(getattr(fitting.train.X, "columns", ())):
        raise ValueError(
            f'{type(estimator).__name__} takes a column "qid" of X for queries of its own: move it '
            "to the index, X.set_index('qid'), or drop it and use skrank.with_groups(y, qid)."
        )
    fitting.params.setdefault("verbose", False)
    if fitting.train.start is not None:
        # a margin of 0, so that margins are what the rounds add to the start
        estimator.set_params(base_score=float(_inverse_link(estimator)(np.zeros(1))[0]))
    fitting = started(fitting, "base_margin")
    if fitting.task.objective is None and (fitting.valid is None or not fitting.task.metrics):
        evals = _fit_itself(fitting, ranks)
        return Fitted(estimator, _cut_to_best(estimator), evals)
    return _train(fitting, ranks, **fitting.params)


def train_options(estimator: Any, task: Task, evals: list[tuple[Any, str]]) -> Options:
    """Arguments of `xgboost.train` that follow from an estimator, its task and data to follow."""
    params, callbacks = estimator.get_xgb_params(), list(estimator.callbacks or ())
    options: Options = {
        "params": params,
        "num_boost_round": estimator.get_num_boosting_rounds(),
        "evals": evals,
        "callbacks": callbacks,
    }
    if task.objective is not None:
        options["obj"] = skrank.xgboost.objective(task.objective)
    if task.metrics:
        params |= {"disable_default_eval_metric": 1}
        params.pop("eval_metric", None)
    if evals and task.metrics:
        metrics = list(task.metrics.values())
        options["custom_metric"] = skrank.xgboost.eval_metric(*metrics)
        if task.rounds is not None:
            callbacks.append(skrank.xgboost.early_stopping(metrics[0], rounds=task.rounds))
    elif evals:
        options["early_stopping_rounds"] = task.rounds
    return options


def with_booster(
    estimator: Any, booster: xgboost.Booster, log: Mapping[str, Log], task: Task
) -> Fitted:
    """An estimator with what its own `fit` assigns: predict, save_model and SHAP read it."""
    values = log.get(VALIDATION, {})
    evals = dict(zip(task.metrics or values, values.values(), strict=False))
    estimator._Booster, estimator.evals_result_ = booster, {"validation_0": evals}
    return Fitted(estimator, _cut_to_best(estimator), dict(evals))


def _cut_to_best(estimator: Estimator) -> int:
    """Drop the rounds after the best one, and count those that are left.

    XGBRanker would leave them out when it predicts, but a Booster read from its file would not.
    """
    booster = estimator.get_booster()
    try:
        best, score = booster.best_iteration, booster.best_score
    except AttributeError:  # it did not stop early
        return booster.num_boosted_rounds()
    if estimator.booster != "gblinear" and best + 1 < booster.num_boosted_rounds():
        estimator._Booster = booster[: best + 1]
        estimator._Booster.best_iteration, estimator._Booster.best_score = best, score
    return best + 1


def _fit_itself(fitting: Fitting[Part], ranks: bool) -> Log:
    """`fit` of the estimator, with its own objective and metric."""
    estimator, train, valid, task, params = fitting
    if ranks and callable(estimator.eval_metric):
        raise ValueError(
            "XGBRanker would weigh queries by their size and minimise a callable eval_metric: give "
            "eval_metric, a metric of skrank, to GroupedRanker."
        )
    params["sample_weight"] = train.query_weights if ranks else train.weights
    params["base_margin"] = train.start
    if ranks:
        params["group"] = train.queries.sizes
    if valid is not None:
        params["eval_set"] = [(valid.X, valid.y)]
        weights = valid.query_weights if ranks else valid.weights
        params["sample_weight_eval_set"] = None if weights is None else [weights]
        params["base_margin_eval_set"] = None if valid.start is None else [valid.start]
        if ranks:
            params["eval_group"] = [valid.queries.sizes]
        estimator.set_params(early_stopping_rounds=task.rounds)
    estimator.fit(train.X, train.y, **params)
    return dict(estimator.evals_result()["validation_0"]) if valid is not None else {}


def _train(
    fitting: Fitting[Part],
    ranks: bool,
    *,
    verbose: bool | int,
    xgb_model: str | xgboost.Booster | None = None,
    feature_weights: ArrayLike | None = None,
) -> Fitted:
    """`xgboost.train` in place of `fit`: XGBRanker refuses objectives and tears metrics apart."""
    estimator, train, valid, task, _ = fitting
    if callable(estimator.get_params().get("objective")):
        raise ValueError("name the objective of the estimator, or give objective to GroupedRanker.")
    if feature_weights is None:
        feature_weights = getattr(estimator, "feature_weights", None)
    data = _dmatrix(estimator, train, ranks, feature_weights)
    evals = []
    if valid is not None:
        HeldOut(valid, task.metrics)  # raises if they cannot be measured
        evals = [(_dmatrix(estimator, valid, True, feature_weights, like=data), VALIDATION)]
    options = train_options(estimator, task, evals)
    if task.objective is not None:
        options["obj"].positions = train.positions
    log: dict[str, Log] = {}
    booster = import_booster("xgboost").train(
        dtrain=data, evals_result=log, verbose_eval=verbose, xgb_model=xgb_model, **options
    )
    return with_booster(estimator, booster, log, task)


def _dmatrix(
    estimator: Estimator,
    part: Part,
    grouped: bool,
    feature_weights: ArrayLike | None,
    *,
    like: xgboost.DMatrix = None,
) -> xgboost.DMatrix:
    """Data in the form that the estimator's `fit` would choose."""
    xgboost = import_booster("xgboost")
    fields = {
        "data": part.X,
        "label": part.y,
        "group": part.queries.sizes if grouped else None,
        "weight": part.query_weights if grouped else part.weights,
        "base_margin": part.start,
        "missing": estimator.missing,
        "feature_types": estimator.feature_types,
        "feature_weights": feature_weights,
        "enable_categorical": estimator.enable_categorical,
        "nthread": estimator.n_jobs,
    }
    binned = estimator.tree_method in ("hist", "auto", None) and estimator.booster != "gblinear"
    if binned and "sycl" not in str(estimator.device):
        return xgboost.QuantileDMatrix(**fields, ref=like, max_bin=estimator.max_bin)
    return xgboost.DMatrix(**fields)


def _margins(estimator: Estimator, X: Table) -> np.ndarray:
    return estimator.predict(X, output_margin=True)


def _inverse_link(estimator: Estimator) -> InverseLink:
    name = estimator.objective
    return _INVERSE_LINKS.get(name, identity) if isinstance(name, str) else identity


_INVERSE_LINKS: dict[str, InverseLink] = {
    "count:poisson": np.exp,
    "reg:gamma": np.exp,
    "reg:tweedie": np.exp,
    "survival:cox": np.exp,
    "reg:logistic": expit,
    "binary:logistic": expit,
    "binary:hinge": lambda margins: np.heaviside(margins, 0.0),
}
RANKER = Backend(
    partial(fit_xgboost, ranks=True), "n_estimators", ranks=True, trains_objective=True,
    takes_metrics=True, margins=_margins,
)  # fmt: skip
REGRESSOR = Backend(
    fit_xgboost, "n_estimators", takes_metrics=True, margins=_margins, inverse_link=_inverse_link
)
CLASSIFIER = Backend(fit_xgboost, "n_estimators")
