"""The callables that boosters call: objectives and metrics."""

from __future__ import annotations

import importlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Measured, Plan, measure
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._engine.threads import compiled
from skrank._typing import Reduced, Weights
from skrank.metrics import Metric, metric
from skrank.objectives import as_objective
from skrank.objectives._bound import BoundObjective
from skrank.objectives.base import Objective

T = TypeVar("T")


def import_booster(name: str) -> ModuleType:
    """The module of a booster, or its module for Dask; an ImportError says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} cannot be imported: pip install skrank[{name.rpartition('.')[2]}]"
        ) from error


@dataclass(frozen=True, eq=False)
class Supplied:
    """The data that a booster passes to a callable.

    Attributes
    ----------
    owner
        An object that lives as long as the data set, and allows weak references.
    labels : ndarray of shape (n_rows,)
    sizes : ndarray, optional
        Number of rows of each query, if the data set has queries.
    weights : ndarray, optional
        Per row, as `judge_data` expects; per query in XGBoost, which has judges of its own.
    max_grade : int, optional
        Highest grade of the training labels, if the booster passes them to all callables.
    source : str
        The data set in errors about its queries.
    """

    owner: Any
    labels: np.ndarray
    sizes: np.ndarray | None
    weights: np.ndarray | None
    max_grade: int | None = None
    source: str = "the booster's data"

    @property
    def digest(self) -> list[int | None]:
        """Hashes of all data that plans and objectives depend on, to detect changes."""
        arrays = self.labels, self.sizes, self.weights
        hashes = (None if array is None else hash(array.tobytes()) for array in arrays)
        return [self.max_grade, *hashes]

    def at_least(self, max_grade: int | None) -> Supplied:
        """The same data with at least this `max_grade`."""
        if max_grade is None or (self.max_grade or 0) >= max_grade:
            return self
        return replace(self, max_grade=max_grade)


class PerDataSet:
    """A cache with one value per data set, for as long as the data set exists unchanged.

    Keys are identities of data sets, since arrays are not hashable.
    """

    def __init__(self) -> None:
        self._cached: dict[int, tuple[weakref.ref[object], list[int | None], Any]] = {}

    def get(self, data: Supplied, make: Callable[[Supplied], T]) -> T:
        """The cached value for `data`, or ``make(data)``."""
        key, digest = id(data.owner), data.digest
        entry = self._cached.get(key)  # read once: another thread may drop the entry
        if entry is not None and entry[0]() is data.owner and entry[1] == digest:
            return entry[2]
        value = make(data)
        this = weakref.ref(self)  # a strong reference would be a cycle, which keeps values alive

        def forget(_: object) -> None:
            alive = this()
            if alive is not None:
                alive._cached.pop(key, None)

        self._cached[key] = (weakref.ref(data.owner, forget), digest, value)
        return value


def as_written(labels: np.ndarray) -> np.ndarray:
    """Labels in double precision, with the decimal of each float32: 0.7, not 0.699999988."""
    if labels.dtype != np.float32 or np.array_equal(labels, np.rint(labels)):
        return labels.astype(np.float64)
    values, places = np.unique(labels, return_inverse=True)
    return np.array([float(str(value)) for value in values])[places]


# Judgments, weights per query, and the highest grade of a data set; a function that returns them
Judged = tuple[Judgments, Weights, int | None]
Judge = Callable[[Supplied], Judged]


def judge_data(data: Supplied, remedy: str = "group= (sizes of consecutive queries)") -> Judged:
    """The judge of data with weights per row; errors name `remedy` if the data have no queries."""
    sizes = check.check_group_sizes(data.sizes, len(data.labels), data.source, remedy)
    judgments = Judgments(as_written(data.labels), Queries.from_sizes(sizes))
    weights = check.query_weights(data.weights, judgments.queries, name="weight")
    return judgments, weights, data.max_grade


def objective_of(x: str | Metric | Objective, **options: object) -> Objective:
    """`as_objective` where the name of an objective of the booster may be meant."""
    if isinstance(x, str) and x in check.OWN_OBJECTIVES:
        measure = "ap" if x == "rank:map" else "ndcg"
        raise ValueError(
            f"objective={x!r} is an objective of the booster: pass it to the booster, or name a "
            f"metric to train on, such as objective={measure!r}."
        )
    return as_objective(x, **options)


_callables: weakref.WeakSet[GradientCallable] = weakref.WeakSet()


def _unlock() -> None:
    """Replace locks in a forked process, where the thread that holds a lock does not exist."""
    for gradient in list(_callables):
        gradient._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class GradientCallable:
    """An objective as boosters call it, made of the arguments of `objective_of`.

    The only state is a cache of the objective bound to data sets; copies start without it.
    """

    def __init__(self, x: str | Metric | Objective, **options: object) -> None:
        import_booster(type(self).__module__.rpartition(".")[2])  # skrank.lightgbm needs lightgbm
        self.objective = objective_of(x, **options)
        self._bound = PerDataSet()
        self._lock = threading.Lock()  # a bound objective has workspace for one call at a time
        _callables.add(self)

    def __reduce__(self) -> Reduced:
        return type(self), (self.objective,)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.objective({self.objective!r})"

    def _gradient(
        self, data: Supplied, scores: ArrayLike, judge: Judge = judge_data
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and hessian per row in float32, times the weight of the query."""

        def bind(data: Supplied) -> BoundObjective:
            judgments, weights, max_grade = judge(data)
            return self.objective.bind_blocks(judgments, weights, max_grade)

        vector = check.as_vector("scores", scores, len(data.labels))
        with self._lock:
            bound = self._bound.get(data, bind)
            grad, hess = np.empty(len(vector), np.float32), np.empty(len(vector), np.float32)
            bound.gradient(vector, grad, hess)
        return grad, hess


class MetricCallable:
    """Metrics as boosters call them. Copies start without plans."""

    def __init__(self, metrics: Iterable[str | Metric], max_grade: int | None = None) -> None:
        import_booster(type(self).__module__.rpartition(".")[2])  # skrank.lightgbm needs lightgbm
        self.metrics = tuple(dict.fromkeys(metric(name) for name in metrics))
        if not self.metrics:
            raise ValueError("eval_metric() has no metric: name one or more, such as 'gap@10'.")
        self.max_grade = check.check_max_grade(max_grade)
        self._plans = PerDataSet()

    def __reduce__(self) -> Reduced:
        return type(self), (self.metrics, self.max_grade)

    def __repr__(self) -> str:
        names = ", ".join(repr(str(metric)) for metric in self.metrics)
        return f"{type(self).__module__}.eval_metric({names})"

    @compiled()  # for each round; gradients are compiled in any case (see BoundPairs)
    def _measured(self, data: Supplied, scores: ArrayLike, judge: Judge) -> Measured:
        """Values of all metrics, which share one sort."""

        def bind(data: Supplied) -> tuple[Judgments, list[Plan], Weights]:
            judgments, weights, max_grade = judge(data)
            # raises if a metric needs the highest grade, and it is unknown
            plans = [metric.bind_part(judgments, max_grade=max_grade) for metric in self.metrics]
            return judgments, plans, weights

        # objectives need no `max_grade`, as they see the training labels
        judgments, plans, weights = self._plans.get(data.at_least(self.max_grade), bind)
        return measure(judgments, [Ranking(judgments, scores)], plans, weights)

    def _results(
        self, data: Supplied, scores: ArrayLike, judge: Judge = judge_data
    ) -> list[tuple[str, float, bool]]:
        """Name, mean over queries and direction (greater is better) of each metric."""
        means = self._measured(data, scores, judge).means()[0].tolist()
        named = zip(self.metrics, means, strict=True)
        return [(str(metric), mean, metric.greater_is_better) for metric, mean in named]
