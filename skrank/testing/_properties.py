"""What checks of metrics and objectives share: running properties, copies, and boosters."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone

from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.testing._lists import ScoredLists, make_lists


class Inapplicable(Exception):
    """Raised if a property does not apply to a metric or an objective; the test is skipped."""


def per_query(metric: Metric, data: ScoredLists) -> np.ndarray:
    """Value of each query, ordered by the first row of the query."""
    return metric.per_query(data.relevance, data.scores, groups=data.groups).to_numpy()


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Raise unless equal to a relative and absolute tolerance; NaN equals NaN."""
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def assume(condition: object, message: str) -> None:
    """Raise Inapplicable if a condition is false; `message` is the reason."""
    if not condition:
        raise Inapplicable(message)


def hold(condition: object, message: str) -> None:
    """Raise an AssertionError if a condition is false, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


def run(who: object, properties: Iterable[Callable[[Any], None]], case: object) -> list[str]:
    """Test all properties; returns the names of those that apply, raises at the first failure.

    The name of a property is that of its function.
    """
    held = []
    for check in properties:
        name = check.__name__.replace("_", " ")
        try:
            check(case)
        except Inapplicable:
            continue
        except Exception as error:
            raise AssertionError(f"a property of {who} does not hold: {name}.\n{error}") from error
        held.append(name)
    return held


class FirstFeature(BaseEstimator):
    """A model that scores rows by their first feature."""

    def __init__(self, metric: Metric | Objective | None = None) -> None:
        self.metric = metric

    def fit(self, X: object, y: object) -> FirstFeature:
        """Do nothing, as the model has no parameters."""
        self.fitted_ = True
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The first feature."""
        return X[:, 0]


def judged_lists(seed: int, **how: Any) -> ScoredLists:
    """Contiguous queries whose documents are all judged and retrieved, without ties."""
    how = {"n_queries": 12, "longest": 9} | how
    return make_lists(seed, unjudged=0, missing=0, special=False, scattered=False, **how)


def check_copies(thing: Metric | Objective) -> None:
    """Pickled, copied and cloned metrics or objectives are equal, with equal hashes."""
    copies = [copy.copy(thing), copy.deepcopy(thing), clone(FirstFeature(thing)).metric]
    try:
        copies.append(pickle.loads(pickle.dumps(thing)))
    except (AttributeError, pickle.PicklingError) as error:
        # pickle cannot copy a local class or function; joblib uses cloudpickle for them
        if "local object" not in str(error) and "attribute lookup" not in str(error):
            raise
    for copied in copies:
        hold(copied == thing and hash(copied) == hash(thing), "a copy is not equal")


def check_boosters(objective: Objective) -> None:
    """The callables for both boosters return the gradients of a call, in single precision."""
    for name, adapter, data, native in in_boosters():
        gradients = adapter.objective(objective)(data.scores, native)
        grad, hess = objective(data.relevance, data.scores, groups=data.groups)
        factor = 2 if name == "xgboost" else 1  # of hessians: see `skrank.xgboost.objective`
        for values, expected in zip(gradients, (grad, factor * hess), strict=True):
            assert_allclose(values, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def in_boosters() -> Iterator[tuple[str, Any, ScoredLists, Any]]:
    """Name and module of skrank for each installed booster, lists, and its data set of them."""
    installed = [name for name in ("lightgbm", "xgboost") if find_spec(name) is not None]
    assume(installed, "no booster is installed")
    data = judged_lists(23)
    features, starts = np.zeros((len(data.scores), 1)), data.groups[1:] != data.groups[:-1]
    qid = np.concatenate([[0], np.cumsum(starts)])
    for name in installed:
        booster = import_module(name)
        if name == "xgboost":
            native = booster.DMatrix(features, data.relevance, qid=qid)
        else:
            options = {"group": np.bincount(qid), "params": {"verbose": -1}}
            native = booster.Dataset(features, data.relevance, **options).construct()
        yield name, import_module(f"skrank.{name}"), data, native
