"""What a metric is: checked parameters, a name that parses back, tables for the kernels."""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments, judge
from skrank._engine.parameters import Parameterised, choice, count, flag
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._engine.tables import Line, Lists, Scale, Smooth, Tables

if TYPE_CHECKING:
    import pandas as pd

ORDERLESS = "the order of the whole list does not matter to it; add a cut-off."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(Parameterised, ABC):
    """A measure of the worth of a ranking: data that a kernel interprets.

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
    average : {"macro", "geometric"}
        Mean over queries: arithmetic, or geometric with values raised to at least 1e-5, as
        trec_eval's gm_map. Set metrics also have "micro": documents of all queries are counted
        together. Counts have "sum", which is their default, and "macro".
    """

    # the class of weighted sums of metrics, itself a metric, which `Mixture` puts here
    mixture: ClassVar[Callable[..., Metric]]
    __array_ufunc__: ClassVar[None] = None  # numpy's numbers leave products to the metric
    names: ClassVar[tuple[str, ...]] = ()  # of classes that `register` knows
    unnamed: ClassVar[tuple[str, ...]] = ("k",)  # fields that the brackets of a name leave out
    function: ClassVar[str] = ""  # name of its score function
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")
    greater_is_better: ClassVar[bool] = True
    value_range: ClassVar[str] = "[0, 1]"
    strict: ClassVar[bool] = False  # refuses ties, over whose orders its mean has no closed form
    needs_relevant: ClassVar[bool] = True  # not defined for queries without a relevant document
    orderless: ClassVar[bool] = False  # without a cut-off, all orders of a list are worth the same
    cut_instead: ClassVar[str | None] = None  # for metrics without a cut-off: what has one

    k: int | None = count(None, "the number of top ranks that count")
    condensed: bool = flag(False)
    empty: str | int = choice("skip", check.EMPTY_CHOICES)
    ties: str = choice("average", check.TIES_CHOICES)
    average: str = "macro"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(average=check.check_choice("average", self.average, self.averages))
        if self.cut_instead is not None:
            check.refuse_cutoff(first_name(self), self.k, self.cut_instead)

    # what a metric defines

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

    def on_scale(self, max_grade: int) -> Metric:
        """The metric with this highest grade of the collection, if it needs one and has none."""
        if not self.needs_scale:
            return self
        return dataclasses.replace(self, max_grade=max_grade)  # type: ignore[call-arg]

    def line(self, lists: Lists) -> Line:
        """Values of queries from their normalised sums, of which every metric is a linear function.

        Default: the sum itself.
        """
        return Line()

    def mass(self, lists: Lists) -> np.ndarray | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    # what follows from it

    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean over queries.

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
        check.check_same_index(
            relevance=relevance, scores=scores, groups=groups, sample_weight=sample_weight
        )
        with check.labels_first(relevance, scores):
            judgments = judge(relevance, groups)
            plan = self.bind(judgments)
            weights = check.query_weights(sample_weight, judgments.queries)
            ranking = Ranking(judgments, scores)
        ranking.warn_if_swapped(stacklevel=3)  # past this and a score function
        return plan.mean(ranking, plan.values(ranking), weights)

    def per_query(
        self, relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None
    ) -> pd.Series:
        """Value of each query, as a Series indexed by query; parameters as in a call."""
        import pandas as pd

        check.check_same_index(relevance=relevance, scores=scores, groups=groups)
        with check.labels_first(relevance, scores):
            judgments = judge(relevance, groups)
            plan, ranking = self.bind(judgments), Ranking(judgments, scores)
        ranking.warn_if_swapped(stacklevel=2)
        values = plan.values(ranking)
        return pd.Series(values, index=pd.Index(judgments.queries.ids, name="qid"), name=str(self))

    @property
    def terms(self) -> tuple[tuple[float, Metric], ...]:
        """The weights and metrics whose sum this is: itself, but for a mixture."""
        return ((1.0, self),)

    def bind(self, judgments: Judgments, *, max_grade: int | None = None) -> Plan:
        """The metric on judgments: a plan, which keeps all that depends on labels only.

        Parameters
        ----------
        judgments : Judgments
        max_grade : int, optional
            Highest grade of the collection, for a metric that does not fix it.

        Returns
        -------
        Plan
        """
        return Plan(self, judgments, max_grade=max_grade)

    def bind_part(self, judgments: Judgments, *, max_grade: int | None) -> Plan:
        """The metric on labels that may be a part of their collection, such as a fold.

        Parameters
        ----------
        judgments : Judgments
        max_grade : int or None
            Highest grade of the collection; None if nothing says it.

        Returns
        -------
        Plan

        Raises
        ------
        ValueError
            If values depend on the highest grade and nothing says it.
        """
        if not self.needs_scale:
            return self.bind(judgments)
        if max_grade is None:
            raise check.missing_scale(self)
        return self.bind(judgments, max_grade=max_grade)

    def __matmul__(self, k: int) -> Metric:
        """The same metric cut at rank `k`: ``metric("gap") @ 10``."""
        return dataclasses.replace(self, k=k)

    def __mul__(self, weight: float) -> Metric:
        """The metric times a weight above 0, to be added to others: see `Mixture`."""
        if not isinstance(weight, numbers.Real):
            return NotImplemented
        return Metric.mixture(parts=((weight, self),))

    __rmul__ = __mul__

    def __add__(self, other: Metric) -> Metric:
        """The sum of two metrics: see `Mixture`."""
        if not isinstance(other, Metric):
            return NotImplemented
        return Metric.mixture(parts=((1.0, self), (1.0, other)))

    @property
    def __name__(self) -> str:  # as functions have one: `sklearn.metrics.make_scorer` asks for it
        return str(self)

    def __str__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.name not in self.unnamed]
        changed = [
            f"{field.name}={format_value(getattr(self, field.name))}"
            for field in fields
            if getattr(self, field.name) != field.default
        ]
        inside = f"({','.join(changed)})" if changed else ""
        return first_name(self) + inside + ("" if self.k is None else f"@{self.k}")


def first_name(one: Metric | type[Metric]) -> str:
    """The name in reports of a metric or a class: its first name, else the name of the class."""
    cls: type = one if isinstance(one, type) else type(one)
    return one.names[0] if one.names else cls.__name__


def bounds_of(one: Metric) -> tuple[float, float]:
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
