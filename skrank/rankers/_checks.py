"""Parameters and arguments that GroupedRanker refuses, with the remedy."""

from __future__ import annotations

import warnings

from skrank import _validation as check
from skrank._boosters.adapters import objective_of
from skrank._typing import Estimator, Options
from skrank.metrics import metric
from skrank.objectives import Objective
from skrank.rankers._fit import DASK_MODULES, EstimatorKind, metrics_of
from skrank.rankers._kinds import kind_of
from skrank.rankers._rows import Rows

_SIZES = ("group", "group_id")  # arguments of fit of LightGBM, XGBoost and CatBoost
_VALIDATION = (
    "eval_set", "eval_X", "eval_y", "eval_group", "eval_qid", "eval_names", "eval_metric",
    "eval_sample_weight", "sample_weight_eval_set", "early_stopping_rounds",
)  # fmt: skip


def check_parameters(ranker: Estimator, *, has_X_val: bool) -> None:
    """Refuse parameters of a GroupedRanker that its estimator does not support.

    `has_X_val` is True if the caller gives validation rows to `fit`.
    """
    kind, name = kind_of(ranker.estimator), type(ranker.estimator).__name__
    metric(ranker.scoring)  # raises if unknown
    if ranker.objective is not None and not kind.trains_objectives:
        reason = ""
        if kind.trains_on_queries and hasattr(ranker.estimator, "eval_metrics"):
            reason = (
                " CatBoost calls objectives on blocks of rows, without their queries: choose "
                'one of its own, loss_function="YetiRank:mode=NDCG", and follow eval_metric.'
            )
        raise ValueError(
            f"{name} cannot train on objective={ranker.objective!r}: "
            f"LGBMRanker and XGBRanker can.{reason}"
        )
    objective = None if ranker.objective is None else objective_of(ranker.objective)
    if ranker.eval_metric is not None and not kind.follows_metrics:
        raise ValueError(
            f"{name} cannot follow eval_metric={ranker.eval_metric!r}: leave it unset, and "
            "measure with skrank.scorer. HistGradientBoosting can, and the rankers and "
            "regressors of LightGBM, XGBoost and CatBoost."
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
    if validates and not kind.validates:
        raise ValueError(
            f"{name} cannot validate while it trains: each machine would measure its own queries, "
            "and stop by itself. Leave validation_fraction and X_val unset and measure the trained "
            "ranker, or train xgboost.dask.DaskXGBRanker, whose machines stop together."
        )
    if has_X_val and ranker.validation_fraction is not None:
        raise ValueError("there are X_val and validation_fraction: set one of the two.")
    if validates and kind.rounds_parameter is None:
        raise ValueError(
            f"{name} does not train in rounds, so there is nothing to stop early: leave "
            "validation_fraction and X_val unset."
        )
    params = ranker.estimator.get_params(deep=False) if kind.patience_parameters else {}
    for own in filter(params.get, kind.patience_parameters):
        raise ValueError(
            f"{own} of {name} needs queries to validate on: give early_stopping_rounds to "
            "GroupedRanker instead, with validation_fraction, or with X_val, y_val and groups_val "
            "of fit."
        )
    given = [] if ranker.eval_metric is None else ["eval_metric"]
    rounds = ranker.early_stopping_rounds
    if rounds is not None and not (isinstance(rounds, str) and rounds == "auto"):
        check.check_count("early_stopping_rounds", rounds, 'rounds without improvement, or "auto"')
        given.append("early_stopping_rounds")
    if given and not validates:
        warnings.warn(
            f"{' and '.join(given)} of GroupedRanker without validation: training goes on to the "
            "end. Give validation_fraction, or X_val, y_val and groups_val to fit.",
            UserWarning,
            stacklevel=5,  # where fit is called
        )
    stops = validates and rounds is not None
    if stops and "dart" in _boosting(ranker.estimator):  # later rounds change earlier trees
        raise check.dart_cannot_stop(name)


def _check_start(ranker: Estimator, kind: EstimatorKind) -> None:
    """Refuse an `init` that the estimator cannot start from."""
    if isinstance(ranker.init, str):
        check.check_choice("init", ranker.init, ("linear",))
    elif not hasattr(ranker.init, "fit") or isinstance(ranker.init, type):
        raise ValueError(f'init={ranker.init!r} is not an estimator: give one, "linear" or None.')
    if type(ranker.init).__module__.startswith(DASK_MODULES):
        raise ValueError(
            f"init={type(ranker.init).__name__} trains on Dask, and gives no start: choose "
            'init="linear" or a skrank.LinearRanker.'
        )
    if not kind.starts_from_scores:
        raise ValueError(
            f"{type(ranker.estimator).__name__} cannot start from the scores of init="
            f"{ranker.init!r}: rankers and regressors of LightGBM, XGBoost and CatBoost can."
        )
    if any(name in ("rf", "random_forest") for name in _boosting(ranker.estimator)):
        raise ValueError(
            "the random forest of LightGBM averages trees, and starts from no scores of init: "
            'choose another boosting_type, such as "gbdt", or leave init unset.'
        )


def _boosting(estimator: Estimator) -> list[object]:
    """Values of the parameters of LightGBM and XGBoost for the kind of boosting."""
    params = estimator.get_params(deep=False)
    return [params.get(name) for name in ("booster", "boosting_type", "boosting", "boost")]


def check_fit_params(params: Options, kind: EstimatorKind, *, overwrites: bool) -> None:
    """Refuse arguments of `fit` that GroupedRanker sets itself."""
    for name in params:
        if name in _SIZES and kind.trains_on_queries:
            raise ValueError(
                f"{name}= is for the estimator's own fit: give GroupedRanker the query id of each "
                "row as groups=, or on the index of y (skrank.with_groups). Ids from group sizes: "
                "numpy.repeat(numpy.arange(len(sizes)), sizes)."
            )
        if name in _VALIDATION and overwrites:
            raise ValueError(
                f"{name}= of fit would be overwritten by GroupedRanker: give it eval_metric and "
                "early_stopping_rounds, and validation rows to fit as X_val, y_val and groups_val."
            )


def check_taken_positions(objective: Objective | None, rows: Rows) -> None:
    """Refuse positions that the objective ignores; warn where they are missing."""
    if objective is None or not objective.takes_positions:
        if rows.positions is not None:
            raise ValueError(
                "position= is for objectives that learn about positions: train with "
                "skrank.AdditivePositionBias(objective) or skrank.UnbiasedLambdaRank(metric)."
            )
        return
    if rows.positions is None:
        check.check_rows_shown(rows.kept)
        warnings.warn(
            "the order of the rows inside their query is taken for the positions at which their "
            "documents were shown; the order of shuffled rows is meaningless. Give position= to "
            "fit.",
            UserWarning,
            stacklevel=5,  # where fit is called
        )
