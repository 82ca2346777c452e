"""Metrics by a Python function of one ranked list, with exact means over ties. They are slow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Tables

if TYPE_CHECKING:
    from skrank._engine.judgments import Judgments

MOST_ORDERS = 10_000  # most orders of tied documents of a query


@dataclass(frozen=True, eq=False)
class GenericTables(Tables):
    """The value of a function; for ties, its mean over all orders, which are enumerated.

    Parameters
    ----------
    name : str
        Name of the metric, for messages.
    function : function of (ranked, unretrieved)
        Its arguments are the labels of the first k ranks, and the labels of the documents that are
        not in the list.
    labels : ndarray (n_codes,)
        Label of each code, as the function gets it.
    found : bool ndarray (n_codes,)
        Whether documents of a code are relevant.
    unjudged : int
        Documents that were not judged have this code or a higher code.
    k : int or None
        Number of ranks that the function gets; None for all.
    ids : ndarray (n_queries,)
        Ids of the queries, for messages.
    """

    name: str
    function: Callable[[np.ndarray, np.ndarray], object]
    labels: np.ndarray
    found: np.ndarray
    unjudged: int
    k: int | None
    ids: np.ndarray

    @property
    def relevant(self) -> np.ndarray:
        return self.found

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.zeros(len(inverse))
        for query in np.flatnonzero(inverse).tolist():
            start, end = ranked.indptr[query : query + 2]
            shown = start + ranked.retrieved[query]
            left = ranked.codes[shown:end]
            left = self.labels[left[left < self.unjudged]]
            k = shown - start if self.k is None else min(self.k, shown - start)
            orders = orders_of_ties(ranked.codes[start:shown], ranked.tied[start:shown], k)
            if orders is None:
                raise check.too_many_orders(self.name, self._query(query), MOST_ORDERS)
            values = [self._value(self.labels[codes], left, query) for codes in orders.lists]
            out[query] = inverse[query] * float(orders.chances @ values)
        return out

    def _value(self, labels: np.ndarray, left: np.ndarray, query: int) -> float:
        value = self.function(labels, left.copy())
        return check.list_value(value, self.name, self._query(query), labels)

    def _query(self, query: int) -> str:
        return show(self.ids[query])

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Raises: the best list is not known."""
        raise TypeError(f"{self.name} is a function of one list: its best value is not known.")


class Orders(NamedTuple):
    """Lists without ties, one per row, and the probability of each."""

    lists: np.ndarray
    chances: np.ndarray


def orders_of_ties(codes: np.ndarray, tied: np.ndarray, k: int) -> Orders | None:
    """The distinct lists of `k` codes over all orders of ties; None if there are too many.

    The next document of a block of ties has each code with a probability proportional to the number
    of documents of the code that remain in the block. Orders that differ only below rank `k`, or
    only in documents of one code, give the same list.
    """
    lists, chances = np.empty((1, k), codes.dtype), np.ones(1)
    for low, high in pairwise(np.append(np.flatnonzero(tied == 0), len(codes))):
        kinds, counts = np.unique(codes[low:high], return_counts=True)
        if len(kinds) == 1:
            lists[:, low:high] = kinds[0]
            continue
        left = np.tile(counts, (len(lists), 1))
        for rank in range(low, min(high, k)):
            which, kind = np.nonzero(left)
            if len(which) > MOST_ORDERS:
                return None
            chances = chances[which] * left[which, kind] / (high - rank)
            lists, left = lists[which], left[which]
            lists[:, rank] = kinds[kind]
            left[np.arange(len(which)), kind] -= 1
    return Orders(lists, chances)
