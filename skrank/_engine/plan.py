"""What a metric defines, and a metric bound to labels: the parts that depend on labels only."""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import Parameterised, choice, count, flag
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Line, Lists, Scale, Smooth, Tables
from skrank._engine.threads import cached_property

ORDERLESS = "the order of the whole list does not matter to it; add a cut-off."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Definition(Parameterised, ABC):
    """What metric classes say of their metric: parameters, and arrays for a kernel to interpret.

    Plans read it; what users call is in `Metric`, which derives from it.
    """

    names: ClassVar[tuple[str, ...]] = ()  # of classes that `register` knows
    unnamed: ClassVar[tuple[str, ...]] = ("k",)  # fields that the brackets of a name leave out
    function: ClassVar[str] = ""  # name of its score function
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")
    strict: ClassVar[bool] = False  # refuses ties, over whose orders its mean has no closed form
    orderless: ClassVar[bool] = False  # without a cut-off, all orders of a list are worth the same
    cut_instead: ClassVar[str | None] = None  # for metrics without a cut-off: what has one

    # of a class, or of a metric: those of sums and of functions differ
    greater_is_better = True
    needs_relevant = True  # not defined for queries without a relevant document
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
        """Arrays that define the sum of this metric cut at rank `k`, before normalisation."""

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the ideal list that the sum is divided by; 0 when it is not divided."""
        return 0

    @property
    def untrainable(self) -> str | None:
        """Why LambdaRank cannot train on this metric, with what to train on instead; else None."""
        return ORDERLESS if self.orderless and self.k is None else None

    @property
    def smooth(self) -> Smooth | None:
        """The form that SoftRank trains on; None if there is none."""
        return None

    def discount_at(self, rank: np.ndarray) -> np.ndarray | None:
        """Discount of each rank, from 1 on, if this is a sum of discounted gains; else None."""
        return None

    @property
    def top_grade(self) -> int | None:
        """Highest grade of the collection, as far as a parameter fixes it."""
        return getattr(self, "max_grade", None)

    @property
    def needs_scale(self) -> bool:
        """Whether values depend on a highest grade of the collection that no parameter gives."""
        return False

    def line(self, lists: Lists) -> Line:
        """Values of queries from their normalised sums, of which every metric is a linear function.

        Default: the sum itself.
        """
        return Line()

    def mass(self, lists: Lists) -> np.ndarray | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    @property
    def __name__(self) -> str:  # as functions have one: `sklearn.metrics.make_scorer` asks for it
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


def bounds_of(one: Definition) -> tuple[float, float]:
    """The ends of its `value_range`."""
    low, high = one.value_range[1:-1].split(",")
    return float(low), float(high)


def format_value(value: object) -> str:
    """The text of a parameter, without spaces, as `metric` reads it."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return "{" + ",".join(f"{format_value(a)}:{format_value(b)}" for a, b in value) + "}"
        return "[" + ",".join(map(format_value, value)) + "]"
    if isinstance(value, str):
        constant = value in ("False", "None", "True")
        bare = value.isascii() and value.isidentifier() and not constant
        return value if bare else repr(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


_MOST_KEPT, _LONGEST_KEPT = 64, 2048  # tables, and ranks of each
GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval


_kept: dict[Hashable, Tables] = {}  # of the last metrics and scales, the oldest first


def tables_of(metric: Definition, scale: Scale, k: int | None) -> Tables:
    """Tables that fit the scale: kept ones, if they tell nothing of single queries.

    The next batch of a training mostly has the same labels and lists of the same length.
    """
    key = (metric, k, scale.labels.tobytes(), scale.unjudged, scale.max_grade, scale.longest)
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
        top = metric.top_grade
        if top is None:
            top = max_grade or judgments.max_grade
        else:
            check.check_max_grade(top)
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
            return (~self.empty).astype(np.float64)
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
        check.check_line(line, Line, len(lists.shown), method)
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
        mass = mass if weights is None else mass * weights
        # warnings point at the line of the user, past average, this, a call and a function
        return average(self.metric, values, mass, stacklevel=5)

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weight of each query in the mean; 0 for those that `empty` leaves out."""
        mass = self.metric.mass(self.lists(ranking))
        if mass is not None:
            method = f"{type(self.metric).__name__}.mass()"
            mass = check.check_mass(mass, len(self.empty), method)
        if self.metric.empty != "skip":
            return np.ones(len(self.empty)) if mass is None else mass
        return np.where(self.empty, 0.0, 1.0 if mass is None else mass)


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
