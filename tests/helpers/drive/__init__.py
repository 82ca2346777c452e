"""Random calls of all that is public: arguments as they should be, and odd ones in some calls.

A case draws arguments and gives the call, with a check of what it returns. Its name is that of
what is called; further words tell apart several cases of one. What is public and has no case here
fails a test.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.helpers import odd

ROOMS = ("active", "datasets", "evaluation", "incompleteness", "informativeness", "lightgbm",
         "metrics", "model_selection", "objectives", "plotting", "preprocessing", "rankers",
         "scoring", "stats", "trec", "xgboost", "dask", "testing", "extending", "cli",
         *(["torch"] if find_spec("torch") else ()), "")  # fmt: skip
# what calls return, or share: nobody calls these
RESULTS = {
    "active": ("Campaign", "Decision", "Estimate", "Moments", "Request", "Simulation"),
    "datasets": ("Fold", "LETOR"),
    "evaluation": ("Comparison", "Report"),
    "incompleteness": ("Robustness",),
    "informativeness": ("GradeDistribution", "Study", "ThresholdChoice"),
    "metrics": ("FunctionMetric", "GradedCurve"),
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
# with a cluster, in tests of their own; abstract; driven with others of their room
ELSEWHERE = (
    "dask.partition_queries", "metrics.Metric",
    "extending.PairWorth", "extending.Queries", "extending.RelevantSet",
    "extending.SetMetric", "extending.StrictTables",
)  # fmt: skip


def public() -> set[str]:
    """Names such as "stats.holm" of all functions and classes that users call, each once."""
    names, seen = set[str](), set[int]()
    for room in ROOMS:
        module = import_module(f"skrank.{room}" if room else "skrank")
        for name in sorted(set(dir(module)) - {"torch"}):
            thing = getattr(module, name)
            home = str(getattr(thing, "__module__", ""))
            ours = (
                home.split(".")[0] == "skrank"
                if hasattr(module, "__path__") or room == "extending"
                else home == module.__name__
            )
            if name.startswith("_") or not callable(thing) or not ours:
                continue
            if (inspect.isclass(thing) and issubclass(thing, Exception)) or id(thing) in seen:
                continue
            seen.add(id(thing))
            if room == "cli" and name != "main":  # the command is what it parses and prints
                continue
            if name not in RESULTS.get(room, ()):
                names.add(f"{room}.{name}" if room else name)
    return names - set(ELSEWHERE)


class Call(NamedTuple):
    """A call, and a check that raises when it returns what is wrong."""

    call: Callable[[], Any]
    right: Callable[[Any], Any] = lambda found: None


class Draw:
    """Draws arguments: all of them as they should be, or, in some calls, odd ones among them."""

    def __init__(self, data: st.DataObject, is_odd: bool) -> None:
        self._draw = data.draw
        self.is_odd = is_odd

    def _strays(self) -> bool:
        return self.is_odd and self._draw(st.sampled_from((False, False, True)))

    def __call__(self, usual: st.SearchStrategy, other: st.SearchStrategy = odd.anything) -> Any:
        """One argument."""
        return self._draw(other if self._strays() else usual)

    def of(self, *choices: Any) -> Any:
        """One argument of some choices."""
        return self(st.sampled_from(choices))

    def pick(self, *choices: Any) -> Any:
        """What decides about the arguments, and is none."""
        return self._draw(st.sampled_from(choices))

    def some(self, elements: st.SearchStrategy, size: int) -> list[Any]:
        """What arguments are made of, as it should be."""
        return self._draw(st.lists(elements, min_size=size, max_size=size))

    def replaced(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keywords, of which some may be odd."""
        return {name: self(st.just(value)) for name, value in given.items()}

    def options(self, **usual: st.SearchStrategy) -> dict[str, Any]:
        """Some of these keywords."""
        given = self._draw(st.sets(st.sampled_from(sorted(usual))))
        return {name: self(usual[name]) for name in sorted(given)}

    def size(self, low: int, high: int) -> int:
        """A length, which several arguments may share."""
        return self._draw(st.integers(low, high))

    def vector(
        self,
        elements: st.SearchStrategy,
        size: int,
        other: st.SearchStrategy | None = None,
        containers: tuple[str, ...] = odd.USUAL,
    ) -> Any:
        """`size` elements in a container of users."""
        if self._strays():
            return self._draw(odd.arrays(elements if other is None else other, size))
        values = self._draw(st.lists(elements, min_size=size, max_size=size))
        return odd.in_container(values, self._draw(st.sampled_from(containers)))

    def matrix(self, elements: st.SearchStrategy, rows: int, columns: int) -> Any:
        """A table of numbers."""
        if self._strays():
            return self._draw(odd.arrays(elements, rows) | odd.anything)
        cells = st.lists(elements, min_size=rows * columns, max_size=rows * columns)
        return np.array(self._draw(cells), dtype=np.float64).reshape(rows, columns)

    def groups(self, size: int) -> Any:
        """Query ids of rows, or none."""
        ids = st.sampled_from(("a", "b")) if self._draw(st.booleans()) else st.integers(0, 2)
        return self.vector(ids, size, odd.ids, containers=odd.FLAT)


CASES: dict[str, Callable[[Draw], Call]] = {}


def case(name: str) -> Callable[[Callable[[Draw], Call]], Callable[[Draw], Call]]:
    """Register how to call what is public under a name."""

    def register(draw: Callable[[Draw], Call]) -> Callable[[Draw], Call]:
        assert name not in CASES
        CASES[name] = draw
        return draw

    return register


def within(low: float, high: float) -> Callable[[Any], None]:
    """The check of numbers that lie in a range, or are not defined."""

    def right(found: Any) -> None:
        values = np.asarray(found, dtype=np.float64)
        slack = 1e-9
        assert (np.isnan(values) | ((values >= low - slack) & (values <= high + slack))).all()

    return right
