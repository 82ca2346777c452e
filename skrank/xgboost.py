"""Objectives, eval metrics and early stopping for XGBoost's `train` and `cv`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._adapters import (
    EvalPlan,
    GradientCallable,
    MetricCallable,
    Supplied,
    as_written,
    import_booster,
)
from skrank._queries import Queries
from skrank.metrics.base import Metric, metric
from skrank.metrics.plan import Judgments
from skrank.objectives import Objective, as_objective


def objective(x: str | Metric | Objective, **options: Any) -> _XGBoostObjective:
    """The objective of `xgboost.train` and `xgboost.cv` (``obj=``).

    Parameters
    ----------
    x : str, Metric or Objective
        What to train on. A metric, or its name, is trained on by `skrank.LambdaRank`.
    **options
        Options of `skrank.LambdaRank`, such as ``truncation_level=32``; not with an Objective.

    Returns
    -------
    callable
        ``f(preds, dtrain) -> (grad, hess)``. It holds nothing but plans of the data sets that it
        has seen: copies and repeated trainings give the same model.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If `x` or an option is unknown. In training: if the DMatrix has no ``qid``, labels are
        negative, or weights are not one per query.
    TypeError
        If XGBoost's scikit-learn estimators call it: they pass no queries. `XGBRanker` refuses
        callables; `skrank.GroupedRanker` trains it through `xgboost.train`.

    Notes
    -----
    * The curvature is twice that of LambdaRank, and weights are divided by their mean, as in
      XGBoost's own ``rank:ndcg``: ``min_child_weight`` and ``reg_lambda`` mean the same.
    * Give ``disable_default_eval_metric=1``: XGBoost evaluates RMSE otherwise.
    * Predictions start at ``base_score``, 0.5 unless given, which changes no order.
    * Weights are per query in XGBoost; `xgboost.cv` drops them.
    * The scale of grades is that of the training labels, of all workers in distributed training.

    Examples
    --------
    >>> import numpy, skrank.xgboost, xgboost
    >>> X, y = numpy.arange(80.0).reshape(-1, 1) % 4, numpy.arange(80) % 4
    >>> data = xgboost.DMatrix(X, y, qid=numpy.arange(80) // 4)
    >>> booster = xgboost.train(
    ...     {"disable_default_eval_metric": 1}, data, 5, obj=skrank.xgboost.objective("gap")
    ... )
    >>> booster.predict(xgboost.DMatrix([[0.0], [1.0], [2.0], [3.0]])).argsort()
    array([0, 1, 2, 3])
    """
    import_booster("xgboost")
    return _XGBoostObjective(as_objective(x, **options))


def eval_metric(*metrics: str | Metric) -> _XGBoostMetric:
    """The eval metric of `xgboost.train` and `xgboost.cv` (``custom_metric=``).

    Parameters
    ----------
    *metrics : str or Metric
        One or more.

    Returns
    -------
    callable
        Gives ``(name, mean over queries)``, or a list of them for several metrics; they share one
        sort. The name is ``str(metric)`` without blanks and with = for :, which XGBoost reads.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If a metric is unknown or there is none. In training: as `objective`.
    TypeError
        If XGBoost's scikit-learn estimators call it. (`XGBRanker` would call it per query and weigh
        queries by their size.)

    Notes
    -----
    * XGBoost takes the lowest value of a callable for the best, but for names such as ndcg: stop
      early with `skrank.xgboost.early_stopping`.
    * It logs six decimals, so that smaller gains do not count.
    * The highest grade is that of the evaluation labels: give ``max_grade=`` where those of the
      training labels are higher.
    * In distributed training the mean is over the queries of all workers.

    Examples
    --------
    >>> import numpy, skrank.xgboost, xgboost
    >>> data = xgboost.DMatrix(numpy.zeros((4, 1)), [0, 1, 2, 0], qid=[1, 1, 2, 2])
    >>> skrank.xgboost.eval_metric("rr", "gap@1")(numpy.array([0.3, 0.2, 0.9, 0.1]), data)
    [('rr', 0.75), ('gap@1', 0.5)]
    """
    import_booster("xgboost")
    return _XGBoostMetric(*metrics)


def early_stopping(metric: str | Metric, rounds: int, **kwargs: Any) -> Any:
    """Stop `xgboost.train` or `xgboost.cv` when a metric of `eval_metric` has not improved.

    Parameters
    ----------
    metric : str or Metric
        One of the metrics given to `eval_metric`.
    rounds : int
        Rounds without improvement after which training stops.
    **kwargs
        Of `xgboost.callback.EarlyStopping`: ``data_name`` (default: the last data set of
        ``evals``), ``save_best``, ``min_delta``.

    Returns
    -------
    xgboost.callback.EarlyStopping
        With the direction of the metric. It counts rounds: make one per training.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If the metric is unknown or `rounds` is less than 1.

    Examples
    --------
    >>> import skrank.xgboost
    >>> stop = skrank.xgboost.early_stopping("gap@10", rounds=50, data_name="valid")
    >>> stop.metric_name, stop.maximize
    ('gap@10', True)
    """
    chosen = _metric(metric)
    rounds = check.check_count("rounds", rounds, "rounds without improvement before the stop")
    return import_booster("xgboost").callback.EarlyStopping(
        rounds=rounds, metric_name=_log_name(chosen), maximize=chosen.greater_is_better, **kwargs
    )


_metric = metric  # a parameter above has this name


def _log_name(metric: Metric) -> str:
    """The name of a metric as it survives the log line of XGBoost, ``data-name:value ...``."""
    return re.sub(r"\s", "", str(metric)).replace(":", "=")


class _XGBoostObjective(GradientCallable):
    """Gradients for ``(preds, dtrain)``."""

    def __call__(self, preds: Any, dtrain: Any) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature per row."""
        data = _read(dtrain, "skrank.xgboost.objective")
        grad, hess = self._gradient(data, _host(preds), _judge_for_training)
        hess *= 2
        return grad, hess


class _XGBoostMetric(MetricCallable):
    """Values for ``(preds, dmatrix)``."""

    __name__ = "skrank"  # XGBRanker asks for it before it calls

    def __call__(self, preds: Any, dmatrix: Any) -> tuple[str, float] | list[tuple[str, float]]:
        """Name and value, or a list of them."""
        plan = self._plan(_read(dmatrix, "skrank.xgboost.eval_metric"), _judge)
        means = _means(plan, _host(preds))
        results = [(_log_name(one), mean) for one, mean in zip(self.metrics, means, strict=True)]
        return results if len(results) > 1 else results[0]


def _read(dmatrix: Any, who: str) -> Supplied:
    """The data of a call."""
    if not hasattr(dmatrix, "get_uint_info"):
        raise check.not_a_dmatrix(who)
    bounds = _host(dmatrix.get_uint_info("group_ptr"))  # empty without qid, [0, n] for one query
    weights = _host(dmatrix.get_weight())
    return Supplied(
        dmatrix,
        _host(dmatrix.get_label()),
        np.diff(bounds.astype(np.int64)) if len(bounds) else None,
        weights if len(weights) else None,
    )


def _host(values: Any) -> np.ndarray:
    """An array in main memory."""
    return np.asarray(values.get() if hasattr(values, "__cuda_array_interface__") else values)


def _judge(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    """Judgments, weights per query and the highest grade of what XGBoost supplies."""
    remedy = "qid= (a query id per row, ascending)"
    sizes = check.check_group_sizes(data.sizes, len(data.labels), "the DMatrix", remedy)
    queries = Queries.from_sizes(sizes)
    weights = None
    if data.weights is not None and data.sizes is not None:
        weights = check.per_query_weights(data.weights, data.sizes)[data.sizes > 0]
        weights = check.check_weights(weights, queries)
    judgments = Judgments(as_written(data.labels), queries)
    return judgments, weights, _highest_of_workers(judgments.max_grade)


def _judge_for_training(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    judgments, weights, top = _judge(data)
    return judgments, None if weights is None else weights / weights.mean(), top


# Distributed training: XGBoost would average the means of workers, however many queries they hold.


def _highest_of_workers(grade: int) -> int:
    collective = import_booster("xgboost").collective
    if collective.get_world_size() == 1:
        return grade
    return int(collective.allreduce(np.array([grade]), collective.Op.MAX)[0])


def _means(plan: EvalPlan, scores: np.ndarray) -> list[float]:
    """Means over the queries of all workers."""
    collective = import_booster("xgboost").collective
    if collective.get_world_size() == 1:
        return plan.means(scores)
    both = collective.allreduce(plan.sums(scores), collective.Op.SUM)
    sums, masses = both.reshape(-1, 2).T  # XGBoost flattens them
    return np.divide(sums, masses, out=np.full(len(sums), np.nan), where=masses > 0).tolist()
