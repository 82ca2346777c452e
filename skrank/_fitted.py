"""Models of any library: their clones, scores and trained grades; undo a `fit` that fails."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import LEVEL
from skrank._typing import Estimator, Table
from skrank._warnings import warn

if TYPE_CHECKING:
    from distributed import Client

DASK_MODULES = ("lightgbm.dask", "xgboost.dask")
RESPONSES = ("predict_proba", "decision_function", "predict")
_INNER = ("best_estimator_", "regressor_", "estimator_")  # attributes: the model in a wrapper
_MEMBERS = ("estimators_", "final_estimator_")  # attributes: the models in an ensemble


def predicted_scores(
    estimator: Estimator,
    X: Table,
    response_method: str = "auto",
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Scores to rank by: the result of `response_method`, or the expected grade of a classifier.

    `response_method` is "auto" or a name in RESPONSES; "auto" is `predict` of a regressor, else the
    first that the model has. Where metadata routing is enabled, `groups` go to steps that request
    them.
    """
    import sklearn
    from sklearn.base import is_regressor
    from sklearn.utils.metadata_routing import get_routing_for_object

    if response_method == "auto":  # a regressor may inherit a method `predict_proba`
        regressor = hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)
        methods = ("predict",) if regressor else RESPONSES
        response_method = next((name for name in methods if hasattr(estimator, name)), "predict")
    params = {}
    if groups is not None and sklearn.get_config()["enable_metadata_routing"]:
        routing = get_routing_for_object(estimator)
        params = dict.fromkeys(routing.consumes(response_method, ["groups"]), groups)
    values = np.asarray(getattr(estimator, response_method)(X, **params))
    if response_method == "predict_proba":
        return values @ _grades_of_classes(estimator)
    who = f"{response_method} of {type(estimator).__name__}"
    if values.ndim == 0:
        kind = type(values.item()).__name__
        raise TypeError(f"{who} returns {kind}, not an array with one score per row.")
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"{who} returns {values.shape[1]} values per row instead of one score: use a "
            "regressor, or a classifier with predict_proba."
        )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(values) != n_rows:
        raise ValueError(
            f"{who} returns {len(values)} scores for {n_rows} rows: it must return one score per "
            "row."
        )
    return values.reshape(len(values))


def _grades_of_classes(estimator: Estimator) -> np.ndarray:
    classes = np.asarray(estimator.classes_)
    if classes.dtype.kind in "iufb":
        return classes.astype(np.float64)
    raise ValueError(
        f"the labels of {type(estimator).__name__} are {classes.tolist()[:3]}, not numbers, and "
        "have no mean: train the classifier on grades 0, 1, 2, ..."
    )


def is_instance(estimator: object, library: str, *names: str) -> bool:
    """True for an instance of one of the classes of a library, which is not imported for that."""
    module = sys.modules.get(library)
    return isinstance(estimator, tuple(getattr(module, name, ()) for name in names))


def cloned(estimator: Any, *, safe: bool = True) -> Any:
    """A clone of an estimator or list, including estimators that `clone` of scikit-learn refuses.

    `clone` refuses CatBoost, which copies parameters that are lists. Clones share a Dask client.
    """
    from sklearn.base import clone

    if isinstance(estimator, (list, tuple)):
        return type(estimator)(cloned(member, safe=safe) for member in estimator)
    if is_instance(estimator, "catboost", "CatBoost"):
        return type(estimator)(**copy.deepcopy(estimator.get_params()))
    if not type(estimator).__module__.startswith(DASK_MODULES):
        return clone(estimator, safe=safe)
    without_client = copy.copy(estimator)
    without_client.client = None  # `clone` would copy the client
    unfitted = clone(without_client)
    client = _client_or_none(estimator)
    if client is not _client_or_none(unfitted):  # the same if both use the current client
        unfitted.client = client
    return unfitted


def _client_or_none(estimator: Estimator) -> Client | None:
    try:
        return estimator.client
    except ValueError:  # a DaskXGBRanker without a client, and no current client
        return None


def chain_of(estimator: Estimator) -> list[Estimator]:
    """A model, then its last step, best estimator or wrapped estimator, and so on inward."""
    chain = []
    while estimator is not None:
        chain.append(estimator)
        if getattr(estimator, "steps", None):
            estimator = estimator.steps[-1][1]
            continue
        inner = (getattr(estimator, name, None) for name in _INNER)
        estimator = next((model for model in inner if model is not None), None)
    return chain


def trained_grade(estimator: Estimator) -> int | None:
    """Highest grade that a model was trained on; None if unknown.

    Read from `max_grade_` of rankers of skrank, members of ensembles included, or from `classes_`
    of a classifier.
    """
    rankers = [model for model in _nested_models(estimator) if hasattr(model, "max_grade_")]
    if rankers:
        return max(model.max_grade_ for model in rankers)
    for model in chain_of(estimator):
        if getattr(model, "classes_", None) is not None:
            with suppress(TypeError, ValueError):
                return check.highest_grade(np.asarray(model.classes_, dtype=np.float64))
            return None
    return None


def _nested_models(estimator: Estimator) -> Iterator[Estimator]:
    """A model, and all models inside it, members of ensembles included."""
    for model in chain_of(estimator):
        yield model
        for name in _MEMBERS:
            # one model, or a sequence; pipelines, which are sequences, are replaced by their steps
            for member in np.ravel(np.array(getattr(model, name, ()), dtype=object)):
                yield from _nested_models(member)


@contextmanager
def restored_on_failure(estimator: Estimator) -> Iterator[None]:
    """Restore the attributes of an estimator if its `fit` raises an error.

    All fitted attributes thus come from the same fit. `fit` must replace attributes, and must not
    modify their values in place.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_of_qid_feature(X: Table, estimator: Estimator) -> None:
    """Warn if "qid" in X is a feature of the innermost model or of the last step of a pipeline."""
    if LEVEL not in list(getattr(X, "columns", ())):
        return
    *outer, last = chain_of(estimator)
    pipelines = [model for model in outer if hasattr(model, "steps")]
    if any(LEVEL in _features(model) for model in [*pipelines, last]):
        warn(
            'the column "qid" of X is a feature of the model: move the queries to the index, '
            "X.set_index('qid'), or use skrank.with_groups(y, qid).",
        )


def _features(model: Estimator) -> list[str]:
    """Names of the features of a model, or of the last step of a pipeline."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(model, "steps"):
        try:
            # the only step of a pipeline is the next model of `chain_of`
            names = model[:-1].get_feature_names_out() if len(model.steps) > 1 else None
        except (AttributeError, ValueError):  # a step that does not name its features
            names = None
        n_features = getattr(model.steps[-1][1], "n_features_in_", None)
        if names is not None and n_features is not None and n_features < len(names):
            return []  # a ranker of skrank leaves out the column of the queries
    # ColumnTransformer puts the name of the transformer before that of the column: "log__qid"
    return [] if names is None else [str(name).rpartition("__")[2] for name in names]
