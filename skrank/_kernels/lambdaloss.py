"""LambdaLoss for (normalised) discounted cumulated gain, and LambdaRank for any sum of gains.

With the normalised gains G and the discount d, the documents at the ranks a < b are a pair with the
weight

    |G_a - G_b| (fall_a - fall_b + step_(b-a) stretch_b + even_b).

`fall` is the discount d with 0 below the cut-off, so that |G_a - G_b| (fall_a - fall_b) is the
change of the metric by a swap; ndcg_loss2 has `fall` = 0, LambdaRank nothing else. A negative
weight, of a metric that falls although the better document moves up, counts as 0. ``step[i]`` = mu
(d_i - d_(i+1)) is for ranks that are i apart. The steps between rank b and all ranks above sum to
mu (d_1 - d_b), with stretch_b = 1 and even_b = 0. If b is below the cut-off, stretch_b and even_b
are such that the sum of step_(b-a) stretch_b + even_b over the ranks a above b is mu d_1:
docs/kernels.md (18).

Lower documents are put into tiles in rank order, so that neighbouring lanes read neighbouring
entries of `step`.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import lambdarank, tiles
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.sums import sum_lanes
from skrank._kernels.tiles import CAPACITY, EXP, FIELD, GRAD, HESS, OTHERS, RANK, SCORE

LANES = 8  # documents per SIMD step, to which tiles are padded; 16 takes the same time
_GAIN, _FALL, _STRETCH, _EVEN = (np.uint64((OTHERS + i) * FIELD) for i in range(4))
# Signed pull and curvature of the pair with the upper document, and pulls summed over pairs.
_PULL, _CURVE, _PULLS = (np.uint64((OTHERS + i) * FIELD) for i in range(4, 7))
_FIELDS = OTHERS + 7


# Rows of the array `ranks`, in the precision of pairs, by rank.
_EXP_OF = 0  # exp(sigma score), unless the query is wide
_GAIN_OF, _FALL_OF, _STRETCH_OF, _EVEN_OF = 1, 2, 3, 4
_PLACE = 5  # the rank: 0, 1, 2, ...
_GRAD_OF, _HESS_OF = 6, 7  # sums over pairs
_N_ROWS = 8


class LambdaLossWeights(NamedTuple):
    """Tables of the weights of pairs: see the top of this file."""

    gain: np.ndarray  # by code
    fall: np.ndarray  # by rank
    step: np.ndarray  # by distance in rank, from distance 1 on
    stretch: np.ndarray  # by rank
    even: np.ndarray  # by rank


class _Upper(NamedTuple):
    """The document that is compared with a tile."""

    rank: float  # relative to the first rank of the tile; -1 if the document is above the tile
    near: int  # ``step[near + lane]`` is the step to the document in a lane
    gain: float
    fall: float
    exp: float
    score: float  # in double precision


def _workspace(first, last, indptr, lists, tables, pairs, wide, out):
    """`ranks` in the precision of pairs, float64 scores by rank, steps, and a tile.

    The step between ranks that are i apart is at index FIELD + i. Up to LANES - 2 lanes above the
    upper document are compared with it, and read zeros.
    """
    longest, real = tiles.longest(first, last, indptr), out.grad.dtype
    ranks = np.zeros((_N_ROWS, longest), real)
    ranks[_FALL_OF] = tables.fall[:longest]
    ranks[_STRETCH_OF] = tables.stretch[:longest]
    ranks[_EVEN_OF] = tables.even[:longest]
    ranks[_PLACE] = np.arange(ranks.shape[1])
    step = np.zeros(longest + 2 * FIELD, real)
    step[FIELD + 1 : FIELD + longest] = tables.step[: longest - 1]
    score = np.zeros(longest + LANES)  # loops read past the last document
    return ranks, score, step, np.zeros(_FIELDS * FIELD, real)


@subroutine()
def _sweep(tile, step, begin, end, upper, score, low, scale, wide):
    """Compare one document with the documents in the lanes begin .. end - 1 that rank below it.

    Returns the gradient and hessian of the upper document; adds the gradients, hessians and pulls
    of the documents of the tile to the tile, which starts at rank `low`. `score` is by rank; `wide`
    is None unless the query is wide.
    """
    real, exp = tile.dtype.type, upper.exp
    zero, one = real(0), real(1)  # so that pairs are not converted to double precision
    for lane in range(np.uint64(begin), np.uint64(end)):
        t = np.uint64(lane)
        lead = upper.gain - tile[t + _GAIN]
        ordered = lead > zero
        by_distance = step[np.uint64(upper.near) + t] * tile[t + _STRETCH] + tile[t + _EVEN]
        weight = abs(lead) * (upper.fall - tile[t + _FALL] + by_distance)
        weight = weight if tile[t + RANK] > upper.rank and weight > zero else zero
        if wide is None:
            distance = scale.base + scale.slope * abs(real(upper.score) - tile[t + SCORE])
            e_lower = tile[t + EXP]
            shared = one / ((exp + e_lower) * distance)
            pull = weight * shared * (e_lower if ordered else exp)
            # the large factor first: pull * shared may be less than the smallest number
            curvature = pull * (exp if ordered else e_lower) * shared * distance
        else:
            ahead = lambdarank.gap(upper.score, score[np.uint64(low) + t])
            ahead = ahead if ordered else -ahead
            pull, curvature = lambdarank.exact_pull(weight, ahead, scale)
        signed = pull if ordered else -pull
        tile[t + GRAD] += signed
        tile[t + HESS] += curvature
        tile[t + _PULL] = signed
        tile[t + _CURVE] = curvature
        tile[t + _PULLS] += pull
    begin, end = np.uint64(begin), np.uint64(end)
    pull = sum_lanes(tile, _PULL + begin, _PULL + end)
    return -pull, sum_lanes(tile, _CURVE + begin, _CURVE + end)


@subroutine()
def _load(tile, low, size, ranks, score):
    """Fill a tile with `size` documents from rank `low` on; ranks of other lanes allow no pair."""
    end = tiles.padded(size, LANES)
    tiles.load_row(tile, EXP, ranks, _EXP_OF, low, size, end, 1.0)
    tiles.load(tile, SCORE, score, low, size, end, 0.0)
    tiles.load_row(tile, RANK, ranks, _PLACE, np.int64(0), size, end, float(-CAPACITY))
    tiles.load_row(tile, _GAIN, ranks, _GAIN_OF, low, size, end, 0.0)
    tiles.load_row(tile, _FALL, ranks, _FALL_OF, low, size, end, 0.0)
    tiles.load_row(tile, _STRETCH, ranks, _STRETCH_OF, low, size, end, 0.0)
    tiles.load_row(tile, _EVEN, ranks, _EVEN_OF, low, size, end, 0.0)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)
    tiles.fill(tile, _PULLS, end, 0.0)


@subroutine()
def _compare(tile, low, size, last, ranks, score, step, scale, wide):
    """Compare the documents of a tile with the documents above them.

    Returns the sum of the pulls of these pairs.
    """
    real, end = tile.dtype.type, tiles.padded(size, LANES)
    for r in range(last):
        near, begin, rank = FIELD + low - r, 0, real(-1)
        if r >= low:  # the upper document is in the tile, too
            begin, rank = (r + 1 - low) // LANES * LANES, real(r - low)
        gain, fall, exp = ranks[_GAIN_OF, r], ranks[_FALL_OF, r], ranks[_EXP_OF, r]
        upper = _Upper(rank, near, gain, fall, exp, score[r])
        grad, hess = _sweep(tile, step, begin, end, upper, score, low, scale, wide)
        ranks[_GRAD_OF, r] += grad
        ranks[_HESS_OF, r] += hess
    return sum_lanes(tile, _PULLS, _PULLS + np.uint64(end))


@subroutine()
def _fill(codes, order, start, n, gain, inverse, ranks):
    """Fill in the normalised gains of a query by rank, and set the sums to 0."""
    for r in range(n):
        ranks[_GAIN_OF, r] = inverse * gain[codes[start + order[start + r]]]
        ranks[_GRAD_OF, r], ranks[_HESS_OF, r] = 0, 0


@kernel(work=_workspace)
def lambdas(first, last, indptr, lists, tables, pairs, wide, out, work):
    """Fill in LambdaLoss gradients. Pairs are computed in the precision of ``out.grad``.

    For `wide` and what is returned see `quadratic_lambdas.lambdas`.
    """
    codes, order, scores, inverse, weight = lists
    ranks, score, step, tile = work
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
        _fill(codes, order, start, n, tables.gain, inverse[q], ranks)
        lambdarank.scores_by_rank(scores, order, start, n, scale.origin, score)
        if wide is None:
            lambdarank.exponentials(n, score, scale.sigma, exp)
        pulls = 0.0
        for low in range(0, n, CAPACITY):
            size = tiles.least(CAPACITY, n - low)
            _load(tile, low, size, ranks, score)
            last_upper = tiles.least(low + size - 1, pairs.truncation)
            pulls += _compare(tile, low, size, last_upper, ranks, score, step, scale, wide)
            tiles.collect(tile, GRAD, low, size, sums[0])
            tiles.collect(tile, HESS, low, size, sums[1])
        lambdarank.write(out, q, start, order[start:stop], sums, pulls, weight[q], pairs)
    return left
