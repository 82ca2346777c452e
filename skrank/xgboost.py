"""Objectives, eval metrics, early stopping and cross-validation for XGBoost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters import adapters, xgboost_data
from skrank._typing import Folds, Options, RandomState
from skrank.metrics import Metric, metric
from skrank.objectives import Objective

__all__ = ["cv", "early_stopping", "eval_metric", "objective"]

if TYPE_CHECKING:
    import pandas as pd
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
    adapters.import_booster("xgboost")
    return _XGBoostObjective(adapters.objective_of(x, **options))


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
    adapters.import_booster("xgboost")
    return _XGBoostMetric(metrics, check.check_max_grade(max_grade))


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
        A callback with the direction of the metric. It counts rounds: make a new callback for each
        training. The Booster keeps all rounds, and predicts with all of them unless
        `iteration_range` is given; with ``save_best=True`` it keeps the rounds up to the best
        round.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    ValueError
        If the metric is unknown or `rounds` is less than 1. In training: if the metric is not
        evaluated; with dart, which cannot stop early.

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
            self._absent.get(data.at_least(self.max_grade), xgboost_data.join_training)
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
            self._absent.get(data.at_least(self.max_grade), xgboost_data.join)
            means = xgboost_data.means_of_workers(self.metrics, None)
        else:
            found = self._measured(data, xgboost_data.host(preds), xgboost_data.judge_part)
            if xgboost_data.n_workers() == 1:
                means = found.means()[0].tolist()
            else:
                means = xgboost_data.means_of_workers(self.metrics, found)
        each = zip(self.metrics, means, strict=True)
        results = [(xgboost_data.log_name(one), mean) for one, mean in each]
        return results if len(results) > 1 else results[0]


# Cross-validation: xgboost.cv drops weights of queries and refuses folds of queries.


def cv(
    params: Mapping[str, object] | Iterable[tuple[str, object]],
    dtrain: xgboost.DMatrix,
    num_boost_round: int = 10,
    *,
    objective: str | Metric | Objective | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    folds: Folds = 5,
    groups: ArrayLike | None = None,
    early_stopping_rounds: int | None = None,
    callbacks: Sequence[xgboost.callback.TrainingCallback] | None = None,
    verbose_eval: int | bool | None = None,
    random_state: RandomState = 0,
) -> pd.DataFrame:
    """Cross-validate XGBoost over folds of whole queries, with their weights.

    Parameters
    ----------
    params : dict or list of pairs
        Parameters of `xgboost.train`.
    dtrain : xgboost.DMatrix
        With queries (``qid``), and one weight per query if it has any.
    num_boost_round : int, default=10
        Largest number of rounds.
    objective : str, Metric or Objective, optional
        What to train on, as in `skrank.xgboost.objective`. Default: ``params["objective"]``, such
        as ``"rank:ndcg"``.
    metrics : str, Metric or sequence of them, optional
        What to evaluate; the first decides on early stopping. Default: the metric of `objective`.
    folds : int, splitter or iterable of (train, test), default=5
        Number of random folds of queries; or a splitter of skrank or scikit-learn, which gets the
        labels and the query of each row; or row numbers of each fold.
    groups : array-like of shape (n_rows,), optional
        Query ids for splitters. Default: the number of each query in `dtrain`, so that folds depend
        on the order of the queries.
    early_stopping_rounds : int, optional
        Rounds without improvement of the mean over folds after which training stops.
    callbacks : sequence of xgboost.callback.TrainingCallback, optional
    verbose_eval : int or bool, optional
        Whether, or every how many rounds, to print.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds, if `folds` is a number.

    Returns
    -------
    DataFrame
        As `xgboost.cv`: per round, up to the best one if training stopped early, columns such as
        ``test-gap@10-mean`` and ``test-gap@10-std`` over the folds.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    TypeError
        If `dtrain` is a QuantileDMatrix or an ExtMemQuantileDMatrix, which XGBoost cannot split.
    ValueError
        If there is no objective or no metric, or two objectives; if `dtrain` has no queries, or a
        weight per row; if a fold has only some rows of a query, or a query in both parts.

    Notes
    -----
    XGBoost logs six decimals per round and fold. The highest grade of the collection is the
    highest of all labels.

    Examples
    --------
    >>> import numpy, skrank.xgboost, xgboost
    >>> X, y = numpy.arange(80.0).reshape(-1, 1) % 4, numpy.arange(80) % 4
    >>> data = xgboost.DMatrix(X, y, qid=numpy.arange(80) // 4)
    >>> result = skrank.xgboost.cv({}, data, 3, objective="gap", metrics="gap@10", folds=2)
    >>> list(result.columns)[2:]
    ['test-gap@10-mean', 'test-gap@10-std']
    """
    xgboost = adapters.import_booster("xgboost")
    settings = dict(params)
    if verbose_eval is not None and not isinstance(verbose_eval, (bool, np.bool_)):
        check.check_count("verbose_eval", verbose_eval, "rounds per printed line, or 0", 0)
    check.refuse_params(settings, ["eval_metric"], "metrics= to skrank.xgboost.cv")
    given = settings.get("objective")
    trained_on, chosen = adapters.chosen_objective_and_metrics(objective, given, metrics)
    data = xgboost_data.read(dtrain, "skrank.xgboost.cv")
    part, labels = xgboost_data.slicer(data), adapters.as_written(data.labels)
    sizes, _ = xgboost_data.sizes_and_weights(data)
    splits = adapters.row_folds(folds, labels, sizes, groups, random_state)
    remaining, top = iter(splits), check.highest_grade(labels)

    def next_parts(_train: object, _test: object, params: Options) -> tuple[Any, Any, Options]:
        """The parts of the next fold."""
        train, test = next(remaining)
        return part(train), part(test), params

    called = list(callbacks or ())
    if early_stopping_rounds is not None:
        called.append(early_stopping(chosen[0], early_stopping_rounds, data_name="test"))
    if trained_on is not None:
        check.refuse_loss_params("xgboost", settings, metrics=True)
        settings.pop("objective", None)
    # xgboost.cv gets the parts of each fold from fpreproc; dummy data and their folds are not used
    return xgboost.cv(
        settings | {"disable_default_eval_metric": 1},
        xgboost.DMatrix(np.zeros((1, 1))),
        check.check_count("num_boost_round", num_boost_round, "the most rounds"),
        folds=[([0], [0])] * len(splits),
        obj=None if trained_on is None else _XGBoostObjective(trained_on, top),
        custom_metric=_XGBoostMetric(chosen, top),
        fpreproc=next_parts,
        callbacks=called,
        verbose_eval=verbose_eval,
    )
