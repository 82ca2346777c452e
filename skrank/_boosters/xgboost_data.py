"""Data of a DMatrix: read as arrays, and agreed on by all workers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._boosters.adapters import Judged, Supplied, as_written, import_booster, judge_data
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Measured
from skrank._typing import Weights
from skrank.metrics import Metric

if TYPE_CHECKING:
    import xgboost


def read(dmatrix: xgboost.DMatrix, who: str) -> Supplied:
    """The arrays of a DMatrix; `who`, the callable that XGBoost calls, is for messages."""
    if not hasattr(dmatrix, "get_uint_info"):
        raise TypeError(
            f"{who} needs a DMatrix with queries, and XGBoost's scikit-learn estimators pass "
            "arrays: use xgboost.train, or skrank.GroupedRanker, which does."
        )
    bounds = host(dmatrix.get_uint_info("group_ptr"))  # empty without qid, [0, n] for one query
    weights = host(dmatrix.get_weight())
    return Supplied(
        dmatrix,
        host(dmatrix.get_label()),
        np.diff(bounds.astype(np.int64)) if len(bounds) else None,
        weights if len(weights) else None,
        source="the DMatrix",
    )


def host(values: Any) -> np.ndarray:
    """A NumPy array, copied from the GPU if `values` is a CuPy array."""
    return np.asarray(values.get() if hasattr(values, "__cuda_array_interface__") else values)


def judge_part(data: Supplied, *, training: bool = False) -> Judged:
    """Judgments, weights per query, and the highest grade of all workers.

    In training, the labels count for the highest grade, too.
    """
    try:
        if training:
            data = data.at_least(check.highest_grade(as_written(data.labels)))
        # `judge_data` reads weights of rows, and XGBoost has weights of queries
        unweighted = replace(data, weights=None)
        judgments, _, top = judge_data(unweighted, "qid= (a query id per row, ascending)")
        weights = _weights(data, judgments)
    except Exception as error:
        max_over_workers(0, error)
        raise
    return judgments, weights, max_over_workers(top or 0) or None


def _weights(data: Supplied, judgments: Judgments) -> Weights:
    """Weight of each query that has rows."""
    if data.weights is None or data.sizes is None:
        return None
    if len(data.weights) != len(data.sizes):
        raise ValueError(
            f"the DMatrix has {len(data.weights)} weights for {len(data.sizes)} queries: give one "
            "weight per query, such as weight=w[numpy.unique(qid, return_index=True)[1]] of "
            "weights of rows."
        )
    weights, name = data.weights[data.sizes > 0].astype(np.float64), judgments.queries.name
    part = n_workers() > 1  # all weights of a worker may be 0
    return check.check_weights(weights, lambda query: f"weight of query {name(query)}", part=part)


def judge_for_training(data: Supplied) -> Judged:
    """As `judge_part`, for training data: their labels count, and the mean weight becomes 1."""
    judgments, weights, top = judge_part(data, training=True)
    # all workers take part in the sum; without weights, the mean is 1
    mean = mean_weight(np.ones(len(judgments.queries)) if weights is None else weights)
    check.check_weights(np.array([mean]), lambda _: "weight of each query")  # not all are 0
    return judgments, None if weights is None else weights / mean, top


def log_name(metric: Metric) -> str:
    """The name of a metric for XGBoost's log lines, ``data-name:value``, split at blanks and :."""
    return re.sub(r"\s", "", str(metric)).replace(":", "=")


def n_workers() -> int:
    """Number of workers of the distributed training."""
    return int(import_booster("xgboost").collective.get_world_size())


def max_over_workers(grade: int, error: Exception | None = None) -> int:
    """The highest grade of all workers (0 if unknown). An error of one worker is raised on all."""
    if n_workers() == 1:
        return grade
    collective = import_booster("xgboost").collective
    failed = 0 if error is None else collective.get_rank() + 1
    top, last_failed = collective.allreduce(np.array([grade, failed]), collective.Op.MAX)
    if last_failed:  # all workers raise: otherwise they would wait for the failed worker
        raise ValueError(collective.broadcast(str(error), int(last_failed) - 1)) from error
    return int(top)


def mean_weight(weights: np.ndarray) -> float:
    """Mean of the weights of the queries of all workers."""
    collective = import_booster("xgboost").collective
    totals = np.array([weights.sum(), float(len(weights))])
    total, count = collective.allreduce(totals, collective.Op.SUM)
    return float(total / count)


def is_absent(data: Supplied) -> bool:
    """True if other workers have rows of a data set, and this worker has no rows."""
    return len(data.labels) == 0 and n_workers() > 1


def join(data: Supplied) -> int:
    """Take part in the `allreduce` of `judge_part`, on a worker without rows of the data set."""
    return max_over_workers(data.max_grade or 0)


def join_training(data: Supplied) -> int:
    """Take part in both `allreduce` of `judge_for_training`, on a worker without rows."""
    top = join(data)
    mean_weight(np.empty(0))
    return top


def means(metrics: Sequence[Metric], measured: Measured | None) -> list[float]:
    """Means over the queries of all workers; `measured` is None on a worker without rows."""
    if measured is not None and n_workers() == 1:
        return measured.means()[0].tolist()
    collective = import_booster("xgboost").collective
    totals = np.zeros((len(metrics), 2))  # sums of weighted values, and of weights
    for metric in metrics:
        if metric.average in ("geometric", "sum"):  # workers add the two sums of a mean
            raise ValueError(
                f"{metric} cannot be summed over workers: evaluate it on all predictions."
            )
    if measured is not None:
        for row, values, weights in zip(
            totals, measured.values[0], measured.weights[0], strict=True
        ):
            counted = weights > 0
            row[:] = (weights[counted] * values[counted]).sum(), weights[counted].sum()
    both = collective.allreduce(totals, collective.Op.SUM)
    sums, masses = both.reshape(-1, 2).T  # allreduce flattens arrays
    return np.divide(sums, masses, out=np.full(len(sums), np.nan), where=masses > 0).tolist()
