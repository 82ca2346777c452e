"""What a metric can do: measure rankings, be bound to labels, be cut, weighted and added."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.definition import Definition
from skrank._engine.judgments import Judgments, judge
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._typing import Options

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(Definition):
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
    average : {"macro", "geometric"}
        Mean over queries: arithmetic, or geometric with values raised to at least 1e-5, as
        trec_eval's gm_map. Set metrics also have "micro": documents of all queries are counted
        together. Counts have "sum", which is their default, and "macro".
    """

    # the class of weighted sums of metrics, itself a metric, which `Mixture` puts here
    mixture: ClassVar[Callable[..., Metric]]
    __array_ufunc__: ClassVar[None] = None  # numpy's numbers leave products to the metric

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

    def on_scale(self, max_grade: int) -> Metric:
        """The metric with this highest grade of the collection, if it needs one and has none."""
        if not self.needs_scale:
            return self
        changes: Options = {"max_grade": max_grade}  # which metrics with a scale have as a field
        return dataclasses.replace(self, **changes)
