"""`Metric`; metrics bound to labels, which compute once what needs no scores; and `measure`.

A compiled kernel computes a sum over the ranked documents of a query, and the sum of its best list,
from the tables of the metric (`Metric.tables`). `Metric.values` maps the normalised sum, which is
the quotient of both, to the value of the query; it is linear in the sum.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.elementwise import elementwise
from skrank._engine.judgments import Judgments, judge_rows
from skrank._engine.parameters import Parameterised, choice, count, flag, format_value
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Scale, Tables
from skrank._engine.threads import cached_property
from skrank._typing import Options
from skrank._warnings import warn

if TYPE_CHECKING:
    import pandas as pd

Counts = np.ndarray  # sums or numbers of documents, one per query
Values = tuple[np.ndarray, np.ndarray | None]  # values of queries, and their weights in the mean

GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval
# Outside, weights are divided by the largest, which rounds them. The bounds are chosen freely.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-200, 1e200
_MOST_CACHED, _LONGEST_CACHED = 64, 2048  # most tables and ranks of a table: a cache of a few MB
_HUGE = 2.0**600  # a sum beside which the constant term of a linear function is lost in rounding


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(Parameterised, ABC):
    """A metric of rankings: a frozen dataclass of parameters.

    Parameters
    ----------
    k : int, optional
        Only the first k ranks count. Default: the whole list.
    condensed : bool
        Remove documents that were not judged (label NaN) from the list before it is measured. By
        default they stay and count as not relevant.
    empty : {"skip", 0, 1, "nan", "raise"}
        Value of a query without a relevant document. "skip": NaN per query, left out of the mean.
    ties : {"average", "stable", "worst", "best"}
        How documents of equal score are ordered. "average": the mean over all orders, exactly.
        "stable": by row. "worst", "best": by label, ascending or descending; documents without a
        judgment count as the lowest.
    average : {"macro", "geometric"}
        Mean over queries: arithmetic, or geometric with values raised to at least 1e-5, as
        trec_eval's gm_map. Set metrics also have "micro": documents of all queries are counted
        together. Counts have "sum", which is their default, and "macro".
    single_precision : bool
        Whether `skrank.trec` compares scores in single precision, as trec_eval up to version 9
        does. Names such as "trec_eval:map" set it. Other functions compare scores as they are.
    """

    names: ClassVar[tuple[str, ...]] = ()  # name and aliases, which `register` sets
    unnamed: ClassVar[tuple[str, ...]] = ("k",)  # not in the brackets of `str`: k follows the @
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")  # also "sum", "micro"
    # with ties="average", tied lists raise an error: the mean over their orders has no closed form
    strict: ClassVar[bool] = False
    orderless: ClassVar[bool] = False  # without a cut-off, all orders of a list have one value
    cut_instead: ClassVar[str | None] = None  # if `k` is refused: the metric that the error names
    reads_judgments: ClassVar[bool] = False  # whether `tables` depend on labels of single queries

    # not ClassVar, since some metrics compute them from parameters
    greater_is_better = True
    needs_relevant = True  # whether it is undefined for queries without a relevant document
    value_range = (0.0, 1.0)  # lowest and highest value

    k: int | None = count(None, "the number of top ranks that count")
    condensed: bool = flag(False)
    empty: str | int = choice("skip", check.EMPTY_CHOICES)
    ties: str = choice("average", check.TIES_CHOICES)
    average: str = "macro"
    single_precision: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(average=check.check_choice("average", self.average, self.averages))
        if self.cut_instead is not None and self.k is not None:
            remedy = f"remove k={self.k}, or use {self.cut_instead}"
            raise ValueError(f"{self.first_name} has no cut-off: {remedy}.")

    @abstractmethod
    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Arrays that define the sum of this metric with the cut-off `k`, before normalisation."""

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the ideal list whose sum is the divisor; None: no cut-off; 0: no divisor."""
        return 0

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """Values of queries, linear in `sums`, and their weights in the mean (None: all equal).

        Parameters
        ----------
        sums : ndarray of shape (n_queries,)
            Sums over the ranked lists, divided by those of the best lists unless `ideal_cutoff` is
            0.
        shown, relevant, total : float ndarrays of shape (n_queries,)
            Numbers of documents retrieved, down to the cut-off; of relevant documents of the query,
            retrieved or not; and of judged or retrieved documents (judged, if `condensed`).
        """
        return sums, None

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
        names = vars(kind).get("names")  # not inherited: a subclass is another metric
        return names[0] if names else kind.__name__

    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Value of all queries: their mean, or as the parameter `average` says.

        Parameters
        ----------
        relevance : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        scores : array-like of shape (n_rows,)
            Higher ranks first; -inf = judged but not retrieved.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `relevance`; without it all rows
            are one ranked list.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float
        """
        _, measured = self._query_values(relevance, scores, groups, sample_weight)
        return float(measured.means()[0, 0])

    def per_query(
        self, relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None
    ) -> pd.Series:
        """Value of each query, as a Series indexed by query; parameters as in a call."""
        import pandas as pd

        ids, measured = self._query_values(relevance, scores, groups, None)
        return pd.Series(measured.values[0, 0], index=pd.Index(ids, name="qid"), name=str(self))

    def _query_values(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        groups: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> tuple[np.ndarray, Measured]:
        """The queries of the caller's arrays, and the values of this metric."""
        judgments, weights = judge_rows(relevance, scores, groups, sample_weight)
        plan = self.bind(judgments)
        ranking = Ranking(judgments, scores)
        ranking.warn_if_arguments_swapped()
        return judgments.queries.ids, measure(judgments, [ranking], [plan], weights)

    def on_scale(self, max_grade: int) -> Metric:
        """The metric with its parameter `max_grade` set, if `needs_scale` is True; else itself."""
        if not self.needs_scale:
            return self
        changes: Options = {"max_grade": max_grade}  # a field of each metric that needs a scale
        return dataclasses.replace(self, **changes)


class DividedByIdeal:
    """Mixin of metrics with a parameter `normalize`, which says how their best list is cut."""

    normalize: str
    k: int | None

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is the whole list, or is cut at rank k, as `normalize` says."""
        return None if self.normalize == "all" else self.k


_cache: dict[tuple[object, ...], Tables] = {}  # oldest entry first


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
    max_grade : int
        Highest grade: of the metric, of the collection, or of the judgments.
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
        fixed = getattr(metric, "max_grade", None)  # the parameter, which not all metrics have
        if fixed:
            check.check_grades(judgments.labels, fixed, metric, judgments.place)
        self.max_grade: int = fixed or max_grade or judgments.max_grade
        self.tables = self._tables(metric.k)
        self.depth = metric.k if self.tables.cut else None

    @property
    def scale(self) -> Scale:
        """What tables may depend on."""
        return Scale(self.judgments, self.max_grade, self.metric)

    def _tables(self, k: int | None) -> Tables:
        """Tables of the metric at the cut-off `k`, cached if they do not depend on the queries.

        Batches of a training mostly have the same labels and lists of the same length. Cached
        tables save half of the time of a gradient of 20 lists. Tables are immutable and hold no
        reference to the scale. Tables of a metric with `reads_judgments` are not cached.
        """
        metric, judgments, longest = self.metric, self.judgments, self.judgments.queries.longest
        # All that tables depend on, unless they read the judgments. The codes of unjudged documents
        # are the last, with label 0: `n_labels` is where they start.
        labels = judgments.labels.tobytes(), judgments.n_labels
        key = metric, k, labels, self.max_grade, longest
        try:
            tables, hashable = _cache.get(key), True
        except TypeError:  # a parameter of a user's metric has no hash
            tables, hashable = None, False
        if tables is None:
            name = f"the result of {type(metric).__name__}.tables() (such as QuadraticTables)"
            scale = self.scale
            tables = check.check_kind(name, metric.tables(scale, k), Tables)  # type: ignore[type-abstract]
            tables.check_fit(judgments)
            if hashable and scale.cacheable and longest <= _LONGEST_CACHED:
                _cache[key] = tables
                for old in list(_cache)[:-_MOST_CACHED]:
                    _cache.pop(old, None)  # another thread may have removed it
        return tables

    @cached_property
    def relevant(self) -> np.ndarray:
        """Number of judged documents that are relevant."""
        relevant = self.tables.relevant.copy()
        # codes of unjudged documents, which are not relevant even if a table gives them a gain
        relevant[self.judgments.n_labels :] = False
        return self.judgments.totals(relevant)

    @cached_property
    def empty(self) -> np.ndarray:
        """Whether the metric is not defined for the query, which has no relevant document."""
        return (self.relevant == 0) & self.metric.needs_relevant

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
        tables = self.tables if cutoff == self.metric.k else self._tables(cutoff)
        ideal = tables.ideals(self.judgments)
        return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=~self.empty & (ideal > 0))

    def slope(self) -> np.ndarray:
        """Change of the value per unit of the normalised sum, for training.

        In training all documents are retrieved and have labels, so that `condensed` has no effect.
        Values are linear in the sum: the slope is the value at a huge sum, divided by this sum. The
        quotient by a power of two is exact.
        """
        sizes = self.judgments.queries.sizes.astype(np.float64)
        shown = sizes if self.metric.k is None else np.minimum(sizes, self.metric.k)
        values, _ = self.metric.values(np.full(len(shown), _HUGE), shown, self.relevant, sizes)
        return np.broadcast_to(values, len(shown)) / _HUGE

    def values_of(self, ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Values, and the weights of the queries in the mean.

        For empty queries the value is NaN, unless the parameter `empty` of the metric is 0 or 1,
        and the weight is 0 if `empty` is "skip".
        """
        metric = self.metric
        ranked = ranking.codes(metric.ties, metric.condensed, self.depth)
        shown = ranked.retrieved.astype(np.float64)
        if metric.k is not None:
            shown = np.minimum(shown, metric.k)
        sums = self.tables.values(ranked, self.inverse)
        if metric.condensed:
            total = np.diff(self.judgments.condensed_indptr)
        else:
            total = ranking.n_judged_or_retrieved
        result = metric.values(sums, shown, self.relevant, total.astype(np.float64))
        name = f"{type(metric).__name__}.values()"
        values, weights = check.check_query_values(result, len(sums), name)
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


class Measured(NamedTuple):
    """Values of queries, as `measure` returns them.

    Attributes
    ----------
    values, weights : ndarray of shape (n_rankings, n_metrics, n_queries)
        Value of each query, and its weight in the mean: 0 for skipped queries, whose value is NaN.
    empty : bool ndarray of shape (n_metrics, n_queries)
        Whether the query has no relevant document, so that the metric is not defined.
    metrics : tuple of Metric
    """

    values: np.ndarray
    weights: np.ndarray
    empty: np.ndarray
    metrics: tuple[Metric, ...]

    def means(self) -> np.ndarray:
        """Mean over queries by ranking and metric, by the parameter `average` of the metric."""
        out = np.empty(self.values.shape[:2])
        for i, j in np.ndindex(out.shape):
            out[i, j] = average(self.metrics[j], self.values[i, j], self.weights[i, j])
        return out


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
        Values of the queries and their weights in means; its method `means` computes the means.

    Examples
    --------
    >>> import skrank
    >>> from skrank.extending import Judgments, Queries, Ranking, measure
    >>> judgments = Judgments([1, 0, 0, 1], Queries.from_sizes([2, 2]))
    >>> found = measure(judgments, [Ranking(judgments, [3, 2, 4, 5])], [skrank.metric("ap")])
    >>> found.values, found.means()
    (array([[[1., 1.]]]), array([[1.]]))
    """
    plans = [
        metric if isinstance(metric, Plan) else metric.bind(judgments, max_grade=max_grade)
        for metric in metrics
    ]
    results = []
    for ranking in rankings:
        if {ranking.judgments, *(plan.judgments for plan in plans)} != {judgments}:
            raise ValueError("measure takes rankings and plans of the judgments that it gets.")
        ranking.expect([plan.depth for plan in plans])
        results.append([plan.values_of(ranking) for plan in plans])
    if not plans or not results:
        raise ValueError("measure needs at least one ranking and one metric.")
    values, mass = np.moveaxis(np.array(results, np.float64), 2, 0)
    if weights is not None:
        mass = mass * weights
    empty = np.array([plan.empty for plan in plans])
    return Measured(values, mass, empty, tuple(plan.metric for plan in plans))


def average(metric: Metric, values: np.ndarray, weights: np.ndarray) -> float:
    """Mean over queries: arithmetic, geometric, or a sum, by the parameter `average` of the metric.

    For "micro" it is arithmetic: the weights from `Metric.values` are then the denominators. A
    value of weight 0 may be NaN.
    """
    counted = weights != 0
    if not counted.all():
        values, weights = values[counted], weights[counted]
    if len(weights) == 0:
        warn(
            f"no query of weight above 0 has a relevant document: {metric} is NaN. Check the "
            'labels; in cross-validation, use fewer folds or QueryKFold(stratify="n_relevant").',
            RuntimeWarning,
        )
        return float("nan")
    if metric.average == "geometric":
        # the last bits of np.log differ between processors
        values = elementwise(math.log, np.maximum(values, GEOMETRIC_FLOOR))
    if metric.average != "sum" and not _LEAST_WEIGHT < weights.max() < _LARGEST_WEIGHT:
        weights = weights / weights.max()  # else sums may overflow, or be subnormal numbers
    total = (weights * values).sum()  # bits of weights @ values would depend on the threads of BLAS
    if metric.average == "sum":
        return float(total)
    mean = total / weights.sum()
    return float(math.exp(mean) if metric.average == "geometric" else mean)
