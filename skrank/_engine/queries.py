"""Rows of each query, made contiguous in memory, and the order that scores give to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import resolve_groups, show
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import ranking
from skrank._kernels.ranking import Ranked
from skrank._warnings import warn

NO_TIE = 2**62  # larger than every rank

_LONG_LIST = 200  # rows; more of them without groups are rarely one list


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
        """Queries of consecutive rows, numbered from 0; each has a row or more."""
        if np.any(np.less(sizes, 1) | (np.mod(sizes, 1) != 0)):
            raise ValueError("sizes must be whole numbers of at least 1, one for each query.")
        indptr = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=indptr[1:])
        return cls(np.arange(len(sizes)), indptr)

    @classmethod
    def single(cls, n_rows: int) -> Queries:
        """All rows as one query."""
        return cls.from_sizes(np.array([n_rows]))

    def block(self, queries: slice) -> Queries:
        """Some consecutive queries of these, with their contiguous rows.

        The numbers in `order` of a block are still those of the caller's rows, for errors. So a
        block whose `order` is not None cannot `gather` or `scatter`.
        """
        first, end, _ = queries.indices(len(self))
        start, stop = int(self.indptr[first]), int(self.indptr[end])
        return Queries(
            self.ids[queries],
            self.indptr[first : end + 1] - start,
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
    """Codes in rank order, with ties and the number of retrieved documents: see `Ranked`.

    `ids` are those of the queries, for messages. If `untied` is True, no documents are tied;
    otherwise they may be.
    """

    ids: np.ndarray
    indptr: np.ndarray
    codes: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray
    untied: bool = False

    @classmethod
    def in_order(
        cls, ids: np.ndarray, indptr: np.ndarray, codes: np.ndarray, retrieved: np.ndarray
    ) -> RankedCodes:
        """Codes in an order without ties."""
        return cls(ids, indptr, codes, np.zeros(len(codes), np.uint8), retrieved, untied=True)

    @property
    def lists(self) -> Ranked:
        """Argument of kernels."""
        return Ranked(self.codes, self.tied, self.retrieved)

    @cached_property
    def first_tie(self) -> np.ndarray:
        """The first retrieved rank of each query that is tied with the one above, or `NO_TIE`."""
        tie = np.full(len(self.retrieved), NO_TIE)
        if self.untied:
            return tie
        rows = np.flatnonzero(self.tied.view(bool))
        query = np.searchsorted(self.indptr, rows, side="right") - 1
        ranks = rows - self.indptr[query]
        inside = ranks < self.retrieved[query]
        query, first = np.unique(query[inside], return_index=True)
        tie[query] = ranks[inside][first]
        return tie

    @cached_property
    def without_ties(self) -> bool:
        """Whether no retrieved documents of any query are tied."""
        return bool((self.first_tie == NO_TIE).all())


def queries_of(groups: ArrayLike | None, rows: ArrayLike, n_rows: int) -> Queries:
    """The queries of `groups`, or of the index level "qid" of `rows`; without both, one query."""
    ids = resolve_groups(groups, rows)
    if ids is not None:
        return Queries.from_groups(ids)
    if n_rows > _LONG_LIST:
        warn(
            f"all {n_rows:,} rows are one ranked list: pass groups= (the query of each row; the "
            "same id for all rows if they are one list).",
        )
    return Queries.single(n_rows)


def rank_codes(
    queries: Queries, scores: np.ndarray, codes: np.ndarray, start: np.ndarray | None = None
) -> tuple[np.ndarray, RankedCodes]:
    """Sort contiguous scores without NaN inside each query.

    Returns, by rank, the position of the document in its query, and the codes. If `start` has the
    positions that a call with similar scores returned, the sort starts from them, which takes less
    time, and overwrites them. The result is the same: ties are in the order of rows.
    """
    order = np.empty(len(scores), np.int32) if start is None else start
    tied, retrieved = np.empty(len(codes), np.uint8), np.empty(len(queries), np.int64)
    ranked = RankedCodes(queries.ids, queries.indptr, np.empty_like(codes), tied, retrieved)
    rows = queries.indptr, queries.sizes, scores
    if queries.sizes.max(initial=0) > ranking.LONGEST_SORTED:
        run_chunks(ranking.sort_long, *rows, order)
    run_chunks(ranking.rank, *rows, codes, start is not None, order, ranked.lists)
    return order, ranked


def rank_head(
    queries: Queries, scores: np.ndarray, codes: np.ndarray, depth: int
) -> RankedCodes | None:
    """Codes of the first `depth` ranks at least, and of all documents tied with the last of these.

    Other documents count as not retrieved: `retrieved` is the number of those that are in the
    result, and only their rows are filled. None if so many documents tie that it is better to sort
    all.
    """
    tied, retrieved = np.zeros(len(codes), np.uint8), np.empty(len(queries), np.int64)
    head = RankedCodes(queries.ids, queries.indptr, np.empty_like(codes), tied, retrieved)
    stopped = run_chunks(ranking.head, queries.indptr, scores, codes, depth, head.lists)
    return None if any(stopped) else head


def check_scores(queries: Queries, scores: np.ndarray) -> None:
    """Refuse NaN and +inf among contiguous scores: they cannot be ranked."""
    if len(scores) and not scores.max() < np.inf:  # the maximum is NaN if a score is NaN
        row = int(np.argmin(scores < np.inf))
        raise check.bad_score(float(scores[row]), queries.caller_row(row))
