"""LightGBM's and XGBoost's rankers for Dask under a GroupedRanker: trained there, fitted here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

import skrank.lightgbm
from skrank._boosters.adapters import import_booster
from skrank._engine.collection import highest_grade
from skrank._typing import Estimator, Options
from skrank.dask import Partitions, partition_queries
from skrank.rankers._rows import Part
from skrank.rankers._task import Task, task_of
from skrank.rankers._training import VALIDATION, Backend, Fitted, Fitting, HeldOut
from skrank.rankers._xgboost import train_options, with_booster

MODULES = ("lightgbm.dask", "xgboost.dask")

Train = Callable[[Fitting[Partitions]], Fitted]


def is_collection(X: object) -> bool:
    """Whether these are features on Dask."""
    return hasattr(X, "__dask_graph__")


def train_lightgbm(fitting: Fitting[Partitions]) -> Fitted:
    """Train DaskLGBMRanker; what comes back is an LGBMRanker."""
    estimator, train, _, task, params = fitting
    if task.objective is not None:
        estimator.set_params(objective=skrank.lightgbm.objective(task.objective), metric="None")
    estimator.fit(train.X, train.y, group=train.group, sample_weight=train.weight, **params)
    fitted = estimator.to_local()
    return Fitted(fitted, fitted.booster_.current_iteration())


def train_xgboost(fitting: Fitting[Partitions]) -> Fitted:
    """Train DaskXGBRanker; what comes back is an XGBRanker. All workers stop in the same round."""
    estimator, train, valid, task, params = fitting
    xgboost = import_booster("xgboost")
    if train.weight is not None:
        raise ValueError("XGBoost takes no weights of queries on Dask: fit without sample_weight.")
    client = client_of(estimator)
    evals = [] if valid is None else [(_matrix(estimator, client, valid), VALIDATION)]
    options = train_options(estimator, task, evals)
    options["params"].pop("coll_cfg", None)
    options |= {"verbose_eval": params.pop("verbose", False)} | params
    dtrain = _matrix(estimator, client, train)
    found = import_booster("xgboost.dask").train(client, dtrain=dtrain, **options)
    known = xgboost.XGBRanker().get_params(deep=False)
    own = estimator.get_params(deep=False)
    fitted = xgboost.XGBRanker(**{name: own[name] for name in known if name in own})
    return with_booster(fitted, found["booster"], found["history"], task)


def _matrix(estimator: Any, client: Any, parts: Partitions) -> Any:
    return import_booster("xgboost.dask").DaskDMatrix(
        client,
        parts.X,
        parts.y,
        qid=parts.qid,
        missing=estimator.missing,
        feature_types=estimator.feature_types,
        enable_categorical=estimator.enable_categorical,
    )


# data in memory -----------------------------------------------------------------------------------


def _fit(fitting: Fitting[Part], *, train_on: Train) -> Fitted:
    """Bring rows in memory to the workers, query by query, and train there."""
    estimator, train, valid, task, params = fitting
    _check_positions(estimator, task)
    if valid is not None and task.metrics:
        HeldOut(valid, task.metrics)  # raises if they cannot be measured
    client = client_of(estimator)
    there = None if valid is None else _partitions(valid, client)
    return train_on(Fitting(estimator, _partitions(train, client), there, task, params))


def _partitions(part: Part, client: Any) -> Partitions:
    queries = part.queries
    return partition_queries(
        part.X,
        part.y,
        queries.ids[queries.row_query],
        sample_weight=part.weights,
        n_partitions=min(len(queries), len(client.nthreads())) or None,
        client=client,
    )


def client_of(estimator: Any) -> Any:
    """The client that an estimator has, or the current one."""
    from distributed import get_client

    return _own_client(estimator) or get_client()


def _own_client(estimator: Any) -> Any:
    own = getattr(estimator, "__dict__", {})
    return own.get("client") or own.get("_client")


LIGHTGBM = Backend(
    partial(_fit, train_on=train_lightgbm), "n_estimators", True, True, validates=False
)
XGBOOST = Backend(partial(_fit, train_on=train_xgboost), "n_estimators", True, True, True)


# data on Dask -------------------------------------------------------------------------------------


def fit_collections(
    ranker: Any,
    backend: Backend,
    rows: tuple[Any, ...],
    validation: tuple[Any, ...],
    position: Any,
    params: Options,
) -> tuple[Fitted, int]:
    """Train a GroupedRanker on Dask collections.

    Parameters
    ----------
    ranker : GroupedRanker
        Of checked parameters.
    backend : Backend
        Of its estimator.
    rows : X, y, groups and sample_weight to train on
    validation : X, y and groups to validate on, or None
    position : positions of the rows, which are refused
    params : dict
        Further parameters of `fit` of the estimator.

    Returns
    -------
    fitted : Fitted
    max_grade : int
        Highest label of all.
    """
    import dask

    estimator = ranker.estimator
    if backend not in (LIGHTGBM, XGBOOST):
        raise TypeError(
            f"X is a Dask collection, and {type(estimator).__name__} trains on arrays: give "
            "lightgbm.DaskLGBMRanker or xgboost.dask.DaskXGBRanker to GroupedRanker."
        )
    usual = {"validation_fraction": None, "max_queries": None, "unjudged": "raise"}
    name = next((name for name, one in usual.items() if getattr(ranker, name) != one), None)
    if name is not None or position is not None:
        raise ValueError(
            f"{name or 'position'} is for data in memory: choose the rows of Dask collections "
            "before fit, and give those to validate on as X_val, y_val and groups_val."
        )
    X, y, groups, weight = rows
    meta = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(ranker, meta, skip_check_array=True)
    made = cloned(estimator)
    client = client_of(made)
    train = partition_queries(X, y, groups, sample_weight=weight, client=client)
    valid = None if validation[0] is None else partition_queries(*validation, client=client)
    tops = dask.compute(*(one.y.max() for one in (train, valid) if one is not None))
    max_grade = highest_grade(np.array(tops))
    task = task_of(ranker, trains_objective=backend.trains_objective).on_scale(max_grade)
    _check_positions(estimator, task)
    train_on = train_lightgbm if backend is LIGHTGBM else train_xgboost
    return train_on(Fitting(made, train, valid, task, params)), max_grade


def _check_positions(estimator: Any, task: Task) -> None:
    if task.objective is not None and task.objective.takes_positions:
        raise ValueError(
            f"{type(estimator).__name__} cannot learn about positions, for workers do not exchange "
            "what they learn: train on one machine, or on another objective."
        )


def predict_collection(ranker: Any, X: Any) -> Any:
    """Scores of features on Dask, partition by partition.

    Parameters
    ----------
    ranker : fitted GroupedRanker
    X : dask Array or DataFrame

    Returns
    -------
    dask Array or Series of shape (n_rows,)
    """
    import dask

    check_is_fitted(ranker, "estimator_")
    model = dask.delayed(ranker, traverse=False)
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return X.map_partitions(_series, model, meta=("score", "f8"))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.map_blocks(_scores, ranker, dtype=np.float64, drop_axis=1, meta=np.empty(0))


def _scores(X: Any, ranker: Any) -> np.ndarray:
    """Scores of a partition, in the double precision that the collection announces."""
    return np.asarray(ranker.predict(X) if len(X) else (), dtype=np.float64)


def _series(X: Any, ranker: Any) -> Any:
    import pandas as pd

    return pd.Series(_scores(X, ranker), X.index, name="score", dtype=np.float64)


# clones -------------------------------------------------------------------------------------------


def cloned(estimator: Estimator, *, safe: bool = True) -> Any:
    """A clone that has the client of the estimator: a client itself cannot be copied."""
    client = _own_client(estimator)
    if client is None or not type(estimator).__module__.startswith(MODULES):
        return clone(estimator, safe=safe)
    bare: Any = copy.copy(estimator)
    bare.client = None
    made: Any = clone(bare)
    made.client = client
    return made
