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
    """Where the documents of a query go; a slot is a place among them by class."""

    begin: np.ndarray  # first slot of each class, and the end
    free: np.ndarray  # next slot of each class while it is filled
    position: np.ndarray  # by slot
    ranked: np.ndarray  # class by rank
    slot_of: np.ndarray  # by rank
    gain: np.ndarray  # g by class, for as many classes as T has rows, as all below
    upper: np.ndarray  # K(c, z) in row z, column c
    lower: np.ndarray  # K(z, c) in row z, column c


class Slots(NamedTuple):
    """What pairs take from documents, and give to them; by slot."""

    score: np.ndarray  # in double precision, less the midrange unless their range is wide
    near: np.ndarray  # the same in the precision of pairs
    e: np.ndarray  # exponential of it
    rank: np.ndarray
    pair_weight: np.ndarray  # w
    table: np.ndarray  # T by class and slot; see `_tabulate`
    below: np.ndarray  # what a swap takes if the other document is below
    above: np.ndarray  # and above
    pull: np.ndarray
    curve: np.ndarray


def make(longest, form, real):
    """Room for queries of up to `longest` documents, with pairs of the precision `real`."""
    room = longest + LANES  # what is written past the end of a class needs room
    n_classes = len(form.kernel)
    worthless = form.gain[0] == 0 and not form.kernel[0].any() and not form.kernel[:, 0].any()
    rows = n_classes + (n_classes + worthless) % 2
    gain, upper, lower = np.zeros(rows), np.zeros((rows, rows)), np.zeros((rows, rows))
    gain[:n_classes] = form.gain
    upper[:n_classes, :n_classes] = form.kernel.T
    lower[:n_classes, :n_classes] = form.kernel
    begin, free = np.zeros(n_classes + 1, np.int64), np.zeros(n_classes, np.int64)
    places = (np.zeros(room, np.int32) for _ in range(3))
    near, e, rank, below, above, pull, curve = (np.zeros(room, real) for _ in range(7))
    return (
        Buckets(begin, free, *places, gain, upper, lower),
        Slots(
            np.zeros(room), near, e, rank, np.zeros(room), np.zeros((rows, room)), below, above,
            pull, curve,
        ),
    )  # fmt: skip


@part(**tiles.fast)
def _count(codes, start, stop, code):
    """Rows of a query that have a code."""
    found = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        found += codes[row] == code
    return found


@part(**tiles.fast)
def _tabulate(n, u, w, at, ranked, slot_of, gain, upper, lower, table):
    """Fill T; the weights of ranks begin at place `at` in u and w.

    Two classes at a time: the sums of one wait for each other. Where the number of rows is odd,
    the first class is worth nothing, and its row stays 0.
    """
    for z in range(np.uint64(len(table) % 2), np.uint64(len(table)), np.uint64(2)):
        y = z + np.uint64(1)
        before_z, after_z, before_y, after_y = 0.0, 0.0, 0.0, 0.0
        for r in range(np.uint64(n)):
            c, slot, here = np.uint64(ranked[r]), np.uint64(slot_of[r]), np.uint64(at) + r
            table[z, slot] = u[here] * gain[z] + w[here] * before_z - after_z
            table[y, slot] = u[here] * gain[y] + w[here] * before_y - after_y
            before_z += upper[z, c]
            before_y += upper[y, c]
            after_z += w[here] * lower[z, c]
            after_y += w[here] * lower[y, c]


@part(**tiles.options)
def sort_into(buckets, slots, start, stop, lists, form, at, middle):
    """Put the documents of a query into the buckets; their weights begin at place `at`."""
    begin, free, position = buckets.begin, buckets.free, buckets.position
    ranked, slot_of, w = buckets.ranked, buckets.slot_of, form.w
    score, near, rank, pair_weight = slots.score, slots.near, slots.rank, slots.pair_weight
    codes, order, scores = lists.codes, lists.order, lists.scores
    for c in range(np.uint64(len(free))):
        free[c] = begin[c]
        begin[c + np.uint64(1)] = begin[c] + _count(codes, start, stop, c)
    for r in range(np.uint64(stop - start)):
        p = order[np.uint64(start) + r]
        row = np.uint64(start + p)
        c = np.uint64(codes[row])
        slot = np.uint64(free[c])
        free[c] += 1
        score[slot], near[slot] = scores[row] - middle, scores[row] - middle
        rank[slot], position[slot], pair_weight[slot] = r, p, w[np.uint64(at) + r]
        ranked[r], slot_of[r] = c, slot
    _tabulate(
        stop - start, form.u, w, at, ranked, slot_of, buckets.gain, buckets.upper, buckets.lower,
        slots.table,
    )  # fmt: skip


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


@part(**tiles.options)
def swap(slots, kernel, better, worse, scale, tile, low, blocks, high, end):
    """Fill BELOW and ABOVE of a tile of the worse class, and those of the better class."""
    falls = kernel[worse, better] - kernel[better, better]
    rises = kernel[better, worse] - kernel[worse, worse]
    _swap(
        slots.table, better, worse, low, blocks, slots.pair_weight, falls, rises, scale,
        tile, BELOW, tile, ABOVE,
    )  # fmt: skip
    _swap(
        slots.table, better, worse, high, (end - high + LANES - 1) // LANES, slots.pair_weight,
        falls, rises, scale, slots.below, np.uint64(high), slots.above, np.uint64(high),
    )  # fmt: skip


@part(**tiles.fast)
def within(rank, low, size, limit):
    """Documents of a tile above a rank: the first ones."""
    inside = 0
    for slot in range(np.uint64(low), np.uint64(low + size)):
        inside += rank[slot] < limit
    return inside
