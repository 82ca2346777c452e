"""What a campaign estimates: the mean of one ranker, or the difference of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skrank.active._anytime import Game, certainty_so_far, sequence, with_repeats, without_repeats
from skrank.active._design import Design
from skrank.active._estimate import Estimate, to_estimate
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import Mean, mean_of


@dataclass(frozen=True, eq=False)
class Target:
    """The mean of the ranker `first`, or its difference to the ranker `second`.

    Attributes
    ----------
    design : Design
    values : ndarray of shape (n_queries,)
        Value, or difference, of each query; NaN if it does not count or has no labels yet.
    first : int
    second : int or None
    """

    design: Design
    values: np.ndarray
    first: int
    second: int | None

    def estimate(
        self, draws: np.ndarray, confidence: float, estimator: str, anytime: bool
    ) -> tuple[Estimate, float]:
        """The estimate from some draws, and the highest confidence at which 0 is excluded.

        Without repeats unless the estimator is "importance".
        """
        d, values = self.design, self.values
        mean = mean_of(
            values, draws, d.p, d.q, estimator=estimator, deviation=d.deviation,
            known=d.known(values), all_count=d.graded.all_count,
        )  # fmt: skip
        if anytime:
            game = self._game(draws, estimator)
            interval, sure = sequence(game, confidence), certainty_so_far(game)
        else:
            interval, sure = bootstrap_interval(mean, confidence), certainty(mean)
        paid = float(d.costs[np.unique(draws)].sum()), d.draw_cost
        found = to_estimate(mean, draws, ~np.isnan(values[draws]), confidence, interval, paid)
        return replace(found, anytime=anytime, passive_cost=self._passive_cost(mean)), sure

    def _game(self, draws: np.ndarray, estimator: str) -> Game:
        d, values = self.design, self.values
        make = with_repeats if estimator == "importance" else without_repeats
        bounds = d.bounds(self.first, self.second)
        return make(values, draws, d.p, d.q, bounds, not d.graded.all_count, d.known(values))

    def _passive_cost(self, mean: Mean) -> float | None:
        """Expected cost of uniform draws without replacement with the same standard error."""
        if not (mean.standard_error > 0 and mean.variance > 0):
            return None
        p = np.where(self.design.q > 0, self.design.p, 0.0)
        p /= p.sum()
        # The variance of n of N draws without replacement is that of one times 1 / n - 1 / N.
        n = 1 / (mean.standard_error**2 / mean.variance + float(p @ p))
        return n * float(p @ self.design.costs)

    def exact(self, draws: np.ndarray, confidence: float) -> Estimate:
        """The mean over a pool that is labelled completely."""
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
        found = []
        for step, end in enumerate(ends):
            drawn = draws[:end] if estimator == "importance" else once[: step + 1]
            found.append(self.estimate(drawn, confidence, estimator, anytime)[0])
        if complete:
            found[-1] = self.exact(once, confidence)
        return {
            "query": self.design.queries.ids[once],
            "cost": np.cumsum(self.design.costs[once]),
            "value": np.array([estimate.value for estimate in found]),
            "low": np.array([estimate.interval[0] for estimate in found]),
            "high": np.array([estimate.interval[1] for estimate in found]),
        }
