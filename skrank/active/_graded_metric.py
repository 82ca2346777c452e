"""A metric on the grades of a campaign, and which formula gives its moments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.cascade import CascadeTables
from skrank._engine.judgments import Judgments
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Lists, Tables
from skrank.active._pool import Pool
from skrank.metrics import Metric

EXACT, DELTA, MONTE_CARLO = "exact", "delta", "monte-carlo"
METHODS = ("auto", EXACT, DELTA, MONTE_CARLO)


@dataclass(frozen=True, eq=False)
class GradedMetric:
    """A metric on given grades.

    Attributes
    ----------
    metric : Metric
    grades : float64 ndarray (n_grades,), ascending
    max_grade : int
    relevant : float64 ndarray (n_grades,)
        1 for relevant grades, 0 for the others.
    family : "linear", "cascade", "ap", "gap" or None
        Which formula gives the moments. None: only Monte Carlo does.
    gain : float64 ndarray (n_grades,)
        Gain, or probability to stop, of each grade; empty if `family` is None.
    weight : float64 ndarray (depth,)
        Weight of each rank, down to the last rank that counts.
    """

    metric: Metric
    grades: np.ndarray
    max_grade: int
    relevant: np.ndarray
    family: str | None
    gain: np.ndarray
    weight: np.ndarray

    @property
    def is_local(self) -> bool:
        """True if only documents at the first ``len(weight)`` ranks need labels."""
        return self.family in ("linear", "cascade")

    @property
    def all_count(self) -> bool:
        """True if every query counts, also those without a relevant document."""
        return self.metric.empty != "skip"

    def method(self, wanted: str, n_rankers: int) -> str:
        """The method that computes the moments; `wanted` may be "auto"."""
        possible = [MONTE_CARLO]
        if self.is_local or (self.family == "ap" and n_rankers == 1):
            possible.insert(0, EXACT)
        elif self.family == "gap" and n_rankers == 1:
            possible.insert(0, DELTA)
        if wanted == "auto":
            return possible[0]
        if wanted not in possible:
            task = "comparison" if n_rankers > 1 else "evaluation"
            raise ValueError(
                f"moments={wanted!r} does not exist for the {task} of {self.metric}: "
                f"use {' or '.join(map(repr, possible))}, or 'auto'."
            )
        return wanted

    def values(self, judgments: Judgments, scores: np.ndarray) -> np.ndarray:
        """Value of each ranker on each query; NaN where the query does not count."""
        plan = self.metric.bind(judgments, max_grade=self.max_grade)
        return np.stack([plan.values(Ranking(judgments, s)) for s in scores])

    def needs_label(self, pool: Pool) -> np.ndarray:
        """Rows whose label can change the value of some ranker."""
        if not self.is_local:
            return np.ones(pool.queries.n_rows, np.bool_)
        needed = np.zeros(pool.queries.n_rows, np.bool_)
        start = np.repeat(pool.queries.indptr[:-1], pool.queries.sizes)
        place = np.arange(pool.queries.n_rows)
        for r in range(len(pool.scores)):
            # Tied documents: any of them may have the rank of the first one.
            first = np.maximum.accumulate(np.where(pool.tied[r] == 0, place, 0))
            retrieved = place - start < np.repeat(pool.retrieved[r], pool.queries.sizes)
            inside = (first - start < len(self.weight)) & retrieved
            needed[(start + pool.order[r])[inside]] = True
        return needed


def graded_metric(metric: Metric, grades: np.ndarray, longest: int) -> GradedMetric:
    """A metric on ascending `grades`, for lists of at most `longest` documents."""
    if metric.average != "macro":
        raise ValueError(
            f"{metric} is not a mean over queries: active evaluation estimates average='macro'."
        )
    max_grade = getattr(metric, "max_grade", None) or max(1, int(np.ceil(grades.max())))
    example = np.resize(grades, max(longest, len(grades)))  # a list with all grades
    judgments = Judgments(example, Queries.single(len(example)))
    tables = metric.bind(judgments, max_grade=max_grade).tables
    code = np.searchsorted(judgments.labels, grades)
    family, gain, weight = _family(metric, tables)
    return GradedMetric(
        with_empty_policy(metric),
        grades,
        max_grade,
        np.asarray(tables.relevant, dtype=np.float64)[code],
        family,
        gain[code] if family else gain,
        weight[:longest],
    )


def _family(metric: Metric, tables: Tables) -> tuple[str | None, np.ndarray, np.ndarray]:
    """Family of a metric, gain per grade and weight per rank, from the tables of its kernel."""
    unknown = (None, np.empty(0), np.empty(0))
    factor = _constant_factor(metric)
    if factor is None:
        return unknown
    if isinstance(tables, CascadeTables) and metric.ideal_cutoff == 0:
        return "cascade", tables.stop, _trimmed(factor * tables.phi)
    if not isinstance(tables, QuadraticTables) or tables.offset is not None:
        return unknown
    if tables.pairs is None and metric.ideal_cutoff == 0:
        return "linear", tables.gain, _trimmed(factor * tables.u)
    if metric.smooth is not None and metric.smooth.pairs:
        if set(np.unique(tables.gain)) <= {0.0, 1.0}:
            return "ap", tables.gain, _trimmed(tables.u)
        if metric.ideal_cutoff is None:
            return "gap", tables.gain, _trimmed(tables.u)
    return unknown


def _constant_factor(metric: Metric) -> float | None:
    """Factor of the kernel's sum in the value; None if it depends on the list."""
    shown, relevant = np.array([1.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 1.0, 5.0])
    line = metric.line(Lists(shown, relevant, np.array([1.0, 2.0, 1e6, 1e6])))
    slope = np.broadcast_to(line.steepness, shown.shape)
    return float(slope[0]) if np.all(slope == slope[0]) and not np.any(line.shift) else None


def _trimmed(weight: np.ndarray) -> np.ndarray:
    """The weights down to the last one that is not 0."""
    return weight[: int(np.flatnonzero(weight)[-1]) + 1] if weight.any() else weight[:0]


def with_empty_policy(metric: Metric) -> Metric:
    """The metric with a value for queries without a relevant document.

    Metrics that are not normalised are 0 there, as in the paper: labels of the first ranks do not
    show whether a query has a relevant document.
    """
    plain = metric.ideal_cutoff == 0
    allowed = ("skip", 0) if plain else ("skip", 0, 1)
    if metric.needs_relevant and metric.empty not in allowed:
        raise ValueError(
            f"{metric}: active evaluation supports empty={' or '.join(map(repr, allowed))} for "
            "this metric. Choose one of them."
        )
    return replace(metric, empty=0) if plain else metric
