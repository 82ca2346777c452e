"""A metric on the grades of a campaign: the formula of its moments, and bounds of its values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.cascade import CascadeTables
from skrank._engine.judgments import Judgments
from skrank._engine.plan import bounds_of, constant_slope
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Tables
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
        1 for relevant grades, 0 for other grades.
    family : "linear", "cascade", "ap", "gap" or None
        Formula of the moments; None if they need Monte Carlo.
    gain : float64 ndarray (n_grades,)
        Gain, or stop probability of a cascade, of each grade; empty if `family` is None.
    weight : float64 ndarray (depth,)
        Weight of each rank, down to the last rank with a weight above 0.
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
        """True if the value depends on the first ``len(weight)`` documents only."""
        return self.family in ("linear", "cascade")

    @property
    def all_count(self) -> bool:
        """True if every query counts, also those without a relevant document."""
        return self.metric.empty != "skip"

    def method(self, wanted: str, n_rankers: int) -> str:
        """The method that computes the moments; `wanted` may be "auto"."""
        possible = [MONTE_CARLO]  # the best first
        if self.is_local or (self.family == "ap" and n_rankers == 1):
            possible = [EXACT, MONTE_CARLO]
        elif self.family == "gap" and n_rankers == 1:
            possible = [DELTA, MONTE_CARLO]
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
        row = np.arange(pool.queries.n_rows)
        for r in range(len(pool.scores)):
            # a tied document may have any rank of its group of ties: the first rank counts
            first = np.maximum.accumulate(np.where(pool.tied[r] == 0, row, 0))
            inside = (first - pool.start < len(self.weight)) & pool.is_retrieved(r)
            needed[pool.by_rank(r)[inside]] = True
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
        return "cascade", tables.stop, np.trim_zeros(factor * tables.phi, "b")
    if not isinstance(tables, QuadraticTables) or tables.offset is not None:
        return unknown
    if tables.pairs is None and metric.ideal_cutoff == 0:
        return "linear", tables.gain, np.trim_zeros(factor * tables.u, "b")
    if metric.smooth is not None and metric.smooth.pairs:
        if set(np.unique(tables.gain)) <= {0.0, 1.0}:
            return "ap", tables.gain, np.trim_zeros(tables.u, "b")
        if metric.ideal_cutoff is None:
            return "gap", tables.gain, np.trim_zeros(tables.u, "b")
    return unknown


def _constant_factor(metric: Metric) -> float | None:
    """The factor a, if the value of each list is a times the sum of the kernel, else None."""
    none = np.zeros(4)
    shifts, _ = metric.values(none, np.array([1.0, 1, 3, 7]), np.array([1.0, 2, 1, 5]), none + 9)
    return None if np.any(shifts) else constant_slope(metric)


def with_empty_policy(metric: Metric) -> Metric:
    """The metric; with ``empty=0`` if it is not normalised, as in the paper.

    Such metrics need labels of the first ranks only, which do not show whether the query has a
    relevant document at all.
    """
    plain = metric.ideal_cutoff == 0
    allowed = ("skip", 0) if plain else ("skip", 0, 1)
    if metric.needs_relevant and metric.empty not in allowed:
        raise ValueError(
            f"{metric}: active evaluation supports empty={' or '.join(map(repr, allowed))} for "
            "this metric. Choose one of them."
        )
    return replace(metric, empty=0) if plain else metric


def value_bounds(metric: GradedMetric, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each ranker on each query: two arrays (n_rankers, n_queries)."""
    low = high = np.zeros((len(pool.scores), len(pool.queries)))
    for weight, term in metric.metric.terms:  # weights are above 0
        part = graded_metric(term, metric.grades, pool.queries.longest)
        if part.is_local:  # sums over ranks, and cascades, are monotone in the gains
            extreme = part.grades[[np.argmin(part.gain), np.argmax(part.gain)]]
            least, most = (
                np.nan_to_num(part.values(Judgments(labels, pool.queries), pool.scores))
                for labels in np.repeat(extreme[:, None], pool.queries.n_rows, axis=1)
            )
        elif np.isfinite(bounds_of(term)).all():
            least, most = (np.full_like(low, bound) for bound in bounds_of(term))
        else:
            raise ValueError(
                f"values of {term} have no bounds before the labels are known, but confidence "
                "sequences need bounds: use anytime=False."
            )
        low, high = low + weight * least, high + weight * most
    return low, high


def difference_bounds(
    metric: GradedMetric, pool: Pool, first: int, second: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest difference of two rankers on each query; 0 if their lists are equal.

    Without a second ranker, the bounds of the values of the first.
    """
    low, high = value_bounds(metric, pool)
    if second is None:
        return low[first], high[first]
    least, most = low[first] - high[second], high[first] - low[second]
    prefix = _equal_ranks(pool, first, second)
    if metric.family == "linear":
        least, most = _linear_difference(metric, pool, first, second)
    elif metric.family == "cascade":
        # users who stop at the equal first ranks count the same; others, at most the largest weight
        # of the ranks below
        weight = np.append(np.maximum.accumulate(metric.weight[::-1])[::-1], 0.0)
        reach = weight[np.minimum(prefix, len(metric.weight))]
        least, most = np.maximum(least, -reach), np.minimum(most, reach)
    same = prefix >= pool.queries.sizes
    return np.where(same, 0.0, least), np.where(same, 0.0, most)


def _linear_difference(
    metric: GradedMetric, pool: Pool, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds for sums over ranks, where the coefficient of a gain is the difference of weights."""
    net = _weight_of_rows(metric, pool, first) - _weight_of_rows(metric, pool, second)
    up, down = np.maximum(net, 0.0), np.minimum(net, 0.0)
    worst, best = metric.gain.min(), metric.gain.max()
    starts = pool.queries.indptr[:-1]
    least = np.add.reduceat(up * worst + down * best, starts)
    return least, np.add.reduceat(up * best + down * worst, starts)


def _weight_of_rows(metric: GradedMetric, pool: Pool, ranker: int) -> np.ndarray:
    """Weight of the rank of each row; tied rows share the mean of their weights."""
    padded = np.append(metric.weight, 0.0)
    weight = padded[np.minimum(pool.rank, len(metric.weight))]
    weight[~pool.is_retrieved(ranker)] = 0.0
    group = np.flatnonzero((pool.tied[ranker] == 0) | (pool.rank == 0))
    sizes = np.diff(np.append(group, len(weight)))
    out = np.empty(len(weight))
    out[pool.by_rank(ranker)] = np.repeat(np.add.reduceat(weight, group) / sizes, sizes)
    return out


def _equal_ranks(pool: Pool, first: int, second: int) -> np.ndarray:
    """Length of the common prefix of two lists per query; ties end the prefix."""
    queries, rank = pool.queries, pool.rank
    differs = pool.order[first] != pool.order[second]
    for r in (first, second):
        tied = pool.tied[r].astype(np.bool_)
        differs |= tied
        differs[:-1] |= tied[1:] & (rank[1:] > 0)
    short = np.minimum(pool.retrieved[first], pool.retrieved[second])
    unlike = pool.retrieved[first] != pool.retrieved[second]
    differs |= (rank == np.repeat(short, queries.sizes)) & np.repeat(unlike, queries.sizes)
    found = np.where(differs, rank, np.repeat(queries.sizes, queries.sizes))
    return np.minimum.reduceat(found, queries.indptr[:-1])
