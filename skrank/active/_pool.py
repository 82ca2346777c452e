"""The pool: queries with ranked documents that can be labelled, their labels and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups, show
from skrank._engine.queries import Queries, check_scores, rank_scores
from skrank._engine.threads import cached_property, run_chunks

Costs: TypeAlias = str | ArrayLike | Mapping[object, float]


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents to label, grouped by query, and their ranks.

    Attributes
    ----------
    queries : Queries
        Queries of the rows; the rows of a query are contiguous.
    rows : int64 ndarray (n_rows,)
        Row of each document in the arrays of the caller.
    scores : float64 ndarray (n_rankers, n_rows)
    order : int32 ndarray (n_rankers, n_rows)
        At rank r of a query, the position of the document in the query. Ties are in random order.
    tied : uint8 ndarray (n_rankers, n_rows)
        1 if the document at rank r is tied with the document at rank r - 1.
    retrieved : int64 ndarray (n_rankers, n_queries)
        Number of documents with a score above -inf.
    """

    queries: Queries
    rows: np.ndarray
    scores: np.ndarray
    order: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray

    @cached_property
    def start(self) -> np.ndarray:
        """First row of the query of each row."""
        return np.repeat(self.queries.indptr[:-1], self.queries.sizes)

    @cached_property
    def rank(self) -> np.ndarray:
        """Position of each row in its query: the rank, from 0, of entries of `order`."""
        return np.arange(self.queries.n_rows) - self.start

    def is_retrieved(self, ranker: int) -> np.ndarray:
        """True for entries of `order` whose document has a score above -inf."""
        return self.rank < np.repeat(self.retrieved[ranker], self.queries.sizes)

    def by_rank(self, ranker: int) -> np.ndarray:
        """Row of the document of each entry of `order`."""
        return self.start + self.order[ranker]

    def rows_of(self, query: int) -> slice:
        """Rows of the documents of a query."""
        return slice(int(self.queries.indptr[query]), int(self.queries.indptr[query + 1]))

    def of_rankers(self, rankers: list[int]) -> Pool:
        """The pool with these rankers only."""
        return replace(
            self,
            scores=self.scores[rankers],
            order=self.order[rankers],
            tied=self.tied[rankers],
            retrieved=self.retrieved[rankers],
        )

    def of_rows(self, needed: np.ndarray, seed: int) -> Pool:
        """The pool with the documents in the mask `needed`, at least one per query."""
        counts = np.add.reduceat(needed, self.queries.indptr[:-1], dtype=np.int64)
        if not counts.all():
            query = self.queries.name(int(np.argmin(counts)))
            raise ValueError(
                f"query {query} has no document with a score above -inf, so its value is 0 for all "
                "labels: leave this query out of the pool."
            )
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        queries = Queries(self.queries.ids, indptr)
        return rank(queries, self.rows[needed], self.scores[:, needed], seed)


def rank(queries: Queries, rows: np.ndarray, scores: np.ndarray, seed: int) -> Pool:
    """Sort contiguous scores. Ties get a random order, as the order of rows may leak labels."""
    from skrank._kernels import ranking

    scores = np.ascontiguousarray(scores)
    order = np.empty(scores.shape, np.int32)
    tied = np.empty(scores.shape, np.uint8)
    retrieved = np.empty((len(scores), len(queries)), np.int64)
    original = Queries(queries.ids, queries.indptr, rows)  # error messages name the caller's rows
    for r in range(len(scores)):
        check_scores(original, scores[r])
        order[r], tied[r], retrieved[r] = rank_scores(original, scores[r])
        run_chunks(ranking.shuffle_ties, queries.indptr, tied[r], None, seed, 0, order[r])
    return Pool(queries, rows, scores, order, tied, retrieved)


def make_pool(scores: list[ArrayLike], groups: ArrayLike | None, seed: int, who: str) -> Pool:
    """The pool of all rows, from one vector of scores per ranker; messages name `who`."""
    vectors = [check.as_vector("scores", s) for s in scores]
    if len({len(v) for v in vectors}) > 1:
        lengths = " and ".join(str(len(v)) for v in vectors)
        raise ValueError(
            f"the rankers score {lengths} rows: score the same rows, with -inf where a ranker did "
            "not retrieve a document."
        )
    ids = require_groups(groups, scores[0], who=who)
    _check_length("groups", ids, len(vectors[0]))
    queries = Queries.from_groups(ids)
    rows = np.arange(queries.n_rows) if queries.order is None else queries.order
    contiguous = np.stack([queries.gather(v) for v in vectors])
    named = Queries(storable_ids("query ids", queries.ids), queries.indptr)
    return rank(named, rows, contiguous, seed)


def cost_per_query(costs: Costs, pool: Pool, is_open: np.ndarray, n_rows: int) -> np.ndarray:
    """Cost of labelling the unlabelled rows of each query: their number, or a sum of costs."""
    starts = pool.queries.indptr[:-1]
    if isinstance(costs, str):
        check.check_choice("costs", costs, ("items",))
        return np.add.reduceat(is_open, starts, dtype=np.float64)
    if isinstance(costs, Mapping):
        by_query = _by_query("costs", costs, pool.queries, zero=False)
        return np.where(np.logical_or.reduceat(is_open, starts), by_query, 0.0)
    per_row = check.as_vector("costs", costs)
    _check_length("costs", per_row, n_rows)
    bad = np.flatnonzero(~((per_row > 0) & np.isfinite(per_row)))
    if len(bad):
        raise ValueError(
            f"cost of row {bad[0]} is {per_row[bad[0]]}: costs must be positive and finite, for "
            "example the logarithm of the document's length plus one."
        )
    return np.add.reduceat(np.where(is_open, per_row[pool.rows], 0.0), starts)


def frequency_per_query(frequencies: Mapping[object, float] | None, queries: Queries) -> np.ndarray:
    """Share of each query among all queries that users send."""
    if frequencies is None:
        return np.full(len(queries), 1 / len(queries))
    shares = _by_query("frequencies", frequencies, queries, zero=True)
    if not shares.any():
        raise ValueError("all frequencies are 0: at least one must be above 0.")
    return shares / shares.sum()


def _by_query(
    name: str, values: Mapping[object, float], queries: Queries, *, zero: bool
) -> np.ndarray:
    """Numbers of a mapping in the order of the queries; 0 is allowed if `zero` is True."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}={values!r} must map each query to a number.")
    out = np.empty(len(queries))
    for q, query in enumerate(queries.ids.tolist()):
        if query not in values:
            raise ValueError(f"{name} has no entry for query {show(query)}: pass all queries.")
        number = values[query]
        is_number = isinstance(number, (int, float, np.integer, np.floating))
        if not (is_number and 0 <= number <= 1e300 and (zero or number > 0)):
            bound = "at least 0" if zero else "positive"
            raise ValueError(f"{name} of query {show(query)} is {number}: it must be {bound}.")
        out[q] = number
    return out


def storable_ids(name: str, values: ArrayLike) -> np.ndarray:
    """Ids as an array that can be saved without pickling: all numbers or all strings."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    kinds = {type(value) for value in array.tolist()}
    if len(kinds) > 1 or not kinds <= {str, int}:
        kinds_text = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name} are of type {kinds_text}: make all of them str, or all int.")
    return np.array(array.tolist())


def item_ids(items: ArrayLike | None, pool: Pool, n_rows: int) -> np.ndarray | None:
    """Ids of the documents of the pool, from those of all rows; None if there are none."""
    if items is None:
        return None
    import pandas as pd

    ids = storable_ids("items", check.as_ids("items", items, n_rows, "item"))[pool.rows]
    query = pool.queries.row_query
    again = np.flatnonzero(pd.DataFrame({"query": query, "item": ids}).duplicated())
    if len(again):
        row = again[0]
        raise ValueError(
            f"item {show(ids[row])} occurs more than once in query "
            f"{pool.queries.name(query[row])}: give each document of a query its own id, because "
            "labels refer to ids."
        )
    return ids


def given_labels(labels: ArrayLike | None, grades: np.ndarray, n_rows: int) -> np.ndarray:
    """Known labels, NaN if unknown; raises an error for labels that are not grades."""
    if labels is None:
        return np.full(n_rows, np.nan)
    given = check.as_vector("labels", labels)
    _check_length("labels", given, n_rows)
    wrong = np.flatnonzero(~np.isnan(given) & ~np.isin(given, grades))
    if len(wrong):
        raise ValueError(
            f"label {given[wrong[0]]:g} of row {wrong[0]} is not one of the grades "
            f"{grades.tolist()}: pass all grades= that a label may have, and NaN for unknown "
            "labels."
        )
    return given


def _check_length(name: str, values: np.ndarray, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries for {n_rows} rows: give one per row.")
