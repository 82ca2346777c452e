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
import skrank.xgboost
from skrank._boosters.adapters import import_booster
from skrank._engine.whole import highest_grade
from skrank._typing import Estimator, Options
from skrank.dask import Partitions, partition_queries
from skrank.rankers._rows import Part
from skrank.rankers._task import Task
from skrank.rankers._training import VALIDATION, Backend, Fitted, HeldOut
from skrank.rankers._xgboost import cut_to_best

MODULES = ("lightgbm.dask", "xgboost.dask")

Train = Callable[[Any, Partitions, Partitions | None, Task, Options], Fitted]


def is_collection(X: object) -> bool:
    """Whether these are features on Dask."""
    return hasattr(X, "__dask_graph__")


def train_lightgbm(
    estimator: Any, train: Partitions, valid: Partitions | None, task: Task, params: Options
) -> Fitted:
    """Train DaskLGBMRanker; what comes back is an LGBMRanker."""
    if task.objective is not None:
        estimator.set_params(objective=skrank.lightgbm.objective(task.objective), metric="None")
    estimator.fit(train.X, train.y, group=train.group, sample_weight=train.weight, **params)
    fitted = estimator.to_local()
    return Fitted(fitted, fitted.booster_.current_iteration())


def train_xgboost(
    estimator: Any, train: Partitions, valid: Partitions | None, task: Task, params: Options
) -> Fitted:
    """Train DaskXGBRanker; what comes back is an XGBRanker. All workers stop in the same round."""
    xgboost = import_booster("xgboost")
    on_dask = import_booster("xgboost.dask")
    if train.weight is not None:
        raise ValueError("XGBoost takes no weights of queries on Dask: fit without sample_weight.")
    client = client_of(estimator)
    settings = estimator.get_xgb_params()
    settings.pop("coll_cfg", None)
    callbacks = list(estimator.callbacks or ())
    options: Options = {"verbose_eval": params.pop("verbose", False)} | params
    if task.objective is not None:
        options["obj"] = skrank.xgboost.objective(task.objective)
    if task.metrics:
        settings |= {"disable_default_eval_metric": 1}
        settings.pop("eval_metric", None)
    if valid is not None:
        options["evals"] = [(_matrix(estimator, client, valid), VALIDATION)]
        if task.metrics:
            metrics = list(task.metrics.values())
            options["custom_metric"] = skrank.xgboost.eval_metric(*metrics)
            if task.rounds is not None:
                callbacks.append(skrank.xgboost.early_stopping(metrics[0], rounds=task.rounds))
        else:
            options["early_stopping_rounds"] = task.rounds
    found = on_dask.train(
        client,
        settings,
        _matrix(estimator, client, train),
        estimator.get_num_boosting_rounds(),
        callbacks=callbacks,
        **options,
    )
    known = xgboost.XGBRanker().get_params(deep=False)
    own = estimator.get_params(deep=False)
    fitted = xgboost.XGBRanker(**{name: own[name] for name in known if name in own})
    fitted._Booster = found["booster"]
    log = found["history"].get(VALIDATION, {})
    evals = dict(zip(task.metrics or log, log.values(), strict=False))
    fitted.evals_result_ = {"validation_0": evals}
    return Fitted(fitted, cut_to_best(fitted), evals)


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


def _fit(
    estimator: Any,
    train: Part,
    valid: Part | None,
    task: Task,
    params: Options,
    *,
    train_on: Train,
) -> Fitted:
    """Bring rows in memory to the workers, query by query, and train there."""
    _check_positions(estimator, task)
    if valid is not None and task.metrics:
        HeldOut(valid, task.metrics)  # raises if they cannot be measured
    client = client_of(estimator)
    parts = [None if one is None else _partitions(one, client) for one in (train, valid)]
    assert parts[0] is not None
    return train_on(estimator, parts[0], parts[1], task, params)


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

    own = vars(estimator)
    return own.get("client") or own.get("_client") or get_client()


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
    task = ranker._task(backend).on_scale(max_grade)
    _check_positions(estimator, task)
    train_on = train_lightgbm if backend is LIGHTGBM else train_xgboost
    return train_on(made, train, valid, task, params), max_grade


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
    return ranker.predict(X) if len(X) else np.empty(0)


def _series(X: Any, ranker: Any) -> Any:
    import pandas as pd

    return pd.Series(_scores(X, ranker), X.index, name="score", dtype=np.float64)


# clones -------------------------------------------------------------------------------------------


def cloned(estimator: Estimator) -> Any:
    """A clone that has the client of the estimator: a client itself cannot be copied."""
    own = vars(estimator)
    client = own.get("client") or own.get("_client")
    if client is None or not type(estimator).__module__.startswith(MODULES):
        return clone(estimator)
    bare: Any = copy.copy(estimator)
    bare.client = None
    made: Any = clone(bare)
    made.client = client
    return made


def cloned_ranker(ranker: Any) -> Any:
    """A clone of a GroupedRanker, whose estimator may have a client."""
    params = ranker.get_params(deep=False)
    made = type(ranker)(
        **{
            name: cloned(one) if name == "estimator" and hasattr(one, "get_params")
            else clone(one, safe=False)
            for name, one in params.items()
        }
    )  # fmt: skip
    if hasattr(ranker, "_metadata_request"):
        made._metadata_request = copy.deepcopy(ranker._metadata_request)
    return made
