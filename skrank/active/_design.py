"""The fixed inputs of a campaign, and the estimates from the labels of its draws."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank._engine.threads import cached_property
from skrank.active._anytime import certainty_so_far, game_of, sequence
from skrank.active._estimate import Estimate, to_estimate
from skrank.active._graded_metric import GradedMetric, difference_bounds
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import Known, Mean, mean_of
from skrank.active._moments import Moments
from skrank.active._pool import Pool
from skrank.active._sampling import first_draws, fits

# A smaller budget causes a warning. With fewer than five draws of average cost, at least 3 % of
# campaigns end without a label.
_FEW_DRAWS = 5.0  # in units of the average cost of a draw
_MOST_TOO_DEAR = 0.05  # probability of a draw whose cost alone exceeds the budget


class BudgetWarning(UserWarning):
    """The budget is small compared with the cost of a typical query."""


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
        """Expected difference of each value and the mean, under the label model."""
        return self.moments.deviation(self.p)

    def bounds(self, first: int, second: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of a ranker, or difference of two, on each query."""
        found, key = self._bounds, (first, second)
        if key not in found:
            found[key] = difference_bounds(self.graded, self.pool, first, second)
        return found[key]

    def check_budget(self, budget: float | None) -> float | None:
        """The budget, which must pay at least for the cheapest query; None for no limit."""
        if budget is None:
            return None
        budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
        cheapest = float(self.costs[self.q > 0].min())
        if not fits(cheapest, budget):
            raise ValueError(
                f"budget={budget:g} does not pay for any query: the cheapest costs {cheapest:g}."
            )
        return budget

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


@dataclass(frozen=True, eq=False)
class Target:
    """The quantity to estimate: the mean of one ranker, or the difference of two rankers.

    Attributes
    ----------
    design : Design
    values : ndarray of shape (n_queries,)
        Value, or difference, of each query; NaN if it does not count or has no labels yet.
    first : int
        Index of the ranker.
    second : int or None
        Index of the ranker that is subtracted, if any.
    """

    design: Design
    values: np.ndarray
    first: int
    second: int | None

    def estimate(
        self, draws: np.ndarray, confidence: float, estimator: str, anytime: bool
    ) -> tuple[Estimate, float]:
        """The estimate from some draws, and the highest confidence at which 0 is excluded.

        `draws` are queries in the order of drawing, with replacement. Only "importance" uses
        repeated draws of a query.
        """
        if estimator != "importance":
            draws = first_draws(draws)
        d, values, known = self.design, self.values, self._known()
        mean = mean_of(
            values, draws, d.p, d.q, estimator=estimator, deviation=d.deviation, known=known,
            all_count=d.graded.all_count,
        )  # fmt: skip
        if anytime:
            game = game_of(
                values, draws, d.p, d.q, d.bounds(self.first, self.second),
                with_replacement=estimator == "importance", known=known,
                may_not_count=not d.graded.all_count,
            )  # fmt: skip
            interval, sure = sequence(game, confidence), certainty_so_far(game)
        else:
            interval, sure = bootstrap_interval(mean, confidence), certainty(mean)
        costs = float(d.costs[np.unique(draws)].sum()), d.draw_cost
        found = to_estimate(mean, interval, confidence, draws, ~np.isnan(values[draws]), costs)
        return replace(found, anytime=anytime, passive_cost=self._passive_cost(mean)), sure

    def _known(self) -> Known:
        """Sums over the queries that were labelled before the campaign."""
        p, known = self.design.p, self.design.is_known
        counted = known & ~np.isnan(self.values)
        return Known(
            share=float(p[known].sum()),
            mass=float(p[counted].sum()),
            total=float(p[counted] @ self.values[counted]),
            deviation=float(p[known] @ self.design.deviation[known]),
        )

    def _passive_cost(self, mean: Mean) -> float | None:
        """Expected cost of uniform draws without replacement with the same standard error."""
        if not (mean.standard_error > 0 and mean.variance > 0):
            return None
        p = np.where(self.design.q > 0, self.design.p, 0.0)
        p /= p.sum()
        # n draws without replacement from N queries: variance of a single draw * (1 / n - 1 / N)
        n = 1 / (mean.standard_error**2 / mean.variance + float(p @ p))
        return n * float(p @ self.design.costs)

    def exact(self, draws: np.ndarray, confidence: float) -> Estimate:
        """The exact mean over a pool that is labelled completely."""
        p, n = self.design.p, len(draws)
        counts = ~np.isnan(self.values)
        n_counted = int(np.count_nonzero(counts[draws]))
        mass = float(p @ counts)
        value = float(p @ np.where(counts, self.values, 0.0) / mass) if mass > 0 else math.nan
        size = float(mass**2 / (p[counts] @ p[counts])) if mass > 0 else 0.0
        return Estimate(
            value, 0.0, (value, value), confidence, n, n_counted, n, n_counted, n_counted, size,
            complete=True,
        )  # fmt: skip

    def progress(
        self, draws: np.ndarray, confidence: float, estimator: str, anytime: bool, *, complete: bool
    ) -> dict[str, np.ndarray]:
        """The estimate after each new query of some draws with replacement, as columns."""
        new = np.sort(np.unique(draws, return_index=True)[1])
        once, ends = draws[new], np.append(new[1:], len(draws))
        found = [self.estimate(draws[:end], confidence, estimator, anytime)[0] for end in ends]
        if complete:
            found[-1] = self.exact(once, confidence)
        low, high = np.transpose([estimate.interval for estimate in found])
        return {
            "query": self.design.queries.ids[once],
            "cost": np.cumsum(self.design.costs[once]),
            "value": np.array([estimate.value for estimate in found]),
            "low": low,
            "high": high,
        }


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
