"""The fixed inputs of a campaign: what can be labelled, and estimates from values of draws."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.groups import show
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.threads import cached_property
from skrank.active._estimate import Estimate, to_estimate
from skrank.active._graded_metric import GradedMetric, difference_bounds
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import Known, Mean, mean_of
from skrank.active._moments import Moments
from skrank.active._pool import Pool
from skrank.active._sampling import first_draws
from skrank.stats import Bets

# A smaller budget causes a warning. With fewer than five draws of average cost, at least 3 % of
# campaigns end without a label.
_FEW_DRAWS = 5.0  # in units of the average cost of a draw
_MOST_TOO_DEAR = 0.05  # probability of a draw whose cost alone exceeds the budget


class BudgetWarning(UserWarning):
    """The budget is small compared with the cost of a typical query."""


@dataclass(frozen=True, eq=False)
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

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Design:
    """The inputs of a campaign, which do not change as labels arrive.

    Attributes
    ----------
    names : tuple of str
        Names of the rankers.
    graded : GradedMetric
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
    center : float or None
        Value R in the expected squared error ``E[(L - R)**2]``; None for the expected mean.
    seed : int
        Seed of the draws, and of the order of ties.
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
    center: float | None
    seed: int
    # Cache of `bounds`: without it, estimates at any time from 2,000 queries take 1.5 times as
    # long.
    _bounds: dict[tuple[int, int | None], tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict, init=False
    )

    @property
    def queries(self) -> Queries:
        """The queries of the pool."""
        return self.pool.queries

    @property
    def draw_cost(self) -> float:
        """Average cost of a draw."""
        return float(self.q @ self.costs)

    @cached_property
    def is_known(self) -> np.ndarray:
        """True for queries labelled completely before the campaign, which are never drawn."""
        return open_rows(self.pool, self.given) == 0

    @cached_property
    def deviation(self) -> np.ndarray:
        """Expected value of each query minus the mean, under the label model."""
        return self.moments.deviation(self.p)

    def bounds(self, first: int, second: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of a ranker, or difference of two, on each query."""
        found, key = self._bounds, (first, second)
        if key not in found:
            found[key] = difference_bounds(self.graded, self.pool, first, second)
        return found[key]

    def warn_of_small_budget(self, budget: float | None) -> None:
        """Warn of a budget that pays for few draws of average cost."""
        if budget is None:
            return
        too_dear = float(self.q[self.costs > budget].sum())
        if budget >= _FEW_DRAWS * self.draw_cost and too_dear <= _MOST_TOO_DEAR:
            return
        warnings.warn(
            f"budget={budget:g} is small: a draw costs {self.draw_cost:.3g} on average, and "
            f"{too_dear:.0%} of draws cost more than the whole budget. The campaign may end "
            "without an estimate, and its estimate favours cheap queries. Raise the budget, or "
            "leave expensive queries out of the pool.",
            BudgetWarning,
            stacklevel=3,
        )

    def request(self, query: int) -> Request:
        """The request for the labels of a query that are not known."""
        rows = self.pool.rows_of(query)
        unlabelled = np.arange(rows.start, rows.stop)[np.isnan(self.given[rows])]
        caller_rows = self.pool.rows[unlabelled]
        items = caller_rows if self.items is None else self.items[unlabelled]
        cost = float(self.costs[query])
        return Request(self.queries.ids[query].item(), items, caller_rows, cost)

    def evaluate(self, query: int, labels: np.ndarray) -> np.ndarray:
        """Value of each ranker from new and known labels; NaN if the query does not count."""
        rows = self.pool.rows_of(query)
        merged = self.given[rows].copy()
        merged[np.isnan(merged)] = labels
        judgments = Judgments(merged, Queries.single(len(merged)))
        return self.graded.values(judgments, self.pool.scores[:, rows])[:, 0]

    def estimate(
        self,
        values: np.ndarray,
        draws: np.ndarray,
        confidence: float,
        estimator: str,
        bounds: tuple[np.ndarray, np.ndarray] | None,
    ) -> tuple[Estimate, float]:
        """The estimate of a mean from draws, and the highest confidence at which 0 is excluded.

        Parameters
        ----------
        values : ndarray of shape (n_queries,)
            Value, or difference of two values, of each query; NaN if the query does not count.
        draws : ndarray of shape (n_draws,)
            Queries in the order of drawing, with replacement. Only "importance" uses repeated draws
            of a query.
        confidence : float
        estimator : str
        bounds : pair of ndarray of shape (n_queries,), or None
            Bounds of the values, for the interval of a confidence sequence.
        """
        if estimator != "importance":
            draws = first_draws(draws)
        p, q, known, all_count = self.p, self.q, self._known(values), self.graded.all_count
        mean = mean_of(
            values, draws, p, q, estimator=estimator, deviation=self.deviation, known=known,
            all_count=all_count,
        )  # fmt: skip
        if bounds is None:
            interval, sure = bootstrap_interval(mean, confidence), certainty(mean)
        else:
            bets = Bets(
                values, p, q, draws, bounds, with_replacement=estimator == "importance",
                may_not_count=not all_count, known=(known.share, known.mass, known.total),
            )  # fmt: skip
            interval, sure = bets.interval(confidence), bets.certainty()
        costs = float(self.costs[np.unique(draws)].sum()), self.draw_cost
        found = to_estimate(mean, interval, confidence, draws, ~np.isnan(values[draws]), costs)
        passive_cost = self._passive_cost(mean)
        return replace(found, anytime=bounds is not None, passive_cost=passive_cost), sure

    def _known(self, values: np.ndarray) -> Known:
        """Sums over the queries that were labelled before the campaign."""
        p, known = self.p, self.is_known
        counted = known & ~np.isnan(values)
        return Known(
            share=float(p[known].sum()),
            mass=float(p[counted].sum()),
            total=float(p[counted] @ values[counted]),
            deviation=float(p[known] @ self.deviation[known]),
        )

    def _passive_cost(self, mean: Mean) -> float | None:
        """Expected cost of passive draws, with p, without replacement, of equal standard error."""
        if not (mean.standard_error > 0 and mean.variance > 0):
            return None
        p = np.where(self.q > 0, self.p, 0.0)
        p /= p.sum()
        # n draws without replacement from N queries: variance of a single draw * (1 / n - 1 / N),
        # where 1 / N is the sum of p^2
        n = 1 / (mean.standard_error**2 / mean.variance + float(p @ p))
        return n * float(p @ self.costs)

    def exact(self, values: np.ndarray, draws: np.ndarray, confidence: float) -> Estimate:
        """The exact mean over a pool that is labelled completely."""
        p, n = self.p, len(draws)
        counts = ~np.isnan(values)
        n_counted = int(np.count_nonzero(counts[draws]))
        mass = float(p @ counts)
        value = float(p @ np.where(counts, values, 0.0) / mass) if mass > 0 else math.nan
        size = float(mass**2 / (p[counts] @ p[counts])) if mass > 0 else 0.0
        return Estimate(
            value, 0.0, (value, value), confidence, n, n_counted, n, n_counted, n_counted, size,
            complete=True,
        )  # fmt: skip


def told_labels(
    request: Request,
    labels: ArrayLike | Mapping[Hashable, float],
    grades: np.ndarray,
    query: str,
) -> np.ndarray:
    """Labels in the order of the items; raises an error, which names `query`, if not grades."""
    if isinstance(labels, Mapping):
        items = request.items.tolist()
        for item in labels:
            if item not in items:
                raise ValueError(
                    f"item {show(item)} is not one of the items asked of query {query}."
                )
        for item in items:
            if item not in labels:
                raise ValueError(f"item {show(item)} of query {query} has no label: give one.")
        labels = [labels[item] for item in items]
    try:
        values = np.array(labels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"labels of query {query} must be grades, one per item.") from None
    if values.shape != request.items.shape:
        raise ValueError(
            f"{values.size} labels for the {len(request)} items of query {query}: give one label "
            "per item, in the order of Request.items."
        )
    wrong = np.flatnonzero(~np.isin(values, grades))
    if len(wrong):
        raise ValueError(
            f"label {values[wrong[0]]:g} of item {show(request.items[wrong[0]])} of query {query} "
            f"is not one of the grades {grades.tolist()}: correct the label, or pass all grades= "
            "when the campaign starts."
        )
    return values


def open_rows(pool: Pool, given: np.ndarray) -> np.ndarray:
    """Number of documents of each query that have no label yet."""
    return np.add.reduceat(np.isnan(given), pool.queries.indptr[:-1], dtype=np.int64)


def as_seed(random_state: int | None) -> int:
    """A seed that can be saved with the campaign; a random seed for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    is_integer = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not is_integer or not 0 <= random_state < 2**32:
        raise ValueError(
            f"random_state={random_state!r} must be None or an integer from 0 to 2**32 - 1, "
            "because it is saved with the campaign."
        )
    return int(random_state)
