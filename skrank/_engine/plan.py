"""A metric, and the metric bound to labels, which computes once what does not depend on scores.

The value of a query is a linear function of a normalised sum over its ranked documents:

    value = (slope * (sum / best sum) + shift) / divisor.

A compiled kernel computes the sum and the best sum from the tables of the metric (`Metric.tables`).
`Metric.line` returns slope, shift and divisor, which are 1, 0 and 1 for most metrics.
"""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import Parameterised, choice, count, flag, format_value
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Line, Lists, Scale, Smooth, Tables
from skrank._engine.threads import cached_property

GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-200, 1e200  # outside, weights are divided by the largest
_MOST_CACHED, _LONGEST_CACHED = 64, 2048  # most tables in the cache, and most ranks of a table
ORDERLESS = "its value does not depend on the order of the whole list; add a cut-off."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Definition(Parameterised, ABC):
    """The parameters and formulas of a metric, and their plan. `Metric` adds what users call."""

    names: ClassVar[tuple[str, ...]] = ()  # name and aliases, which `register` sets
    unnamed: ClassVar[tuple[str, ...]] = ("k",)  # not in the brackets of `str`: k follows the @
    function: ClassVar[str] = ""  # name of its score function
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")  # also "sum", "micro" (by `mass`)
    # with ties="average", tied lists raise an error: the mean over their orders has no closed form
    strict: ClassVar[bool] = False
    orderless: ClassVar[bool] = False  # without a cut-off, all orders of a list have one value
    cut_instead: ClassVar[str | None] = None  # if `k` is refused: the metric that the error names

    # not ClassVar, since some metrics compute them from parameters
    greater_is_better = True
    needs_relevant = True  # whether it is undefined for queries without a relevant document
    value_range = "[0, 1]"

    k: int | None = count(None, "the number of top ranks that count")
    condensed: bool = flag(False)
    empty: str | int = choice("skip", check.EMPTY_CHOICES)
    ties: str = choice("average", check.TIES_CHOICES)
    average: str = "macro"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(average=check.check_choice("average", self.average, self.averages))
        if self.cut_instead is not None:
            check.refuse_cutoff(self.first_name, self.k, self.cut_instead)

    @abstractmethod
    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Arrays that define the sum of this metric with the cut-off `k`, before normalisation."""

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the ideal list whose sum is the divisor; None: no cut-off; 0: no divisor."""
        return 0

    @property
    def untrainable(self) -> str | None:
        """Reason why LambdaRank cannot train on this metric, with an alternative; else None."""
        return ORDERLESS if self.orderless and self.k is None else None

    @property
    def smooth(self) -> Smooth | None:
        """The form that SoftRank trains on; None if there is none."""
        return None

    def discount_at(self, rank: np.ndarray) -> np.ndarray | None:
        """Discount at each rank, from 1 on, if the sum is of gain times discount; else None.

        LambdaLoss, whose weights of pairs are made of gains and discounts, refuses None.
        """
        return None

    @property
    def needs_scale(self) -> bool:
        """Whether values depend on a highest grade of the collection that no parameter fixes."""
        return False

    def line(self, lists: Lists) -> Line:
        """The linear function from normalised sums to values. Default: the normalised sums."""
        return Line()

    def mass(self, lists: Lists) -> np.ndarray | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    def bind(self, judgments: Judgments, *, max_grade: int | None = None) -> Plan:
        """The metric bound to judgments: a plan, which caches all that depends on labels only.

        Parameters
        ----------
        judgments : Judgments
        max_grade : int, optional
            Highest grade of the collection, for a metric whose parameters do not fix it.

        Returns
        -------
        Plan
        """
        return Plan(self, judgments, max_grade=max_grade)

    def bind_part(self, judgments: Judgments, *, max_grade: int | None) -> Plan:
        """The metric bound to labels that may be a part of a collection, such as a fold.

        Parameters
        ----------
        judgments : Judgments
        max_grade : int or None
            Highest grade of the collection; None if it is unknown.

        Returns
        -------
        Plan

        Raises
        ------
        ValueError
            If values depend on the highest grade, and it is unknown.
        """
        if not self.needs_scale:
            return self.bind(judgments)
        if max_grade is None:
            raise check.missing_scale(self)
        return self.bind(judgments, max_grade=max_grade)

    @property
    def __name__(self) -> str:  # `sklearn.metrics.make_scorer` needs it
        return str(self)

    def __str__(self) -> str:
        changed = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in self.unnamed and value != field.default:
                changed.append(f"{field.name}={format_value(value)}")
        inside = f"({','.join(changed)})" if changed else ""
        return self.first_name + inside + ("" if self.k is None else f"@{self.k}")

    @property
    def first_name(self) -> str:
        """The name in reports, without parameters."""
        kind: type = type(self)
        return self.names[0] if self.names else kind.__name__


class DividedByIdeal:
    """Mixin of metrics with a parameter `normalize`, which is "all" or "ideal"."""

    normalize: str
    k: int | None

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is the whole list, or is cut at rank k, as `normalize` says."""
        return None if self.normalize == "all" else self.k


def bounds_of(metric: Definition) -> tuple[float, float]:
    """The two numbers of `value_range`, such as (0.0, inf) for "[0, inf)"."""
    low, high = metric.value_range[1:-1].split(",")
    return float(low), float(high)


_cache: dict[tuple[object, ...], Tables] = {}  # oldest entry first


def tables_of(metric: Definition, scale: Scale, k: int | None) -> Tables:
    """Tables of a metric at the cut-off `k`, cached if they do not depend on the queries.

    Batches of a training mostly have the same labels and lists of the same length. Cached tables
    save half of the time of a gradient of 20 lists. Tables are immutable and hold no reference to
    the scale. Tables for which a metric reads `Scale.judgments`, which sets `Scale.read_judgments`,
    are not cached.
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
        if hashable and not scale.read_judgments and scale.longest <= _LONGEST_CACHED:
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
        self, metric: Definition, judgments: Judgments, *, max_grade: int | None = None
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        top = getattr(metric, "max_grade", None) or max_grade or judgments.max_grade
        self.scale = Scale(judgments.labels, top, judgments.queries.longest, judgments)
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

    def lists(self, ranking: Ranking) -> Lists:
        """Numbers of documents shown, relevant, and in total, for `Metric.line` and `Metric.mass`.

        Shown are the ranks down to `k`. The total is that of the judged documents and, unless the
        metric is `condensed`, of unjudged documents that were retrieved.
        """
        shown = self.ranked(ranking).retrieved
        if self.metric.k is not None:
            shown = np.minimum(shown, self.metric.k)
        total = ranking.n_judged_or_retrieved(self.metric.condensed)
        return Lists(shown.astype(np.float64), self.relevant, total)

    def slope(self) -> np.ndarray:
        """Change of the value per unit of the normalised sum, for training.

        In training all documents are retrieved and have labels, so that `condensed` has no effect.
        """
        sizes = self.judgments.queries.sizes.astype(np.float64)
        shown = sizes if self.metric.k is None else np.minimum(sizes, self.metric.k)
        line = self.metric.line(Lists(shown, self.relevant, sizes))
        return np.broadcast_to(line.steepness, sizes.shape)

    def values(self, ranking: Ranking) -> np.ndarray:
        """Values. For empty queries NaN, unless the parameter `empty` of the metric is 0 or 1."""
        metric = self.metric
        sums = self.tables.values(self.ranked(ranking), self.inverse)
        values = self.metric.line(self.lists(ranking)).at(sums)  # a new array
        if self.empty.any():
            if metric.empty == "raise":
                query = self.judgments.queries.name(int(np.argmax(self.empty)))
                raise ValueError(
                    f"query {query} has no relevant document, so {metric} is not defined: "
                    'drop it, or choose empty="skip", 0 or 1.'
                )
            values[self.empty] = metric.empty if metric.empty in (0, 1) else np.nan
        return values

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weights of the queries in the mean over queries; 0 for skipped queries."""
        mass = self.metric.mass(self.lists(ranking))
        if mass is not None:
            method = f"{type(self.metric).__name__}.mass()"
            mass = check.check_mass(mass, len(self.empty), method)
        if self.metric.empty != "skip":
            return np.ones(len(self.empty)) if mass is None else mass
        return np.where(self.empty, 0.0, 1.0 if mass is None else mass)

    def mean(
        self, ranking: Ranking, values: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """Mean of `values`, with the weights `mass` times `weights`."""
        mass = self.mass(ranking)
        mass = mass if weights is None else mass * weights
        # 5: the line that calls a metric, which calls `value_of`, which calls this
        return average(self.metric, values, mass, stacklevel=5)


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
    metrics: Sequence[Definition | Plan],
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
        found.append([(plan.values(ranking), plan.mass(ranking)) for plan in plans])
    values, mass = np.moveaxis(np.array(found, np.float64), 2, 0)
    if weights is not None:
        mass = mass * weights
    return Measured(values, mass, np.array([plan.empty for plan in plans]))


def average(
    metric: Definition, values: np.ndarray, weights: np.ndarray, *, stacklevel: int = 4
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
