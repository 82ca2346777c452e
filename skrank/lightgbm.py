"""Objectives, eval metrics and cross-validation for LightGBM and its scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters import adapters
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._typing import Folds, RandomState, Split, Table, Weights
from skrank.metrics import Metric
from skrank.objectives import Objective

__all__ = ["cv", "eval_metric", "objective"]

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
    * Use `skrank.lightgbm.cv`: `lightgbm.cv` cuts queries unless it is given scikit-learn's
      ``folds=GroupKFold(5)``.
    * Weights are per row in LightGBM: give all rows of a query the same weight.
    * LightGBM keeps labels as float32 and turns NaN into 0.
    * Leave ``bagging_by_query`` False: LightGBM draws queries for its own objectives only, and
      trains trees of one leaf with a callable. `skrank.lightgbm.cv` and `skrank.GroupedRanker`
      refuse it.
    * Parameters of LightGBM's own losses, such as label_gain, have no effect, and
      ``LGBMRanker(application=...)`` wins over `objective`. LightGBM does not pass parameters to
      callables: `skrank.lightgbm.cv` and `skrank.GroupedRanker` refuse them.
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
    adapters.import_booster("lightgbm")
    return _LightGBMObjective(adapters.objective_of(x, **lambdarank_options))


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
      logs its own nDCG under the same name.
    * The highest grade is the highest training label, in `lightgbm.cv` the highest of all. Give
      `max_grade` if evaluation labels are higher, and for `LGBMRanker`, which does not pass
      training labels to an eval metric.
    * With several machines (`DaskLGBMRanker`), use neither an eval metric nor early stopping: each
      machine would evaluate its own queries, and stop in a different round.
    * Optuna's `LightGBMTuner` minimises the value of a callable: search with
      ``optuna.create_study(direction="maximize")`` over `skrank.lightgbm.cv` instead.

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
    adapters.import_booster("lightgbm")
    return _LightGBMMetric(metrics, check.check_max_grade(max_grade))


def cv(
    params: Mapping[str, object],
    train_set: lightgbm.Dataset,
    num_boost_round: int = 100,
    *,
    objective: str | Metric | Objective | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    folds: Folds = 5,
    groups: ArrayLike | None = None,
    early_stopping_rounds: int | None = None,
    callbacks: Sequence[Callable[..., object]] | None = None,
    eval_train_metric: bool = False,
    random_state: RandomState = 0,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Cross-validate LightGBM over folds of whole queries: `lightgbm.cv` with the right folds.

    Parameters
    ----------
    params : dict
        Parameters of `lightgbm.train`.
    train_set : lightgbm.Dataset
        With queries (``group``).
    num_boost_round : int, default=100
        Largest number of rounds.
    objective : str, Metric or Objective, optional
        What to train on, as in `skrank.lightgbm.objective`. Default: ``params["objective"]``, such
        as ``"lambdarank"``.
    metrics : str, Metric or sequence of them, optional
        What to evaluate; the first decides on early stopping. Default: the metric of `objective`.
    folds : int, splitter or iterable of (train, test), default=5
        Number of random folds of queries; or a splitter of skrank or scikit-learn, which gets the
        labels and the query of each row; or row numbers of each fold.
    groups : array-like of shape (n_rows,), optional
        Query ids for splitters. Default: the number of each query in `train_set`, so that folds
        depend on the order of the queries.
    early_stopping_rounds : int, optional
        Rounds without improvement of the mean over folds after which training stops.
    callbacks : sequence of callables, optional
        Callbacks of LightGBM.
    eval_train_metric : bool, default=False
        Evaluate the training parts as well.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds, if `folds` is a number.
    return_cvbooster : bool, default=False
        Return the boosters as well.

    Returns
    -------
    dict
        As `lightgbm.cv`: values per round, up to the best one if training stopped early, under
        names such as ``"valid gap@10-mean"`` and ``"valid gap@10-stdv"`` over the folds; the
        `lightgbm.CVBooster` under ``"cvbooster"``.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If there is no objective or no metric, or two objectives; if the Dataset has no queries; if
        a fold has only some rows of a query, or a query in both parts; if `params` has parameters
        of LightGBM's own losses besides an objective of skrank; for early stopping with dart.

    Notes
    -----
    The highest grade of the collection is the highest of all labels.

    Examples
    --------
    >>> import lightgbm, numpy, skrank.lightgbm
    >>> X, y = numpy.arange(160.0).reshape(-1, 1) % 4, numpy.arange(160) % 4
    >>> data = lightgbm.Dataset(X, y, group=[4] * 40)
    >>> result = skrank.lightgbm.cv(
    ...     {"verbosity": -1}, data, 3, objective="gap", metrics="gap@10", folds=2
    ... )
    >>> list(result)
    ['valid gap@10-mean', 'valid gap@10-stdv']
    """
    lightgbm = adapters.import_booster("lightgbm")
    settings = dict(params)
    own_metrics = ("metric", *check.METRIC_ALIASES, *check.CUT_OFFS)
    check.refuse_params(settings, own_metrics, "metrics= to skrank.lightgbm.cv")
    own_stop = "early_stopping_rounds=, or callbacks= with lightgbm.early_stopping(min_delta=),"
    check.refuse_params(settings, check.EARLY_STOPPING, own_stop)
    names = ("objective", *check.OBJECTIVE_ALIASES)
    given = [settings.pop(name) for name in names if name in settings] or [None]
    trained_on, chosen = adapters.chosen_objective_and_metrics(objective, given[0], metrics)
    called = list(callbacks or ())
    if early_stopping_rounds is not None:
        if "dart" in check.boosting_kinds(settings):
            raise check.cannot_stop("LightGBM with dart")
        rounds = check.check_count("early_stopping_rounds", early_stopping_rounds, _STOP)
        called.append(lightgbm.early_stopping(rounds, first_metric_only=True, verbose=False))
    if trained_on is not None:
        check.check_bagging(settings)
        check.refuse_loss_params("lightgbm", settings, metrics=True)
    settings["objective"] = given[0] if trained_on is None else _LightGBMObjective(trained_on)

    def split(X: Table, y: ArrayLike, **_: object) -> list[Split]:
        """Rows of each fold. `lightgbm.cv` calls it once the Dataset is constructed.

        Its own `groups` are ignored: it passes them even if there are no queries.
        """
        sizes = check.check_group_sizes(train_set.get_group(), len(X), "the lightgbm.Dataset")
        labels = adapters.as_written(np.asarray(y))
        return adapters.row_folds(folds, labels, sizes, groups, random_state)

    return lightgbm.cv(
        settings | {"metric": "None"},
        train_set,
        check.check_count("num_boost_round", num_boost_round, "the most rounds"),
        folds=SimpleNamespace(split=split),
        feval=_LightGBMMetric(chosen),
        callbacks=called,
        eval_train_metric=check.check_flag("eval_train_metric", eval_train_metric),
        return_cvbooster=check.check_flag("return_cvbooster", return_cvbooster),
    )


_STOP = "rounds without improvement before the stop"


# LightGBM's scikit-learn estimators choose the arguments of a callable by its number of parameters:
# there must be four.


class _LightGBMObjective(adapters.GradientCallable):
    """Gradients for ``(preds, Dataset)`` and for ``(y_true, preds, weight, group)``."""

    def __call__(
        self,
        y_true_or_preds: ArrayLike,
        preds_or_dataset: lightgbm.Dataset,
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
        preds_or_dataset: lightgbm.Dataset,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[str, float, bool] | list[tuple[str, float, bool]]:
        """(name, value, greater is better), or a list of such tuples."""
        scores, data = _read(y_true_or_preds, preds_or_dataset, weight, group)
        means = self._measured(data, scores, _judge).means()[0]
        results = [
            (str(one), float(mean), one.greater_is_better)
            for one, mean in zip(self.metrics, means, strict=True)
        ]
        return results if len(results) > 1 else results[0]


def _read(
    first: ArrayLike,
    second: ArrayLike | lightgbm.Dataset,
    weight: ArrayLike | None,
    group: ArrayLike | None,
) -> tuple[ArrayLike, adapters.Supplied]:
    """Scores and data from the arguments of a callable."""
    if not hasattr(second, "get_label"):  # LightGBM's scikit-learn estimators pass arrays
        labels = np.asarray(first)
        return second, adapters.Supplied(labels, labels, _array(group), _array(weight))
    dataset: lightgbm.Dataset = second
    labels = np.asarray(dataset.get_label())
    sizes, weights = _array(dataset.get_group()), _array(dataset.get_weight())
    return first, adapters.Supplied(dataset, labels, sizes, weights, _trained_grade(dataset))


def _array(values: ArrayLike | None) -> np.ndarray | None:
    return None if values is None else np.asarray(values)


def _check_no_positions(data: Any) -> None:
    """Refuse a Dataset with positions. LightGBM drops those of a subset: the whole has them."""
    whole = data if getattr(data, "used_indices", None) is None else data.reference
    if hasattr(whole, "get_position") and whole.get_position() is not None:
        raise ValueError(
            "the Dataset has position=, which objectives of skrank do not correct for: build it "
            "without position=, or train with objective='lambdarank' of LightGBM."
        )


def _trained_grade(dataset: lightgbm.Dataset) -> int:
    """Highest grade of the Dataset at the end of the chain of `reference`: the training data."""
    while dataset.reference is not None:
        dataset = dataset.reference
    return check.highest_grade(np.asarray(dataset.get_label()))


def _judge(data: adapters.Supplied) -> tuple[Judgments, Weights, int | None]:
    """Judgments, weights per query and the highest grade."""
    source = "the lightgbm.Dataset" if hasattr(data.owner, "get_label") else "LightGBM's data"
    sizes = check.check_group_sizes(data.sizes, len(data.labels), source)
    rows = getattr(data.owner, "used_indices", None)
    if rows is not None and data.owner.reference.get_group() is not None:
        # LightGBM does not warn if a subset has only some rows of a query
        check.check_whole_queries(data.owner.reference.get_group(), rows)
    queries = Queries.from_sizes(sizes)
    weights = check.query_weights(data.weights, queries, name="weight")
    return Judgments(adapters.as_written(data.labels), queries), weights, data.max_grade
