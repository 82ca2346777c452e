"""Case: a metric under test. Functions that test its properties."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from skrank.metrics import Metric
from skrank.testing._lists import ScoredLists
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
        A slow implementation that follows the definition; it may have an argument `max_grade`.
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

    def expected(self, data: ScoredLists) -> np.ndarray:
        """Value of `settled` by `definition` for each query, NaN where it is not defined."""
        if self.definition is None:
            raise Inapplicable("no definition is given")
        definition = self.definition
        if "max_grade" in inspect.signature(definition).parameters:
            definition = partial(definition, max_grade=data.max_grade)
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
