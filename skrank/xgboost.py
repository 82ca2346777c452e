"""Objectives, eval metrics and early stopping for XGBoost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters import adapters, xgboost_data
from skrank.metrics import Metric, metric
from skrank.objectives import Objective

__all__ = ["early_stopping", "eval_metric", "objective"]

if TYPE_CHECKING:
    import xgboost


def objective(x: str | Metric | Objective, **options: object) -> _XGBoostObjective:
    """The objective of `xgboost.train` and `xgboost.cv` (``obj=``).

    Parameters
    ----------
    x : str, Metric or Objective
        What to train on. A metric, or its name, stands for `skrank.LambdaRank` on the metric; names
        of objectives are texts such as ``"softmax"`` and ``"lambdaloss:ndcg@10"``.
    **options
        Options of `skrank.LambdaRank`, such as ``truncation_level=32``; not with an Objective.

    Returns
    -------
    callable
        ``f(preds, dtrain) -> (grad, hess)``. Copies and repeated trainings give the same model: the
        only state of a callable is a cache by data set.

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
    * The hessian is multiplied by 2, and weights are divided by their mean, as in XGBoost's own
      ``rank:ndcg``, so that ``min_child_weight`` and ``reg_lambda`` have the same effect.
    * Give ``disable_default_eval_metric=1``. Otherwise XGBoost evaluates RMSE.
    * Predictions start at ``base_score``, 0.5 by default, which does not change the ranking.
    * Weights are per query in XGBoost; `xgboost.cv` drops them.
    * Gradients are a function of labels, scores and seed.
    * The highest grade of the collection is the highest training label, in distributed training of
      all workers. There, the random order of tied documents depends on the distribution of queries
      over workers; with ``tie_order="stable"`` the model does not.

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
    return _XGBoostObjective(x, **options)


def eval_metric(*metrics: str | Metric, max_grade: int | None = None) -> _XGBoostMetric:
    """The eval metric of `xgboost.train` and `xgboost.cv` (``custom_metric=``).

    Parameters
    ----------
    *metrics : str or Metric
        One or more.
    max_grade : int, optional
        Highest grade of the collection. Metrics that depend on it, such as err, need it: XGBoost
        does not pass training labels to an eval metric.

    Returns
    -------
    callable
        Returns ``(name, mean over queries)``, or a list of such pairs for several metrics, which
        share one sort. The name is ``str(metric)`` without blanks and with = in place of ``:``.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If a metric is unknown, or no metric is given. In training: as `objective`; if a metric
        depends on the highest grade, and `max_grade` is not given.
    TypeError
        If XGBoost's scikit-learn estimators call it. (`XGBRanker` would call it per query and
        weight queries by their size.)

    Notes
    -----
    * Stop early with `skrank.xgboost.early_stopping`. ``early_stopping_rounds=`` and
      `xgboost.callback.EarlyStopping` minimise the value of a callable, unless `maximize` is given
      or the name begins with auc, pre, map or ndcg.
    * XGBoost logs six decimals: smaller improvements do not count for early stopping.
    * In distributed training the mean is over the queries of all workers.

    Examples
    --------
    >>> import numpy, skrank.xgboost, xgboost
    >>> data = xgboost.DMatrix(numpy.zeros((4, 1)), [0, 1, 2, 0], qid=[1, 1, 2, 2])
    >>> skrank.xgboost.eval_metric("rr", "gap@1")(numpy.array([0.3, 0.2, 0.9, 0.1]), data)
    [('rr', 0.75), ('gap@1', 0.5)]
    """
    return _XGBoostMetric(metrics, max_grade)


def early_stopping(
    metric: str | Metric, rounds: int, **kwargs: object
) -> xgboost.callback.EarlyStopping:
    """Stop `xgboost.train` or `xgboost.cv` when a metric of `eval_metric` has not improved.

    Parameters
    ----------
    metric : str or Metric
        A metric that was passed to `eval_metric`.
    rounds : int
        Rounds without improvement after which training stops.
    **kwargs
        Parameters of `xgboost.callback.EarlyStopping`: ``data_name`` (default: the last data set of
        ``evals``), ``save_best``, ``min_delta``.

    Returns
    -------
    xgboost.callback.EarlyStopping
        A callback with the direction of the metric, for one training. The Booster keeps all rounds,
        and predicts with all of them unless `iteration_range` is given; with ``save_best=True`` it
        keeps the rounds up to the best round.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If the metric is unknown or `rounds` is less than 1. In training: if the metric is not
        evaluated; if the callback has been used; with dart, which cannot stop early.

    Examples
    --------
    >>> import skrank.xgboost
    >>> stop = skrank.xgboost.early_stopping("gap@10", rounds=50, data_name="valid")
    >>> stop.metric_name, stop.maximize
    ('gap@10', True)
    """
    chosen = _metric(metric)
    rounds = check.check_count("rounds", rounds, "rounds without improvement before the stop")
    if "min_delta" in kwargs:
        check.check_number("min_delta", kwargs["min_delta"], 0, math.inf)
    if "save_best" in kwargs:
        check.check_flag("save_best", kwargs["save_best"])
    adapters.import_booster("xgboost")
    from skrank._boosters.xgboost_callbacks import MetricStopping

    name, maximize = xgboost_data.log_name(chosen), chosen.greater_is_better
    return MetricStopping(rounds=rounds, metric_name=name, maximize=maximize, **kwargs)


_metric = metric  # `metric` is also the name of a parameter of `early_stopping`


class _XGBoostObjective(adapters.GradientCallable):
    """Gradients for ``(preds, dtrain)``."""

    def __call__(self, preds: ArrayLike, dtrain: xgboost.DMatrix) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature per row."""
        data = xgboost_data.read(dtrain, "skrank.xgboost.objective")
        if xgboost_data.is_absent(data):
            self._bound.get(data, xgboost_data.join_training)
            return np.empty(0, np.float32), np.empty(0, np.float32)
        grad, hess = self._gradient(data, xgboost_data.host(preds), xgboost_data.judge_for_training)
        hess *= 2
        return grad, hess


class _XGBoostMetric(adapters.MetricCallable):
    """Values for ``(preds, dmatrix)``."""

    __name__ = "skrank"  # XGBRanker reads it before the first call

    def __call__(
        self, preds: ArrayLike, dmatrix: xgboost.DMatrix
    ) -> tuple[str, float] | list[tuple[str, float]]:
        """(name, value), or a list of such pairs."""
        data = xgboost_data.read(dmatrix, "skrank.xgboost.eval_metric")
        if xgboost_data.is_absent(data):
            self._plans.get(data.at_least(self.max_grade), xgboost_data.join)
            measured = None
        else:
            measured = self._measured(data, xgboost_data.host(preds), xgboost_data.judge_part)
        means = zip(self.metrics, xgboost_data.means(self.metrics, measured), strict=True)
        results = [(xgboost_data.log_name(metric), mean) for metric, mean in means]
        return results if len(results) > 1 else results[0]
