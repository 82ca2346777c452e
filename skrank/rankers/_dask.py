"""The rankers of LightGBM and XGBoost for Dask under a GroupedRanker.

They are trained on the workers of a cluster; the fitted estimator is an LGBMRanker or XGBRanker.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

import skrank.lightgbm
from skrank._boosters.adapters import import_booster
from skrank._engine.groups import highest_grade
from skrank._typing import Estimator, Table
from skrank.dask import Partitions, partition_queries
from skrank.objectives import Objective
from skrank.rankers._fit import VALIDATION, EstimatorKind, Fit, HeldOut, fit_of
from skrank.rankers._lightgbm import LightGBM
from skrank.rankers._rows import LabelledRows, Part
from skrank.rankers._xgboost import XGBoost, take_booster, train_options

if TYPE_CHECKING:
    import dask.array
    import dask.dataframe
    import pandas as pd
    import xgboost
    from distributed import Client

    Collection: TypeAlias = dask.array.Array | dask.dataframe.DataFrame


class DaskRanker(EstimatorKind):
    """A ranker that is trained on Dask, on arrays or on collections."""

    rounds_parameter = "n_estimators"
    trains_on_queries = trains_objectives = True

    def train(self, fit: Fit) -> None:
        """Bring rows in memory to the workers, query by query, and train there."""
        _refuse_positions(fit.estimator, fit.objective)
        if fit.valid is not None and fit.metrics:
            HeldOut(fit.valid, fit.metrics)  # raises where a metric has no value
        client = client_of(fit.estimator)
        valid = None if fit.valid is None else _partitions(fit.valid, client)
        self.train_partitions(fit, _partitions(fit.train, client), valid)

    @abstractmethod
    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        """Train on partitions, which take the place of the parts of `fit`."""


class DaskLightGBMRanker(DaskRanker):
    """DaskLGBMRanker."""

    patience_parameters = LightGBM.patience_parameters
    validates = False

    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        estimator = fit.estimator
        if fit.objective is not None:
            estimator.set_params(objective=skrank.lightgbm.objective(fit.objective), metric="None")
        estimator.fit(
            train.X, train.y, group=train.group, sample_weight=train.weight, **fit.arguments
        )
        fit.estimator = estimator.to_local()
        fit.best_iteration = fit.estimator.booster_.current_iteration()


class DaskXGBoostRanker(DaskRanker):
    """DaskXGBRanker. All workers stop in the same round."""

    patience_parameters = XGBoost.patience_parameters
    follows_metrics = True

    def train_partitions(self, fit: Fit, train: Partitions, valid: Partitions | None) -> None:
        if train.weight is not None:
            raise ValueError(
                "XGBoost takes no weights of queries on Dask: fit without sample_weight."
            )
        client = client_of(fit.estimator)
        evals = [] if valid is None else [(_matrix(fit.estimator, client, valid), VALIDATION)]
        options = train_options(fit, evals)
        options["params"].pop("coll_cfg", None)
        options |= {"verbose_eval": fit.arguments.pop("verbose", False)} | fit.arguments
        dtrain = _matrix(fit.estimator, client, train)
        found = import_booster("xgboost.dask").train(client, dtrain=dtrain, **options)
        ranker = import_booster("xgboost").XGBRanker()
        own = fit.estimator.get_params(deep=False)
        known = ranker.get_params(deep=False)
        fit.estimator = ranker.set_params(**{name: own[name] for name in known if name in own})
        take_booster(fit, found["booster"], found["history"])


def _partitions(part: Part, client: Client) -> Partitions:
    queries = part.queries
    return partition_queries(
        part.X,
        part.y,
        queries.ids[queries.row_query],
        sample_weight=part.weights,
        n_partitions=min(len(queries), len(client.nthreads())) or None,
        client=client,
    )


def _matrix(estimator: Estimator, client: Client, parts: Partitions) -> xgboost.dask.DaskDMatrix:
    return import_booster("xgboost.dask").DaskDMatrix(
        client,
        parts.X,
        parts.y,
        qid=parts.qid,
        missing=estimator.missing,
        feature_types=estimator.feature_types,
        enable_categorical=estimator.enable_categorical,
    )


def _refuse_positions(estimator: Estimator, objective: Objective | None) -> None:
    """Refuse objectives that learn about positions."""
    if objective is not None and objective.takes_positions:
        raise ValueError(
            f"{type(estimator).__name__} cannot learn about positions, since workers do not "
            "exchange estimates of them: train on one machine, or on another objective."
        )


# data on Dask -------------------------------------------------------------------------------------


def fit_collections(
    ranker: Estimator,
    kind: EstimatorKind,
    rows: LabelledRows,
    validation: LabelledRows | None,
) -> tuple[Fit, int]:
    """Train the estimator of a GroupedRanker on Dask collections.

    Returns the highest label of all rows, too.
    """
    import dask
    import pandas as pd

    if not isinstance(kind, DaskRanker):
        raise TypeError(
            f"X is a Dask collection, and {type(ranker.estimator).__name__} trains on arrays: give "
            "lightgbm.DaskLGBMRanker or xgboost.dask.DaskXGBRanker to GroupedRanker."
        )
    defaults = {"validation_fraction": None, "max_queries": None, "unjudged": "raise"}
    name = next((name for name, one in defaults.items() if getattr(ranker, name) != one), None)
    if name is not None or rows.position is not None:
        raise ValueError(
            f"{name or 'position'} is for data in memory: choose the rows of Dask collections "
            "before fit, and give those to validate on as X_val, y_val and groups_val."
        )
    X, y = rows.X, rows.y
    names = pd.DataFrame(columns=X.columns) if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(ranker, names, skip_check_array=True)
    client = client_of(ranker.estimator)
    train = partition_queries(X, y, rows.groups, sample_weight=rows.sample_weight, client=client)
    valid = None
    if validation is not None:
        valid = partition_queries(validation.X, validation.y, validation.groups, client=client)
    max_grade = highest_grade(np.array(dask.compute(*(p.y.max() for p in (train, valid) if p))))
    fit = fit_of(ranker, kind, Part(X, np.empty(0), params=rows.params), None, max_grade)
    _refuse_positions(fit.estimator, fit.objective)
    kind.train_partitions(fit, train, valid)
    return fit, max_grade


def predict_collection(ranker: Estimator, X: Collection) -> Collection:
    """Scores of a dask Array or DataFrame by a GroupedRanker, partition by partition."""
    import dask

    check_is_fitted(ranker, "estimator_")
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        model = dask.delayed(ranker, traverse=False)
        return X.map_partitions(_series, model, meta=("score", "f8"))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.map_blocks(_scores, ranker, dtype=np.float64, drop_axis=1, meta=np.empty(0))


def _scores(X: Table, ranker: Estimator) -> np.ndarray:
    """Scores of a partition, in the dtype that the collection announces."""
    return np.asarray(ranker.predict(X) if len(X) else (), dtype=np.float64)


def _series(X: pd.DataFrame, ranker: Estimator) -> pd.Series:
    import pandas as pd

    return pd.Series(_scores(X, ranker), X.index, name="score", dtype=np.float64)


# clients ------------------------------------------------------------------------------------------


def client_of(estimator: Estimator) -> Client:
    """The client of an estimator, or the current one."""
    from distributed import get_client

    return estimator.client or get_client()
