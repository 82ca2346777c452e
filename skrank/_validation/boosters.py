"""Checks of the arguments of LightGBM, XGBoost and CatBoost, and of their data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def check_group_sizes(
    sizes: Sequence[int] | np.ndarray | None,
    n_rows: int,
    source: str,
    remedy: str = "group= (sizes of consecutive queries)",
) -> np.ndarray:
    """Sizes of consecutive queries as int64, without empty queries; their sum must be `n_rows`."""
    if sizes is None or len(sizes) == 0:
        raise ValueError(f"{source} has no groups: pass {remedy} when you build it.")
    sizes = np.asarray(sizes).astype(np.int64)
    if sizes.sum() != n_rows:
        raise ValueError(f"the groups of {source} add up to {sizes.sum()}, not to {n_rows} rows.")
    return sizes[sizes > 0]


OBJECTIVES_OF_BOOSTERS = {  # and the metric that errors suggest in place of each
    "lambdarank": "ndcg",
    "rank_xendcg": "ndcg",
    "rank:ndcg": "ndcg",
    "rank:map": "ap",
    "rank:pairwise": "ndcg",
}


def objective_of_booster(name: str) -> ValueError:
    """The error for the name of an objective of a booster in place of an objective of skrank."""
    return ValueError(
        f"objective={name!r} is an objective of the booster: pass it to the booster instead of an "
        "objective of skrank; or name a metric to train on, such as "
        f"objective={OBJECTIVES_OF_BOOSTERS[name]!r}."
    )


def dart_cannot_stop(what: str) -> ValueError:
    """The error for early stopping with dart."""
    return ValueError(
        f"{what} with dart cannot stop early: later rounds change the weights of earlier trees, "
        "so that the model of the best round is lost. Train a fixed number of rounds, with "
        "early_stopping_rounds=None, and choose it by a search."
    )


def check_evaluated(metric: str, log: Mapping[str, object]) -> None:
    """Check that the metric for early stopping is among the metrics that XGBoost evaluates."""
    if metric not in log:
        raise ValueError(
            f"early stopping uses {metric}, which is not an evaluated metric: {', '.join(log)}. "
            "Pass the same metric to early_stopping and eval_metric, with the same parameters."
        )


def check_bagging(params: Mapping[str, Any]) -> None:
    """Refuse parameters of LightGBM with which a callable objective trains nothing."""
    by_query = str(_given(params, False, "bagging_by_query")).lower() in ("true", "1", "+")
    fraction = _given(params, 1.0, "bagging_fraction", "subsample", "sub_row", "bagging")
    every = _given(params, 0, "bagging_freq", "subsample_freq")
    if by_query and float(fraction) < 1 and float(every) > 0:
        raise ValueError(
            "bagging_by_query=True with a callable objective trains nothing: LightGBM draws "
            "queries only for its own objectives, so that no tree gets any data. "
            "Set bagging_by_query=False (rows are drawn then), or bagging_fraction=1."
        )


def _given(params: Mapping[str, Any], default: object, *aliases: str) -> Any:
    """The value of a parameter of LightGBM given under any of its aliases, or the default."""
    for name in aliases:
        if name in params:
            return params[name]
    return default


def check_whole_queries(sizes: ArrayLike | None, rows: ArrayLike) -> None:
    """Check that `rows` contain all rows of a query, or none."""
    sizes = np.asarray(sizes).astype(np.int64)
    query = np.repeat(np.arange(len(sizes)), sizes)[np.asarray(rows)]
    kept = np.bincount(query, minlength=len(sizes))
    torn = np.flatnonzero((kept > 0) & (kept < sizes))
    if len(torn):
        raise ValueError(
            f"{len(torn)} queries are torn apart, first query {torn[0]}: {kept[torn[0]]} of its "
            f"{sizes[torn[0]]} rows are in this subset. Split by query: with a callable objective, "
            "lightgbm.cv needs folds=sklearn.model_selection.GroupKFold(5); skrank.lightgbm.cv "
            "splits by query without it."
        )


def check_group_ids(groups: ArrayLike | None, sizes: np.ndarray) -> np.ndarray:
    """Query id of each row, after a check that ids agree with the sizes of the queries."""
    ids, ends = np.asarray(groups), np.cumsum(sizes)
    if ids.shape != (ends[-1],):
        raise ValueError(
            f"groups has shape {ids.shape} for {ends[-1]} rows: pass one query id per row."
        )
    first = ids[ends - sizes]
    differ = np.flatnonzero(ids != np.repeat(first, sizes))
    if len(differ):
        raise ValueError(
            f"groups and the data set disagree: row {differ[0]} has query {ids[differ[0]]!r} in "
            "groups, and the same query as the row above in the data set."
        )
    if len(set(first.tolist())) < len(first):
        raise ValueError("groups has the same id for two queries of the data set: ids must differ.")
    return ids


def check_fold(number: int, split: Any, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a fold, ascending.

    No query may be in both, and each query must be in one of them with all its rows or not at all.
    """
    try:
        train, test = (np.asarray(rows) for rows in split)
    except (TypeError, ValueError):
        raise ValueError(f"fold {number} must be a pair of row numbers, (train, test).") from None
    query = np.repeat(np.arange(len(sizes)), sizes)
    kept = []
    for part, rows in (("training", train), ("test", test)):
        where = f"the {part} part of fold {number}"
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
            raise ValueError(f"{where} must hold row numbers, at least one.")
        if rows.min() < 0 or rows.max() >= len(query):
            raise ValueError(f"{where} names a row outside of 0..{len(query) - 1}.")
        distinct, times = np.unique(rows, return_counts=True)
        if (times > 1).any():
            raise ValueError(f"{where} repeats rows, such as row {distinct[times > 1][0]}.")
        counts = np.bincount(query[rows], minlength=len(sizes))
        torn = np.flatnonzero((counts > 0) & (counts != sizes))
        if len(torn):
            raise ValueError(
                f"{where} tears queries apart: of query {torn[0]} it has {counts[torn[0]]} rows, "
                f"not {sizes[torn[0]]}. Split by query, for example with skrank.QueryKFold(5)."
            )
        kept.append(counts > 0)
    both = np.flatnonzero(kept[0] & kept[1])
    if len(both):
        raise ValueError(f"fold {number} has query {both[0]} in its training and its test part.")
    return np.sort(train), np.sort(test)


def check_query_log(log: object, kind: type) -> Any:
    """`log`, after a check that it is of type `kind` or None."""
    if log is not None and not isinstance(log, kind):
        raise ValueError(f"per_query={log!r} must be a QueryLog() of skrank, or None.")
    return log


def check_no_query_log(log: object) -> None:
    """Refuse a log in distributed training: each worker would fill a copy of its own."""
    if log is not None:
        raise ValueError(
            "per_query= logs the queries of one worker only: leave it out in distributed training, "
            "and use skrank.Metric.per_query on all predictions afterwards."
        )


def check_sliceable(matrix: Any, xgboost: Any) -> None:
    """Refuse a DMatrix that XGBoost cannot split."""
    for article, kind in (("a", "QuantileDMatrix"), ("an", "ExtMemQuantileDMatrix")):
        if isinstance(matrix, getattr(xgboost, kind, ())):  # XGBoost 2 has no ExtMemQuantileDMatrix
            raise TypeError(
                f"XGBoost cannot split {article} {kind}: build an xgboost.DMatrix, which "
                "trains the same model with tree_method='hist', except for the bounds of bins."
            )


def refuse_params(params: Mapping[str, object], names: Iterable[str], instead: str) -> None:
    """Refuse parameters of a booster that must be given as `instead`."""
    for name in names:
        if params.get(name) not in (None, "None", "none", "custom", "null", "na", 0):
            raise ValueError(f"params has {name}={params[name]!r}: give {instead} instead.")


def per_query_weights(weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Weights of an XGBoost DMatrix, after a check that there is one per query."""
    if len(weights) != len(sizes):
        raise ValueError(
            f"the DMatrix has {len(weights)} weights for {len(sizes)} queries: XGBoost takes one "
            "weight per query when rows have a qid. With row weights, pass "
            "weight=w[numpy.unique(qid, return_index=True)[1]]."
        )
    return weights.astype(np.float64)


def not_a_dmatrix(what: str) -> TypeError:
    """The error for a callable that XGBoost calls with arrays, without queries."""
    return TypeError(
        f"{what} needs a DMatrix with queries, and XGBoost's scikit-learn estimators pass arrays: "
        "use xgboost.train, or skrank.GroupedRanker, which does."
    )


def check_arithmetic(metrics: Iterable[Any]) -> None:
    """Refuse metrics that are not a weighted mean over queries, the sums of which workers add."""
    for metric in metrics:
        if metric.average in ("geometric", "sum"):
            raise ValueError(
                f"{metric} cannot be summed over the workers of distributed training: evaluate it "
                "afterwards, on all predictions."
            )
