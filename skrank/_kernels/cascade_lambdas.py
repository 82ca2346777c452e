"""LambdaRank gradients of cascade metrics: see `cascade` for the changes by swaps.

The upper document of a pair ranks above the lower one. Tiles hold upper documents with their sums S
and products P. Each lower document, in rank order, is compared with a tile, and updates S and P.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels import lambdarank, tiles
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.sums import sum_lanes
from skrank._kernels.tiles import CAPACITY, EXP, FIELD, GRAD, HESS, OTHERS, RANK, SCORE

LANES = 16  # documents per SIMD step, to which tiles are padded; 8 takes the same time
_UPPER_RHO, _ALIVE, _PHI, _SUM, _PRODUCT = (np.uint64((OTHERS + i) * FIELD) for i in range(5))
# Signed pull and curvature of the pair with the lower document, and pulls summed over pairs.
_PULL, _CURVE, _PULLS = (np.uint64((OTHERS + i) * FIELD) for i in range(5, 8))
_FIELDS = OTHERS + 8

_LARGEST_POWER = 1000  # exponent of `unit`, so that it and quotients by it are finite and not 0
# Ranks have no pairs with documents below them if the probability to reach them, divided by the
# value of the best list, is less than this: products would be slow subnormal numbers.
_NEGLIGIBLE = 1e-30


# Rows of the array `ranks`, in the precision of pairs, by rank. The change by a swap is the product
# of `alive`, rho_a - rho_b and others (see `cascade`), divided by the value of the best list. This
# divisor may be as small as rho. So rho is multiplied, and `alive` divided, by `unit`, the power of
# two near one over the divisor: this is exact, and both products fit single precision.
_EXP_OF = 0  # exp(sigma score), unless the query is wide
_RHO = 1
_SCALED_RHO = 2  # rho * unit
_ALIVE_OF = 3  # probability that a user reaches the rank, / (value of the best list * unit)
_PHI_OF = 4
_PLACE = 5  # the rank: 0, 1, 2, ...
_GRAD_OF, _HESS_OF = 6, 7  # sums over pairs
_N_ROWS = 8


class _Lower(NamedTuple):
    """The document that is compared with a tile. Its rank is relative to the first of the tile."""

    rank: float
    rho: float
    scaled_rho: float
    phi: float
    exp: float
    score: float  # in double precision


def _workspace(first, last, indptr, lists, tables, pairs, wide, out):
    """`ranks` in the precision of pairs, float64 scores by rank, and a tile."""
    longest, real = tiles.longest(first, last, indptr), out.grad.dtype
    # `phi` is longer if the longest query is in another chunk
    ranks = np.zeros((_N_ROWS, max(longest, len(tables.phi))), real)
    ranks[_PHI_OF, : len(tables.phi)] = tables.phi
    ranks[_PLACE] = np.arange(ranks.shape[1])
    score = np.zeros(longest + LANES)  # loops read past the last document
    return ranks, score, np.zeros(_FIELDS * FIELD, real)


@subroutine()
def _sweep(tile, n_lanes, lower, score, low, scale, wide):
    """Compare one document with the documents of a tile that rank above it.

    Returns its gradient and hessian; adds the gradients, hessians and pulls of the documents of the
    tile to the tile, which starts at rank `low`. `score` is by rank; `wide` is None unless the
    query is wide.
    """
    real = tile.dtype.type
    zero, one = real(0), real(1)  # so that pairs are not converted to double precision
    rho, phi, exp = lower.rho, lower.phi, lower.exp
    for lane in range(np.uint64(n_lanes)):
        t = np.uint64(lane)
        above = tile[t + RANK] < lower.rank
        lead = tile[t + _UPPER_RHO] - lower.scaled_rho
        product, between = tile[t + _PRODUCT], tile[t + _SUM]
        loss = tile[t + _PHI] - between - product * phi
        loss = zero if loss < zero else loss  # below 0 by rounding only, since phi never rises
        delta = tile[t + _ALIVE] * abs(lead) * loss if above else zero
        ordered = lead > zero
        if wide is None:
            distance = scale.base + scale.slope * abs(real(lower.score) - tile[t + SCORE])
            e_upper = tile[t + EXP]
            shared = one / ((exp + e_upper) * distance)
            pull = delta * shared * (exp if ordered else e_upper)
            # the large factor first: pull * shared may be less than the smallest number
            curvature = pull * (e_upper if ordered else exp) * shared * distance
        else:
            ahead = lambdarank.gap(score[np.uint64(low) + t], lower.score)
            ahead = ahead if ordered else -ahead
            pull, curvature = lambdarank.exact_pull(delta, ahead, scale)
        signed = pull if ordered else -pull
        tile[t + GRAD] -= signed
        tile[t + HESS] += curvature
        tile[t + _SUM] = between + (product * rho * phi if above else zero)
        tile[t + _PRODUCT] = product * (one - rho if above else one)
        tile[t + _PULL] = signed
        tile[t + _CURVE] = curvature
        tile[t + _PULLS] += pull
    return sum_lanes(tile, _PULL, _PULL + n_lanes), sum_lanes(tile, _CURVE, _CURVE + n_lanes)


@subroutine()
def _load(tile, low, size, ranks, score):
    """Fill a tile with `size` documents from rank `low` on; ranks of other lanes allow no pair."""
    end = tiles.padded(size, LANES)
    tiles.load_row(tile, EXP, ranks, _EXP_OF, low, size, end, 1.0)
    tiles.load(tile, SCORE, score, low, size, end, 0.0)
    tiles.load_row(tile, RANK, ranks, _PLACE, np.int64(0), size, end, np.inf)
    tiles.load_row(tile, _UPPER_RHO, ranks, _SCALED_RHO, low, size, end, 0.0)
    tiles.load_row(tile, _ALIVE, ranks, _ALIVE_OF, low, size, end, 0.0)
    tiles.load_row(tile, _PHI, ranks, _PHI_OF, low, size, end, 0.0)
    tiles.fill(tile, _SUM, end, 0.0)
    tiles.fill(tile, _PRODUCT, end, 1.0)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)
    tiles.fill(tile, _PULLS, end, 0.0)


@subroutine()
def _compare(tile, low, size, n, ranks, score, scale, wide):
    """Compare the documents of a tile with all documents below them; the query has `n` documents.

    Returns the sum of the pulls of these pairs.
    """
    real = tile.dtype.type
    for r in range(low + 1, n):
        n_above, rank = tiles.least(r - low, size), real(r - low)
        n_lanes = np.uint64((n_above + LANES - 1) // LANES) * np.uint64(LANES)
        rho, scaled_rho = ranks[_RHO, r], ranks[_SCALED_RHO, r]
        lower = _Lower(rank, rho, scaled_rho, ranks[_PHI_OF, r], ranks[_EXP_OF, r], score[r])
        grad, hess = _sweep(tile, n_lanes, lower, score, low, scale, wide)
        ranks[_GRAD_OF, r] += grad
        ranks[_HESS_OF, r] += hess
    return sum_lanes(tile, _PULLS, _PULLS + np.uint64(tiles.padded(size, LANES)))


@subroutine()
def _fill(codes, order, start, n, stop_of, inverse, ranks):
    """Fill in the documents of a query by rank, and set the sums to 0.

    `stop_of` is rho by code. Returns the number of ranks that a user reaches with a probability,
    divided by the value of the best list, above _NEGLIGIBLE.
    """
    _, power = math.frexp(inverse)
    unit = math.ldexp(1.0, tiles.least(power, _LARGEST_POWER))
    passing, n_reached = inverse, 0
    for r in range(n):
        rho = stop_of[codes[start + order[start + r]]]
        ranks[_RHO, r], ranks[_SCALED_RHO, r], ranks[_ALIVE_OF, r] = rho, rho * unit, passing / unit
        ranks[_GRAD_OF, r], ranks[_HESS_OF, r] = 0, 0
        n_reached += passing > _NEGLIGIBLE
        passing *= 1.0 - rho
    return n_reached


@kernel(work=_workspace)
def lambdas(first, last, indptr, lists, tables, pairs, wide, out, work):
    """Fill in LambdaRank gradients. Pairs are computed in the precision of ``out.grad``.

    For `wide` and what is returned see `quadratic_lambdas.lambdas`.
    """
    codes, order, scores, inverse, weight = lists
    ranks, score, tile = work
    stop_of, depth = tables.stop, tables.depth
    exp, sums = ranks[_EXP_OF], (ranks[_GRAD_OF], ranks[_HESS_OF])
    left = False
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            lambdarank.clear(out.grad, out.hess, start, stop)
            continue
        scale = lambdarank.scale_of(pairs, scores, start, stop, tile)
        if scale.wide != (wide is not None):
            left |= scale.wide
            continue
        n_reached = _fill(codes, order, start, n, stop_of, inverse[q], ranks)
        lambdarank.scores_by_rank(scores, order, start, n, scale.origin, score)
        if wide is None:
            lambdarank.exponentials(n, score, scale.sigma, exp)
        pulls = 0.0
        n_upper = tiles.least(tiles.least(n_reached, pairs.truncation), depth)
        for low in range(0, n_upper, CAPACITY):
            size = tiles.least(CAPACITY, n_upper - low)
            _load(tile, low, size, ranks, score)
            pulls += _compare(tile, low, size, n, ranks, score, scale, wide)
            tiles.collect(tile, GRAD, low, size, sums[0])
            tiles.collect(tile, HESS, low, size, sums[1])
        lambdarank.write(out, q, start, order[start:stop], sums, pulls, weight[q], pairs)
    return left
