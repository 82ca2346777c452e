"""Pairs of documents, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

# Numbers in a block of pairs: as many as stay in the cache of a core, or keep a device busy.
_BLOCK_ON_HOST, _BLOCK_ON_DEVICE = 2**18, 2**26
_WORTH_A_STRIPE = 2**15  # pairs that are met while blocks of a further stripe are begun
_STRIPES = 4  # where the levels of documents cannot be read


class Stripe(NamedTuple):
    """Documents who meet about the same others: from `low` on, in a query, up to `stop`.

    Attributes
    ----------
    low : int
    stop, begin : int ndarrays (n_queries,)
        They meet the documents from `begin` on.
    """

    low: int
    stop: np.ndarray
    begin: np.ndarray


def stripe_of_first(n_first: np.ndarray) -> list[Stripe]:
    """The first documents of each query, who meet all."""
    return [Stripe(0, n_first, np.zeros_like(n_first))]


def stripes_by_level(reached: np.ndarray, n: int) -> list[Stripe]:
    """Documents in the order of their levels, highest first, who meet those of lower levels.

    Parameters
    ----------
    reached : int ndarray (n_levels, n_queries)
        How many documents reach each level; those who reach none do not meet.
    n : int
        How many documents a query has at most.
    """
    highest, n_queries = reached.max(1), reached.shape[1]
    lows = [0, *sorted({*highest[1:].tolist()} - {0, int(highest[0])})]
    begins = [np.where(reached > low, reached, n).min(0) for low in lows]
    widths = [n - int(begin.min()) for begin in begins]
    edges = [*lows, int(highest[0])]
    # the least work from each edge on, and the edge to which the stripe that begins there reaches
    work, to = [0] * len(edges), [0] * len(edges)
    for at in reversed(range(len(lows))):
        works = [
            n_queries * (edges[end] - edges[at]) * widths[at] + _WORTH_A_STRIPE + work[end]
            for end in range(at + 1, len(edges))
        ]
        to[at] = at + 1 + int(np.argmin(works))
        work[at] = min(works)
    found, at = [], 0
    while at < len(lows):
        found.append(Stripe(edges[at], np.minimum(reached[0], edges[to[at]]), begins[at]))
        at = to[at]
    return found


def stripes_in_order(n_queries: int, n: int) -> list[Stripe]:
    """All documents, who meet those behind them."""
    edges = [n * part // _STRIPES for part in range(_STRIPES + 1)]
    return [
        Stripe(low, np.full(n_queries, stop), np.full(n_queries, low))
        for low, stop in pairwise(edges)
        if stop > low
    ]


class PairBlock(NamedTuple):
    """Pairs of the documents `first` and `second` of some queries.

    Attributes
    ----------
    queries, first, second : slices
    rooms : sequence of Tensor (n_queries, n_first, n_second), or None
        Memory to work in; None where that is left to the allocator.
    """

    queries: slice
    first: slice
    second: slice
    rooms: Sequence[torch.Tensor | None]

    def column(self, values: torch.Tensor) -> torch.Tensor:
        """Values (..., n_queries, n_documents) of the first documents."""
        return values[..., self.queries, self.first, None]

    def line(self, values: torch.Tensor) -> torch.Tensor:
        """Values (..., n_queries, n_documents) of the second documents."""
        return values[..., self.queries, None, self.second]


def pair_blocks(
    values: torch.Tensor, stripes: Sequence[Stripe] | None, n_rooms: int
) -> Iterator[list[PairBlock]]:
    """Blocks of pairs; those of some queries at a time.

    Parameters
    ----------
    values : Tensor (n_queries, n_documents)
        What numbers of pairs are like.
    stripes : sequence of Stripe, or None
        Who meets whom. None: all meet all, as where nothing can be read.
    n_rooms : int
        Blocks of numbers that are needed at a time.
    """
    n_queries, n = values.shape
    if torch.compiler.is_compiling():  # which fuses the whole
        yield [PairBlock(slice(0, n_queries), slice(0, n), slice(0, n), [None] * n_rooms)]
        return
    stripes = stripe_of_first(np.full(n_queries, n)) if stripes is None else stripes
    on_host = values.device.type == "cpu"
    room = max(n, _BLOCK_ON_HOST if on_host else _BLOCK_ON_DEVICE)
    memory = values.new_empty((n_rooms, room)) if on_host else None

    def block(queries: slice, first: slice, second: slice) -> PairBlock:
        shape = [one.stop - one.start for one in (queries, first, second)]
        if memory is None:
            return PairBlock(queries, first, second, [None] * n_rooms)
        rooms = memory[:, : math.prod(shape)].view(n_rooms, *shape).unbind()
        return PairBlock(queries, first, second, rooms)

    starts = _starts(stripes, n, room)
    lows = [low for low, _, _ in stripes]
    stops = [np.maximum.reduceat(stop, starts).tolist() for _, stop, _ in stripes]
    begins = [np.minimum.reduceat(begin, starts).tolist() for _, _, begin in stripes]
    for some, *edges in zip(
        pairwise([*starts, n_queries]),
        zip(*stops, strict=True),
        zip(*begins, strict=True),
        strict=True,
    ):
        queries, found = slice(*some), []
        for low, stop, begin in zip(lows, *edges, strict=True):
            second = slice(begin, n)
            height = max(1, room // max(1, (queries.stop - queries.start) * (n - begin)))
            for at in range(low, stop if begin < n else low, height):
                found.append(block(queries, slice(at, min(at + height, stop)), second))
        if found:
            yield found


def _starts(stripes: Sequence[Stripe], n: int, room: int) -> list[int]:
    """First of each range of queries: of none of its stripes are there more pairs than room."""
    heights = [(np.maximum.accumulate(stop) - low, begin) for low, stop, begin in stripes]
    areas = np.maximum.reduce([height * (n - begin.min()) for height, begin in heights])
    most, starts, end = np.maximum(1, areas).tolist(), [], 0
    while end < len(most):
        starts.append(end)
        end = min(len(most), end + max(1, room // most[end]))
        while (end - starts[-1]) * most[end - 1] > room and end > starts[-1] + 1:
            end = starts[-1] + max(1, room // most[end - 1])
    return starts
