"""The draws of a campaign, and what their labels cost."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

_BLOCK = 1024  # draws made at once
_MOST_DRAWS = 2**24  # kept in memory: 128 MiB


class Draws:
    """The endless sequence of queries drawn with replacement; the same for the same seed.

    numpy promises that the stream of ``RandomState`` never changes, so that a campaign that is
    saved today continues alike in years.
    """

    def __init__(self, q: np.ndarray, seed: int) -> None:
        cumulative = np.cumsum(q)
        self._cumulative = cumulative / cumulative[-1]
        self._random = np.random.RandomState(seed)
        self._drawn = np.empty(0, np.int64)

    def first(self, n: int) -> np.ndarray:
        """The first `n` draws."""
        while len(self._drawn) < n:
            uniform = self._random.random_sample(max(_BLOCK, len(self._drawn)))
            more = np.searchsorted(self._cumulative, uniform, side="right")
            self._drawn = np.concatenate((self._drawn, more))
        return self._drawn[:n]

    def next_outside(self, seen: np.ndarray, start: int) -> int:
        """Place, from `start` on, of the first draw that is not in `seen`; some must be left."""
        while start < _MOST_DRAWS:
            self.first(start + _BLOCK)
            fresh = np.flatnonzero(~seen[self._drawn[start:]])
            if len(fresh):
                return start + int(fresh[0])
            start = len(self._drawn)
        raise ValueError(
            f"{_MOST_DRAWS} draws gave no other query: the probabilities of those that are left "
            "are next to nothing. Raise mixing, or stop here."
        )

    def last_of(self, queries: Collection[int]) -> int:
        """Place of the draw by which all of these queries have been drawn."""
        seen = np.ones(len(self._cumulative), np.bool_)
        seen[list(queries)] = False
        place = 0
        while not seen.all():
            place = self.next_outside(seen, place)
            seen[self._drawn[place]] = True
        return place

    def distinct(self, n: int) -> np.ndarray:
        """The first `n` different queries, in the order of their first draws."""
        seen = np.diff(self._cumulative, prepend=0.0) <= 0
        queries = np.empty(min(n, int(np.count_nonzero(~seen))), np.int64)
        place = 0
        for number in range(len(queries)):
            place = self.next_outside(seen, place)
            queries[number] = self._drawn[place]
            seen[queries[number]] = True
        return queries

    def affordable(self, costs: np.ndarray, budget: float) -> int:
        """Number of draws that a budget pays for, up to the first one that it does not."""
        possible = np.diff(self._cumulative, prepend=0.0) > 0
        if fits(costs[possible].sum(), budget):
            raise ValueError(
                f"budget={budget:g} pays for the whole pool: label it all, nothing is drawn."
            )
        n = _BLOCK
        while True:
            within = fits(running_cost(self.first(n), costs), budget)
            if not np.all(within):
                return int(np.argmin(within))
            n *= 2


def first_draws(draws: np.ndarray) -> np.ndarray:
    """The different queries in the order of their first draws: drawn without replacement."""
    return draws[np.sort(np.unique(draws, return_index=True)[1])]


def running_cost(draws: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Cost after each draw: a query is paid for when it comes first, then looked up."""
    first = np.full(len(costs), -1)
    first[draws[::-1]] = np.arange(len(draws))[::-1]  # the last one written is the first draw
    paid = np.where(first[draws] == np.arange(len(draws)), costs[draws], 0.0)
    return np.cumsum(paid)


def typical(
    n_distinct: np.ndarray | int,
    n_queries: np.ndarray | int,
    cost: np.ndarray | float,
    draw_cost: float,
) -> np.ndarray:
    """As many of the queries that count as their cost pays for, were they of average cost.

    A budget pays for many queries where they happen to be cheap, and to go by their number would
    pick these campaigns. What was paid is much the same in all campaigns of a budget.
    """
    number = n_distinct * np.asarray(cost) / (draw_cost * np.maximum(n_queries, 1))
    return np.asarray(number).round(9)  # queries of equal cost are of average cost


def fits(cost: float | np.ndarray, budget: float | np.ndarray) -> bool | np.ndarray:
    """Whether a sum of costs is within the budget, rounding aside."""
    return cost <= budget * (1 + 1e-12)
