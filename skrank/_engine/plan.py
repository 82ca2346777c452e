"""Metrics bound to labels, which compute once what does not depend on scores, and `measure`.

A compiled kernel computes a sum over the ranked documents of a query, and the sum of its best list,
from the tables of the metric (`Metric.tables`). `Metric.values` maps the normalised sum, which is
the quotient of both, to the value of the query; it is linear in the sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Scale, Tables
from skrank._engine.threads import cached_property

if TYPE_CHECKING:
    from skrank._engine.metric import Metric

GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-200, 1e200  # outside, weights are divided by the largest
_MOST_CACHED, _LONGEST_CACHED = 64, 2048  # most tables in the cache, and most ranks of a table
_HUGE = 2.0**600  # a sum beside which the shift of a linear function is negligible


def bounds_of(metric: Metric) -> tuple[float, float]:
    """The two numbers of `value_range`, such as (0.0, inf) for "[0, inf)"."""
    low, high = metric.value_range[1:-1].split(",")
    return float(low), float(high)


_cache: dict[tuple[object, ...], Tables] = {}  # oldest entry first


def tables_of(metric: Metric, scale: Scale, k: int | None) -> Tables:
    """Tables of a metric at the cut-off `k`, cached if they do not depend on the queries.

    Batches of a training mostly have the same labels and lists of the same length. Cached tables
    save half of the time of a gradient of 20 lists. Tables are immutable and hold no reference to
    the scale. Tables of a metric with `reads_judgments` are not cached.
    """
    # all that tables depend on, unless they read the judgments
    key = metric, k, scale.labels.tobytes(), scale.unjudged, scale.max_grade, scale.longest
    try:
        found, hashable = _cache.get(key), True
    except TypeError:  # a parameter of a user's metric has no hash
        found, hashable = None, False
    if found is None:
        found = metric.tables(scale, k)
        if not isinstance(found, Tables):
            family = "tables of a family, such as skrank.extending.QuadraticTables"
            raise check.bad_result(found, f"{type(metric).__name__}.tables()", family)
        found.check_fit(scale)
        if hashable and not metric.reads_judgments and scale.longest <= _LONGEST_CACHED:
            _cache[key] = found
            for old in list(_cache)[:-_MOST_CACHED]:
                _cache.pop(old, None)  # another thread may have removed it
    return found


class Plan:
    """A metric bound to judgments, by `Metric.bind`. Results are arrays with an entry per query.

    Parameters
    ----------
    metric : Metric
    judgments : Judgments
        Labels of the documents of each query.
    max_grade : int, optional
        Highest grade of the collection, at least the highest label (callers check this), for
        a metric whose parameters do not fix it. Default, and for 0: `judgments.max_grade`.

    Attributes
    ----------
    scale : Scale
        What tables may depend on: the distinct labels in ascending order, of which a code is the
        index, the highest grade, and the length of the longest list. Unjudged documents have the
        code ``scale.unjudged`` or a higher one.
    tables : Tables
        The arrays of the metric that its kernel reads.
    depth : int or None
        Number of ranks that the kernel reads, among judged documents if `condensed`. None for all
        ranks: without a cut-off, or if the kernel may read below the cut-off.
    """

    def __init__(
        self, metric: Metric, judgments: Judgments, *, max_grade: int | None = None
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        top = getattr(metric, "max_grade", None) or max_grade or judgments.max_grade
        self.scale = Scale(judgments, top, open_judgments=metric.reads_judgments)
        self.tables = tables_of(metric, self.scale, metric.k)
        self.depth = metric.k if self.tables.cut else None

    @cached_property
    def relevant(self) -> np.ndarray:
        """Number of judged documents that are relevant."""
        # masks by code: a code without a label is not judged, whatever its gain in the tables
        return self.judgments.totals(self.tables.relevant & self.scale.judged)

    @cached_property
    def empty(self) -> np.ndarray:
        """Whether the metric is not defined for the query, which has no relevant document."""
        if not self.metric.needs_relevant:
            return np.zeros(len(self.judgments.queries), bool)
        return self.relevant == 0

    @cached_property
    def inverse(self) -> np.ndarray:
        """One over the divisor of the sum; 0 for empty queries."""
        return self.inverse_ideal(self.metric.ideal_cutoff)

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sum of the first `cutoff` ranks.

        It is 0 for empty queries, and if the best sum is 0, as of documents without a gain: the
        normalised sum is then 0. If `cutoff` is 0, sums are not divided: it is 1 for other queries.
        """
        if cutoff == 0:
            return (~self.empty).astype(np.float64)
        same = cutoff == self.metric.k
        tables = self.tables if same else tables_of(self.metric, self.scale, cutoff)
        ideal = tables.ideals(self.judgments)
        return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=~self.empty & (ideal > 0))

    def ranked(self, ranking: Ranking) -> RankedCodes:
        """Codes of the labels by rank, with the parameters `ties` and `condensed` of the metric."""
        return ranking.codes(self.metric.ties, self.metric.condensed, self.depth)

    def slope(self) -> np.ndarray:
        """Change of the value per unit of the normalised sum, for training.

        In training all documents are retrieved and have labels, so that `condensed` has no effect.
        """
        sizes = self.judgments.queries.sizes.astype(np.float64)
        shown = sizes if self.metric.k is None else np.minimum(sizes, self.metric.k)
        return slope_of(self.metric, shown, self.relevant, sizes)

    def measure(self, ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Values, and the weights of the queries in the mean.

        For empty queries the value is NaN, unless the parameter `empty` of the metric is 0 or 1,
        and the weight is 0 if `empty` is "skip".
        """
        metric, ranked = self.metric, self.ranked(ranking)
        shown = ranked.retrieved.astype(np.float64)
        if metric.k is not None:
            shown = np.minimum(shown, metric.k)
        sums = self.tables.values(ranked, self.inverse)
        total = ranking.n_judged_or_retrieved(metric.condensed)
        found, weights = metric.values(sums, shown, self.relevant, total)
        name = f"{type(metric).__name__}.values()"
        values = np.array(check.check_query_values(found, sums.shape, name))  # a copy
        weights = np.ones(len(sums)) if weights is None else weights
        weights = check.check_mass(weights, len(sums), name)
        if self.empty.any():
            if metric.empty == "raise":
                query = self.judgments.queries.name(int(np.argmax(self.empty)))
                raise ValueError(
                    f"query {query} has no relevant document, so {metric} is not defined: "
                    'drop it, or choose empty="skip", 0 or 1.'
                )
            values[self.empty] = metric.empty if metric.empty in (0, 1) else np.nan
            if metric.empty == "skip":
                weights = np.where(self.empty, 0.0, weights)
        return values, weights

    def values(self, ranking: Ranking) -> np.ndarray:
        """Values, as of `measure`."""
        return self.measure(ranking)[0]


def slope_of(
    metric: Metric, shown: np.ndarray, relevant: np.ndarray, total: np.ndarray
) -> np.ndarray:
    """Change of the value per unit of the normalised sum, for lists as in `Metric.values`.

    The quotient by a power of two is exact.
    """
    values, _ = metric.values(np.full(len(shown), _HUGE), shown, relevant, total)
    return np.broadcast_to(values, len(shown)) / _HUGE


def constant_slope(metric: Metric) -> float | None:
    """`slope_of` lists of any length; None if four different lists have different slopes."""
    lists = ([1.0, 1.0, 3.0, 7.0], [1.0, 2.0, 1.0, 5.0], [1.0, 2.0, 1e6, 1e6])
    slopes = slope_of(metric, *map(np.array, lists))
    return float(slopes[0]) if np.all(slopes == slopes[0]) else None


class Measured(NamedTuple):
    """Values of queries, as `measure` returns them.

    Attributes
    ----------
    values, weights : ndarray of shape (n_rankings, n_metrics, n_queries)
        Value of each query, and its weight in the mean: 0 for skipped queries, whose value is NaN.
    empty : bool ndarray of shape (n_metrics, n_queries)
        Whether the query has no relevant document, so that the metric is not defined.
    """

    values: np.ndarray
    weights: np.ndarray
    empty: np.ndarray


def measure(
    judgments: Judgments,
    rankings: Iterable[Ranking],
    metrics: Sequence[Metric | Plan],
    weights: np.ndarray | None = None,
    *,
    max_grade: int | None = None,
) -> Measured:
    """Measure rankings of the same judgments; each is sorted once, as deep as the metrics read.

    Parameters
    ----------
    judgments : Judgments
    rankings : iterable of Ranking
        One per system.
    metrics : sequence of Metric or Plan
        Plans are metrics that were bound to the judgments, for many calls.
    weights : ndarray of shape (n_queries,), optional
        Weight of each query.
    max_grade : int, optional
        Highest grade of the collection, for metrics whose parameters do not fix it.

    Returns
    -------
    Measured
        `average` computes means over queries from its values and weights.
    """
    plans = [
        one if isinstance(one, Plan) else one.bind(judgments, max_grade=max_grade)
        for one in metrics
    ]
    found = []
    for ranking in rankings:
        ranking.expect([plan.depth for plan in plans])
        found.append([plan.measure(ranking) for plan in plans])
    values, mass = np.moveaxis(np.array(found, np.float64), 2, 0)
    if weights is not None:
        mass = mass * weights
    return Measured(values, mass, np.array([plan.empty for plan in plans]))


def average(
    metric: Metric, values: np.ndarray, weights: np.ndarray, *, stacklevel: int = 4
) -> float:
    """Mean over queries: arithmetic, geometric, or a sum, by the parameter `average` of the metric.

    A value of weight 0 may be NaN. The warning that no query counts has this `stacklevel`, as in
    `warnings.warn`: 2 is a line of the caller.
    """
    counted = weights != 0
    if not counted.all():
        values, weights = values[counted], weights[counted]
    if len(weights) == 0:
        warnings.warn(
            f"no query has a relevant document (of weight above 0): {metric} is NaN. Check the "
            'labels; in cross-validation, use fewer folds or QueryKFold(stratify="n_relevant").',
            RuntimeWarning,
            stacklevel=stacklevel,
        )
        return float("nan")
    if metric.average == "geometric":
        values = np.log(np.maximum(values, GEOMETRIC_FLOOR))
    if metric.average != "sum" and not _LEAST_WEIGHT < weights.max() < _LARGEST_WEIGHT:
        weights = weights / weights.max()  # else sums may overflow, or be subnormal numbers
    total = (weights * values).sum()  # bits of weights @ values would depend on the threads of BLAS
    if metric.average == "sum":
        return float(total)
    mean = total / weights.sum()
    return float(np.exp(mean) if metric.average == "geometric" else mean)
