"""Tiles: buffers of documents that are compared with one document at a time, in SIMD.

LambdaRank sums over pairs of documents. For a pair with the weight w and the scores s_i and s_j,
the gradients of its documents have opposite signs and the size

    w / (base + slope |s_i - s_j|) * P,

up to a factor that all pairs of a query share. P = 1 / (1 + exp(sigma (s_i - s_j))), with i the
better document, is the probability that the worse document ranks first. Kernels call the size,
without the factor, the pull of the pair.

A tile is an array of fields, such as the scores or the ranks. Each field is contiguous and has one
entry, a lane, for each of up to CAPACITY documents.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import subroutine

CAPACITY = 512  # documents per tile, so that a tile fits into the first-level cache
MOST_LANES = 16  # largest number of documents per SIMD step; loops write past the last document
FIELD = CAPACITY + MOST_LANES  # a constant, so that the compiler knows that fields do not overlap

# Where each field starts. All tiles have these fields; kernels add their own from OTHERS on.
EXP, SCORE, RANK, GRAD, HESS = (np.uint64(i * FIELD) for i in range(5))
OTHERS = 5

WIDEST_GAP = 1e300  # larger differences of scores are clipped to this, so that products are finite
# Least sigma in `_is_wide`: scores of queries that are not wide must fit single precision, and, if
# pairs are divided by 0.01 + |s_i - s_j|, be rounded by much less than 0.01.
_LEAST_SIGMA, _LEAST_SIGMA_NORMED = 1e-20, 0.1

LOG_2 = math.log(2.0)


class Norm(NamedTuple):
    """Divisor of the weight of a pair: ``base + slope |s_i - s_j|``. In the precision of pairs."""

    base: float
    slope: float
    zero: float  # 0 and 1, so that kernels do not convert pairs to double precision
    one: float


class Scale(NamedTuple):
    """How the scores of one query are compared."""

    origin: float  # subtracted from the scores: their midrange, or 0 if the query is wide
    wide: bool  # whether exp(sigma * score) overflows: then each pair needs an exponential
    sigma: float
    norm: Norm


@subroutine()
def least(one, other):
    """The smaller of two numbers. Compiles faster than numba's `min`."""
    return one if one < other else other


@subroutine()
def padded(n, lanes):
    """The least multiple of `lanes` that is at least `n`."""
    return (n + lanes - 1) // lanes * lanes


@subroutine(fastmath=True)
def score_range(scores, start, stop):
    """Highest and lowest score of a query."""
    best, worst = scores[start], scores[start]
    for row in range(np.uint64(start), np.uint64(stop)):
        score = scores[row]
        best = score if score > best else best
        worst = score if score < worst else worst
    return best, worst


@subroutine()
def _is_wide(pairs, best, middle, worst):
    """Whether exponentials of scores minus `middle` overflow.

    Far from 0, the midrange of scores may be rounded to the highest or the lowest score.
    """
    least_sigma = _LEAST_SIGMA_NORMED if pairs.score_norm else _LEAST_SIGMA
    sigma = pairs.sigma if pairs.sigma > least_sigma else least_sigma
    reach = best - middle if best - middle > middle - worst else middle - worst
    return 2.0 * sigma * reach > pairs.widest


@subroutine()
def norm_of(pairs, best, worst, grad):
    """The `Norm` of a query, in the precision of `grad`."""
    real = grad.dtype.type
    normed = pairs.score_norm and best != worst
    base, slope = (0.01, 1.0) if normed else (1.0, 0.0)
    return Norm(real(base), real(slope), real(0), real(1))


@subroutine()
def scale_of(pairs, scores, start, stop, grad):
    """The `Scale` of a query, for pairs in the precision of `grad`."""
    best, worst = score_range(scores, start, stop)
    middle = 0.5 * best + 0.5 * worst
    wide = _is_wide(pairs, best, middle, worst)
    norm = norm_of(pairs, best, worst, grad)
    return Scale(0.0 if wide else middle, wide, pairs.sigma, norm)


@subroutine()
def sort_scores(scores, order, start, n, origin, out):
    """Fill in the scores of a query by rank, minus `origin`."""
    for r in range(n):
        out[r] = scores[start + order[start + r]] - origin


@subroutine()
def exponentials(n, scores, sigma, out):
    """Fill in exp(sigma * score), in the precision of `out`."""
    for i in range(n):
        out[i] = sigma * scores[i]
        out[i] = np.exp(out[i])


@subroutine()
def gap(score, other):
    """score - other, clipped so that products with it do not overflow."""
    ahead = score - other
    ahead = WIDEST_GAP if ahead > WIDEST_GAP else ahead
    return -WIDEST_GAP if ahead < -WIDEST_GAP else ahead


@subroutine()
def chances(sigma, ahead):
    """P = 1 / (1 + exp(sigma * ahead)), that the worse document ranks first, and 1 - P."""
    e = math.exp(-abs(sigma * ahead))
    likely = 1.0 / (1.0 + e)
    return (e * likely, likely) if ahead > 0 else (likely, e * likely)


@subroutine(fastmath=True)
def load(tile, field, values, low, size, end, filler):
    """Fill a field with ``values[low : low + size]``, and with `filler` up to lane `end`."""
    low, size = np.uint64(low), np.uint64(size)
    for t in range(size):
        tile[field + t] = values[low + t]
    for t in range(size, np.uint64(end)):
        tile[field + t] = filler


@subroutine(fastmath=True)
def load_row(tile, field, rows, number, low, size, end, filler):
    """As `load`, with ``values = rows[number]``."""
    row, low, size = np.uint64(number), np.uint64(low), np.uint64(size)
    for t in range(size):
        tile[field + t] = rows[row, low + t]
    for t in range(size, np.uint64(end)):
        tile[field + t] = filler


@subroutine(fastmath=True)
def fill(tile, field, end, value):
    """Fill a field with `value`, up to lane `end`."""
    for t in range(np.uint64(end)):
        tile[field + t] = value


@subroutine(fastmath=True)
def collect(tile, field, low, size, sums):
    """Add the first `size` lanes of a field to ``sums[low : low + size]``."""
    low = np.uint64(low)
    for t in range(np.uint64(size)):
        sums[low + t] += tile[field + t]


@subroutine(fastmath=True)
def collect_row(tile, field, low, size, rows, number):
    """As `collect`, with ``sums = rows[number]``."""
    row, low = np.uint64(number), np.uint64(low)
    for t in range(np.uint64(size)):
        rows[row, low + t] += tile[field + t]


@subroutine()
def clear(grad, hess, start, stop):
    """Set the gradients of a query to 0, if it has the weight 0 or all its orders are equal."""
    for row in range(np.uint64(start), np.uint64(stop)):
        grad[row], hess[row] = 0, 0


@subroutine()
def factor_of(total, weight, pairs):
    """Factor of the gradients of a query, whose absolute values sum to `total` without it."""
    if pairs.sum_norm and total > 0:
        weight *= math.log1p(total) / (LOG_2 * total)
    return weight


@subroutine()
def write(grad, hess, start, position, sums_of_grad, sums_of_hess, factor, sigma):
    """Fill in the gradients of a query; entry i of the sums is for the document ``position[i]``."""
    for i in range(np.uint64(len(position))):
        row = np.uint64(start + position[i])
        grad[row] = factor * sigma * sums_of_grad[i]
        hess[row] = factor * sigma * sigma * sums_of_hess[i]
