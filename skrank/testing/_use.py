"""Properties of metrics and objectives in other tools: by name, copied, in a scorer."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_validate

from skrank._engine.groups import with_groups
from skrank._engine.metric import registry
from skrank.metrics import Metric, metric
from skrank.model_selection import QueryKFold
from skrank.objectives import Objective
from skrank.scoring import scorer
from skrank.testing._case import Case, Property, assume, close, hold
from skrank.testing._lists import ScoredLists, make_lists


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


def name_parses_back(case: Case) -> None:
    """``skrank.metric(str(metric))`` is the metric."""
    assume(registry.get(case.metric.first_name) is type(case.metric), "it has no registered name")
    hold(metric(str(case.metric)) == case.metric, f"{case.metric} is read as another metric")


def copies_are_equal(case: Case) -> None:
    """Pickled, copied and cloned metrics are equal, with equal hashes and values."""
    copies_of(case.metric)
    data = judged_lists(21)
    copied = copy.deepcopy(case.settled)
    value = case.settled(data.relevance, data.scores, groups=data.groups)
    hold(copied(data.relevance, data.scores, groups=data.groups) == value, "copies differ")


def copies_of(thing: Metric | Objective) -> None:
    """Pickled, copied and cloned metrics or objectives are equal, with equal hashes."""
    copies = [copy.copy(thing), copy.deepcopy(thing), clone(FirstFeature(thing)).metric]
    try:
        copies.append(pickle.loads(pickle.dumps(thing)))
    except (AttributeError, pickle.PicklingError) as error:
        # pickle cannot copy a local class or function; joblib uses cloudpickle for them
        if "local object" not in str(error) and "attribute lookup" not in str(error):
            raise
    for one in copies:
        hold(one == thing and hash(one) == hash(thing), "a copy is not equal")


def scorers_measure_it(case: Case) -> None:
    """Scorers of scikit-learn return its value on each fold, with the grades of all labels."""
    data = judged_lists(22)
    labels, scores, groups = data
    chosen = scorer(case.settled)
    y = with_groups(labels, groups)
    cv = QueryKFold(3)
    found = cross_validate(FirstFeature(), scores[:, None], y, scoring=chosen, cv=cv)["test_score"]
    on = case.settled.on_scale(data.max_grade)
    sign = 1 if on.greater_is_better else -1
    expected = [
        sign * on(labels[test], scores[test], groups=groups[test])
        for _, test in cv.split(scores[:, None], y)
    ]
    close(found, expected)


def eval_metrics_measure_it(case: Case, *, booster: str) -> None:
    """The eval metric of a booster gives its value, and to LightGBM also name and direction."""
    adapter, data, native = _in_booster(booster)
    on = case.settled.on_scale(data.max_grade)
    name, value, *better = adapter.eval_metric(on)(data.scores, native)
    close(value, on(data.relevance, data.scores, groups=data.groups))
    if booster == "lightgbm":
        hold([name, *better] == [str(on), on.greater_is_better], f"it is called {name}")


def boosters_train_on_it(objective: Objective) -> None:
    """The callables for both boosters return the gradients of a call, in single precision."""
    factors = {"lightgbm": 1, "xgboost": 2}  # of hessians
    installed = [name for name in factors if find_spec(name) is not None]
    assume(installed, "no booster is installed")
    for name in installed:
        adapter, data, native = _in_booster(name)
        found = adapter.objective(objective)(data.scores, native)
        grad, hess = objective(data.relevance, data.scores, groups=data.groups)
        for one, expected in zip(found, (grad, factors[name] * hess), strict=True):
            assert_allclose(one, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def _in_booster(name: str) -> tuple[Any, ScoredLists, Any]:
    """skrank's module for a booster, lists, and the lists as the booster's data set."""
    assume(find_spec(name) is not None, f"{name} is not installed")
    booster, data = import_module(name), judged_lists(23)
    features, starts = np.zeros((len(data.scores), 1)), data.groups[1:] != data.groups[:-1]
    qid = np.concatenate([[0], np.cumsum(starts)])
    if name == "xgboost":
        native = booster.DMatrix(features, data.relevance, qid=qid)
    else:
        sizes, quiet = np.bincount(qid), {"verbose": -1}
        native = booster.Dataset(features, data.relevance, group=sizes, params=quiet).construct()
    return import_module(f"skrank.{name}"), data, native


USE: list[tuple[str, Property]] = [
    ("its name parses back", name_parses_back),
    ("copies are equal", copies_are_equal),
    ("scorers measure it", scorers_measure_it),
    ("eval metrics of LightGBM measure it", partial(eval_metrics_measure_it, booster="lightgbm")),
    ("eval metrics of XGBoost measure it", partial(eval_metrics_measure_it, booster="xgboost")),
]
