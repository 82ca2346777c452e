"""Objectives and eval metrics for LightGBM and its scikit-learn estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters import adapters
from skrank.metrics import Metric
from skrank.objectives import Objective

__all__ = ["eval_metric", "objective"]

if TYPE_CHECKING:
    import lightgbm


def objective(x: str | Metric | Objective, **lambdarank_options: object) -> _LightGBMObjective:
    """The objective of `lightgbm.train`, `lightgbm.cv`, `LGBMRanker` and `DaskLGBMRanker`.

    Parameters
    ----------
    x : str, Metric or Objective
        What to train on. A metric, or its name, stands for `skrank.LambdaRank` on the metric; names
        of objectives are texts such as ``"softmax"`` and ``"lambdaloss:ndcg@10"``.
    **lambdarank_options
        Options of `skrank.LambdaRank`, such as ``truncation_level=30``; not with an Objective.

    Returns
    -------
    callable
        For ``params["objective"]`` or ``LGBMRanker(objective=...)``. Copies and repeated
        trainings give the same model: the only state of a callable is a cache by data set.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If `x` or an option is unknown. In training: if the data has no groups, labels are negative,
        weights vary inside a query, a subset has only some rows of a query, or the Dataset has
        positions.

    Notes
    -----
    * Give ``metric="None"``. Otherwise `LGBMRanker` evaluates its own nDCG, which stops training
      early and refuses labels that are not integers.
    * `lightgbm.cv` cuts queries unless it is given a splitter of queries, such as
      ``folds=skrank.QueryKFold(5)``.
    * Weights are per row in LightGBM: give all rows of a query the same weight.
    * LightGBM keeps labels as float32 and turns NaN into 0.
    * Leave ``bagging_by_query`` False: LightGBM draws queries for its own objectives only, and
      trains trees of one leaf with a callable. `skrank.GroupedRanker` refuses it.
    * Parameters of LightGBM's own losses, such as label_gain, have no effect, and
      ``LGBMRanker(application=...)`` wins over `objective`. LightGBM does not pass parameters to
      callables: `skrank.GroupedRanker` refuses them.
    * Gradients are a function of labels, scores and seed.
    * The highest grade of the collection is the highest training label. With several machines
      (`DaskLGBMRanker`) it is the highest label of each machine: fix it with
      ``skrank.metric("err", max_grade=4)``.

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
    return _LightGBMObjective(x, **lambdarank_options)


def eval_metric(*metrics: str | Metric, max_grade: int | None = None) -> _LightGBMMetric:
    """The eval metric of `lightgbm.train` (``feval=``), `lightgbm.cv` and `LGBMRanker.fit`.

    Parameters
    ----------
    *metrics : str or Metric
        One or more. The first decides on early stopping with ``first_metric_only=True``.
    max_grade : int, optional
        Highest grade of the collection, for metrics that depend on it, such as err. Default: that
        of the training labels.

    Returns
    -------
    callable
        Returns ``(name, mean over queries, greater is better)``, or a list of such tuples for
        several metrics, which share one sort. The name is ``str(metric)``.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If a metric is unknown, or no metric is given. In training: as `objective`; if a metric
        depends on the highest grade, and the highest grade is neither given nor known.

    Notes
    -----
    * Give ``metric="None"`` to LightGBM. Otherwise it stops early on any of its own metrics, and
      logs its own nDCG under the name of skrank's.
    * The highest grade is the highest training label; in `lightgbm.cv`, that of all folds. Give
      `max_grade` if evaluation labels are higher, and for `LGBMRanker`, which does not pass
      training labels to an eval metric.
    * With several machines (`DaskLGBMRanker`), use neither an eval metric nor early stopping: each
      machine would evaluate its own queries, and stop in a different round.
    * Optuna's `LightGBMTuner` minimises the value of a callable: search with
      ``optuna.create_study(direction="maximize")`` over `lightgbm.cv` instead.

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
    return _LightGBMMetric(metrics, max_grade)


# LightGBM's scikit-learn estimators choose the arguments of a callable by its number of parameters:
# there must be four.


class _LightGBMObjective(adapters.GradientCallable):
    """Gradients for ``(preds, Dataset)`` and for ``(y_true, preds, weight, group)``."""

    def __call__(
        self,
        y_true_or_preds: ArrayLike,
        preds_or_dataset: ArrayLike | lightgbm.Dataset,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature per row."""
        scores, data = _read(y_true_or_preds, preds_or_dataset, weight, group)
        _check_no_positions(data.owner)
        return self._gradient(data, scores, _judge)


class _LightGBMMetric(adapters.MetricCallable):
    """Values for ``(preds, Dataset)`` and for ``(y_true, preds, weight, group)``."""

    def __call__(
        self,
        y_true_or_preds: ArrayLike,
        preds_or_dataset: ArrayLike | lightgbm.Dataset,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[str, float, bool] | list[tuple[str, float, bool]]:
        """(name, value, greater is better), or a list of such tuples."""
        scores, data = _read(y_true_or_preds, preds_or_dataset, weight, group)
        results = self._results(data, scores, _judge)
        return results if len(results) > 1 else results[0]


def _read(
    y_true_or_preds: ArrayLike,
    preds_or_dataset: ArrayLike | lightgbm.Dataset,
    weight: ArrayLike | None,
    group: ArrayLike | None,
) -> tuple[ArrayLike, adapters.Supplied]:
    """Scores and data from the arguments of a callable."""
    if not hasattr(preds_or_dataset, "get_label"):  # LightGBM's scikit-learn estimators pass arrays
        labels = np.asarray(y_true_or_preds)  # also the owner: the array of the data set
        return preds_or_dataset, adapters.Supplied(labels, labels, _array(group), _array(weight))
    dataset: lightgbm.Dataset = preds_or_dataset
    labels, max_grade = np.asarray(dataset.get_label()), _highest_training_grade(dataset)
    sizes, weights = _array(dataset.get_group()), _array(dataset.get_weight())
    return y_true_or_preds, adapters.Supplied(
        dataset, labels, sizes, weights, max_grade, source="the lightgbm.Dataset"
    )


def _array(values: ArrayLike | None) -> np.ndarray | None:
    return None if values is None else np.asarray(values)


# LightGBM: a Dataset may have positions, a reference to the training data, and parts of queries.


def _check_no_positions(data: Any) -> None:
    """Refuse a Dataset with positions. A subset has none: its `reference` has them."""
    whole = data if getattr(data, "used_indices", None) is None else data.reference
    if hasattr(whole, "get_position") and whole.get_position() is not None:
        raise ValueError(
            "the Dataset has position=, which objectives of skrank do not correct for: build it "
            "without position=, or train with objective='lambdarank' of LightGBM."
        )


def _highest_training_grade(dataset: lightgbm.Dataset) -> int:
    """Highest grade of the Dataset at the end of the chain of `reference`: the training data."""
    while dataset.reference is not None:
        dataset = dataset.reference
    return check.highest_grade(np.asarray(dataset.get_label()))


def _judge(data: adapters.Supplied) -> adapters.Judged:
    """As `judge_data`, but refuses subsets that cut a query: LightGBM does not warn."""
    rows = getattr(data.owner, "used_indices", None)
    if rows is not None and data.owner.reference.get_group() is not None:
        check.check_whole_queries(data.owner.reference.get_group(), rows)
    return adapters.judge_data(data)
