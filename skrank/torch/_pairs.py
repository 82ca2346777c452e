"""Pairs of documents, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

# Numbers in a block of pairs: as many as stay in the cache of a core, or keep a device busy.
_BLOCK_ON_HOST, _BLOCK_ON_DEVICE = 2**18, 2**26
_STRIPES = 4  # of documents, so that few pairs are met in both orders


class PairBlock(NamedTuple):
    """Pairs of the documents `first` and `second` of some queries.

    Attributes
    ----------
    queries, first, second : slices
        `second` begins where `first` does, and pairs inside `first` are met in both orders; or
        later, where labels tell that documents need not meet.
    rooms : sequence of Tensor (n_queries, n_first, n_second), or None
        Memory to work in; None where that is left to the allocator.
    """

    queries: slice
    first: slice
    second: slice
    rooms: Sequence[torch.Tensor | None]

    @property
    def width(self) -> int:
        """Number of the first documents."""
        return self.first.stop - self.first.start

    def column(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the first documents."""
        return values[self.queries, self.first, None]

    def line(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the second documents."""
        return values[self.queries, None, self.second]

    def gaps(self, values: torch.Tensor, room: int) -> torch.Tensor:
        """Values of the first documents less those of the second, in one of the rooms."""
        return torch.sub(self.column(values), self.line(values), out=self.rooms[room])

    def least(self, values: torch.Tensor, room: int) -> torch.Tensor:
        """The smaller one of the two values of each pair, in one of the rooms."""
        return torch.minimum(self.column(values), self.line(values), out=self.rooms[room])

    def add(self, sums: torch.Tensor, pairs: torch.Tensor, sign: int) -> None:
        """Add sums over the other documents, where a pair in the other order has another sign."""
        sums[self.queries, self.first].add_(pairs.sum(2))
        behind = slice(self.first.stop, self.second.stop)
        sums[self.queries, behind].add_(pairs[:, :, self.width :].sum(1), alpha=sign)


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
    if torch.compiler.is_compiling():  # which fuses the whole
        yield PairBlock(slice(0, n_queries), slice(0, max(firsts)), slice(0, n), [None] * n_rooms)
        return
    on_host = values.device.type == "cpu"
    most = max(n, _BLOCK_ON_HOST if on_host else _BLOCK_ON_DEVICE)
    stripe = max(1, min(max(8, -(-max(firsts) // _STRIPES)), most // n))
    share = max(1, most // (stripe * n))
    memory = values.new_empty((n_rooms, most)) if on_host else None
    for start in range(0, n_queries, share):
        queries = slice(start, min(start + share, n_queries))
        last = max(firsts[queries])
        for low in range(0, last, stripe):
            begin = low
            if labels is not None and on_host:
                some = labels[queries]
                begin = int((some >= some[:, low, None]).sum(1).min())
            first, second = slice(low, min(low + stripe, last)), slice(begin, n)
            shape = (queries.stop - start, first.stop - low, n - begin)
            rooms: Sequence[torch.Tensor | None] = [None] * n_rooms
            if memory is not None:
                rooms = [room[: math.prod(shape)].view(shape) for room in memory]
            yield PairBlock(queries, first, second, rooms)
