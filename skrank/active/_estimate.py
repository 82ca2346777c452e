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
from skrank.active._means import Mean

# Beyond these limits, intervals covered less than .93 in simulated pools with long tails, or in
# which most values are equal (benchmarks/active_campaigns.py, table "cautions").
_FEWEST = 25  # queries that count, and queries of average cost
_FEWEST_UNLIKE = 5  # queries that differ from the most common value
_LARGEST = 0.5  # part of a single query in the squared error


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
        most one draw counts, or all values are equal.
    confidence : float
        Nominal coverage of the interval.
    n_queries : int
        Number of labelled queries in the estimate.
    n_counted : int
        Queries that count: with ``empty="skip"``, those with a relevant document.
    n_typical : float
        With a budget, `n_counted` times the mean cost of the labelled queries, divided by the
        expected cost of a draw, the sum of q times the cost of labelling. Without, `n_counted`.
    n_waiting : int
        Labelled queries that are not used yet, because an earlier draw has no labels.
    cost : float
        Cost of all labels so far, also of those that wait.
    passive_cost : float or None
        Expected cost of uniform draws without replacement with the same standard error; None if the
        error is unknown.
    complete : bool
        True if the whole pool is labelled, so that the value is exact.
    caution : str or None
        Why there is no estimate, its interval is infinite, or may contain the mean less often than
        stated: fewer than 25 queries count; their labels cost less than those of 25 draws of
        average cost, if the campaign has a budget; fewer than 5 queries differ from the most common
        value; or a single query makes up more than half of the squared error.
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
    n_waiting: int
    cost: float
    passive_cost: float | None
    complete: bool
    caution: str | None
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        low, high = self.interval
        difference = ""
        if len(self.names) == 2:
            leader = self.names[0 if self.value > 0 else 1]
            who = f"{leader} is ahead" if abs(self.value) > 0 else "no ranker is ahead"
            difference = f"{who}: {' - '.join(self.names)} = "
        text = (
            f"{difference}{self.value:.4f} ± {self.standard_error:.4f} (standard error), "
            f"{100 * self.confidence:.4g}% interval [{low:.4f}, {high:.4f}], "
            f"{check.counted(self.n_queries, 'query', 'queries')} at cost {self.cost:g}"
        )
        if self.passive_cost is not None:
            text += f" (uniform draws for this error: about {self.passive_cost:.0f})"
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


def caution_of(mean: Mean, n_typical: float, confidence: float = 0.95) -> str | None:
    """`Estimate.caution` of a mean of a part of the pool."""
    n = mean.n_counted
    if n == 0:
        return "no drawn query has a relevant document"
    if not mean.is_bounded:
        reason = "a single draw counts" if n == 1 else "the values of all draws are equal"
        return f"{reason}, so the error is unknown"
    if n < _FEWEST:
        fact = f"only {n} queries count"
    elif n_typical < _FEWEST:
        fact = f"the labels of {n} queries cost as much as {math.floor(n_typical)} average draws"
    elif mean.n_unlike < _FEWEST_UNLIKE:
        fact = f"only {mean.n_unlike} of {n} queries differ from the most common value"
    elif mean.largest > _LARGEST:
        fact = f"one query makes up {mean.largest:.0%} of the squared error"
    else:
        return None
    return (
        f"{fact}: the interval may contain the mean in less than {100 * confidence:.4g}% of "
        "campaigns"
    )
