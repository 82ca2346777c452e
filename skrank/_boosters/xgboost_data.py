"""Data of a DMatrix, as metrics and objectives take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._boosters.adapters import Supplied, as_written
from skrank._boosters.xgboost_workers import mean_weight, settle
from skrank._engine.groups import highest_grade
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries

if TYPE_CHECKING:
    import xgboost


def read(dmatrix: xgboost.DMatrix, who: str) -> Supplied:
    """The data of the DMatrix that a callable gets; `who` is for messages."""
    if not hasattr(dmatrix, "get_uint_info"):
        raise check.not_a_dmatrix(who)
    bounds = host(dmatrix.get_uint_info("group_ptr"))  # empty without qid, [0, n] for one query
    weights = host(dmatrix.get_weight())
    return Supplied(
        dmatrix,
        host(dmatrix.get_label()),
        np.diff(bounds.astype(np.int64)) if len(bounds) else None,
        weights if len(weights) else None,
    )


def host(values: Any) -> np.ndarray:
    """An array in main memory, from there or from a GPU (CuPy)."""
    return np.asarray(values.get() if hasattr(values, "__cuda_array_interface__") else values)


def judge_part(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    """Judgments, weights per query and the highest grade; workers agree on the grade."""
    try:
        sizes, weights = sizes_and_weights(data)
        queries = Queries.from_sizes(sizes)
        if weights is not None:
            check.check_weights(weights, queries)
        judgments = Judgments(as_written(data.labels), queries)
    except Exception as error:
        settle(1, error)
        raise
    return judgments, weights, settle(data.max_grade or 0) or None


def sizes_and_weights(data: Supplied) -> tuple[np.ndarray, np.ndarray | None]:
    """Size and weight of each query that has rows."""
    remedy = "qid= (a query id per row, ascending)"
    sizes = check.check_group_sizes(data.sizes, len(data.labels), "the DMatrix", remedy)
    if data.weights is None or data.sizes is None:
        return sizes, None
    return sizes, check.per_query_weights(data.weights, data.sizes)[data.sizes > 0]


def judge_for_training(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    """The same for data to train on, which define the scale of grades and have mean weight 1."""
    own = highest_grade(as_written(data.labels))
    judgments, weights, top = judge_part(data.at_least(own))
    given = np.ones(len(judgments.queries)) if weights is None else weights
    mean = mean_weight(given)
    return judgments, None if weights is None else weights / mean, top
