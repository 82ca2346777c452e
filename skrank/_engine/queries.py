"""Rows of each query, made contiguous in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.cached import cached_property
from skrank._engine.groups import show


def slices(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slices of an array put side by side: their edges there, and the rows that they come from."""
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
        Where they begin among all queries, if they are a block of them: what is drawn does not
        depend on blocks.
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
        """Some consecutive queries of these, with their contiguous rows."""
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
        """Values per contiguous row, less the mean of those of their query."""
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
