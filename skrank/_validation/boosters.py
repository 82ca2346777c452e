"""Checks of the arguments of LightGBM, XGBoost and CatBoost, and of their data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import as_ids, first


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


def dart_cannot_stop(what: str) -> ValueError:
    """The error for early stopping with dart, which changes earlier trees in later rounds."""
    return ValueError(
        f"{what} with dart cannot stop early: the model of the best round is lost. Train a fixed "
        "number of rounds, with early_stopping_rounds=None, and choose it by a search."
    )


def check_bagging(params: Mapping[str, Any]) -> None:
    """Refuse parameters of LightGBM with which a callable objective trains nothing."""

    def given(*aliases: str) -> set[str]:
        return {str(params[name]).lower() for name in aliases if name in params}

    by_query = given("bagging_by_query") & {"true", "1", "+"}
    # an estimator has the default of `subsample` beside another alias
    fractions = given("bagging_fraction", "subsample", "sub_row", "bagging")
    every = given("bagging_freq", "subsample_freq")
    drawn = any(float(one) < 1 for one in fractions) and any(float(one) > 0 for one in every)
    if by_query and drawn:
        raise ValueError(
            "bagging_by_query=True with a callable objective trains nothing: LightGBM draws "
            "queries for its own objectives only: set bagging_by_query=False or bagging_fraction=1."
        )


def check_whole_queries(sizes: ArrayLike | None, rows: ArrayLike) -> None:
    """Check that `rows` contain all rows of a query, or none."""
    sizes = np.asarray(sizes).astype(np.int64)
    counts = _counts(sizes, np.asarray(rows))
    if (query := first((counts > 0) & (counts < sizes))) >= 0:
        raise ValueError(
            f"query {query} is torn apart: {counts[query]} of its {sizes[query]} rows are in this "
            "subset. Use skrank.lightgbm.cv, or folds=sklearn.model_selection.GroupKFold(5)."
        )


def _counts(sizes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Number of the given rows in each query."""
    query = np.repeat(np.arange(len(sizes)), sizes)[rows]
    return np.bincount(query, minlength=len(sizes))


def check_group_ids(groups: ArrayLike, sizes: np.ndarray) -> np.ndarray:
    """Query id of each row, after a check that ids agree with the sizes of the queries."""
    ids = as_ids("groups", groups, int(sizes.sum()))
    names = ids[np.cumsum(sizes) - sizes]
    if (row := first(ids != np.repeat(names, sizes))) >= 0:
        raise ValueError(
            f"groups and the data set disagree: row {row} has query {ids[row]!r} in groups, and "
            "the same query as the row above in the data set."
        )
    if len(set(names.tolist())) < len(names):
        raise ValueError("groups has the same id for two queries of the data set: ids must differ.")
    return ids


def check_fold(number: int, split: Any, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a fold, ascending.

    No query may be in both, and each query must be in one of them with all its rows or not at all.
    """
    n_rows = int(sizes.sum())
    try:
        parts = [np.asarray(rows) for rows in split]
        good = [_are_rows(rows, n_rows) for rows in parts]
    except (TypeError, ValueError):
        good = []
    if good != [True, True]:
        raise ValueError(
            f"fold {number} must be a pair (train, test) of row numbers: at least one in each, "
            f"from 0 to {n_rows - 1}, and none twice."
        )
    kept = [_counts(sizes, rows) for rows in parts]
    both = (kept[0] > 0) & (kept[1] > 0)
    if (query := first(both | (kept[0] + kept[1]) % sizes > 0)) >= 0:
        raise ValueError(
            f"fold {number} tears query {query} apart: of its {sizes[query]} rows, (train, test) "
            f"has {kept[0][query], kept[1][query]}. Split by query, as skrank.QueryKFold(5) does."
        )
    return np.sort(parts[0]), np.sort(parts[1])


def _are_rows(rows: np.ndarray, n_rows: int) -> bool:
    """True for distinct numbers of rows, at least one."""
    whole = rows.ndim == 1 and rows.dtype.kind in "iu" and len(rows) > 0
    return whole and 0 <= rows.min() <= rows.max() < n_rows and len(np.unique(rows)) == len(rows)


def refuse_params(params: Mapping[str, object], names: Iterable[str], instead: str) -> None:
    """Refuse parameters of a booster that must be given as `instead`."""
    for name in names:
        if params.get(name) not in (None, "None", "none", "custom", "null", "na", 0):
            raise ValueError(f"params has {name}={params[name]!r}: give {instead} instead.")
