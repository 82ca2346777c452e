"""What the kernels on pairs of documents share: tiles, the chance of an order, scales.

A tile holds up to CAPACITY documents, one field after the other, so that a document that meets them
all reads and adds in SIMD. A document above and one below, with the scores s and the weight of the
pair, pull at each other with

    weight / (base + slope |s_i - s_j|) * (chance that the worse one stands first).
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.forms import part

CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
MOST_LANES = 16  # documents per SIMD step, at most; what is written past the end needs room
FIELD = CAPACITY + MOST_LANES  # fields lie this far apart: known to the compiler, no aliasing
EXP, SCORE, RANK, GRAD, HESS = (np.uint64(i * FIELD) for i in range(5))  # fields of every tile
OTHERS = 5  # number of the first field that a kernel may give a meaning of its own

WIDEST_GAP = 1e300  # of scores: differences beyond count as this one
# Least sigma in `is_wide`: scores in single precision reach no further than `widest` over this.
_LEAST_SIGMA = 1e-20  # so that they fit
_LEAST_SIGMA_NORMED = 0.1  # so that their rounding stays small beside 0.01

LOG_2 = math.log(2.0)

options = {"nogil": True, "error_model": "numpy"}
fast = options | {"fastmath": True}


class Norm(NamedTuple):
    """What the weight of a pair is divided by: ``base + slope |s_i - s_j|``."""

    base: float
    slope: float
    zero: float  # and numbers in the same precision
    one: float


@part(**options)
def longest(first, last, indptr):
    """Documents of the longest query."""
    most = 0
    for q in range(first, last):
        n = indptr[q + 1] - indptr[q]
        most = n if n > most else most
    return most


def longest_of(first, last, indptr):
    """The same in Python, for those who make room for it."""
    return int((indptr[first + 1 : last + 1] - indptr[first:last]).max())


@part(**options)
def least(one, other):
    """The lesser number; numba's own `min` takes long to compile."""
    return one if one < other else other


@part(**options)
def padded(n, lanes):
    """The next multiple of `lanes`."""
    return (n + lanes - 1) // lanes * lanes


@part(**fast)
def score_range(scores, start, stop):
    """Highest and lowest score of a query, whose order may be of noisy scores."""
    best, worst = scores[start], scores[start]
    for row in range(np.uint64(start), np.uint64(stop)):
        score = scores[row]
        best = score if score > best else best
        worst = score if score < worst else worst
    return best, worst


@part(**options)
def is_wide(pairs, best, middle, worst):
    """Whether a query needs one exponential per pair, and its scores in double precision.

    Far from 0 the midrange of scores may be rounded to one of them.
    """
    least = _LEAST_SIGMA_NORMED if pairs.score_norm else _LEAST_SIGMA
    sigma = pairs.sigma if pairs.sigma > least else least
    reach = best - middle if best - middle > middle - worst else middle - worst
    return 2.0 * sigma * reach > pairs.widest


@part(**options)
def norm_of(pairs, best, worst, grad):
    """The norm of a query, in the precision of `grad`."""
    real = grad.dtype.type
    normed = pairs.score_norm and best != worst
    base, slope = (0.01, 1.0) if normed else (1.0, 0.0)
    return Norm(real(base), real(slope), real(0), real(1))


@part(**options)
def exponentials(n, scores, sigma, e):
    """exp(sigma score) in the precision of `e`."""
    for i in range(n):
        e[i] = sigma * scores[i]
        e[i] = np.exp(e[i])


@part(**options)
def gap(score, other):
    """How far one score is ahead of another, within what products of it can hold."""
    ahead = score - other
    ahead = WIDEST_GAP if ahead > WIDEST_GAP else ahead
    return -WIDEST_GAP if ahead < -WIDEST_GAP else ahead


@part(**options)
def chances(sigma, ahead):
    """Chances that the worse and that the better document stands first, which is `ahead`."""
    e = math.exp(-abs(sigma * ahead))
    likely = 1.0 / (1.0 + e)
    return (e * likely, likely) if ahead > 0 else (likely, e * likely)


@part(**fast)
def load(tile, field, values, low, size, end, filler):
    """Fill a field with ``values[low : low + size]``, and with `filler` as far as `end`."""
    low, size = np.uint64(low), np.uint64(size)
    for t in range(size):
        tile[field + t] = values[low + t]
    for t in range(size, np.uint64(end)):
        tile[field + t] = filler


@part(**fast)
def fill(tile, field, end, value):
    """Fill a field with one value."""
    for t in range(np.uint64(end)):
        tile[field + t] = value


@part(**fast)
def collect(tile, field, low, size, sums):
    """Add a field to ``sums[low : low + size]``."""
    low = np.uint64(low)
    for t in range(np.uint64(size)):
        sums[low + t] += tile[field + t]


@part(**options)
def clear(out, q, start, stop):
    """No gradients: a query without weight or anything to learn."""
    grad, hess = out.grad, out.hess
    out.totals[q] = 0.0
    for row in range(np.uint64(start), np.uint64(stop)):
        grad[row], hess[row] = 0, 0


@part(**options)
def write(out, q, start, n, position, pull, curve, total, weight, pairs):
    """Scale the pulls of a query and put them to their rows; `total` is the sum of their sizes."""
    grad, hess, sigma = out.grad, out.hess, pairs.sigma
    pulls = 2.0 * sigma * total
    out.totals[q] = pulls
    scale = weight
    if pairs.sum_norm and pulls > 0:
        scale *= math.log1p(pulls) / (LOG_2 * pulls)
    for i in range(np.uint64(n)):
        row = np.uint64(start + position[i])
        grad[row] = scale * sigma * pull[i]
        hess[row] = scale * sigma * sigma * curve[i]
