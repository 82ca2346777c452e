"""GroupedRanker with DaskLGBMRanker and DaskXGBRanker.

These rankers train on the workers of a cluster. The fitted estimator is an LGBMRanker or XGBRanker.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

import skrank.lightgbm
from skrank import _validation as check
from skrank._boosters.adapters import import_booster
from skrank._typing import Estimator, Table
from skrank.dask import Partitions, evaluate
from skrank.dask._evaluate import evaluate_each
from skrank.dask._partitions import placed_queries
from skrank.dask._scorer import head_of
from skrank.rankers._fit import (
    VALIDATION,
    Booster,
    EstimatorKind,
    Fit,
    Start,
    Validator,
    fit_of,
)
from skrank.rankers._lightgbm import LightGBM
from skrank.rankers._linear import LinearRanker, linear_init, refuse_choice_of_rows
from skrank.rankers._rows import Part, Rows, score_sums, spread_of
from skrank.rankers._xgboost import XGBoost, take_booster, train_options

if TYPE_CHECKING:
    import dask.array
    import lightgbm
    import xgboost
    from distributed import Client


class DaskRanker(Booster):
    """A ranker that is trained on Dask, on arrays or on collections.

    Each subclass also inherits from the kind of the fitted estimator, which is not on Dask.
    """

    fills_workers: bool = False  # True if each worker needs training and validation rows

    def train(self, fit: Fit) -> None:
        """Send rows in memory to the workers, in partitions of whole queries, and train there."""
        if fit.valid is not None and fit.metrics:
            Validator(fit.valid, fit.metrics)  # raises if a metric has no value
        valid = None if fit.valid is None else _arguments(fit.valid)
        placed = self.placed(client_of(fit.estimator), _arguments(fit.train), valid)
        self.train_partitions(fit, *placed)

    def placed(
        self, client: Client, train: Rows, valid: Rows | None
    ) -> tuple[Partitions, Partitions | None]:
        """Training and validation rows in partitions of whole queries on the workers."""

        def on_workers(rows: Rows, workers: Sequence[str] = ()) -> Partitions:
            given = client, rows.X, rows.y, rows.groups, rows.sample_weight
            return placed_queries(*given, workers=workers, fill_workers=self.fills_workers)

        if valid is None:
            return on_workers(train), None
        held_out = on_workers(valid)
        return on_workers(train, held_out.workers if self.fills_workers else ()), held_out

    @abstractmethod
    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        """Train on partitions, instead of on `fit.train` and `fit.valid`."""


class DaskLightGBMRanker(DaskRanker, LightGBM):
    """DaskLGBMRanker.

    Workers of LightGBM do not exchange values of metrics. They train all rounds; then the rounds
    are measured on the validation rows, and those after early stopping are not used.
    """

    classes = ("lightgbm.dask", "DaskLGBMRanker", "DaskLGBMRanker")

    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        estimator = fit.estimator
        if valid is not None and not fit.metrics:
            raise ValueError(
                "metric of DaskLGBMRanker is not measured on validation rows: set eval_metric of "
                "GroupedRanker."
            )
        if valid is not None and estimator.boosting_type == "dart":
            raise check.dart_cannot_stop("DaskLGBMRanker")
        if fit.objective is not None:
            estimator.set_params(objective=skrank.lightgbm.objective(fit.objective), metric="None")
        if fit.start.factor:
            fit.arguments["init_score"] = _start_scores(fit, train)
        estimator.fit(
            train.X, train.y, group=train.group, sample_weight=train.weight, **fit.arguments
        )
        fit.estimator = estimator.to_local()
        booster = fit.estimator.booster_
        fit.best_iteration = booster.current_iteration()
        if valid is not None:
            rounds = partial(_scores_of_rounds, start=fit.start, booster=booster)
            fit.log = evaluate_each(valid, rounds, fit.metrics)
            booster.best_iteration = fit.best_iteration = fit.stop_early()


class DaskXGBoostRanker(DaskRanker, XGBoost):
    """DaskXGBRanker. All workers stop in the same round.

    XGBoost fails if a worker has no rows of a frame that others have.
    """

    classes = ("xgboost.dask", "DaskXGBRanker", "DaskXGBRanker")
    fills_workers = True

    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        if train.weight is not None:
            raise ValueError(
                "XGBoost takes no weights of queries on Dask: fit without sample_weight."
            )
        if fit.start.factor:
            fit.estimator.set_params(base_score=0.0)  # margins are then the sum of the rounds
        client = client_of(fit.estimator)
        evals = [] if valid is None else [(_matrix(fit, client, valid), VALIDATION)]
        options = train_options(fit, evals)
        options["params"].pop("coll_cfg", None)  # for Dask, not for the booster
        options |= {"verbose_eval": fit.arguments.pop("verbose", False)} | fit.arguments
        dtrain = _matrix(fit, client, train)
        result = import_booster("xgboost.dask").train(client, dtrain=dtrain, **options)
        ranker = import_booster("xgboost").XGBRanker()
        own, known = fit.estimator.get_params(deep=False), ranker.get_params(deep=False)
        fit.estimator = ranker.set_params(**{name: own[name] for name in known if name in own})
        take_booster(fit, result["booster"], result["history"])


def _scores_of_rounds(X: Table, start: Start, booster: lightgbm.Booster) -> Iterator[np.ndarray]:
    """Scores of rows after each round."""
    scores = start.finite_scores(X) if start.factor else np.zeros(X.shape[0])
    booster = copy.deepcopy(booster)  # it stores the rounds of a call, which other threads change
    for number in range(booster.current_iteration()):
        scores = scores + booster.predict(X, number, 1, raw_score=True)
        yield scores


def _arguments(part: Part) -> Rows:
    queries = part.queries
    return Rows(part.X, part.y, queries.ids[queries.row_query], part.weights)


def _matrix(fit: Fit, client: Client, parts: Partitions) -> xgboost.dask.DaskDMatrix:
    estimator = fit.estimator
    # a worker without rows has no frame that names the features, and would fail to validate
    names = list(map(str, parts.X.columns)) if hasattr(parts.X, "columns") else None
    return import_booster("xgboost.dask").DaskDMatrix(
        client,
        parts.X,
        parts.y,
        qid=parts.qid,
        base_margin=_start_scores(fit, parts),
        feature_names=names,
        missing=estimator.missing,
        feature_types=estimator.feature_types,
        enable_categorical=estimator.enable_categorical,
    )


def _start_scores(fit: Fit, parts: Partitions) -> dask.array.Array | None:
    """The scores that boosting starts from, computed on the workers; None without `init`."""
    return parts.per_row(fit.start.finite_scores) if fit.start.factor else None


# data on Dask -------------------------------------------------------------------------------------


def fit_collections(
    ranker: Estimator,
    kind: EstimatorKind,
    rows: Rows,
    validation: Rows | None,
) -> tuple[Fit, int]:
    """Train the estimator of a GroupedRanker on Dask collections.

    Returns the training, and the highest label of all training and validation rows.
    """
    import dask

    if not isinstance(kind, DaskRanker):
        raise TypeError(
            f"X is a Dask collection, and {type(ranker.estimator).__name__} trains on arrays: give "
            "lightgbm.DaskLGBMRanker or xgboost.dask.DaskXGBRanker to GroupedRanker."
        )
    refuse_choice_of_rows(
        ranker, {"validation_fraction": None, "max_queries": None, "unjudged": "raise"}
    )
    validate_data(ranker, head_of(rows.X), skip_check_array=True)
    train, valid = kind.placed(client_of(ranker.estimator), rows, validation)
    tops = dask.compute(*(part.y.max() for part in (train, valid) if part is not None))
    max_grade = check.highest_grade(np.array(tops))
    part = Part(rows.X, np.empty(0), params=rows.params)  # without labels, which `train` has
    fit = fit_of(ranker, kind, part, None, max_grade)
    if ranker.init is not None:
        init = ranker.init
        if isinstance(init, str):
            init = linear_init(fit, grades=check.are_grades(train.y))
        fit.start = _trained_start(init, ranker.init_scale, train)
    kind.train_partitions(fit, train, valid)
    if fit.start.factor and valid is not None and fit.metrics:
        scores = valid.per_row(fit.start.scores)
        means = evaluate(valid.y, scores, valid.qid, list(fit.metrics.values())).averages[0]
        fit.log_start(dict(zip(fit.metrics, means, strict=True)))
    return fit, max_grade


def _trained_start(init: Estimator, scale: float | None, train: Partitions) -> Start:
    """Train a clone of `init`; its scores are scaled to the standard deviation `scale`."""
    import dask

    if not isinstance(init, LinearRanker):
        raise ValueError(
            f"init={init!r} trains on arrays, and X is a Dask collection: choose "
            'init="linear" or a skrank.LinearRanker.'
        )
    fitted = clone(init).fit(train.X, train.y, train.qid, sample_weight=train.weight)
    start = Start(fitted, 1.0)
    if scale is None:
        return start
    # a number per row, in memory, so that the spread is that of one machine to the last bit
    given = train.per_row(start.finite_scores), train.group, train.weight
    return Start.scaled(fitted, scale, spread_of([score_sums(*dask.compute(*given))]))


# clients ------------------------------------------------------------------------------------------


def client_of(estimator: Estimator) -> Client:
    """The client of an estimator, or the current one."""
    from distributed import get_client

    return estimator.client or get_client()
