"""What is fixed before the first label: the pool, the distribution of draws, and the costs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank._engine.threads import cached_property
from skrank.active._bounds import difference_bounds, value_bounds
from skrank.active._graded_metric import GradedMetric
from skrank.active._means import Known
from skrank.active._moments import Moments
from skrank.active._pool import Pool
from skrank.active._sampling import fits

_FEW_DRAWS = 5.0  # of average cost; with fewer, 3 % of campaigns and more end without a label
_MOST_TOO_DEAR = 0.05  # share of draws that alone exceed the budget


class BudgetWarning(UserWarning):
    """The budget is small compared with the cost of a typical query."""


@dataclass(frozen=True, eq=False)
class Design:
    """A campaign before its first label.

    Attributes
    ----------
    names : tuple of str
        Names of the rankers.
    graded : GradedMetric
    pool : Pool
        Documents whose labels matter.
    items : ndarray of shape (n_rows,) or None
        Ids of the documents of the pool; None if they are named by their rows.
    given : ndarray of shape (n_rows,)
        Labels that existed before; NaN where there is none.
    n_caller_rows : int
        Rows of the arrays that the caller passed.
    p, q, costs : ndarray of shape (n_queries,)
        Frequency of each query, probability of a draw, cost of its labels.
    moments : Moments
        What the label model expects.
    center : float or None
        Value around which squared errors are expected; None for the expected mean.
    seed : int
        Of the draws, and of the order of ties.
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

    @property
    def queries(self) -> Queries:
        """The queries of the pool."""
        return self.pool.queries

    @property
    def draw_cost(self) -> float:
        """Average cost of a draw."""
        return float(self.q @ self.costs)

    @property
    def table(self) -> dict[str, np.ndarray]:
        """What is known of each query before any label."""
        return {
            "probability": self.q,
            "frequency": self.p,
            "cost": self.costs,
            "items": self.queries.sizes,
            "expected": self.moments.first,
            "second_moment": self.moments.second,
        }

    @cached_property
    def is_known(self) -> np.ndarray:
        """Queries all of whose labels existed before: they count, and are never drawn."""
        return open_rows(self.pool, self.given) == 0

    @cached_property
    def deviation(self) -> np.ndarray:
        """By how much each value is expected to differ from the mean."""
        return self.moments.deviation(self.p)

    def known(self, values: np.ndarray) -> Known:
        """Sums over the queries that are known without a draw."""
        p, known = self.p, self.is_known
        counted = known & ~np.isnan(values)
        return Known(
            share=float(p[known].sum()),
            mass=float(p[counted].sum()),
            total=float(p[counted] @ values[counted]),
            deviation=float(p[known] @ self.deviation[known]),
        )

    @cached_property
    def _bounds(self) -> dict[tuple[int, int | None], tuple[np.ndarray, np.ndarray]]:
        """Bounds that were computed so far."""
        return {}

    def bounds(self, first: int, second: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of a ranker, or difference of two, on each query."""
        found, key = self._bounds, (first, second)
        if key not in found and second is not None:
            found[key] = difference_bounds(self.graded, self.pool, first, second)
        elif key not in found:
            low, high = value_bounds(self.graded, self.pool)
            found[key] = low[first], high[first]
        return found[key]

    def check_budget(self, budget: float | None) -> float | None:
        """A budget that pays at least for the cheapest query; None means no limit."""
        if budget is None:
            return None
        budget = check.check_number("budget", budget, 0, np.inf, open_low=True)
        cheapest = float(self.costs[self.q > 0].min())
        if not fits(cheapest, budget):
            raise ValueError(
                f"budget={budget:g} pays for no query: the cheapest costs {cheapest:g}."
            )
        return budget

    def warn_of_small_budget(self, budget: float | None) -> None:
        """Warn, before labels are bought, of a budget that pays for few typical draws."""
        if budget is None:
            return
        too_dear = float(self.q[self.costs > budget].sum())
        if budget >= _FEW_DRAWS * self.draw_cost and too_dear <= _MOST_TOO_DEAR:
            return
        warnings.warn(
            f"budget={budget:g} is small: a draw costs {self.draw_cost:.3g} on average, and "
            f"{too_dear:.0%} of them cost more than all of it. Such a campaign may end without an "
            "estimate, and its estimate favours cheap queries. Raise the budget, or give cheaper "
            "queries.",
            BudgetWarning,
            stacklevel=3,
        )


def open_rows(pool: Pool, given: np.ndarray) -> np.ndarray:
    """Number of documents of each query that have no label yet."""
    return np.add.reduceat(np.isnan(given), pool.queries.indptr[:-1], dtype=np.int64)


def as_seed(random_state: int | None) -> int:
    """A seed that can be saved."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise ValueError(
            f"random_state={random_state!r} must be an integer or None: it is saved with the "
            "campaign."
        )
    if not 0 <= random_state < 2**32:
        raise ValueError(f"random_state={random_state} must be from 0 to 2**32 - 1.")
    return int(random_state)
