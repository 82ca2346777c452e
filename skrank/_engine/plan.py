"""Bind a metric to labels: what depends on labels only is computed once."""

from __future__ import annotations

import warnings
from collections.abc import Hashable

import numpy as np

from skrank import _validation as check
from skrank._engine.cached import cached_property
from skrank._engine.definition import Definition
from skrank._engine.judgments import Judgments
from skrank._engine.order import RankedCodes
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Line, Lists, Scale, Tables

_MOST_KEPT, _LONGEST_KEPT = 64, 2048  # tables, and ranks of each
GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval


_kept: dict[Hashable, Tables] = {}  # of the last metrics and scales, the oldest first


def tables_of(metric: Definition, scale: Scale, k: int | None) -> Tables:
    """Tables that fit the scale: kept ones, if they tell nothing of single queries.

    The next batch of a training mostly has the same labels and lists of the same length.
    """
    key = (metric, k, *scale.key())
    try:
        found = _kept.get(key)
    except TypeError:  # a parameter of a metric of one's own has no hash
        return _fitted(metric, scale, k)
    if found is None:
        found = _fitted(metric, scale, k)
        if scale.alone and scale.longest <= _LONGEST_KEPT:
            _kept[key] = found
            for old in list(_kept)[:-_MOST_KEPT]:
                _kept.pop(old, None)  # other threads may do the same
    return found


def _fitted(metric: Definition, scale: Scale, k: int | None) -> Tables:
    tables = metric.tables(scale, k)
    family = "tables of a family, such as skrank.extending.QuadraticTables"
    check.check_returned(tables, Tables, f"{type(metric).__name__}.tables()", family)
    tables.fit(scale)
    return tables


class Plan:
    """A metric bound to judgments: tables and normalisers, built once per data set.

    `Metric.bind` makes it.

    Parameters
    ----------
    metric : Metric
    judgments : Judgments
    max_grade : int, optional
        Highest grade of the collection, for a metric that does not fix it. Default: of the
        judgments.
    """

    def __init__(
        self, metric: Definition, judgments: Judgments, *, max_grade: int | None = None
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        check.check_cutoff_of_ideal(metric.ideal_cutoff, f"{type(metric).__name__}.ideal_cutoff")
        top = check.check_max_grade(metric.top_grade) or max_grade or judgments.max_grade
        self.scale = Scale(judgments.labels, top, judgments.queries.longest, judgments)
        self.tables = tables_of(metric, self.scale, metric.k)

    @cached_property
    def empty(self) -> np.ndarray:
        """Queries without a relevant document, where the metric needs one."""
        if not self.metric.needs_relevant:
            return np.zeros(len(self.judgments.queries), bool)
        return self.relevant == 0

    @cached_property
    def relevant(self) -> np.ndarray:
        """Number of relevant documents of each query, among those that were judged."""
        return self.judgments.number_of(self.tables.relevant & self.scale.judged)

    @cached_property
    def inverse(self) -> np.ndarray:
        """One over the normaliser of each query; 0 for empty queries."""
        return self.inverse_ideal(self.metric.ideal_cutoff)

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sum of each query at a cut-off (1 if `cutoff` is 0); 0 if empty."""
        if cutoff == 0:
            return self._filled()
        same = cutoff == self.metric.k
        tables = self.tables if same else tables_of(self.metric, self.scale, cutoff)
        ideal = tables.ideals(self.judgments)
        return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=~self.empty & (ideal > 0))

    @property
    def depth(self) -> int | None:
        """Ranks that are read; None if all."""
        return self.metric.k if self.tables.cut else None

    def ranked(self, ranking: Ranking) -> RankedCodes:
        """The codes that the metric reads."""
        return ranking.codes(self.metric.ties, self.metric.condensed, self.depth)

    def lists(self, ranking: Ranking) -> Lists:
        """Sizes of the lists that the metric sees."""
        shown = self.ranked(ranking).shown(self.metric.k or self.scale.longest)
        return Lists(shown, self.relevant, ranking.known(self.metric.condensed))

    def _line(self, lists: Lists) -> Line:
        """Values of queries from their normalised sums."""
        line, method = self.metric.line(lists), f"{type(self.metric).__name__}.line()"
        check.check_returned(line, Line, method, "a skrank.extending.Line")
        check.check_line(line, len(lists.shown), method)
        return line

    def slope(self) -> np.ndarray:
        """Change of each query's value per unit of its normalised sum, all documents retrieved."""
        sizes = self.judgments.queries.sizes.astype(np.float64)
        shown = np.minimum(sizes, self.metric.k or self.scale.longest)
        line = self._line(Lists(shown, self.relevant, sizes))
        slope = np.empty(len(sizes))
        slope[:] = line.steepness
        return slope

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query; what `empty` says for queries without a relevant document."""
        metric = self.metric
        sums = self.tables.values(self.ranked(ranking), self.inverse)
        values = self._line(self.lists(ranking)).at(sums)
        if self.empty.any():
            if metric.empty == "raise":
                query = self.judgments.queries.name(int(np.argmax(self.empty)))
                raise ValueError(
                    f"query {query} has no relevant document, so {metric} is not defined: "
                    'drop it, or choose empty="skip", 0 or 1.'
                )
            values[self.empty] = metric.empty if metric.empty in (0, 1) else np.nan
        return values

    def mean(
        self, ranking: Ranking, values: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """Mean of the `values` that `ranking` has, with a weight per query, as the metric says."""
        mass = self.mass(ranking)
        return self.average(values, mass if weights is None else mass * weights)

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weight of each query in the mean; 0 for those that `empty` leaves out."""
        mass = self.metric.mass(self.lists(ranking))
        if mass is not None:
            method = f"{type(self.metric).__name__}.mass()"
            mass = check.check_mass(mass, len(self.empty), method)
        if self.metric.empty != "skip":
            return np.ones(len(self.empty)) if mass is None else mass
        return self._filled() if mass is None else np.where(self.empty, 0.0, mass)

    def _filled(self) -> np.ndarray:
        """1 for queries that are not empty, else 0."""
        return (~self.empty).astype(np.float64)

    def average(self, values: np.ndarray, mass: np.ndarray) -> float:
        """Mean (or sum) of the values of weight above 0, as the metric says."""
        # warnings point at the line of the user, past average, this, mean, a call and a function
        return average(self.metric, values, mass, stacklevel=6)


def average(
    metric: Definition, values: np.ndarray, mass: np.ndarray, *, stacklevel: int = 4
) -> float:
    """Mean (or sum) of the values of queries of weight above 0, as the metric says."""
    counted = mass != 0
    if not counted.all():
        values, mass = values[counted], mass[counted]
    if len(mass) == 0:
        warnings.warn(
            f"no query has a relevant document (of weight above 0): {metric} is NaN.",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
        return float("nan")
    if metric.average == "geometric":
        values = np.log(np.maximum(values, GEOMETRIC_FLOOR))
    total = (mass * values).sum()  # a product of vectors would depend on the threads of BLAS
    if metric.average == "sum":
        return float(total)
    mean = total / mass.sum()
    return float(np.exp(mean) if metric.average == "geometric" else mean)
