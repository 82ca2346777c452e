"""How the moments of a metric are computed, read off its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.cascade import CascadeTables
from skrank._engine.judgments import Judgments
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.tables import Lists, Tables
from skrank.metrics import Metric

EXACT, DELTA, MONTE_CARLO = "exact", "delta", "monte-carlo"
METHODS = ("auto", EXACT, DELTA, MONTE_CARLO)


@dataclass(frozen=True, eq=False)
class MetricForm:
    """A metric on given grades, and the recursions that are open to its moments.

    Attributes
    ----------
    metric : Metric
    grades : float64 ndarray (n_grades,), ascending
    max_grade : int
    relevant : float64 ndarray (n_grades,)
        1 for grades that are worth something, 0 for the others.
    kind : "linear", "cascade", "ap", "gap" or None
        None: no recursion is known, labels are drawn at random.
    worth : float64 ndarray (n_grades,)
        Gain, or probability to stop, of each grade; empty if `kind` is None.
    weight : float64 ndarray (depth,)
        Weight of each rank that counts.
    """

    metric: Metric
    grades: np.ndarray
    max_grade: int
    relevant: np.ndarray
    kind: str | None
    worth: np.ndarray
    weight: np.ndarray

    @property
    def local(self) -> bool:
        """Only the first ``len(weight)`` ranks matter: other documents need no label."""
        return self.kind in ("linear", "cascade")

    def method(self, wanted: str, n_rankers: int) -> str:
        """The method to use, given what the caller wants."""
        possible = [MONTE_CARLO]
        if self.local or (self.kind == "ap" and n_rankers == 1):
            possible.insert(0, EXACT)
        elif self.kind == "gap" and n_rankers == 1:
            possible.insert(0, DELTA)
        if wanted == "auto":
            return possible[0]
        if wanted not in possible:
            task = "comparison" if n_rankers > 1 else "evaluation"
            raise ValueError(
                f"moments={wanted!r} is not known for the {task} of {self.metric}: "
                f"use {' or '.join(map(repr, possible))}, or 'auto'."
            )
        return wanted


def form_of(metric: Metric, grades: np.ndarray, longest: int) -> MetricForm:
    """The form of a metric for labels in `grades` (ascending) on lists up to `longest` long."""
    if metric.average != "macro":
        raise ValueError(
            f"{metric} is no mean over queries: active evaluation estimates average='macro'."
        )
    max_grade = getattr(metric, "max_grade", None) or max(1, int(np.ceil(grades.max())))
    example = np.resize(grades, max(longest, len(grades)))  # a list that holds every grade
    judgments = Judgments(example, Queries.single(len(example)))
    tables = metric.bind(judgments, max_grade=max_grade).tables
    code = np.searchsorted(judgments.labels, grades)
    kind, worth, weight = _kind(metric, tables)
    return MetricForm(
        settle_empty(metric),
        grades,
        max_grade,
        np.asarray(tables.relevant, dtype=np.float64)[code],
        kind,
        worth[code] if kind else worth,
        weight[:longest],
    )


def _kind(metric: Metric, tables: Tables) -> tuple[str | None, np.ndarray, np.ndarray]:
    """The recursion for a metric, with worth per code and weight per rank."""
    unknown = (None, np.empty(0), np.empty(0))
    factor = _factor(metric)
    if factor is None:
        return unknown
    if isinstance(tables, CascadeTables) and metric.ideal_cutoff == 0:
        return "cascade", tables.stop, _used(factor * tables.phi)
    if not isinstance(tables, QuadraticTables) or tables.offset is not None:
        return unknown
    if tables.pairs is None and metric.ideal_cutoff == 0:
        return "linear", tables.gain, _used(factor * tables.u)
    if metric.smooth is not None and metric.smooth.pairs:
        if set(np.unique(tables.gain)) <= {0.0, 1.0}:
            return "ap", tables.gain, _used(tables.u)
        if metric.ideal_cutoff is None:
            return "gap", tables.gain, _used(tables.u)
    return unknown


def _factor(metric: Metric) -> float | None:
    """What every normalised sum is multiplied by; None if that depends on the list, or is more."""
    shown, relevant = np.array([1.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 1.0, 5.0])
    line = metric.line(Lists(shown, relevant, np.array([1.0, 2.0, 1e6, 1e6])))
    slope = np.broadcast_to(line.steepness, shown.shape)
    return float(slope[0]) if np.all(slope == slope[0]) and not np.any(line.shift) else None


def _used(weight: np.ndarray) -> np.ndarray:
    """The weights down to the last rank that counts."""
    return weight[: int(np.flatnonzero(weight)[-1]) + 1] if weight.any() else weight[:0]


def settle_empty(metric: Metric) -> Metric:
    """The metric with a policy for empty queries that can be followed query by query.

    A metric that is not normalised is 0 where nothing is relevant. Whether anything is would take
    labels below the cut-off too; as in the paper, such queries count.
    """
    plain = metric.ideal_cutoff == 0
    allowed = ("skip", 0) if plain else ("skip", 0, 1)
    if metric.needs_relevant and metric.empty not in allowed:
        raise ValueError(
            f"{metric}: active evaluation knows empty={' or '.join(map(repr, allowed))} for this "
            "metric. Choose one of them."
        )
    return replace(metric, empty=0) if plain else metric
