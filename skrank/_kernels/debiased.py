"""LambdaRank for clicks, whose probability depends on the shown position: unbiased LambdaMART.

With t+ the probability of a click at a position, and t- that of no click, both relative to the
first position, a pair of a clicked document i and a document j that was not clicked has the weight

    |delta_ij| / (t+_i t-_j),

where delta_ij is the change of the metric by a swap. The next t+ and t- follow from costs: the cost
of a row is the sum over its pairs of |delta_ij| log(1 + exp(-sigma (s_i - s_j))), each divided by
t-_j if the row is i, and by t+_i if it is j.

`quadratic_lambdas` loops over the pairs. This file has the parts that plain LambdaRank lacks.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels import buckets, tiles
from skrank._kernels.buckets import LANES
from skrank._kernels.jit import by_precision, subroutine
from skrank._kernels.tiles import EXP, FIELD, GRAD, HESS, SCORE

_SKIP, _COST = (np.uint64((buckets.FIELDS + i) * FIELD) for i in range(2))
FIELDS = buckets.FIELDS + 2

# coefficients 2 / (2 k + 1) of 2 atanh(z) = 2 (z + z^3 / 3 + ...), highest power first
_SERIES = tuple(np.float32(2 / (2 * k + 1)) for k in range(7, -1, -1))


# More rows of the array `slots` of `buckets`: 1 / t+, 1 / t-, the cost of the pairs in which the
# document was clicked, and the cost of the pairs in which it was not.
CLICK, SKIP, CLICKED, SKIPPED = (buckets.N_ROWS + i for i in range(4))
N_ROWS = buckets.N_ROWS + 4


class Clicks(NamedTuple):
    """Position bias of clicks, by row."""

    click: np.ndarray  # 1 / t+
    skip: np.ndarray  # 1 / t-
    clicked: np.ndarray  # output: cost of the pairs in which the row was clicked
    skipped: np.ndarray  # output: cost of the pairs in which the row was not clicked


def _log1p_single(u):
    # log(1 + u) = 2 atanh(u / (2 + u)), as a series: a call of log1p would prevent SIMD
    z = u / (np.float32(2) + u)
    square = z * z
    total = np.float32(0)
    for c in _SERIES:
        total = total * square + c
    return total * z


# log(1 + u) for u in [0, 1]
_log1p = by_precision(_log1p_single, lambda u: math.log1p(u))


@subroutine(fastmath=True)
def sweep(tile, n_blocks, limit, better, click, sigma, norm):
    """Compare one clicked document, `better`, with the documents of a tile, which were not clicked.

    Returns the gradient, hessian and cost of `better`; adds the gradients, hessians and costs of
    the other documents to the tile. `click` is 1 / t+ of `better`.
    """
    zero, one = norm.zero, norm.one
    grad, hess, cost = zero, zero, zero
    for lane in range(np.uint64(n_blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        delta = buckets.change(tile, t, better, limit, zero)
        gap = better.score - tile[t + SCORE]
        e_other = tile[t + EXP]
        weight = delta / (norm.base + norm.slope * abs(gap))
        shared = one / (better.exp + e_other)
        pull = weight * click * tile[t + _SKIP] * e_other * shared
        curvature = pull * better.exp * shared
        wrong = better.exp < e_other
        likely = (better.exp if wrong else e_other) / (e_other if wrong else better.exp)
        behind = -gap if gap < zero else zero
        pair = weight * (_log1p(likely) + sigma * behind)
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@subroutine()
def sweep_wide(tile, part, exact, limit, better, click, sigma, norm):
    """As `sweep`, for a wide query (see `tiles.Scale`): one exponential per pair, in float64."""
    grad, hess, cost = norm.zero, norm.zero, norm.zero
    for lane in range(np.uint64(part.size)):
        t = np.uint64(lane)
        score = exact[buckets.EXACT_SCORE, np.uint64(part.low) + t]
        delta = buckets.change(tile, t, better, limit, norm.zero)
        gap = tiles.gap(better.score, score)
        wrong, right = tiles.chances(sigma, gap)
        weight = delta / (norm.base + norm.slope * abs(gap))
        pull = weight * click * tile[t + _SKIP] * wrong
        curvature = pull * right
        behind = -gap if gap < 0 else 0.0
        pair = weight * (math.log1p(math.exp(-abs(sigma * gap))) + sigma * behind)
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


# The functions below do nothing if `clicks` is None.


@subroutine()
def clear(clicks, start, stop):
    """Set the costs of a query to 0, if it has the weight 0 or all its orders are equal."""
    if clicks is not None:
        clicks.clicked[start:stop] = 0
        clicks.skipped[start:stop] = 0


@subroutine()
def gather(clicks, start, n, places, slots):
    """Copy 1 / t+ and 1 / t- of the documents of a query into `slots`, and set their costs to 0."""
    if clicks is not None:
        click, skip = clicks.click, clicks.skip
        for i in range(n):
            row = start + places[buckets.POSITION, i]
            slots[CLICK, i], slots[SKIP, i] = click[row], skip[row]
            slots[CLICKED, i], slots[SKIPPED, i] = 0, 0


@subroutine()
def scatter(clicks, start, n, places, slots, weight):
    """Copy the costs of the documents of a query, times its weight, from `slots` to its rows."""
    if clicks is not None:
        clicked, skipped = clicks.clicked, clicks.skipped
        for i in range(n):
            row = start + places[buckets.POSITION, i]
            clicked[row] = weight * slots[CLICKED, i]
            skipped[row] = weight * slots[SKIPPED, i]


@subroutine()
def load(tile, low, size, end, slots):
    """Fill the fields of a tile that plain LambdaRank lacks."""
    tiles.load_row(tile, _SKIP, slots, SKIP, low, size, end, 0.0)
    tiles.fill(tile, _COST, end, 0.0)


@subroutine()
def collect(tile, low, size, slots):
    """Add the costs in a tile to the costs in `slots`."""
    tiles.collect_row(tile, _COST, low, size, slots, SKIPPED)
