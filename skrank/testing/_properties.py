"""What checks of metrics and objectives share: cases, and properties in other tools."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_validate

from skrank._engine.groups import with_groups
from skrank._engine.metric import registry
from skrank.metrics import Metric, Mixture, metric
from skrank.model_selection import QueryKFold
from skrank.objectives import Objective
from skrank.scoring import scorer
from skrank.testing._lists import ScoredLists, make_lists
from skrank.testing._orders import Literal, stable, tie_expectation


class Inapplicable(Exception):
    """Raised if a property does not apply to a metric or an objective; the test is skipped."""


@dataclass(frozen=True, eq=False)
class Case:
    """A metric, and the arguments of `check_metric`.

    Attributes
    ----------
    metric : Metric
    definition : function of (ranked, unretrieved), optional
        A slow implementation that follows the definition; it may have the arguments `max_grade` and
        `k`.
    monotone : bool
        True if moving a better document up never lowers the value.
    """

    metric: Metric
    definition: Literal | None
    monotone: bool

    @cached_property
    def settled(self) -> Metric:
        """The metric, with ties in row order if its mean over orders of ties has no closed form."""
        return replace(self.metric, ties="stable") if self.metric.strict else self.metric

    @cached_property
    def cut(self) -> list[Metric]:
        """`settled` at its own cut-off, or at two others if it takes cut-offs."""
        assume(not isinstance(self.settled, Mixture), "each part has its own cut-off")
        if self.settled.k is not None:
            return [self.settled]
        try:
            return [self.settled @ k for k in (1, 3)]
        except ValueError:
            raise Inapplicable("it takes no cut-off") from None

    def takes(self, name: str) -> bool:
        """Whether the definition has an argument of this name."""
        return self.definition is not None and name in inspect.signature(self.definition).parameters

    def expected(self, data: ScoredLists, k: int | None = None) -> np.ndarray:
        """Value of `settled` by `definition` for each query, NaN where it is not defined."""
        if self.definition is None:
            raise Inapplicable("no definition is given")
        given = {"max_grade": data.max_grade, "k": k or self.metric.k}
        definition = partial(
            self.definition, **{name: value for name, value in given.items() if self.takes(name)}
        )
        evaluate = stable if self.metric.strict else tie_expectation
        values = [evaluate(definition, scores, labels) for scores, labels in data.queries()]
        return np.array([np.nan if value is None else value for value in values])


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


Property = Callable[[Any], None]


def run(who: object, properties: Iterable[tuple[str, Property]], case: object) -> list[str]:
    """Test all properties; returns the names of those that apply, raises at the first failure."""
    held = []
    for name, check in properties:
        try:
            check(case)
        except Inapplicable:
            continue
        except Exception as error:
            raise AssertionError(f"a property of {who} does not hold: {name}.\n{error}") from error
        held.append(name)
    return held


# copies, scorers and boosters ---------------------------------------------------------------------


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
