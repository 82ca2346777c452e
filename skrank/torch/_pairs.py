"""Pairs of documents, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

# Numbers in a block of pairs: as many as stay in the cache of a core, or keep a device busy.
_BLOCK_ON_HOST, _BLOCK_ON_DEVICE = 2**18, 2**26
_STRIPES = 4  # of a list, so that few pairs are met that need not


class PairBlock(NamedTuple):
    """Pairs of the documents `first` and `second` of some queries.

    Attributes
    ----------
    queries, first, second : slices
    apart : bool
        Whether all of the second documents are known to come behind those that count as first; else
        they begin where the first do, or later, where labels tell that documents need not meet.
    rooms : sequence of Tensor (n_queries, n_first, n_second), or None
        Memory to work in; None where that is left to the allocator.
    """

    queries: slice
    first: slice
    second: slice
    apart: bool
    rooms: Sequence[torch.Tensor | None]

    def column(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the first documents."""
        return values[self.queries, self.first, None]

    def line(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the second documents."""
        return values[self.queries, None, self.second]

    def gaps(self, values: torch.Tensor, room: int) -> torch.Tensor:
        """Values of the second documents less those of the first, in one of the rooms."""
        return torch.sub(self.line(values), self.column(values), out=self.rooms[room])

    def of_first(self, values: torch.Tensor) -> torch.Tensor:
        """Where values of the first documents are."""
        return values[self.queries, self.first]

    def add(self, pairs: torch.Tensor, of_first: torch.Tensor, of_second: torch.Tensor) -> None:
        """Add sums over the pairs of each document: where it is first, and where it is second."""
        self.of_first(of_first).add_(pairs.sum(2))
        of_second[self.queries, self.second].add_(pairs.sum(1))

    def once(self, pairs: torch.Tensor) -> torch.Tensor:
        """The pairs, but 0 where the second document does not come behind the first."""
        if self.second.start < self.first.stop:
            pairs.triu_(1 + self.first.start - self.second.start)
        return pairs


def pair_blocks(
    values: torch.Tensor,
    n_first: int | Sequence[int],
    n_rooms: int,
    labels: torch.Tensor | None = None,
) -> Iterator[PairBlock]:
    """Blocks that cover each pair of the first documents with themselves and those behind.

    Parameters
    ----------
    values : Tensor (n_queries, n_documents)
        What numbers of pairs are like.
    n_first : int or sequence of int
        How many the first documents are: of all queries, or of each.
    n_rooms : int
        Blocks of numbers that are needed at a time.
    labels : Tensor (n_queries, n_documents), optional
        Labels, which fall, of documents that need not meet those of the same label.
    """
    n_queries, n = values.shape
    firsts = [n_first] * n_queries if isinstance(n_first, int) else n_first
    most = max(firsts)
    if torch.compiler.is_compiling():  # which fuses the whole
        whole = slice(0, n_queries), slice(0, most), slice(0, n)
        yield PairBlock(*whole, False, [None] * n_rooms)
        return
    on_host = values.device.type == "cpu"
    room = max(n, _BLOCK_ON_HOST if on_host else _BLOCK_ON_DEVICE)
    stripe = max(1, min(max(8, -(-n // _STRIPES)), most, room // n))
    some = min(most, n // 2)  # of which most pairs are apart
    share = max(1, room // max(1, stripe * most, some * (n - some)))
    memory = values.new_empty((n_rooms, room)) if on_host else None

    def block(queries: slice, first: slice, second: slice, apart: bool) -> PairBlock:
        shape = [one.stop - one.start for one in (queries, first, second)]
        if memory is None:
            return PairBlock(queries, first, second, apart, [None] * n_rooms)
        rooms = memory[:, : math.prod(shape)].view(n_rooms, *shape).unbind()
        return PairBlock(queries, first, second, apart, rooms)

    for start in range(0, n_queries, share):
        queries = slice(start, min(start + share, n_queries))
        last = max(firsts[queries])
        for low in range(0, last, stripe):
            begin = low
            if labels is not None and on_host:
                near = labels[queries]
                begin = int((near >= near[:, low, None]).sum(1).min())
            if begin < last:
                first = slice(low, min(low + stripe, last))
                yield block(queries, first, slice(begin, last), False)
        height = max(1, room // max(1, (queries.stop - start) * (n - last)))
        for low in range(0, last if last < n else 0, height):
            first = slice(low, min(low + height, last))
            yield block(queries, first, slice(last, n), True)
