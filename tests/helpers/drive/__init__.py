"""Random calls of all public functions and classes, with usual arguments and with odd ones.

A case draws arguments, and returns a call with a check of its result. The name of a case is the
public name that it calls. A public name without a case fails a test.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.helpers import odd

MODULES = ("active", "datasets", "evaluation", "incompleteness", "informativeness", "lightgbm",
           "metrics", "model_selection", "objectives", "plotting", "preprocessing", "rankers",
           "scoring", "stats", "trec", "xgboost", "dask", "testing", "extending", "cli",
           *(["torch"] if find_spec("torch") else ()), "")  # fmt: skip
# classes that users get from functions, and base classes
NOT_CALLED = {
    "active": ("Campaign", "Decision", "Estimate", "Moments", "Request", "Simulation"),
    "datasets": ("Fold", "LETOR"),
    "evaluation": ("Comparison", "Report"),
    "incompleteness": ("Robustness",),
    "informativeness": ("GradeDistribution", "Study", "ThresholdChoice"),
    "metrics": ("FunctionMetric", "GradedCurve", "Metric"),
    "model_selection": ("SearchSpace",),
    "objectives": ("Objective",),
    "stats": ("Anova", "AnovaRow", "BayesianComparison", "DiscriminativePower", "EquivalenceTest",
              "Interval", "ListOverlap", "MaxT", "PairedEffects", "PairedTest", "RankCorrelation",
              "TukeyHSD"),
    "trec": ("FusedRun", "TrecReport"),
    "dask": ("DaskScorer", "Partitions"),
    "torch": ("QueryBatch",),
    "": ("Tuning",),
    "extending": ("BoundLoss", "BoundObjective", "Line", "Lists", "Scale", "Smooth", "Tables"),
}  # fmt: skip
TESTED_ELSEWHERE = (
    "dask.partition_queries",  # which needs a cluster
    "extending.PairWorth", "extending.Queries", "extending.RelevantSet",
    "extending.SetMetric", "extending.StrictTables",
)  # fmt: skip


def public() -> set[str]:
    """Names such as "stats.holm" of all functions and classes that users call, each once."""
    names, seen = set[str](), set[int]()
    for place in MODULES:
        module = import_module(f"skrank.{place}" if place else "skrank")
        for name in sorted(set(dir(module)) - {"torch"}):
            thing = getattr(module, name)
            home = str(getattr(thing, "__module__", ""))
            ours = (
                home.split(".")[0] == "skrank"
                if hasattr(module, "__path__") or place == "extending"
                else home == module.__name__
            )
            if name.startswith("_") or not callable(thing) or not ours:
                continue
            if (inspect.isclass(thing) and issubclass(thing, Exception)) or id(thing) in seen:
                continue
            seen.add(id(thing))
            if place == "cli" and name != "main":  # users see what the command parses and prints
                continue
            if name not in NOT_CALLED.get(place, ()):
                names.add(f"{place}.{name}" if place else name)
    return names - set(TESTED_ELSEWHERE)


class Call(NamedTuple):
    """A call, and a check that raises an error if the result is wrong."""

    call: Callable[[], Any]
    verify: Callable[[Any], Any] = lambda found: None


class Draw:
    """Draws arguments. If `is_odd`, about a third of the arguments are replaced by odd ones."""

    def __init__(self, data: st.DataObject, is_odd: bool) -> None:
        self._draw = data.draw
        self.is_odd = is_odd

    def _replaces(self) -> bool:
        return self.is_odd and self._draw(st.sampled_from((False, False, True)))

    def __call__(self, usual: st.SearchStrategy, other: st.SearchStrategy = odd.anything) -> Any:
        """One argument, usual or odd."""
        return self._draw(other if self._replaces() else usual)

    def of(self, *choices: Any) -> Any:
        """One argument: a choice, or something odd."""
        return self(st.sampled_from(choices))

    def pick(self, *choices: Any) -> Any:
        """A choice, never odd, such as which kind of argument to draw."""
        return self._draw(st.sampled_from(choices))

    def some(self, elements: st.SearchStrategy, size: int) -> list[Any]:
        """A list of usual elements, to make an argument from."""
        return self._draw(st.lists(elements, min_size=size, max_size=size))

    def replaced(self, given: dict[str, Any]) -> dict[str, Any]:
        """All of these keywords; some values may be odd."""
        return {name: self(st.just(value)) for name, value in given.items()}

    def options(self, **usual: st.SearchStrategy) -> dict[str, Any]:
        """Some of these keywords; some values may be odd."""
        given = self._draw(st.sets(st.sampled_from(sorted(usual))))
        return {name: self(usual[name]) for name in sorted(given)}

    def size(self, low: int, high: int) -> int:
        """A number, never odd, such as a length that several arguments share."""
        return self._draw(st.integers(low, high))

    def vector(
        self,
        elements: st.SearchStrategy,
        size: int,
        other: st.SearchStrategy | None = None,
        containers: tuple[str, ...] = odd.USUAL,
    ) -> Any:
        """`size` elements in a container such as a list, an array or a Series."""
        if self._replaces():
            return self._draw(odd.arrays(elements if other is None else other, size))
        values = self._draw(st.lists(elements, min_size=size, max_size=size))
        return odd.in_container(values, self._draw(st.sampled_from(containers)))

    def matrix(self, elements: st.SearchStrategy, rows: int, columns: int) -> Any:
        """A table of numbers."""
        if self._replaces():
            return self._draw(odd.arrays(elements, rows) | odd.anything)
        cells = st.lists(elements, min_size=rows * columns, max_size=rows * columns)
        return np.array(self._draw(cells), dtype=np.float64).reshape(rows, columns)

    def groups(self, size: int) -> Any:
        """Query ids of rows, or none."""
        ids = st.sampled_from(("a", "b")) if self._draw(st.booleans()) else st.integers(0, 2)
        return self.vector(ids, size, odd.ids, containers=odd.FLAT)


CASES: dict[str, Callable[[Draw], Call]] = {}


def case(name: str) -> Callable[[Callable[[Draw], Call]], Callable[[Draw], Call]]:
    """Register the case of a public name."""

    def register(draw: Callable[[Draw], Call]) -> Callable[[Draw], Call]:
        assert name not in CASES
        CASES[name] = draw
        return draw

    return register


def within(low: float, high: float) -> Callable[[Any], None]:
    """A check that numbers lie in a range, or are NaN."""

    def verify(found: Any) -> None:
        values = np.asarray(found, dtype=np.float64)
        slack = 1e-9
        assert (np.isnan(values) | ((values >= low - slack) & (values <= high + slack))).all()

    return verify
