"""An estimated mean over a pool of queries, of which only drawn queries are labelled.

A *draw* chooses one query at random. The value of a query is that of a metric, or the difference of
the metric for two rankers. The mean weights each query by its frequency p, the share of the query
among all queries that users send (by default equal). Queries are drawn with other probabilities q,
which make the estimate more accurate; the weight p / q of a draw corrects for the difference.

A query *counts* if its value is not NaN. With ``empty="skip"``, the value of a query without a
relevant document is NaN, and the mean is over the queries that count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check

# With fewer queries, intervals of values with a long tail had too low a coverage in simulations
# (benchmarks/active_campaigns.py).
_FEWEST_TYPICAL = 30  # queries of average cost
_FEWEST_COUNTED = 20  # queries of any cost


@dataclass(frozen=True, repr=False)
class Estimate:
    """An estimate of the mean value over the pool.

    Attributes
    ----------
    value : float
        The estimated mean; NaN if none of the drawn queries counts.
    standard_error : float
        Standard error of `value`; NaN if fewer than two draws count, 0 if the whole pool is
        labelled.
    interval : (float, float)
        Confidence interval, by the bootstrap of Student's t. Infinite if the error is unknown: at
        most one draw counts, or all values are equal. `caution` reports an uncertain coverage.
    confidence : float
        Nominal coverage of the interval.
    n_queries : int
        Number of labelled queries in the estimate.
    n_counted : int
        Queries that count: with ``empty="skip"``, those with a relevant document.
    n_typical : float
        `n_counted` times the mean cost of the labelled queries, divided by the expected cost of a
        draw, the sum of q times the cost of labelling.
    effective_sample_size : float
        ``sum(w)**2 / sum(w**2)`` over the draws that count: number of equally weighted draws with
        the same variance.
    n_waiting : int
        Labelled queries that are not used yet, because an earlier draw has no labels.
    cost : float
        Cost of all labels so far, also of those that wait.
    passive_cost : float or None
        Expected cost of uniform draws without replacement with the same standard error; None if the
        error is unknown.
    complete : bool
        True if the whole pool is labelled, so that the value is exact.
    names : tuple of str
        The ranker; of a difference, the two rankers, of which the second is subtracted.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    n_queries: int
    n_counted: int
    n_typical: float
    effective_sample_size: float
    n_waiting: int
    cost: float
    passive_cost: float | None
    complete: bool
    names: tuple[str, ...] = ()

    @property
    def saved(self) -> float | None:
        """``passive_cost - cost``: the cost saved in comparison with uniform draws."""
        return None if self.passive_cost is None else self.passive_cost - self.cost

    @property
    def caution(self) -> str | None:
        """Why there is no estimate, its interval is infinite, or covers too little; else None.

        There is no estimate if no drawn query counts. The interval is infinite if one draw counts,
        or if all values are equal. It may contain the mean less often than stated if fewer than 20
        queries count, or if their labels cost less than those of 30 queries of average cost. If the
        whole pool is labelled, the only caution is that no query counts.
        """
        if self.n_counted == 0:
            return "no drawn query has a relevant document"
        if self.complete:
            return None
        if self.n_counted == 1:
            return "a single draw counts, so the error is unknown"
        if math.isinf(self.interval[0]):  # then both ends are infinite
            return "the values of all draws are equal, so the error is unknown"
        if are_few(self.n_counted, self.n_typical):
            found = f"only {self.n_counted} queries count"
            if self.n_typical != self.n_counted:
                found += f", at the cost of {math.floor(self.n_typical)} average queries"
            return (
                f"{found}: too few to show long tails, so that the interval may contain the mean "
                f"in less than {100 * self.confidence:.4g}% of campaigns"
            )
        return None

    def __repr__(self) -> str:
        low, high = self.interval
        difference = ""
        if len(self.names) == 2:
            leader = self.names[0 if self.value > 0 else 1]
            who = f"{leader} is ahead" if abs(self.value) > 0 else "no ranker is ahead"
            difference = f"{who}: {' - '.join(self.names)} = "
        text = (
            f"{difference}{self.value:.4f} ± {self.standard_error:.4f}, "
            f"{100 * self.confidence:.4g}% interval [{low:.4f}, {high:.4f}], "
            f"{check.counted(self.n_queries, 'query', 'queries')} at cost {self.cost:g}"
        )
        if self.passive_cost is not None:
            text += f" (uniform draws: {self.passive_cost:.0f})"
        return text if self.caution is None else f"{text}\ncaution: {self.caution}"


def typical_number(
    n_counted: ArrayLike, n_queries: ArrayLike, cost: ArrayLike, draw_cost: float
) -> np.ndarray:
    """`Estimate.n_typical` of a single estimate, or of arrays of estimates.

    ``cost / n_queries`` is the mean cost of the drawn queries, and `draw_cost` the expected cost of
    a draw. Queries that do not count are taken to cost as much as the others. A budget buys more
    queries when they happen to be cheap, and cheap queries may have other values than expensive
    queries. The cost therefore measures the information better than the number.
    """
    number = np.asarray(n_counted) * np.asarray(cost) / (draw_cost * np.maximum(n_queries, 1))
    return np.asarray(number).round(9)  # exactly n_counted if all queries cost the same


def are_few(n_counted: ArrayLike, n_typical: ArrayLike) -> np.ndarray:
    """True if so few queries count that the coverage of an interval is uncertain."""
    return np.less(n_counted, _FEWEST_COUNTED) | np.less(n_typical, _FEWEST_TYPICAL)
