"""Objectives and eval metrics for LightGBM: one callable for all of its entry points."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._adapters import (
    GradientCallable,
    MetricCallable,
    Supplied,
    as_written,
    highest_grade,
    import_booster,
)
from skrank._queries import Queries
from skrank.metrics.base import Metric
from skrank.metrics.plan import Judgments
from skrank.objectives import Objective, as_objective

_NEARBY = 8  # calls between LightGBM's Booster and a callable, with room for wrappers of users


def objective(x: str | Metric | Objective, **lambdarank_options: Any) -> _LightGBMObjective:
    """The objective of `lightgbm.train`, `lightgbm.cv`, `LGBMRanker` and `DaskLGBMRanker`.

    Parameters
    ----------
    x : str, Metric or Objective
        What to train on. A metric, or its name, is trained on by `skrank.LambdaRank`.
    **lambdarank_options
        Options of `skrank.LambdaRank`, such as ``truncation_level=30``; not with an Objective.

    Returns
    -------
    callable
        For ``params["objective"]`` or ``LGBMRanker(objective=...)``. It holds nothing but plans of
        the data sets that it has seen: copies and repeated trainings give the same model.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If `x` or an option is unknown. In training: if the data has no groups, labels are negative,
        weights vary inside a query, a subset tears queries apart, the Dataset has positions, or
        ``bagging_by_query`` would leave nothing to train on.

    Notes
    -----
    * Give ``metric="None"``: `LGBMRanker` evaluates its own nDCG otherwise, which stops training
      early and refuses labels that are not integers.
    * `lightgbm.cv` tears queries apart unless it is given scikit-learn's ``folds=GroupKFold(5)``.
    * Weights are per row in LightGBM: give all rows of a query the same.
    * LightGBM keeps labels as float32 and turns NaN into 0.
    * The scale of grades is that of the training labels. A worker of Dask sees only its own: give
      ``skrank.metric("gap", max_grade=4)``.

    Examples
    --------
    >>> import lightgbm, numpy, skrank.lightgbm
    >>> X, y = numpy.arange(80.0).reshape(-1, 1) % 4, numpy.arange(80) % 4
    >>> ranker = lightgbm.LGBMRanker(
    ...     objective=skrank.lightgbm.objective("gap"), metric="None", n_estimators=5, verbosity=-1
    ... ).fit(X, y, group=[4] * 20)
    >>> ranker.predict([[0.0], [1.0], [2.0], [3.0]]).argsort()
    array([0, 1, 2, 3])
    """
    import_booster("lightgbm")
    return _LightGBMObjective(as_objective(x, **lambdarank_options))


def eval_metric(*metrics: str | Metric) -> _LightGBMMetric:
    """The eval metric of `lightgbm.train` (``feval=``), `lightgbm.cv` and `LGBMRanker.fit`.

    Parameters
    ----------
    *metrics : str or Metric
        One or more. The first decides on early stopping with ``first_metric_only=True``.

    Returns
    -------
    callable
        Gives ``(name, mean over queries, greater is better)``, or a list of them for several
        metrics, which share one sort. The name is ``str(metric)``.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If a metric is unknown or there is none. In training: as `objective`.

    Notes
    -----
    * Give ``metric="None"`` to LightGBM: it stops early on any of its own metrics otherwise, and
      its own nDCG would be logged under the same name.
    * In `lightgbm.train` and `lightgbm.cv` the highest grade is that of training and evaluation
      labels; `LGBMRanker` shows only the evaluation labels. Give ``max_grade=`` where they differ.

    Examples
    --------
    >>> import lightgbm, numpy, skrank.lightgbm
    >>> X, y = numpy.arange(80.0).reshape(-1, 1) % 4, numpy.arange(80) % 4
    >>> data = lightgbm.Dataset(X, y, group=[4] * 20)
    >>> log = {}
    >>> booster = lightgbm.train(
    ...     {"objective": skrank.lightgbm.objective("gap"), "metric": "None", "verbosity": -1},
    ...     data, 5, [data], feval=skrank.lightgbm.eval_metric("gap@2", "err"),
    ...     callbacks=[lightgbm.record_evaluation(log)],
    ... )
    >>> {name: round(values[-1], 3) for name, values in log["training"].items()}
    {'gap@2': 0.833, 'err': 0.902}
    """
    import_booster("lightgbm")
    return _LightGBMMetric(*metrics)


# Names and number of parameters are LightGBM's: its scikit-learn estimators count them.


class _LightGBMObjective(GradientCallable):
    """Gradients for ``(preds, Dataset)`` and for ``(y_true, preds, weight, group)``."""

    def __call__(
        self, y_true_or_preds: Any, preds_or_dataset: Any, weight: Any = None, group: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature per row."""
        check.check_bagging(_booster_params())
        scores, data = _read(y_true_or_preds, preds_or_dataset, weight, group)
        return self._gradient(data, scores, _judge_for_training)


class _LightGBMMetric(MetricCallable):
    """Values for ``(preds, Dataset)`` and for ``(y_true, preds, weight, group)``."""

    def __call__(
        self, y_true_or_preds: Any, preds_or_dataset: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool] | list[tuple[str, float, bool]]:
        """Name, value and direction, or a list of them."""
        scores, data = _read(y_true_or_preds, preds_or_dataset, weight, group)
        means = self._plan(data, _judge).means(scores)
        results = [
            (str(one), mean, one.greater_is_better)
            for one, mean in zip(self.metrics, means, strict=True)
        ]
        return results if len(results) > 1 else results[0]


def _read(first: Any, second: Any, weight: Any, group: Any) -> tuple[Any, Supplied]:
    """Predictions and data of a call."""
    if not _is_dataset(second):  # the scikit-learn estimators unpack it
        labels = np.asarray(first)
        return second, Supplied(labels, labels, _array(group), _array(weight))
    labels = np.asarray(second.get_label())
    sizes, weights = _array(second.get_group()), _array(second.get_weight())
    return first, Supplied(second, labels, sizes, weights, _top_grade(second))


def _is_dataset(x: Any) -> bool:
    return hasattr(x, "get_label")


def _array(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values)


def _top_grade(dataset: Any) -> int:
    """Highest grade of a Dataset and those it refers to: its training set, the whole of a fold."""
    top = 1
    while dataset is not None:
        top = max(top, highest_grade(np.asarray(dataset.get_label())))
        dataset = dataset.reference
    return top


def _judge(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    """Judgments, weights per query and the highest grade of what LightGBM supplies."""
    source = "the lightgbm.Dataset" if _is_dataset(data.owner) else "LightGBM's data"
    sizes = check.check_group_sizes(data.sizes, len(data.labels), source)
    if _is_dataset(data.owner):
        _check_subset(data.owner)
    queries = Queries.from_sizes(sizes)
    weights = check.query_weights(data.weights, queries)
    return Judgments(as_written(data.labels), queries), weights, data.max_grade


def _judge_for_training(data: Supplied) -> tuple[Judgments, np.ndarray | None, int | None]:
    if _is_dataset(data.owner):
        check.check_no_positions(data.owner.get_position())
    return _judge(data)


def _check_subset(dataset: Any) -> None:
    """Refuse rows of torn queries, which LightGBM silently groups anew."""
    whole = dataset.reference
    if dataset.used_indices is not None and whole.get_group() is not None:
        check.check_whole_queries(whole.get_group(), dataset.used_indices)


def _booster_params() -> dict[str, Any]:
    """Parameters of the Booster that asks for gradients, found among the callers.

    LightGBM tells no callable its parameters, and `bagging_by_query` must not pass unnoticed.
    """
    booster_class = sys.modules["lightgbm"].Booster if "lightgbm" in sys.modules else ()
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_NEARBY):
        if frame is None:
            break
        # the name first: to look at the variables of a frame keeps them alive
        if frame.f_code.co_name == "update" and isinstance(
            booster := frame.f_locals.get("self"), booster_class
        ):
            return booster.params
        frame = frame.f_back
    return {}
