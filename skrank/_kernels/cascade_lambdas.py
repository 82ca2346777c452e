"""LambdaRank gradients of cascade metrics: see `cascade` for the changes by swaps.

The upper documents of the pairs stand in a tile; each lower document sweeps it once, which also
carries every upper document's S and P on to the next rank.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import CAPACITY, EXP, FIELD, GRAD, HESS, OTHERS, RANK, SCORE

LANES = 16  # documents per SIMD step; tiles are padded to a multiple
_STOP, _ALIVE, _PHI, _SUM, _PRODUCT = (np.uint64((OTHERS + i) * FIELD) for i in range(5))
_FIELDS = OTHERS + 5

_MOST_POWER = 1000  # of two, that fits double precision with room
_NOBODY = 1e-30  # below, single precision would drag subnormal numbers along


class _Ranks(NamedTuple):
    """Room for the documents of one query, by rank."""

    score: np.ndarray  # in double precision, less the midrange unless their range is wide
    e: np.ndarray
    rho: np.ndarray
    share: np.ndarray  # rho times a power of two near to one over the best sum: see `_walk`
    alive: np.ndarray  # chance that a user gets there, times the rest of one over the best sum
    phi: np.ndarray  # as given, in the precision of pairs
    place: np.ndarray  # 0, 1, 2, ...
    pull: np.ndarray
    curve: np.ndarray


def _room(longest, form, real):
    """Room for queries of up to `longest` documents, with pairs of the precision `real`."""
    e, rho, share, alive, pull, curve = (np.empty(longest, real) for _ in range(6))
    phi, place = form.phi.astype(real), np.arange(FIELD, dtype=real)
    return _Ranks(np.empty(longest), e, rho, share, alive, phi, place, pull, curve)


@part(**tiles.fast)
def _sweep(tile, blocks, rank, rho, share, phi, e, score, norm):
    """All pairs of one document with the documents of a tile that rank above it."""
    zero, one = norm.zero, norm.one
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        above = tile[t + RANK] < rank
        lead = tile[t + _STOP] - share
        product, between = tile[t + _PRODUCT], tile[t + _SUM]
        loss = tile[t + _PHI] - between - product * phi
        loss = zero if loss < zero else loss
        delta = tile[t + _ALIVE] * abs(lead) * loss if above else zero
        distance = norm.base + norm.slope * abs(score - tile[t + SCORE])
        e_upper = tile[t + EXP]
        shared = one / ((e + e_upper) * distance)
        ordered = lead > zero
        pull = delta * shared * (e if ordered else e_upper)
        curvature = pull * shared * distance * (e_upper if ordered else e)
        signed = pull if ordered else -pull
        tile[t + GRAD] -= signed
        tile[t + HESS] += curvature
        tile[t + _SUM] = between + (product * rho * phi if above else zero)
        tile[t + _PRODUCT] = product * (one - rho if above else one)
        grad += signed
        hess += curvature
        total += pull
    return grad, hess, total


@part(**tiles.options)
def _sweep_wide(tile, scores, rho, share, phi, score, sigma, norm):
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores, of the documents above only, come in double precision: next to an outlier, single
    precision could not tell them apart.
    """
    zero, one = norm.zero, norm.one
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        lead = tile[t + _STOP] - share
        product, between = tile[t + _PRODUCT], tile[t + _SUM]
        loss = tile[t + _PHI] - between - product * phi
        loss = zero if loss < zero else loss
        delta = tile[t + _ALIVE] * abs(lead) * loss
        gap = tiles.gap(scores[lane], score) if lead > zero else tiles.gap(score, scores[lane])
        wrong, right = tiles.chances(sigma, gap)
        pull = delta * wrong / (norm.base + norm.slope * abs(gap))
        curvature = pull * right
        signed = pull if lead > zero else -pull
        tile[t + GRAD] -= signed
        tile[t + HESS] += curvature
        tile[t + _SUM] = between + product * rho * phi
        tile[t + _PRODUCT] = product * (one - rho)
        grad += signed
        hess += curvature
        total += pull
    return grad, hess, total


@part(**tiles.options, forceinline=True)
def _load(tile, low, size, held):
    """Fill a tile with the documents from rank `low` on."""
    end = tiles.padded(size, LANES)
    tiles.load(tile, EXP, held.e, low, size, end, 1.0)
    tiles.load(tile, SCORE, held.score, low, size, end, 0.0)
    tiles.load(tile, RANK, held.place, np.int64(0), size, end, np.inf)
    tiles.load(tile, _STOP, held.share, low, size, end, 0.0)
    tiles.load(tile, _ALIVE, held.alive, low, size, end, 0.0)
    tiles.load(tile, _PHI, held.phi, low, size, end, 0.0)
    tiles.fill(tile, _SUM, end, 0.0)
    tiles.fill(tile, _PRODUCT, end, 1.0)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)


@part(**tiles.options, forceinline=True)
def _meet(tile, low, size, n, held, wide, sigma, norm, total):
    """All pairs of the documents of a tile with those below them; adds to `total`."""
    score, rho, share, phi, e = held.score, held.rho, held.share, held.phi, held.e
    pull, curve = held.pull, held.curve
    real = e.dtype.type
    for r in range(low + 1, n):
        above = tiles.least(r - low, size)
        if wide:
            g, h, s = _sweep_wide(
                tile, score[low : low + above], rho[r], share[r], phi[r], score[r], sigma, norm
            )
        else:
            blocks = (above + LANES - 1) // LANES
            g, h, s = _sweep(
                tile, blocks, real(r - low), rho[r], share[r], phi[r], e[r], real(score[r]), norm
            )
        pull[r] += g
        curve[r] += h
        total += s
    return total


@part(**tiles.options, forceinline=True)
def _walk(held, q, start, position, lists, stop, middle):
    """Note the documents by rank. Returns how many a user sees with a chance worth counting.

    One over the best sum is as large as rho is small: a power of two goes from the one to the
    other, exactly, so that neither leaves the range of single precision.
    """
    score, rho, alive, pull, curve = held.score, held.rho, held.alive, held.pull, held.curve
    share, scores, codes = held.share, lists.scores, lists.codes
    _, power = math.frexp(lists.inverse[q])
    unit = math.ldexp(1.0, tiles.least(power, _MOST_POWER))
    passing, reached = lists.inverse[q], 0
    for r in range(len(position)):
        row = start + position[r]
        chance = stop[codes[row]]
        score[r], rho[r], alive[r] = scores[row] - middle, chance, passing / unit
        share[r] = chance * unit
        pull[r], curve[r] = 0, 0
        reached += passing > _NOBODY
        passing *= 1.0 - chance
    return reached


@njit(**tiles.options)
def _lambdas(first, last, indptr, lists, form, pairs, held, tile, out):
    """The same with room for it."""
    inverse, weight = lists.inverse, lists.weight
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            tiles.clear(out, q, start, stop)
            continue
        best, worst = tiles.score_range(lists.scores, start, stop)
        middle = 0.5 * best + 0.5 * worst
        wide = tiles.is_wide(pairs, best, middle, worst)
        middle = 0.0 if wide else middle
        position = lists.order[start:stop]
        reached = _walk(held, q, start, position, lists, form.stop, middle)
        if not wide:
            tiles.exponentials(n, held.score, pairs.sigma, held.e)
        norm = tiles.norm_of(pairs, best, worst, out.grad)
        total = 0.0
        upper = tiles.least(tiles.least(reached, pairs.truncation), form.depth)
        for low in range(0, upper, CAPACITY):
            size = tiles.least(CAPACITY, upper - low)
            _load(tile, low, size, held)
            total = _meet(tile, low, size, n, held, wide, pairs.sigma, norm, total)
            tiles.collect(tile, GRAD, low, size, held.pull)
            tiles.collect(tile, HESS, low, size, held.curve)
        tiles.write(out, q, start, n, position, held.pull, held.curve, total, weight[q], pairs)


def lambdas(first, last, indptr, lists, form, pairs, out):
    """LambdaRank gradient and curvature of each row."""
    real = out.grad.dtype
    held = _room(tiles.longest_of(first, last, indptr), form, real)
    tile = np.zeros(_FIELDS * FIELD, real)
    _lambdas(first, last, indptr, lists, form, pairs, held, tile, out)
