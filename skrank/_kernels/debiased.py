"""LambdaRank for clicks whose chance depends on where a document was shown: unbiased LambdaMART.

With t+ the chance of a click at a position and t- that of none, in units of those at the first
position, a pair of a clicked document i and another one j that was not clicked weighs

    |delta_ij| / (t+_i t-_j),

delta being the change of the metric when the two swap places. The costs of the pairs say what t
must be next: a row gets the sum of its pairs' costs, each divided by t of the other document.

Here is what differs from plain LambdaRank; the loop over all pairs is that of `quadratic_lambdas`.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from skrank._kernels import buckets, tiles
from skrank._kernels.buckets import ABOVE, BELOW, LANES
from skrank._kernels.forms import part
from skrank._kernels.tiles import EXP, FIELD, GRAD, HESS, RANK, SCORE

_SKIP, _COST = (np.uint64((buckets.FIELDS + i) * FIELD) for i in range(2))
FIELDS = buckets.FIELDS + 2

_SERIES = tuple(np.float32(2 / (2 * k + 1)) for k in range(7, -1, -1))  # highest power first


class Costs(NamedTuple):
    """Room for the costs of the documents of one query, and their factors; by slot."""

    clicked: np.ndarray  # costs of pairs as the better document
    skipped: np.ndarray  # and as the worse one
    click: np.ndarray  # 1 / t+
    skip: np.ndarray  # 1 / t-


def _log1p(u):
    """log(1 + u) for u in [0, 1], in the precision of u."""
    return (_log1p_single if isinstance(u, np.float32) else _log1p_double)(u)


@overload(_log1p)
def _compile_log1p(u):
    return _log1p_double if u.bitwidth == 64 else _log1p_single


def _log1p_double(u):
    return math.log1p(u)


def _log1p_single(u):
    # the series of 2 atanh(u / (2 + u)), without calls, so that loops over it become SIMD
    z = u / (np.float32(2) + u)
    square = z * z
    total = np.float32(0)
    for c in _SERIES:
        total = total * square + c
    return total * z


@part(**tiles.fast)
def sweep(tile, blocks, limit, rank, below, above, e, score, click, sigma, norm):
    """All pairs of one better document with the worse documents of a tile.

    Returns the sums of gradient and curvature of the better one, and its cost; adds those of the
    others to the tile.
    """
    zero, one = norm.zero, norm.one
    grad, hess, cost = zero, zero, zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        other = tile[t + RANK]
        delta = below - tile[t + BELOW] if other > rank else tile[t + ABOVE] - above
        delta = zero if delta < zero else delta
        delta = delta if other < limit else zero
        gap = score - tile[t + SCORE]
        e_other = tile[t + EXP]
        weight = delta / (norm.base + norm.slope * abs(gap))
        shared = one / (e + e_other)
        pull = weight * click * tile[t + _SKIP] * e_other * shared
        curvature = pull * e * shared
        wrong = e < e_other
        likely = (e if wrong else e_other) / (e_other if wrong else e)
        behind = -gap if gap < zero else zero
        pair = weight * (_log1p(likely) + sigma * behind)
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@part(**tiles.options)
def sweep_wide(tile, scores, limit, rank, below, above, score, click, sigma, norm):
    """The same for score ranges whose exponentials overflow, on scores in double precision."""
    grad, hess, cost = norm.zero, norm.zero, norm.zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        other = tile[t + RANK]
        delta = below - tile[t + BELOW] if other > rank else tile[t + ABOVE] - above
        delta = norm.zero if delta < norm.zero else delta
        delta = delta if other < limit else norm.zero
        gap = tiles.gap(score, scores[lane])
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


def make(n, real):
    """Room for the costs of queries of up to `n` documents."""
    return Costs(*(np.zeros(n + LANES, real) for _ in range(4)))


@part(**tiles.options)
def clear(clicks, start, stop):
    """No costs: a query without weight or anything to learn."""
    clicks.clicked[start:stop] = 0
    clicks.skipped[start:stop] = 0


@part(**tiles.options)
def gather(clicks, start, position, costs):
    """Nothing collected yet; the factors of the documents of a query."""
    n = len(position)
    costs.clicked[:n] = 0
    costs.skipped[:n] = 0
    click, skip, given_click, given_skip = costs.click, costs.skip, clicks.click, clicks.skip
    for i in range(n):
        row = start + position[i]
        click[i], skip[i] = given_click[row], given_skip[row]


@part(**tiles.options, forceinline=True)
def load(tile, low, size, end, costs):
    """Fill the fields of a tile that clicks need."""
    tiles.load(tile, _SKIP, costs.skip, low, size, end, 0.0)
    tiles.fill(tile, _COST, end, 0.0)


@part(**tiles.options, forceinline=True)
def collect(tile, low, size, costs):
    """Add the costs of a tile to those of its documents."""
    tiles.collect(tile, _COST, low, size, costs.skipped)


@part(**tiles.options)
def scatter(costs, weight, start, position, clicks):
    """Put the costs of the documents of a query to their rows."""
    clicked, skipped = clicks.clicked, clicks.skipped
    for i in range(len(position)):
        row = start + position[i]
        clicked[row] = weight * costs.clicked[i]
        skipped[row] = weight * costs.skipped[i]
