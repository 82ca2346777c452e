"""Checks of the parameters and arguments of GroupedRanker, with messages that name the remedy."""

from __future__ import annotations

from skrank import _validation as check
from skrank._boosters.adapters import objective_of
from skrank._fitted import DASK_MODULES
from skrank._typing import Estimator, Options
from skrank.rankers._fit import EstimatorKind, metrics_of
from skrank.rankers._kinds import kind_of
from skrank.rankers._linear import LinearRanker


def check_fit_params(ranker: Estimator, params: Options) -> None:
    """Raise for arguments of `fit` of a booster that GroupedRanker replaces."""
    if not kind_of(ranker.estimator).rounds_parameters:
        return
    callbacks = params.get("callbacks") or getattr(ranker.estimator, "callbacks", None)
    if callbacks and ranker._options()["refit"]:
        raise ValueError(
            "callbacks of the booster belong to the training that finds the best round, and "
            "options={'refit': True} trains again: leave out one of the two."
        )
    if replaced := sorted(params.keys() & check.REPLACED_ARGUMENTS):
        raise ValueError(
            f"{replaced[0]}= is for the estimator's own fit. GroupedRanker has groups= and "
            "sample_weight= for each row; X_val=, y_val= and groups_val=, with eval_metric; and "
            "init=, where FrozenEstimator(model) with init_scale=None adds rounds to a model. "
            "Numbers of rows, such as pairs, need CatBoostRanker itself."
        )


def check_parameters(ranker: Estimator, *, has_X_val: bool) -> None:
    """Raise if the estimator of a GroupedRanker does not support a parameter.

    `has_X_val` is True if the caller passes validation rows to `fit`.
    """
    kind, name = kind_of(ranker.estimator), type(ranker.estimator).__name__
    check.check_flag("refit", ranker._options()["refit"])
    if ranker.objective is not None and not kind.trains_objectives:
        raise ValueError(
            f"{name} cannot train on objective={ranker.objective!r}: LGBMRanker and XGBRanker can. "
            "CatBoostRanker calls objectives on blocks of rows, without their queries: choose an "
            'objective of CatBoost, loss_function="YetiRank:mode=NDCG", with eval_metric.'
        )
    objective = None if ranker.objective is None else objective_of(ranker.objective)
    if objective is not None and ranker.estimator.get_params(deep=False).get("class_weight"):
        raise ValueError(
            f"class_weight of {name} weights rows by their grades, and objective= weights queries: "
            "leave class_weight unset, and give sample_weight to fit, constant inside a query."
        )
    if ranker.eval_metric is not None and not kind.follows_metrics:
        raise ValueError(
            f"{name} cannot follow eval_metric={ranker.eval_metric!r}: leave it unset, and "
            "measure with skrank.scorer. HistGradientBoosting and the rankers and regressors of "
            "LightGBM, XGBoost and CatBoost can follow eval_metric."
        )
    if ranker.init_scale is not None:
        check.check_number("init_scale", ranker.init_scale, 0, 1e6, open_low=True)
    if ranker.init is not None:
        _check_start(ranker, kind)
    metrics_of(ranker, kind, objective)  # raises if one is unknown
    _check_validation(ranker, kind, has_X_val=has_X_val)


def _check_validation(ranker: Estimator, kind: EstimatorKind, *, has_X_val: bool) -> None:
    """Refuse parameters of early stopping that the estimator does not support.

    Without validation rows, warn of those that have no effect.
    """
    name = type(ranker.estimator).__name__
    validates = has_X_val or ranker.validation_fraction is not None
    if validates and not kind.rounds_parameters:
        raise ValueError(
            f"{name} does not train in rounds, so there is nothing to stop early: leave "
            "validation_fraction and X_val unset."
        )
    params = ranker.estimator.get_params(deep=False) if kind.patience_parameters else {}
    if stopping := [*filter(params.get, kind.patience_parameters)]:
        raise ValueError(
            f"{stopping[0]} of {name} is for its own early stopping: leave it out. GroupedRanker "
            "has early_stopping_rounds, for any improvement of the metric, with "
            "validation_fraction, or with X_val, y_val and groups_val of fit."
        )
    rounds = ranker._checked_patience("rounds", has_X_val=has_X_val)
    changing = check.boosting_kinds(params) & {"dart", "gblinear"}
    if validates and rounds is not None and changing:
        raise check.cannot_stop(f"{name} with {changing.pop()}")


def _check_start(ranker: Estimator, kind: EstimatorKind) -> None:
    """Raise if the estimator cannot start from the scores of `init`."""
    init, name = ranker.init, type(ranker.estimator).__name__
    if isinstance(init, str):
        check.check_choice("init", init, ("linear",))
    elif (
        not hasattr(init, "fit")
        or isinstance(init, type)
        or type(init).__module__.startswith(DASK_MODULES)
    ):
        raise ValueError(
            f'init={init!r} must be "linear", None, or an estimator that does not train on Dask.'
        )
    if not kind.starts_from_scores:
        raise ValueError(
            f"{name} cannot start from the scores of init={init!r}: rankers and regressors of "
            "LightGBM, XGBoost and CatBoost can."
        )
    params = ranker.estimator.get_params(deep=False)
    if check.boosting_kinds(params) & {"rf", "random_forest"}:
        raise ValueError(
            "the random forest of LightGBM averages trees, and cannot start from scores of init: "
            'choose another boosting_type, such as "gbdt", or leave init unset.'
        )
    model = getattr(init, "estimator", init)  # inside a FrozenEstimator
    constraint = check.monotone_param(params)
    if constraint is not None and not _is_monotone(model):
        raise ValueError(
            f"{constraint} of {name} does not hold for the scores of init={init!r}: leave init "
            "unset, or start from a model with monotone constraints of its own."
        )
    missing = check.missing_param(params)
    is_linear = isinstance(model, LinearRanker) and isinstance(model.features, str)
    if missing is not None and (isinstance(init, str) or is_linear):
        raise ValueError(
            f"{missing}={params[missing]!r} of {name}: a linear start reads NaN alone as missing. "
            f"Write missing values as NaN in X, and leave {missing} unset."
        )


def _is_monotone(model: Estimator | str) -> bool:
    """True if a model, or a model inside it, has monotone constraints."""
    params = model.get_params() if hasattr(model, "get_params") else {}
    return any(check.monotone_param({key.rpartition("__")[2]: params[key]}) for key in params)
