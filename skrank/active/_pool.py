"""The pool: queries with ranked documents that can be labelled, their labels, costs and shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.extending import Queries, require_groups

Costs: TypeAlias = str | ArrayLike | Mapping[object, float]


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents to label, grouped by query.

    Attributes
    ----------
    queries : Queries
        Queries of the rows; the rows of a query are contiguous.
    rows : int64 ndarray (n_rows,)
        Row of each document in the arrays of the caller.
    scores : float64 ndarray (n_rankers, n_rows)
    seed : int
        Seed of the order of tied documents, which is random as the order of rows may leak labels.
    """

    queries: Queries
    rows: np.ndarray
    scores: np.ndarray
    seed: int

    @cached_property
    def by_rank(self) -> np.ndarray:
        """Row of the document at each rank of each query, of shape (n_rankers, n_rows)."""
        random = np.random.RandomState(self.seed).random_sample(self.queries.n_rows)
        query = self.queries.row_query
        return np.stack([np.lexsort((random, -scores, query)) for scores in self.scores])

    def ranked(self, ranker: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the first `depth` documents of each query, and which of them are retrieved."""
        places = self.queries.indptr[:-1, None] + np.arange(depth)
        inside = np.arange(depth) < self.queries.sizes[:, None]
        rows = self.by_rank[ranker][np.where(inside, places, 0)]
        return rows, inside & (self.scores[ranker][rows] > -np.inf)

    def first(self, depth: int) -> Pool:
        """The pool with documents that some ranker may put among its first `depth` documents.

        Each query must have such a document.
        """
        needed = np.zeros(self.queries.n_rows, np.bool_)
        row = np.arange(self.queries.n_rows)
        rank = row - np.repeat(self.queries.indptr[:-1], self.queries.sizes)  # from 0
        for scores, by_rank in zip(self.scores, self.by_rank, strict=True):
            ordered = scores[by_rank]
            # a tied document may have any rank of its group of ties: the first rank counts
            begins = np.append(True, ordered[1:] != ordered[:-1]) | (rank == 0)
            first = np.maximum.accumulate(np.where(begins, row, 0))
            reached = (rank[first] < depth) & (ordered > -np.inf)
            needed[by_rank[reached]] = True
        counts = self.count(needed)
        if not counts.all():
            query = self.queries.name(int(np.argmin(counts)))
            raise ValueError(
                f"query {query} has no document with a score above -inf, so its value is 0 for all "
                "labels: leave this query out of the pool."
            )
        queries = Queries(self.queries.ids, np.concatenate(([0], np.cumsum(counts))))
        return Pool(queries, self.rows[needed], self.scores[:, needed], self.seed)

    def count(self, mask: np.ndarray) -> np.ndarray:
        """Number of documents of each query in a mask of rows."""
        return np.add.reduceat(mask, self.queries.indptr[:-1], dtype=np.int64)


def make_pool(scores: list[ArrayLike], groups: ArrayLike | None, seed: int, who: str) -> Pool:
    """The pool of all rows, from one vector of scores per ranker; messages name `who`."""
    vectors = [check.as_vector("scores", s) for s in scores]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError(
            f"the rankers score {' and '.join(str(len(v)) for v in vectors)} rows: score the same "
            "rows, with -inf where a ranker did not retrieve a document."
        )
    for vector in vectors:
        if (row := check.first(~(vector < np.inf))) >= 0:  # NaN, too
            raise check.bad_score(float(vector[row]), row)
    queries = Queries.from_groups(require_groups(groups, scores[0], who=who))
    rows = queries.gather(np.arange(queries.n_rows))
    # without `queries.order`, since the arrays of the pool are contiguous by query
    return Pool(Queries(queries.ids, queries.indptr), rows, np.stack(vectors)[:, rows], seed)


def cost_per_query(costs: Costs, pool: Pool, is_open: np.ndarray, n_rows: int) -> np.ndarray:
    """Cost of labelling the unlabelled rows of each query: their number, or a sum of costs."""
    n_open = pool.count(is_open)
    if isinstance(costs, str):
        check.check_choice("costs", costs, ("items",))
        return n_open.astype(np.float64)
    if isinstance(costs, Mapping):
        per_query = _by_query("costs", costs, pool.queries)
        return np.where(n_open > 0, check.check_costs("costs", per_query, len(n_open)), 0.0)
    per_row = check.check_costs("costs", costs, n_rows, "one per row, or a dict from query to cost")
    return np.add.reduceat(np.where(is_open, per_row[pool.rows], 0.0), pool.queries.indptr[:-1])


def frequency_per_query(frequencies: Mapping[object, float] | None, queries: Queries) -> np.ndarray:
    """Share of each query among all queries that users send."""
    if frequencies is None:
        return np.full(len(queries), 1 / len(queries))
    shares = _by_query("frequencies", frequencies, queries)
    return check.check_frequencies("frequencies", shares, len(queries))


def _by_query(name: str, values: Mapping[object, float], queries: Queries) -> np.ndarray:
    """Numbers of a mapping in the order of the queries."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}={check.brief(values)} must map each query to a number.")
    ids = queries.ids.tolist()
    if missing := [query for query in ids if query not in values]:
        raise ValueError(f"{name} has no number for query {missing[0]!r}.")
    return check.as_vector(name, [values[query] for query in ids])


def item_ids(items: ArrayLike | None, pool: Pool, n_rows: int) -> np.ndarray | None:
    """Ids of the documents of the pool, from those of all rows; None if there are none."""
    if items is None:
        return None
    import pandas as pd

    ids = check.as_ids("items", items, n_rows, "item")[pool.rows]
    query = pool.queries.row_query
    again = np.flatnonzero(pd.DataFrame({"query": query, "item": ids}).duplicated())
    if len(again):
        name = pool.queries.name(query[again[0]])
        raise ValueError(f"item {ids.tolist()[again[0]]!r} of items is twice in query {name}.")
    return ids


def known_labels(labels: ArrayLike | None, grades: np.ndarray, n_rows: int) -> np.ndarray:
    """Known labels, NaN if unknown; raises an error for labels that are not grades."""
    if labels is None:
        return np.full(n_rows, np.nan)
    known = check.as_vector("labels", labels, n_rows)
    wrong = np.flatnonzero(~np.isnan(known) & ~np.isin(known, grades))
    if len(wrong):
        raise ValueError(
            f"label {known[wrong[0]]:g} of row {wrong[0]} is not one of the grades "
            f"{check.brief(grades.tolist())}: pass all grades=, and NaN for unknown labels."
        )
    return known
