"""A metric under test, and the functions that its properties are tested with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from skrank._engine.metric import registry
from skrank.metrics import Metric
from skrank.testing._lists import ScoredLists
from skrank.testing._orders import Labels, Literal, stable, tie_expectation

SEEDS = (0, 1, 2)


class Inapplicable(Exception):
    """A property does not apply to a metric or an objective, and is left out."""


@dataclass(frozen=True, eq=False)
class Case:
    """A metric, and the settings of its tests.

    Attributes
    ----------
    metric : Metric
    definition : function of (ranked, unretrieved), optional
        Its literal definition, which may take `max_grade`.
    monotone : bool
        Whether moving a better document up never lowers the value.
    """

    metric: Metric
    definition: Literal | None
    monotone: bool

    @cached_property
    def settled(self) -> Metric:
        """The metric, with ties in row order if no closed form averages over their orders."""
        return replace(self.metric, ties="stable") if self.metric.strict else self.metric

    @property
    def registered(self) -> bool:
        """Whether the metric is registered under its name."""
        return registry.get(self.metric.first_name) is type(self.metric)

    def expected(self, data: ScoredLists) -> np.ndarray:
        """Literal value of `settled` for each query, NaN where it is not defined."""
        if self.definition is None:
            raise Inapplicable("no definition is given")
        definition = self.definition
        if "max_grade" in inspect.signature(definition).parameters:
            definition = partial(definition, max_grade=data.max_grade)
        how = stable if self.metric.strict else tie_expectation
        values = [how(definition, scores, labels) for scores, labels in data.queries()]
        return np.array([np.nan if value is None else value for value in values])


def per_query(metric: Metric, data: ScoredLists) -> np.ndarray:
    """Value of each query, in the order of first rows."""
    return metric.per_query(data.relevance, data.scores, groups=data.groups).to_numpy()


def worth_of_lists(metric: Metric) -> Callable[[Labels], float]:
    """A function of one list of labels, best document first; values are cached."""

    @cache
    def worth(ranked: tuple[float | None, ...]) -> float:
        labels = np.array(ranked, dtype=float)  # None is NaN
        return float(metric.per_query(labels, -np.arange(float(len(labels)))).iloc[0])

    return lambda ranked: worth(tuple(ranked))


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Raise unless equal to a relative and absolute tolerance; NaN equals NaN."""
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def assume(condition: object, message: str) -> None:
    """Leave the property out if a condition fails; `message` says why."""
    if not condition:
        raise Inapplicable(message)


def hold(condition: object, message: str) -> None:
    """Raise an AssertionError if a condition fails, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


Property = Callable[[Any], None]


def run(who: object, properties: Iterable[tuple[str, Property]], case: object) -> list[str]:
    """The names of the properties that apply and hold; else the error that says which does not."""
    held = []
    for name, check in properties:
        try:
            check(case)
        except Inapplicable:
            continue
        except Exception as error:
            raise AssertionError(f"{who} does not hold: {name}.\n{error}") from error
        held.append(name)
    return held
