"""How each kind of estimator is trained: its own names for queries, weights and validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._engine.groups import LEVEL
from skrank.rankers._catboost import fit_catboost
from skrank.rankers._rows import Part
from skrank.rankers._training import VALIDATION, Fitted, HeldOut, Task
from skrank.scoring import predicted_scores


@dataclass(frozen=True)
class Backend:
    """What a kind of estimator can do.

    Attributes
    ----------
    fit : function of an estimator, the training part, the validation part or None, a Task and
        further parameters for the estimator's `fit`; gives a Fitted
    rounds : name of the parameter that says how many rounds to train, if there are rounds
    ranks : it trains on queries
    trains_objective : it can train on an Objective
    takes_metrics : its early stopping can follow a Metric
    """

    fit: Callable[[Any, Part, Part | None, Task, dict[str, Any]], Fitted]
    rounds: str | None = None
    ranks: bool = False
    trains_objective: bool = False
    takes_metrics: bool = False


def backend_of(estimator: Any) -> Backend:
    """The backend of an estimator, found by the names of its classes: none is imported."""
    names = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(estimator).__mro__}
    if ("sklearn", "Pipeline") in names and backend_of(estimator.steps[-1][1]).ranks:
        inner = type(estimator.steps[-1][1]).__name__
        raise TypeError(
            f"a Pipeline passes no groups to its {inner}: put the GroupedRanker into the pipeline, "
            f"make_pipeline(..., GroupedRanker({inner}()))."
        )
    regresses = not hasattr(estimator, "predict_proba")
    if ("lightgbm", "LGBMRanker") in names:
        return Backend(_fit_lightgbm, "n_estimators", True, True, True)
    if ("lightgbm", "LGBMModel") in names:
        return Backend(_fit_lightgbm, "n_estimators", takes_metrics=regresses)
    if ("xgboost", "XGBRanker") in names:
        return Backend(_fit_xgboost, "n_estimators", True, True, True)
    if ("xgboost", "XGBModel") in names:
        return Backend(_fit_xgboost, "n_estimators", takes_metrics=regresses)
    if ("catboost", "CatBoostRanker") in names:
        ranked = partial(fit_catboost, ranks=True)
        return Backend(ranked, "iterations", ranks=True, takes_metrics=True)
    if ("catboost", "CatBoost") in names:
        return Backend(fit_catboost, "iterations", takes_metrics=regresses)
    if ("sklearn", "BaseHistGradientBoosting") in names:
        return Backend(_fit_hist, "max_iter", takes_metrics=True)
    taken = _group_parameter(estimator)
    return Backend(_fit_other, ranks=taken is not None)


# LightGBM -----------------------------------------------------------------------------------------


def _fit_lightgbm(
    estimator: Any, train: Part, valid: Part | None, task: Task, params: dict[str, Any]
) -> Fitted:
    ranks = backend_of(estimator).ranks
    if task.objective is not None:
        import skrank.lightgbm

        estimator.set_params(objective=skrank.lightgbm.objective(task.objective))
    if task.objective is not None or (task.metrics and valid is not None):
        estimator.set_params(metric="None")  # its own metrics would also stop the training
    if ranks:
        params["group"] = train.queries.sizes
        check.query_weights(train.weights, train.queries)
    if valid is not None:
        params |= _lightgbm_validation(estimator, valid, task, params, ranks)
    estimator.fit(train.X, train.y, sample_weight=train.weights, **params)
    evals = estimator.evals_result_.get(VALIDATION, {}) if valid is not None else {}
    return Fitted(estimator, estimator.best_iteration_ or estimator.n_estimators_, dict(evals))


def _lightgbm_validation(
    estimator: Any, valid: Part, task: Task, params: dict[str, Any], ranks: bool
) -> dict[str, Any]:
    added: dict[str, Any] = {"eval_names": [VALIDATION]}
    if "eval_X" in signature(estimator.fit).parameters:  # LightGBM 4.7 deprecates eval_set
        added |= {"eval_X": (valid.X,), "eval_y": (valid.y,)}
    else:
        added["eval_set"] = [(valid.X, valid.y)]
    if ranks:
        added["eval_group"] = [valid.queries.sizes]
    if valid.weights is not None:
        added["eval_sample_weight"] = [valid.weights]
    if task.metrics:
        added["eval_metric"] = HeldOut(valid, task.metrics)
    if task.rounds is not None:
        stop = import_booster("lightgbm").early_stopping(
            task.rounds, first_metric_only=True, verbose=False
        )
        added["callbacks"] = [*(params.get("callbacks") or ()), stop]
    return added


# XGBoost ------------------------------------------------------------------------------------------


def _fit_xgboost(
    estimator: Any, train: Part, valid: Part | None, task: Task, params: dict[str, Any]
) -> Fitted:
    if LEVEL in list(getattr(train.X, "columns", ())):
        raise ValueError(
            f'{type(estimator).__name__} takes a column "qid" of X for queries of its own: move it '
            "to the index, X.set_index('qid'), or drop it and use skrank.with_groups(y, qid)."
        )
    params.setdefault("verbose", False)
    if task.objective is None and (valid is None or not task.metrics):
        evals = _fit_xgboost_itself(estimator, train, valid, task, params)
    else:
        evals = _train_xgboost(estimator, train, valid, task, **params)
    booster = estimator.get_booster()
    try:
        rounds = booster.best_iteration + 1
    except AttributeError:  # it did not stop early
        rounds = booster.num_boosted_rounds()
    return Fitted(estimator, rounds, evals)


def _fit_xgboost_itself(
    estimator: Any, train: Part, valid: Part | None, task: Task, params: dict[str, Any]
) -> dict[str, list[float]]:
    """`fit` of the estimator, with its own objective and metric."""
    ranks = backend_of(estimator).ranks
    if ranks and callable(estimator.eval_metric):
        raise ValueError(
            "XGBRanker would weigh queries by their size and minimise a callable eval_metric: give "
            "eval_metric, a metric of skrank, to GroupedRanker."
        )
    params["sample_weight"] = train.query_weights if ranks else train.weights
    if ranks:
        params["group"] = train.queries.sizes
    if valid is not None:
        params["eval_set"] = [(valid.X, valid.y)]
        weights = valid.query_weights if ranks else valid.weights
        params["sample_weight_eval_set"] = None if weights is None else [weights]
        if ranks:
            params["eval_group"] = [valid.queries.sizes]
        estimator.set_params(early_stopping_rounds=task.rounds)
    estimator.fit(train.X, train.y, **params)
    return dict(estimator.evals_result()["validation_0"]) if valid is not None else {}


def _train_xgboost(
    estimator: Any,
    train: Part,
    valid: Part | None,
    task: Task,
    *,
    verbose: bool | int,
    xgb_model: Any = None,
) -> dict[str, list[float]]:
    """`xgboost.train` in place of `fit`: XGBRanker refuses objectives and tears metrics apart."""
    import skrank.xgboost

    if callable(estimator.get_params().get("objective")):
        raise ValueError("name the objective of the estimator, or give objective to GroupedRanker.")
    ranks = backend_of(estimator).ranks
    settings = estimator.get_xgb_params() | {"disable_default_eval_metric": 1}
    settings.pop("eval_metric", None)
    data = _dmatrix(estimator, train, grouped=ranks)
    log: dict[str, dict[str, list[float]]] = {}
    options: dict[str, Any] = {}
    callbacks = list(estimator.callbacks or ())
    if task.objective is not None:
        options["obj"] = skrank.xgboost.objective(task.objective)
    if valid is not None:
        metrics = list(task.metrics.values())
        HeldOut(valid, task.metrics)  # raises if they cannot be measured
        options["evals"] = [(_dmatrix(estimator, valid, grouped=True, like=data), VALIDATION)]
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


def _dmatrix(estimator: Any, part: Part, *, grouped: bool, like: Any = None) -> Any:
    """Data in the form that the estimator's `fit` would choose."""
    xgboost = import_booster("xgboost")
    fields = {
        "data": part.X,
        "label": part.y,
        "group": part.queries.sizes if grouped else None,
        "weight": part.query_weights if grouped else part.weights,
        "missing": estimator.missing,
        "feature_types": estimator.feature_types,
        "feature_weights": getattr(estimator, "feature_weights", None),
        "enable_categorical": estimator.enable_categorical,
        "nthread": estimator.n_jobs,
    }
    binned = estimator.tree_method in ("hist", "auto", None) and estimator.booster != "gblinear"
    if binned and "sycl" not in str(estimator.device):
        return xgboost.QuantileDMatrix(**fields, ref=like, max_bin=estimator.max_bin)
    return xgboost.DMatrix(**fields)


# scikit-learn -------------------------------------------------------------------------------------


class _HeldOutScorer:
    """The first metric as `scoring` of HistGradientBoosting, which also scores training rows."""

    def __init__(self, held_out: HeldOut, y: np.ndarray) -> None:
        self.held_out = held_out
        self.y = y
        self.log: dict[str, list[float]] = {name: [] for name in held_out.plans}

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            return 0.0  # training rows, whose score decides nothing
        for name, value, _ in self.held_out(y, predicted_scores(estimator, X)):
            self.log[name].append(value)
        name, plan = next(iter(self.held_out.plans.items()))
        return self.log[name][-1] * (1 if plan.metric.greater_is_better else -1)

    def rounds(self, count: int) -> dict[str, list[float]]:
        """Values of the rounds, without those from before the first.

        Training rows with the labels of the validation rows are in the log too: before these.
        """
        log = self.log.items()
        return {name: values[:: -(len(values) // count)][-2::-1] for name, values in log}


def _fit_hist(
    estimator: Any, train: Part, valid: Part | None, task: Task, params: dict[str, Any]
) -> Fitted:
    """HistGradientBoosting, which by itself holds out rows, tears queries and keeps all rounds."""
    if valid is None:
        if estimator.early_stopping is True:
            raise ValueError(
                "early_stopping=True of HistGradientBoosting holds out rows, which tears queries "
                "apart: give validation_fraction to GroupedRanker instead."
            )
        estimator.set_params(early_stopping=False)
        estimator.fit(train.X, train.y, sample_weight=train.weights, **params)
        return Fitted(estimator, estimator.n_iter_)
    if "X_val" not in signature(estimator.fit).parameters:
        raise ValueError(
            "HistGradientBoosting takes validation rows since scikit-learn 1.7: update it, or "
            "leave validation_fraction and X_val unset."
        )
    whole = clone(estimator)
    scorer = _HeldOutScorer(HeldOut(valid, task.metrics), valid.y) if task.metrics else None
    whole.set_params(early_stopping=True, n_iter_no_change=task.rounds or estimator.max_iter)
    if scorer is not None:
        whole.set_params(scoring=scorer)
    whole.fit(
        train.X, train.y, sample_weight=train.weights, **params,
        X_val=valid.X, y_val=valid.y, sample_weight_val=valid.weights,
    )  # fmt: skip
    scores = whole.validation_score_[1:]  # the first is from before the first round
    best = int(np.argmax(scores)) + 1
    evals = {"loss": (-scores).tolist()} if scorer is None else scorer.rounds(1 + len(scores))
    estimator.set_params(early_stopping=False, max_iter=best)
    estimator.fit(train.X, train.y, sample_weight=train.weights, **params)
    return Fitted(estimator, best, evals)


def _group_parameter(estimator: Any) -> str | None:
    """Parameter of `fit` of some other ranker that takes the query of each row."""
    known = signature(estimator.fit).parameters
    return next((name for name in ("groups", "qid", "qids", "group_id") if name in known), None)


def _fit_other(
    estimator: Any, train: Part, valid: Part | None, task: Task, params: dict[str, Any]
) -> Fitted:
    name = _group_parameter(estimator)
    if name is not None:
        params[name] = train.queries.row_query
    if train.weights is not None:
        params[_weight_parameter(estimator)] = train.weights
    return Fitted(estimator.fit(train.X, train.y, **params))


def _weight_parameter(estimator: Any) -> str:
    """Name under which `fit` takes weights; in a Pipeline, those of its last step."""
    import sklearn

    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if "sample_weight" not in signature(last.fit).parameters:
        raise ValueError(f"{type(last).__name__} takes no sample_weight: fit without it.")
    if last is estimator or sklearn.get_config()["enable_metadata_routing"]:
        return "sample_weight"
    return f"{estimator.steps[-1][0]}__sample_weight"
