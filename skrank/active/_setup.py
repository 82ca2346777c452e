"""The inputs of a campaign, which do not change as labels arrive, and estimates from its draws."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._estimate import Estimate, caution_of, typical_number
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import Known, Mean, mean_of
from skrank.active._moments import GradedMetric, Moments
from skrank.active._pool import Costs, Pool
from skrank.active._sampling import drawing_order
from skrank.extending import Judgments, Queries


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Design:
    """What a campaign asks and how it draws, for `ActiveEvaluator` and `ActiveComparator`.

    Parameters
    ----------
    grades : array-like of shape (n_grades,), optional
        All grades that a label may have, ascending. Default: the columns of a DataFrame of label
        probabilities, or 0, 1, 2, ... for the columns of an array. With a uniform label model, 0 to
        the highest of the known `labels`; without these, 0 to 4, with a warning.
    labels : array-like of shape (n_rows,), optional
        Known labels, NaN if unknown, such as `labels` of an earlier campaign. They replace the
        label model, and are not asked again. Queries with all labels are in the mean without being
        drawn.
    items : array-like of shape (n_rows,), optional
        Ids of the documents for the assessors, distinct inside a query. Default: row numbers.
    costs : "items", array-like of shape (n_rows,), or mapping
        Cost of labelling a query: the number of its items; the sum of the costs of its items, such
        as the logarithm of their length; or a mapping from query to cost.
    frequencies : mapping from query to number, optional
        How often users send each query: weights of the mean. Default: equal.
    mixing : float, optional
        Share, in [0, 1], of what does not rely on the label model: of draws by frequency, and of
        the mean over queries in each expected squared error; see `sampling_distribution`. No weight
        of a draw exceeds 1 / `mixing`; 1 is passive sampling. Default: 0.3; 0.8 if fewer than 100
        queries can be drawn.
    center : float, optional
        R in the expected squared error ``E[(L - R)**2]`` of a value or difference L. Default: the
        mean that the label model expects, for each pair of rankers. Pass 0 for a comparison if the
        label model may favour one ranker.
    n_label_draws : int
        Random label vectors per query, for metrics whose moments have no formula.

    Examples
    --------
    >>> from skrank.active import ActiveEvaluator, Design
    >>> design = Design(grades=[0, 1], costs=[2.0, 1.0, 1.0], frequencies={"a": 3, "b": 1})
    >>> campaign = ActiveEvaluator([3, 2, 1], ["a", "a", "b"], metric="dcg", design=design)
    >>> campaign.sampling.cost.tolist()
    [3.0, 1.0]
    """

    grades: ArrayLike | None = None
    labels: ArrayLike | None = None
    items: ArrayLike | None = None
    costs: Costs = "items"
    frequencies: Mapping[object, float] | None = None
    mixing: float | None = None
    center: float | None = None
    n_label_draws: int = 200

    def __repr__(self) -> str:
        """The parameters, long values shortened."""
        short = (f"{k}={reprlib.repr(np.asarray(v).tolist())}" for k, v in vars(self).items())
        return f"Design({', '.join(short)})"


@dataclass(frozen=True, eq=False, repr=False)
class Request:
    """A query to label.

    Attributes
    ----------
    query : int or str
        Id of the query.
    items : ndarray of shape (n_items,)
        Documents to label: ids if the campaign has `items`, otherwise row numbers.
    rows : ndarray of shape (n_items,)
        Rows of these documents in the arrays passed to the campaign.
    cost : float
        Cost of labelling the query.
    """

    query: Hashable
    items: np.ndarray
    rows: np.ndarray
    cost: float

    def __repr__(self) -> str:
        items = check.counted(len(self), "item")
        return f"Request(query {self.query!r}: {items}, cost {self.cost:g})"

    def __len__(self) -> int:
        return len(self.items)

    def checked(
        self, labels: ArrayLike | Mapping[Hashable, float], grades: np.ndarray
    ) -> np.ndarray:
        """Labels in the order of the items; raises an error if they are not grades."""
        import pandas as pd

        name, items = f"labels of query {self.query!r}", self.items.tolist()
        if isinstance(labels, pd.Series):
            index = labels.index.tolist()
            if {*index} == {*items}:
                labels = labels.loc[items]
            elif index not in (self.rows.tolist(), list(range(len(index)))):
                raise ValueError(
                    f"the index of the {name} is not its items, such as {items[0]!r}: give each "
                    "item once, or an array in the order of Request.items."
                )
        elif isinstance(labels, Mapping):
            missing = [item for item in items if item not in labels]
            unknown = [item for item in labels if item not in items]
            if missing or unknown:
                problem = "has no label" if missing else "is not one of the items asked"
                raise ValueError(f"{name}: item {(missing or unknown)[0]!r} {problem}.")
            labels = [labels[item] for item in items]
        values = check.as_numbers(name, cast("ArrayLike", labels), "one grade per item")
        if values.shape != self.items.shape:
            order = "one per item in the order of Request.items"
            raise ValueError(f"{name} have shape {values.shape}: give {len(self)}, {order}.")
        wrong = values[~np.isin(values, grades)]
        if len(wrong):
            known = check.brief(grades.tolist())
            raise ValueError(f"{name}: {wrong[0]:g} is not one of the grades {known}.")
        return values


@dataclass(frozen=True, eq=False)
class Setup:
    """The inputs of a campaign.

    Attributes
    ----------
    names : tuple of str
        Names of the rankers.
    graded : GradedMetric
        The metric that is measured, with the grades that labels may have.
    pool : Pool
        Documents whose labels can change a value.
    items : ndarray of shape (n_rows,) or None
        Ids of the documents of the pool; None if row numbers are the ids.
    given : ndarray of shape (n_rows,)
        Labels known before the campaign; NaN if unknown.
    n_caller_rows : int
        Number of rows of the arrays that the caller passed.
    p, q, costs : ndarray of shape (n_queries,)
        Frequency of each query, probability of its draw, cost of its labels.
    moments : Moments
        Moments of the values under the label model.
    """

    names: tuple[str, ...]
    graded: GradedMetric
    pool: Pool
    items: np.ndarray | None
    given: np.ndarray
    n_caller_rows: int
    p: np.ndarray
    q: np.ndarray
    costs: np.ndarray
    moments: Moments

    @property
    def queries(self) -> Queries:
        """The queries of the pool."""
        return self.pool.queries

    @cached_property
    def order(self) -> np.ndarray:
        """The queries in the order in which they are drawn."""
        return drawing_order(self.q, self.pool.seed)

    @cached_property
    def is_known(self) -> np.ndarray:
        """True for queries labelled completely before the campaign, which are never drawn."""
        return self.pool.count(np.isnan(self.given)) == 0

    @property
    def draw_cost(self) -> float:
        """Average cost of a draw."""
        return float(self.q @ self.costs)

    def request(self, query: int) -> Request:
        """The request for the labels of a query that are not known."""
        rows = np.arange(*self.queries.indptr[query : query + 2])
        rows = rows[np.isnan(self.given[rows])]
        caller_rows = self.pool.rows[rows]
        items = caller_rows if self.items is None else self.items[rows]
        name = self.queries.ids[query : query + 1].tolist()[0]  # converts numbers to Python's
        return Request(name, items, caller_rows, float(self.costs[query]))

    def evaluate(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker from new and known labels; NaN if the query does not count."""
        rows = slice(*self.queries.indptr[query : query + 2])
        merged = self.given[rows].copy()
        merged[np.isnan(merged)] = labels
        judgments = Judgments(merged, Queries.single(len(merged)))
        return self.graded.values(judgments, self.pool.scores[:, rows])[:, 0]

    def estimate(
        self,
        values: np.ndarray,
        n_draws: int,
        confidence: float,
        estimator: str,
        *,
        has_budget: bool = False,
    ) -> tuple[Estimate, float]:
        """The estimate of a mean from the first draws, and the highest confidence that excludes 0.

        Parameters
        ----------
        values : ndarray of shape (n_queries,)
            Value, or difference of two values, of each query; NaN if the query does not count.
        n_draws : int
            All these draws are labelled. If these are all queries, the mean is exact.
        confidence : float
        estimator : str
        has_budget : bool
            Whether the cost of the labels limits the number of draws.
        """
        p, q, draws = self.p, self.q, self.order[:n_draws]
        deviation = self.moments.deviation(p)
        known = self.is_known
        counted = known & ~np.isnan(values)
        sums = Known(
            mass=float(p[counted].sum()), total=float(p[counted] @ values[counted]),
            deviation=float(p[known] @ deviation[known]),
        )  # fmt: skip
        mean = mean_of(
            values, draws, p, q, deviation=deviation if estimator == "assisted" else None,
            known=sums, all_count=self.graded.all_count,
        )  # fmt: skip
        n_counted, complete = mean.n_counted, n_draws == len(self.order)
        cost = float(self.costs[draws].sum())
        n_typical = float(n_counted)  # in numbers of queries of average cost: see `Estimate`
        if has_budget and not complete:
            n_typical = float(typical_number(n_counted, len(draws), cost, self.draw_cost))
        if complete:
            counts = ~np.isnan(values)
            mass = float(p @ counts)
            value = float(p[counts] @ values[counts] / mass) if mass > 0 else math.nan
            error, interval, sure, passive = 0.0, (value, value), 1.0, None
        else:
            value, error, passive = mean.value, mean.standard_error, self._passive_cost(mean)
            interval, sure = bootstrap_interval(mean, confidence), certainty(mean)
        caution = None if complete and n_counted else caution_of(mean, n_typical, confidence)
        estimate = Estimate(
            value=value, standard_error=error, interval=interval, confidence=confidence,
            n_queries=len(draws), n_counted=n_counted, n_typical=n_typical, n_waiting=0,
            cost=cost, passive_cost=passive, complete=complete, caution=caution,
        )  # fmt: skip
        return estimate, sure

    def _passive_cost(self, mean: Mean) -> float | None:
        """Expected cost of as many passive draws as give the standard error of `mean`.

        Passive draws are without replacement, with the frequencies p as probabilities. Returns None
        if the error is unknown.
        """
        error, variance = mean.standard_error, mean.variance
        if not (error > 0 and variance > 0):
            return None
        p = np.where(self.q > 0, self.p, 0.0)
        p /= p.sum()
        # n draws without replacement from N equally frequent queries have error^2 =
        # variance (1 / n - 1 / N). If frequencies differ, the sum of p^2 replaces 1 / N.
        return float(p @ self.costs) / (error**2 / variance + float(p @ p))
