"""Documents of a query by class: what kernels on pairs of quadratic metrics share.

Documents of one class lie side by side and stay in rank order, so that a better document meets a
worse class as tiles of neighbours: no pair of one class is visited, and a pair costs no look-up.
See `quadratic` for T and the changes by swaps.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import part

LANES = 8  # documents per SIMD step; tiles are padded to a multiple
BELOW, ABOVE = (np.uint64((tiles.OTHERS + i) * tiles.FIELD) for i in range(2))
FIELDS = tiles.OTHERS + 2


class Buckets(NamedTuple):
    """Room for the documents of one query; a slot is a place among them by class."""

    begin: np.ndarray  # first slot of each class, and the end
    free: np.ndarray  # next slot of each class while it is filled
    score: np.ndarray  # by slot, less the midrange, in double precision
    near: np.ndarray  # the same in the precision of pairs
    rank: np.ndarray  # by slot
    position: np.ndarray  # by slot
    pair_weight: np.ndarray  # w by slot
    ranked: np.ndarray  # class by rank
    slot_of: np.ndarray  # by rank
    table: np.ndarray  # T by class and slot
    gain: np.ndarray  # g by class, for an even number of classes, as all below
    upper: np.ndarray  # K(c, z) in row z, column c
    lower: np.ndarray  # K(z, c) in row z, column c


class Ends(NamedTuple):
    """What a swap takes from the document at each slot, if the other one is..."""

    below: np.ndarray
    above: np.ndarray


@part(**tiles.options, allocates=True)
def _table(n_rows, n_columns):
    table = np.empty((n_rows, n_columns))
    for row in range(n_rows):
        for column in range(n_columns):
            table[row, column] = 0.0
    return table


@part(**tiles.options, allocates=True)
def make(longest, indptr, lists, form, grad):
    """Empty buckets for queries of up to `longest` documents."""
    room = longest + LANES  # what is written past the end of a class needs room
    n_classes = len(form.kernel)
    even = n_classes + n_classes % 2
    doubles, counts, places = lists.inverse, indptr, lists.order  # for their types
    gain, upper, lower = tiles.zeros(even, doubles), _table(even, even), _table(even, even)
    for c in range(n_classes):
        gain[c] = form.gain[c]
        for z in range(n_classes):
            upper[z, c] = form.kernel[c, z]
            lower[z, c] = form.kernel[z, c]
    return Buckets(
        tiles.zeros(n_classes + 1, counts), tiles.zeros(n_classes, counts),
        tiles.zeros(room, doubles), tiles.zeros(room, grad), tiles.zeros(room, grad),
        tiles.zeros(room, places), tiles.zeros(room, doubles), tiles.zeros(room, places),
        tiles.zeros(room, places), _table(even, room), gain, upper, lower,
    )  # fmt: skip


@part(**tiles.options, allocates=True)
def make_ends(longest, grad):
    """Room for the ends of swaps."""
    room = longest + LANES
    return Ends(tiles.zeros(room, grad), tiles.zeros(room, grad))


@part(**tiles.fast)
def _count(codes, start, stop, code):
    """Rows of a query that have a code."""
    found = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        found += codes[row] == code
    return found


@part(**tiles.fast)
def _tabulate(n, u, w, ranked, slot_of, gain, upper, lower, table):
    """Fill T. Two classes at a time: the sums of one wait for each other."""
    for z in range(np.uint64(0), np.uint64(len(table)), np.uint64(2)):
        y = z + np.uint64(1)
        before_z, after_z, before_y, after_y = 0.0, 0.0, 0.0, 0.0
        for r in range(np.uint64(n)):
            c, slot = np.uint64(ranked[r]), np.uint64(slot_of[r])
            table[z, slot] = u[r] * gain[z] + w[r] * before_z - after_z
            table[y, slot] = u[r] * gain[y] + w[r] * before_y - after_y
            before_z += upper[z, c]
            before_y += upper[y, c]
            after_z += w[r] * lower[z, c]
            after_y += w[r] * lower[y, c]


@part(**tiles.options, forceinline=True)
def sort_into(buckets, q, start, stop, lists, form, middle):
    """Put the documents of a query into the buckets."""
    begin, free = buckets.begin, buckets.free
    score, near, rank, position = buckets.score, buckets.near, buckets.rank, buckets.position
    pair_weight, ranked, slot_of = buckets.pair_weight, buckets.ranked, buckets.slot_of
    codes, order, scores = lists.codes, lists.order, lists.scores
    for c in range(len(free)):
        free[c] = begin[c]
        begin[c + 1] = begin[c] + _count(codes, start, stop, c)
    n = stop - start
    u, w = form.u[form.offset[q] :], form.w[form.offset[q] :]
    for r in range(n):
        p = order[start + r]
        c = np.uint64(codes[start + p])
        slot = free[c]
        free[c] = slot + 1
        score[slot], near[slot] = scores[start + p] - middle, scores[start + p] - middle
        rank[slot], position[slot], pair_weight[slot] = r, p, w[r]
        ranked[r], slot_of[r] = c, slot
    _tabulate(n, u, w, ranked, slot_of, buckets.gain, buckets.upper, buckets.lower, buckets.table)


@part(**tiles.fast)
def _swap(
    table, up, down, low, blocks, pair_weight, falls, rises, scale, below, below_at, above, above_at
):  # fmt: skip
    """What a swap with a document further below, or above, takes from each of some slots."""
    up, down, low = np.uint64(up), np.uint64(down), np.uint64(low)
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        slot = low + lane
        step = table[up, slot] - table[down, slot]
        below[below_at + lane] = scale * (step + pair_weight[slot] * falls)
        above[above_at + lane] = scale * (step - pair_weight[slot] * rises)


@part(**tiles.options, forceinline=True)
def swap(buckets, kernel, better, worse, scale, tile, low, blocks, ends):
    """Fill BELOW and ABOVE of a tile of the worse class, and the ends of the better class."""
    falls = kernel[worse, better] - kernel[better, better]
    rises = kernel[better, worse] - kernel[worse, worse]
    high, stop = buckets.begin[better], buckets.begin[better + 1]
    _swap(
        buckets.table, better, worse, low, blocks, buckets.pair_weight, falls, rises, scale,
        tile, BELOW, tile, ABOVE,
    )  # fmt: skip
    _swap(
        buckets.table, better, worse, high, (stop - high + LANES - 1) // LANES,
        buckets.pair_weight, falls, rises, scale,
        ends.below, np.uint64(high), ends.above, np.uint64(high),
    )  # fmt: skip


@part(**tiles.fast)
def within(rank, low, size, limit):
    """Documents of a tile above a rank: the first ones."""
    inside = 0
    for slot in range(np.uint64(low), np.uint64(low + size)):
        inside += rank[slot] < limit
    return inside
