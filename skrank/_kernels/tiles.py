"""Tiles: buffers of documents that are compared with one document at a time, in SIMD.

A tile is an array of fields, such as the scores or the ranks. Each field is contiguous and has one
entry, a lane, for each of up to CAPACITY documents.
"""

import numpy as np

from skrank._kernels.jit import subroutine

CAPACITY = 512  # documents per tile, so that a tile fits into the first-level cache
# No loop reads or writes the last 16 lanes of a field. Without them, fields of doubles are 4 KiB
# apart, in the same sets of the cache, and LambdaRank on ERR takes up to 2.5 times as long.
FIELD = CAPACITY + 16  # a constant, so that the compiler knows that fields do not overlap

# Where each field starts. Tiles of LambdaRank and LambdaLoss have these fields; their kernels add
# their own from OTHERS on. `softrank_pairs` has other fields.
EXP, SCORE, RANK, GRAD, HESS = (np.uint64(i * FIELD) for i in range(5))
OTHERS = 5


def longest(first, last, indptr):
    """Number of documents of the longest of the queries first .. last - 1."""
    return int((indptr[first + 1 : last + 1] - indptr[first:last]).max())


@subroutine()
def least(number, other):
    """The smaller of two numbers. Compiles faster than numba's `min`."""
    return number if number < other else other


@subroutine()
def padded(n, lanes):
    """The least multiple of `lanes` that is at least `n`."""
    return (n + lanes - 1) // lanes * lanes


@subroutine()
def load(tile, field, values, low, size, end, filler):
    """Fill a field with ``values[low : low + size]``, and with `filler` up to lane `end`."""
    low, size = np.uint64(low), np.uint64(size)
    for t in range(size):
        tile[field + t] = values[low + t]
    for t in range(size, np.uint64(end)):
        tile[field + t] = filler


@subroutine()
def load_row(tile, field, rows, number, low, size, end, filler):
    """As `load`, with ``values = rows[number]``."""
    row, low, size = np.uint64(number), np.uint64(low), np.uint64(size)
    for t in range(size):
        tile[field + t] = rows[row, low + t]
    for t in range(size, np.uint64(end)):
        tile[field + t] = filler


@subroutine()
def fill(tile, field, end, value):
    """Fill a field with `value`, up to lane `end`."""
    for t in range(np.uint64(end)):
        tile[field + t] = value


@subroutine()
def collect(tile, field, low, size, sums):
    """Add the first `size` lanes of a field to ``sums[low : low + size]``."""
    low = np.uint64(low)
    for t in range(np.uint64(size)):
        sums[low + t] += tile[field + t]
