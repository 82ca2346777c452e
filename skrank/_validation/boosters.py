"""Checks of the arguments of LightGBM, XGBoost and CatBoost, and of their data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import first

# A further library adds its names to these lists, down to the first function.
# Ranking objectives; those of them that say no more than the default of rankers, and may stand
# beside an objective of skrank; parameters for objectives, for metrics, and for their cut-offs
OWN_OBJECTIVES = ("lambdarank", "rank_xendcg", "rank:ndcg", "rank:map", "rank:pairwise")
DEFAULT_OBJECTIVES = (None, "lambdarank", "rank:ndcg")
OBJECTIVE_PARAMETERS = ("objective", "objective_type", "app", "application", "loss")
METRIC_PARAMETERS = ("metric", "metrics", "metric_types", "eval_metric")
CUT_OFFS = ("eval_at", "ndcg_eval_at", "map_eval_at", "ndcg_at", "map_at")
NONE = (None, "None", "none", "custom", "null", "na")  # no metric or objective of LightGBM
# Arguments of `fit` that GroupedRanker replaces
REPLACED_ARGUMENTS = {
    "group", "group_id", "group_weight", "init_score", "base_margin", "baseline", "init_model",
    "xgb_model", "pairs", "pairs_weight", "graph", "subgroup_id", "eval_set", "eval_X", "eval_y",
    "eval_group", "eval_qid", "eval_names", "eval_metric", "eval_sample_weight", "eval_init_score",
    "sample_weight_eval_set", "base_margin_eval_set", "early_stopping_rounds", "qid",
}  # fmt: skip
# Parameters for the kind of boosting, for monotone constraints, and for missing values
_BOOSTING = ("booster", "boosting_type", "boosting", "boost")
_MONOTONE = ("monotone_constraints", "monotone_constraint", "monotonic_cst", "mc")
_MISSING = {"zero_as_missing": ("true", "1", "+"), "use_missing": ("false", "0", "-")}
# Parameters of the libraries' own losses, without effect on a callable objective: those that
# options of skrank.LambdaRank replace, those that `gain` of a metric replaces, and others
_LAMBDARANK_OPTIONS = {
    "lambdarank_truncation_level": "truncation_level", "lambdarank_norm": "norm",
    "lambdarank_num_pair_per_sample": "truncation_level", "lambdarank_normalization": "norm",
    "lambdarank_score_normalization": "norm", "sigmoid": "sigmoid",
    "objective_seed": "random_state",
}  # fmt: skip
_GAINS = ("label_gain", "ndcg_exp_gain")
_OTHERS = (
    "scale_pos_weight", "is_unbalance", "unbalance", "unbalanced_sets", "boost_from_average",
    "reg_sqrt", "alpha", "fair_c", "poisson_max_delta_step", "tweedie_variance_power",
    "huber_slope", "quantile_alpha", "expectile_alpha", "aft_loss_distribution",
    "aft_loss_distribution_scale",
)  # fmt: skip


def check_group_sizes(
    sizes: Sequence[int] | np.ndarray | None, n_rows: int, source: str, remedy: str
) -> np.ndarray:
    """Sizes of consecutive queries as int64, without empty queries; their sum must be `n_rows`."""
    if sizes is None or len(sizes) == 0:
        raise ValueError(f"{source} has no groups: pass {remedy} when you build it.")
    sizes = np.asarray(sizes).astype(np.int64)
    if sizes.sum() != n_rows:
        raise ValueError(f"the groups of {source} add up to {sizes.sum()}, not to {n_rows} rows.")
    return sizes[sizes > 0]


def boosting_kinds(params: Mapping[str, object]) -> set[str]:
    """Values of the parameters that choose the kind of boosting, such as "dart"."""
    return {str(params.get(name)).lower() for name in _BOOSTING}


def cannot_stop(booster: str) -> ValueError:
    """The error for early stopping with boosting whose later rounds change the earlier ones."""
    return ValueError(
        f"{booster} cannot stop early: the model of the best round is lost. Train a fixed "
        "number of rounds, with early_stopping_rounds=None, and choose this number by a search."
    )


def check_bagging(params: Mapping[str, Any]) -> None:
    """Refuse parameters of LightGBM with which a callable objective trains nothing."""
    # LightGBM ignores None
    values = {name: str(value).lower() for name, value in params.items() if value is not None}
    by_query = values.get("bagging_by_query") in ("true", "1", "+")
    # an estimator always has `subsample`, with its default if another alias is set
    shares = ("bagging_fraction", "subsample", "sub_row", "bagging")
    fractions = (float(values[name]) for name in shares if name in values)
    rounds = ("bagging_freq", "subsample_freq")
    frequencies = (float(values[name]) for name in rounds if name in values)
    if by_query and min(fractions, default=1) < 1 and max(frequencies, default=0) > 0:
        raise ValueError(
            "bagging_by_query=True with a callable objective trains nothing: LightGBM draws "
            "queries for its own objectives only: set bagging_by_query=False or bagging_fraction=1."
        )


def check_whole_queries(sizes: ArrayLike, rows: ArrayLike) -> None:
    """Check that `rows` contain all rows of a query, or none."""
    sizes = np.asarray(sizes).astype(np.int64)
    query = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.bincount(query[np.asarray(rows)], minlength=len(sizes))
    if (split := first((counts > 0) & (counts < sizes))) >= 0:
        raise ValueError(
            f"query {split} is split: only {counts[split]} of its {sizes[split]} rows are in this "
            "subset. Pass folds of queries to lightgbm.cv, folds=skrank.QueryKFold(5)."
        )


def refuse_params(params: Mapping[str, Any], names: Iterable[str], instead: str) -> None:
    """Refuse parameters `names`, which training replaces; users write `instead`."""
    for name in names:
        value: Any = params.get(name)
        if np.ndim(value) or value not in NONE:
            raise ValueError(f"the booster has {name}={value!r}: give {instead} instead.")


def refuse_loss_params(library: str, params: Mapping[str, object], *, metrics: bool) -> None:
    """Refuse parameters of the booster's own losses, which objectives of skrank do not read.

    With metrics=False, gains are allowed, because a metric of the booster may read them.
    """
    for name, value in params.items():
        if name in _LAMBDARANK_OPTIONS:
            remedy = f"give {_LAMBDARANK_OPTIONS[name]}= of skrank.LambdaRank"
        elif name in _GAINS and metrics:
            remedy = 'give gain= of the metric, such as skrank.metric("ndcg", gain="linear")'
        elif name.startswith("lambdarank_") or name in _OTHERS:
            remedy = "leave it out"
        else:
            continue
        is_penalty = name == "alpha" and library == "xgboost"
        if value is not None and not is_penalty:
            raise ValueError(
                f"{name}={value!r} is a parameter of the booster's own losses, without effect on "
                f"objectives of skrank: {remedy}."
            )


def missing_param(params: Mapping[str, Any]) -> str | None:
    """The parameter by which a booster reads other values as missing, or NaN as a value."""
    missing = params.get("missing")
    if missing is not None and not np.isnan(missing):
        return "missing"
    values = {name: str(params.get(name)).lower() for name in _MISSING}
    return next((name for name in values if values[name] in _MISSING[name]), None)


def monotone_param(params: Mapping[str, Any]) -> str | None:
    """The parameter of a booster that lets scores only rise, or only fall, with a feature."""
    for name in _MONOTONE:
        value = params.get(name)
        if isinstance(value, str):  # "(0,1)" of XGBoost, "0:1" or "name:1" of CatBoost
            signs = (item.rpartition(":")[2].strip("() ") for item in value.split(","))
            value = [sign not in ("", "0") for sign in signs]
        elif isinstance(value, Mapping):
            value = list(value.values())
        if value is not None and np.any(value):
            return name
    return None
