"""Rows of each query, made contiguous in memory, and the order that scores give to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import ranking
from skrank._kernels.ranking import NO_TIE, Contributing, Ranked, RankedRows


def slices(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate slices ``start : start + size``.

    Returns the edges of the slices in the result, and their rows: [0, 2, 3] and [5, 6, 0] for the
    starts [5, 0] and the sizes [2, 1].
    """
    edges = np.concatenate(([0], np.cumsum(sizes)))
    return edges, np.arange(edges[-1]) + np.repeat(starts - edges[:-1], sizes)


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows of each query, made contiguous.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Query ids in the order of their first row.
    indptr : int64 ndarray of shape (n_queries + 1,)
        First row of each query, in contiguous order, and the end.
    order : int64 ndarray of shape (n_rows,) or None
        Caller's row of each contiguous row; None when they are the same.
    first_query, first_row : int
        Numbers of the first query and row among all queries, if this is a block of queries. Seeds
        of random draws depend on these numbers, so that blocks do not change the draws.
    """

    ids: np.ndarray
    indptr: np.ndarray
    order: np.ndarray | None = None
    first_query: int = 0
    first_row: int = 0

    @classmethod
    def from_groups(cls, groups: np.ndarray) -> Queries:
        """Queries of per-row ids, in any order; one stable sort unless already contiguous."""
        changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        starts = np.concatenate(([0], changes)).astype(np.int64)
        ids = groups[starts]
        indptr = np.append(starts, len(groups)).astype(np.int64)
        if ids.dtype != object and (ids[1:] > ids[:-1]).all():  # seen without importing pandas
            return cls(ids, indptr)

        import pandas as pd

        if len(pd.unique(ids)) == len(ids):
            return cls(ids, indptr)
        codes, ids = pd.factorize(groups)
        order = np.argsort(codes, kind="stable").astype(np.int64)
        indptr = np.concatenate(([0], np.cumsum(np.bincount(codes)))).astype(np.int64)
        return cls(np.asarray(ids), indptr, order)

    @classmethod
    def from_sizes(cls, sizes: np.ndarray) -> Queries:
        """Queries of consecutive rows, numbered from 0."""
        indptr = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=indptr[1:])
        return cls(np.arange(len(sizes)), indptr)

    @classmethod
    def single(cls, n_rows: int) -> Queries:
        """All rows as one query."""
        return cls.from_sizes(np.array([n_rows]))

    def block(self, queries: slice) -> Queries:
        """Some consecutive queries of these, with their contiguous rows.

        `order` has rows of all queries, so that errors name them: a block with it cannot `gather`
        or `scatter`.
        """
        first, last, _ = queries.indices(len(self))
        start, stop = int(self.indptr[first]), int(self.indptr[last])
        return Queries(
            self.ids[queries],
            self.indptr[first : last + 1] - start,
            None if self.order is None else self.order[start:stop],
            self.first_query + first,
            self.first_row + start,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr[-1])

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each query."""
        return self.indptr[1:] - self.indptr[:-1]

    @cached_property
    def longest(self) -> int:
        """Number of rows of the longest query."""
        return int(self.sizes.max())

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Values per row in contiguous order."""
        return values if self.order is None else values[self.order]

    def scatter(self, values: np.ndarray) -> np.ndarray:
        """Values per contiguous row in the caller's order."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def centered(self, values: np.ndarray) -> np.ndarray:
        """Values per contiguous row, minus the mean of their query."""
        means = np.add.reduceat(values, self.indptr[:-1]) / self.sizes
        rest = np.repeat(means, self.sizes)
        return np.subtract(values, rest, out=rest)

    def name(self, query: int) -> str:
        """The id of a query by its number, for messages."""
        return show(self.ids[query])

    def caller_row(self, row: int) -> int:
        """The caller's number of a contiguous row."""
        return int(self.first_row + row if self.order is None else self.order[row])

    @property
    def row_query(self) -> np.ndarray:
        """Number of the query of each contiguous row."""
        return np.repeat(np.arange(len(self)), self.sizes)


@dataclass(frozen=True, eq=False)
class RankedCodes:
    """Codes in rank order, with ties and the number of retrieved documents: see `Ranked`."""

    indptr: np.ndarray
    codes: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray
    # codes that contribute (a mask), and what `contributing` found for them
    _found: list[tuple[np.ndarray, Contributing]] = field(
        default_factory=list, init=False, repr=False
    )

    @classmethod
    def untied(cls, indptr: np.ndarray, codes: np.ndarray, retrieved: np.ndarray) -> RankedCodes:
        """Codes in an order without ties."""
        ranked = cls(indptr, codes, np.zeros(len(codes), np.uint8), retrieved)
        vars(ranked)["_tie"] = np.full(len(retrieved), NO_TIE)  # the cached property
        return ranked

    @property
    def rows(self) -> RankedRows:
        """Argument `lists` or `out` of kernels that do not need the first tie of each query."""
        return RankedRows(self.codes, self.tied, self.retrieved)

    @property
    def lists(self) -> Ranked:
        """Argument `lists` of other kernels."""
        return Ranked(self.codes, self.tied, self.retrieved, self._tie)

    @cached_property
    def _tie(self) -> np.ndarray:
        """The first rank of each query that is tied with the one above, or `NO_TIE`."""
        tie = np.empty_like(self.retrieved)
        run_chunks(ranking.first_ties, self.indptr, self.tied, self.retrieved, tie)
        return tie

    @cached_property
    def without_ties(self) -> bool:
        """Whether no documents are tied."""
        return bool((self._tie == NO_TIE).all())

    @cached_property
    def all_retrieved(self) -> Contributing:
        """All retrieved documents: the ranks of each query start at index 0 of one array."""
        ranks = np.arange(self.retrieved.max(initial=0), dtype=np.uint32)
        return Contributing(ranks, np.zeros_like(self.retrieved), self.retrieved)

    def contributing(self, contributes: np.ndarray, *, find: bool = True) -> Contributing:
        """The retrieved documents that contribute, and maybe others; cached for other metrics.

        Parameters
        ----------
        contributes : bool ndarray (n_codes,)
            Whether documents of a code contribute to the value of a metric.
        find : bool
            Whether to search the documents if the cache lacks them. False: return all documents
            instead, which is faster for a sum of gains.
        """
        for covered, found in self._found:
            if covered[contributes].all():
                return found
        if not find:
            return self.all_retrieved
        ranks, count = np.empty(len(self.codes), np.uint32), np.empty_like(self.retrieved)
        found = Contributing(ranks, self.indptr[:-1], count)
        run_chunks(ranking.find_contributing, self.indptr, self.lists, contributes, found)
        self._found.append((contributes, found))
        return found


def rank_scores(queries: Queries, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort contiguous scores without NaN.

    Returns
    -------
    order : int32 ndarray of shape (n_rows,)
        Position in its query of the document at each rank.
    tied : uint8 ndarray of shape (n_rows,)
        By rank: 1 if the score equals the score of the rank above.
    retrieved : int64 ndarray of shape (n_queries,)
        Number of documents with a score above -inf.
    """
    order, tied = np.empty(len(scores), np.int32), np.empty(len(scores), np.uint8)
    retrieved = np.empty(len(queries), np.int64)
    run_chunks(ranking.rank, queries.indptr, scores, False, order, tied, retrieved)
    return order, tied, retrieved


def rank_head(queries: Queries, scores: np.ndarray, codes: np.ndarray, depth: int) -> RankedCodes:
    """Codes of the first `depth` ranks, and of all documents tied with the last of these.

    Of each query, only the first `retrieved` rows of the result are filled.
    """
    head = RankedCodes(
        queries.indptr,
        np.empty_like(codes),
        np.empty(len(codes), np.uint8),
        np.empty(len(queries), np.int64),
    )
    run_chunks(ranking.head, queries.indptr, scores, codes, depth, head.rows)
    return head


def check_scores(queries: Queries, scores: np.ndarray) -> None:
    """Refuse NaN and +inf among contiguous scores: they cannot be ranked."""
    if len(scores) and not scores.max() < np.inf:  # the maximum is NaN if a score is NaN
        row = int(np.argmin(scores < np.inf))
        raise check.bad_score(float(scores[row]), queries.caller_row(row))
