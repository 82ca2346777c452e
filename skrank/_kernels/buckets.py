"""Documents of one query, grouped by class, for LambdaRank of quadratic metrics.

The documents of one class lie at consecutive slots, in rank order. So each document of a better
class is compared with tiles of consecutive documents of a worse class; pairs of one class, which
have no gradient, are not visited, and the loop over a tile looks up no class.

See `quadratic` for K (`worth`), T and D. By docs/kernels.md (5), a swap of two documents changes
the value of a list by

    -(below(better) - below(worse))     if the worse document ranks below the better one,
      above(worse) - above(better)      if the worse document ranks above the better one.

`below` is -D where the better class is the upper one, `above` is D where the worse class is the
upper one. Both depend on the rank of a document and on the classes of both documents.

The workspace consists of four matrices; constants name their rows. Subroutines take the matrices
and index them by row and column, since numba counts a reference for each view of a row.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.jit import subroutine

LANES = 8  # documents per SIMD step, to which tiles are padded; 16 takes the same time
# Fields of tiles: `below` and `above`; pull and curvature (see `lambdarank`) of pairs.
BELOW, ABOVE, PULL, CURVE = (np.uint64((tiles.OTHERS + i) * tiles.FIELD) for i in range(4))
FIELDS = tiles.OTHERS + 4

# Rows of `slots`, in the precision of pairs, by slot: exp(sigma score), the score, the rank, and
# sums over pairs.
EXP, SCORE, RANK, GRAD, HESS = range(5)
N_ROWS = 5
# Rows of `exact`, in double precision, by slot: the score minus `lambdarank.ScoreScale.origin`, w,
# and, from TABLE on, one row of T for each class.
EXACT_SCORE, WEIGHT, TABLE = range(3)
# Rows of `places`: position by slot, class by rank, and slot by rank.
POSITION, CLASS, SLOT = range(3)
# Rows of `classes`: the first slot of each class, with the number of documents as last entry; and
# the next free slot of each class while `fill` runs.
BEGIN, FREE = range(2)


class Swap(NamedTuple):
    """Swaps of documents of a better class with documents of a worse class."""

    up: int  # row of T in `exact` of the better class
    down: int  # row of T in `exact` of the worse class
    falls: float  # K(worse, better) - K(better, better)
    rises: float  # K(better, worse) - K(worse, worse)
    inverse: float  # one over the value of the best list


@subroutine()
def fill(codes, order, start, stop, places, classes):
    """Fill in `places` and `classes` of a query."""
    for c in range(np.uint64(classes.shape[1] - 1)):
        classes[FREE, c] = classes[BEGIN, c]
        n = 0
        for row in range(np.uint64(start), np.uint64(stop)):
            n += codes[row] == c
        classes[BEGIN, c + np.uint64(1)] = classes[BEGIN, c] + n
    for rank in range(np.uint64(stop - start)):
        position = order[np.uint64(start) + rank]
        c = np.uint64(codes[np.uint64(start + position)])
        slot = np.uint64(classes[FREE, c])
        classes[FREE, c] += 1
        places[POSITION, slot], places[CLASS, rank], places[SLOT, rank] = position, c, slot


@subroutine()
def fill_scores(scores, start, n, origin, places, slots, exact):
    """Fill in the scores minus `origin` and the ranks, and set the sums to 0."""
    for i in range(np.uint64(n)):
        score = scores[np.uint64(start + places[POSITION, i])] - origin
        exact[EXACT_SCORE, i], slots[SCORE, i] = score, score
        slots[GRAD, i], slots[HESS, i] = 0, 0
    for rank in range(np.uint64(n)):
        slots[RANK, np.uint64(places[SLOT, rank])] = rank


@subroutine()
def tabulate(gain, worth, u, w, offset, n, places, exact):
    """Fill in T and w of the n documents of a query, whose ranks start at `offset` in u and w."""
    for rank in range(np.uint64(n)):
        exact[WEIGHT, np.uint64(places[SLOT, rank])] = w[np.uint64(offset) + rank]
    for z in range(np.uint64(len(worth))):
        upper, lower = 0.0, 0.0  # S_z(rank) and H_z(rank)
        row = np.uint64(TABLE) + z
        for rank in range(np.uint64(n)):
            c, slot = np.uint64(places[CLASS, rank]), np.uint64(places[SLOT, rank])
            at = np.uint64(offset) + rank
            exact[row, slot] = u[at] * gain[z] + w[at] * upper - lower
            upper += worth[c, z]
            lower += w[at] * worth[z, c]


@subroutine()
def swap_of(worth, better, worse, inverse):
    """The `Swap` of two classes."""
    falls = worth[worse, better] - worth[better, better]
    rises = worth[better, worse] - worth[worse, worse]
    return Swap(np.uint64(TABLE + better), np.uint64(TABLE + worse), falls, rises, inverse)


@subroutine()
def below_above(exact, slot, swap):
    """`below` and `above` of a document of either class."""
    step, weight = exact[swap.up, slot] - exact[swap.down, slot], exact[np.uint64(WEIGHT), slot]
    below, above = step + weight * swap.falls, step - weight * swap.rises
    return swap.inverse * below, swap.inverse * above


@subroutine()
def fill_tile(tile, low, n, swap, exact):
    """Fill in `below` and `above` of n documents of the worse class, from slot `low` on."""
    for t in range(np.uint64(n)):
        tile[t + BELOW], tile[t + ABOVE] = below_above(exact, np.uint64(low) + t, swap)


@subroutine()
def count_above(slots, low, size, limit):
    """Number of documents at slots low .. low + size - 1 whose rank is less than `limit`."""
    n_above = 0
    for slot in range(np.uint64(low), np.uint64(low + size)):
        n_above += slots[RANK, slot] < limit
    return n_above


@subroutine()
def change(tile, t, better, limit, zero):
    """Size of the change of the value if the document in lane t swaps with `better`.

    0 if the value rises as the better document moves down, as that of the Q-measure may: the pull
    of the pair would lower the value. 0 if the rank of the document in the tile is not less than
    `limit`: the pair does not count. `zero` is 0 in the precision of pairs.
    """
    rank = tile[t + tiles.RANK]
    delta = better.below - tile[t + BELOW] if rank > better.rank else tile[t + ABOVE] - better.above
    delta = zero if delta < zero else delta
    return delta if rank < limit else zero
