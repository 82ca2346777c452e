"""From draws and values to an estimate: of the mean of a ranker, or of a difference of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.cached import cached_property
from skrank.active._anytime import certainty_so_far, repeated_game, sequence, single_game
from skrank.active._bounds import difference_bounds, value_bounds
from skrank.active._estimate import Estimate, passive_variance, to_estimate
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._setup import Setup
from skrank.active._weighing import Mean, mean_of


@dataclass(frozen=True)
class Way:
    """How to estimate: coverage of the interval, weights of draws, fixed or anytime intervals."""

    confidence: float
    estimator: str
    anytime: bool


@dataclass(frozen=True, eq=False)
class Contest:
    """What is estimated: the mean of `first`, or its difference to `second`.

    `scored` holds the value of each ranker on each query that is labelled, NaN for the others.
    """

    setup: Setup
    scored: np.ndarray
    first: int
    second: int | None

    @cached_property
    def values(self) -> np.ndarray:
        """Value or difference of each query; NaN if it does not count, or is not labelled."""
        value = self.scored[self.first]
        return value if self.second is None else value - self.scored[self.second]

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Between what the value of each query lies."""
        form, pool, found = self.setup.form, self.setup.pool, self.setup.bounds
        key = self.first, self.second
        if key not in found and self.second is not None:
            found[key] = difference_bounds(form, pool, self.first, self.second)
        elif key not in found:
            low, high = value_bounds(form, pool)
            found[key] = low[self.first], high[self.first]
        return found[key]


def judge(of: Contest, draws: np.ndarray, way: Way) -> tuple[Estimate, float]:
    """The estimate from some draws, and the highest confidence whose interval leaves out 0.

    With "lure" every query is drawn once, in the order of `draws`.
    """
    d, values, known = of.setup.design, of.values, of.setup.known_of(of.values)
    mean = mean_of(values, draws, d.p, d.q, way.estimator, of.setup.deviation, known)
    if way.anytime:
        make = single_game if way.estimator == "lure" else repeated_game
        may_not_count = of.setup.form.metric.empty == "skip"
        game = make(values, draws, d.p, d.q, of.bounds, may_not_count, known)
        interval, sure = sequence(game, way.confidence), certainty_so_far(game)
    else:
        interval, sure = bootstrap_interval(mean, way.confidence), certainty(mean)
    paid = float(d.costs[np.unique(draws)].sum()), d.draw_cost
    found = to_estimate(mean, draws, ~np.isnan(values[draws]), way.confidence, interval, paid)
    passive = _passive_cost(of, draws, mean)
    return replace(found, anytime=way.anytime, passive_cost=passive), sure


def steps(of: Contest, draws: np.ndarray, way: Way, complete: bool) -> dict[str, np.ndarray]:
    """The estimate after each new query of some draws with replacement, as columns."""
    new = np.sort(np.unique(draws, return_index=True)[1])
    once, ends = draws[new], np.append(new[1:], len(draws))
    found = [
        judge(of, once[: step + 1] if way.estimator == "lure" else draws[:end], way)[0]
        for step, end in enumerate(ends)
    ]
    if complete:
        found[-1] = exact(of, once, way.confidence)
    return {
        "query": of.setup.queries.ids[once],
        "cost": np.cumsum(of.setup.design.costs[once]),
        "value": np.array([estimate.value for estimate in found]),
        "low": np.array([estimate.interval[0] for estimate in found]),
        "high": np.array([estimate.interval[1] for estimate in found]),
    }


def exact(of: Contest, draws: np.ndarray, confidence: float) -> Estimate:
    """The mean over the pool, all of which is labelled."""
    p, n = of.setup.design.p, len(draws)
    counts = ~np.isnan(of.values)
    n_counted = int(np.count_nonzero(counts[draws]))
    mass = float(p @ counts)
    value = float(p @ np.where(counts, of.values, 0.0) / mass) if mass > 0 else math.nan
    size = float(mass**2 / (p[counts] @ p[counts])) if mass > 0 else 0.0
    return Estimate(
        value, 0.0, (value, value), confidence, n, n_counted, n, n_counted, n_counted, size,
        complete=True,
    )  # fmt: skip


def _passive_cost(of: Contest, draws: np.ndarray, mean: Mean) -> float | None:
    """Cost at which uniform draws are expected to reach the same standard error."""
    if not mean.standard_error > 0:
        return None
    d = of.setup.design
    variance = passive_variance(of.values[draws], d.p[draws] / d.q[draws], mean.value)
    n = variance / mean.standard_error**2
    return float(d.costs @ (1 - (1 - d.p) ** n))  # repeated draws are free
