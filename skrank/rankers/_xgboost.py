"""XGBoost under a GroupedRanker: `xgboost.train` where XGBRanker refuses what skrank gives."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

import skrank.xgboost
from skrank._boosters.adapters import import_booster
from skrank._engine.whole import LEVEL
from skrank._typing import Estimator, Options
from skrank.rankers._rows import Part
from skrank.rankers._task import Task
from skrank.rankers._training import VALIDATION, Backend, Fitted, HeldOut, Log, started

if TYPE_CHECKING:
    import xgboost


def fit_xgboost(
    estimator: Estimator,
    train: Part,
    valid: Part | None,
    task: Task,
    params: Options,
    *,
    ranks: bool = False,
) -> Fitted:
    """Train an estimator of XGBoost; for `ranks`, on queries."""
    if LEVEL in list(getattr(train.X, "columns", ())):
        raise ValueError(
            f'{type(estimator).__name__} takes a column "qid" of X for queries of its own: move it '
            "to the index, X.set_index('qid'), or drop it and use skrank.with_groups(y, qid)."
        )
    params.setdefault("verbose", False)
    if train.start is not None:
        estimator.set_params(base_score=0.0)  # predictions are what the rounds add to the start
    train, valid = started(train, valid, "base_margin", params)
    if task.objective is None and (valid is None or not task.metrics):
        evals = _fit_itself(estimator, train, valid, task, params, ranks)
    else:
        evals = _train(estimator, train, valid, task, ranks, **params)
    return Fitted(estimator, cut_to_best(estimator), evals)


def cut_to_best(estimator: Estimator) -> int:
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


def _fit_itself(
    estimator: Estimator,
    train: Part,
    valid: Part | None,
    task: Task,
    params: Options,
    ranks: bool,
) -> Log:
    """`fit` of the estimator, with its own objective and metric."""
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
    estimator: Estimator,
    train: Part,
    valid: Part | None,
    task: Task,
    ranks: bool,
    *,
    verbose: bool | int,
    xgb_model: str | xgboost.Booster | None = None,
    feature_weights: ArrayLike | None = None,
) -> Log:
    """`xgboost.train` in place of `fit`: XGBRanker refuses objectives and tears metrics apart."""
    if callable(estimator.get_params().get("objective")):
        raise ValueError("name the objective of the estimator, or give objective to GroupedRanker.")
    settings = estimator.get_xgb_params() | {"disable_default_eval_metric": 1}
    settings.pop("eval_metric", None)
    if feature_weights is None:
        feature_weights = getattr(estimator, "feature_weights", None)
    data = _dmatrix(estimator, train, ranks, feature_weights)
    log: dict[str, Log] = {}
    options: Options = {}
    callbacks = list(estimator.callbacks or ())
    if task.objective is not None:
        options["obj"] = skrank.xgboost.objective(task.objective)
        options["obj"].positions = train.positions
    if valid is not None:
        metrics = list(task.metrics.values())
        HeldOut(valid, task.metrics)  # raises if they cannot be measured
        held_out = _dmatrix(estimator, valid, True, feature_weights, like=data)
        options["evals"] = [(held_out, VALIDATION)]
        options["custom_metric"] = skrank.xgboost.eval_metric(*metrics)
        if task.rounds is not None:
            callbacks.append(skrank.xgboost.early_stopping(metrics[0], rounds=task.rounds))
    # what XGBRanker's own fit assigns: predict, save_model, feature_importances_ and SHAP read it
    estimator._Booster = import_booster("xgboost").train(
        settings,
        data,
        estimator.get_num_boosting_rounds(),
        evals_result=log,
        callbacks=callbacks,
        verbose_eval=verbose,
        xgb_model=xgb_model,
        **options,
    )
    values = log.get(VALIDATION, {}).values()
    estimator.evals_result_ = {"validation_0": dict(zip(task.metrics, values, strict=False))}
    return dict(estimator.evals_result_["validation_0"])


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


RANKER = Backend(partial(fit_xgboost, ranks=True), "n_estimators", True, True, True, True)
REGRESSOR = Backend(fit_xgboost, "n_estimators", takes_metrics=True, takes_start=True)
CLASSIFIER = Backend(fit_xgboost, "n_estimators")
