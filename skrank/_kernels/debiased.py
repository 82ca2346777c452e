"""LambdaRank for clicks whose chance depends on where a document was shown: unbiased LambdaMART.

With t+ the chance of a click at a position and t- that of none, in units of those at the first
position, a pair of a clicked document i and another one j that was not clicked weighs

    |delta_ij| / (t+_i t-_j),

delta being the change of the metric when the two swap places. The costs of the pairs say what t
must be next: a row gets the sum of its pairs' costs, each divided by t of the other document.

See `buckets` for the order of work.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from skrank._kernels import buckets, tiles
from skrank._kernels.buckets import ABOVE, BELOW, LANES
from skrank._kernels.cache import njit
from skrank._kernels.tiles import CAPACITY, EXP, FIELD, GRAD, HESS, RANK, SCORE

_SKIP, _COST = (np.uint64((buckets.FIELDS + i) * FIELD) for i in range(2))
_FIELDS = buckets.FIELDS + 2

_SERIES = tuple(np.float32(2 / (2 * k + 1)) for k in range(7, -1, -1))  # of log(1 + u)


class _Sums(NamedTuple):
    """Room for what the documents of one query collect, and their factors; by slot."""

    pull: np.ndarray
    curve: np.ndarray
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


@njit(**tiles.fast)
def _sweep(tile, blocks, limit, rank, below, above, e, score, click, sigma, norm):
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
        delta = max(delta, zero) if other < limit else zero
        gap = score - tile[t + SCORE]
        e_other = tile[t + EXP]
        weight = delta / (norm.base + norm.slope * abs(gap))
        shared = one / (e + e_other)
        pull = weight * click * tile[t + _SKIP] * e_other * shared
        curvature = pull * e * shared
        likely = min(e, e_other) / max(e, e_other)
        pair = weight * (_log1p(likely) + sigma * max(-gap, zero))
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@njit(**tiles.options)
def _sweep_wide(tile, scores, limit, rank, below, above, score, click, sigma, norm):
    """The same for score ranges whose exponentials overflow, on scores in double precision."""
    grad, hess, cost = norm.zero, norm.zero, norm.zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        other = tile[t + RANK]
        delta = below - tile[t + BELOW] if other > rank else tile[t + ABOVE] - above
        delta = max(delta, norm.zero) if other < limit else norm.zero
        gap = tiles.gap(score, scores[lane])
        wrong = tiles.wrong(sigma, gap)
        weight = delta / (norm.base + norm.slope * abs(gap))
        pull = weight * click * tile[t + _SKIP] * wrong
        curvature = pull * (1.0 - wrong)
        pair = weight * (math.log1p(math.exp(-abs(sigma * gap))) + sigma * max(-gap, 0.0))
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@njit(**tiles.options, forceinline=True)
def _load(tile, low, size, e, held, sums, nowhere):
    """Fill a tile with the documents from slot `low` on."""
    end = tiles.padded(size, LANES)
    tiles.load(tile, EXP, e, low, size, end, 1)
    tiles.load(tile, SCORE, held.score, low, size, end, 0)
    tiles.load(tile, RANK, held.rank, low, size, end, nowhere)
    tiles.load(tile, _SKIP, sums.skip, low, size, end, 0)
    for field in (GRAD, HESS, _COST):
        tiles.fill(tile, field, end, 0)


@njit(**tiles.options, forceinline=True)
def _meet(
    tile, low, size, inside, limit, no_limit, high, end, held, ends, e, wide, sigma, norm, sums,
    total,
):  # fmt: skip
    """All pairs of the documents in slots high .. end - 1 with those of a tile; adds to `total`."""
    rank, score, near, real = held.rank, held.score, held.near, held.rank.dtype.type
    belows, aboves = ends.below, ends.above
    pull, curve, clicked, click = sums.pull, sums.curve, sums.clicked, sums.click
    blocks, reach = (size + LANES - 1) // LANES, (inside + LANES - 1) // LANES
    for i in range(high, end):
        top = rank[i] < limit
        if not top and inside == 0:
            break
        to = no_limit if top else limit
        if wide:
            g, h, c = _sweep_wide(
                tile, score[low : low + size], to, rank[i], belows[i], aboves[i], score[i],
                click[i], sigma, norm,
            )  # fmt: skip
        else:
            g, h, c = _sweep(
                tile, blocks if top else reach, to, rank[i], belows[i], aboves[i], e[i],
                near[i], click[i], real(sigma), norm,
            )  # fmt: skip
        pull[i] -= g
        curve[i] += h
        clicked[i] += c
        total += g
    return total


@njit(**tiles.options, forceinline=True)
def _pull(tile, held, ends, e, form, inverse, truncation, wide, sigma, norm, sums):
    """All pairs of a query. Returns the sum of their pulls."""
    begin, rank = held.begin, held.rank
    n_classes, real = len(form.kernel), rank.dtype.type
    limit, no_limit = real(min(truncation, begin[n_classes])), real(begin[n_classes])
    total = 0.0
    for worse in range(n_classes - 1):
        for low in range(begin[worse], begin[worse + 1], CAPACITY):
            size = min(CAPACITY, begin[worse + 1] - low)
            blocks = (size + LANES - 1) // LANES
            inside = buckets.within(rank, low, size, limit)
            _load(tile, low, size, e, held, sums, no_limit)
            for better in range(worse + 1, n_classes):
                high, end = begin[better], begin[better + 1]
                if high == end or (inside == 0 and rank[high] >= limit):
                    continue
                buckets.swap(held, form.kernel, better, worse, inverse, tile, low, blocks, ends)
                total = _meet(
                    tile, low, size, inside, limit, no_limit, high, end, held, ends, e, wide,
                    sigma, norm, sums, total,
                )  # fmt: skip
            tiles.collect(tile, GRAD, low, size, sums.pull)
            tiles.collect(tile, HESS, low, size, sums.curve)
            tiles.collect(tile, _COST, low, size, sums.skipped)
    return total


@njit(**tiles.options)
def _gather(clicks, start, position, sums):
    """Nothing collected yet; the factors of the documents of a query."""
    n = len(position)
    for collected in (sums.pull, sums.curve, sums.clicked, sums.skipped):
        collected[:n] = 0
    click, skip, given_click, given_skip = sums.click, sums.skip, clicks.click, clicks.skip
    for i in range(n):
        row = start + position[i]
        click[i], skip[i] = given_click[row], given_skip[row]


@njit(**tiles.options)
def _scatter(costs, weight, start, position, out):
    """Put the costs of the documents of a query to their rows."""
    for i in range(len(position)):
        out[start + position[i]] = weight * costs[i]


@njit(**tiles.options)
def lambdas(first, last, indptr, lists, form, pairs, clicks, out):
    """Gradient, curvature and costs as the better and as the worse document, of each row."""
    longest, grad = tiles.longest(first, last, indptr), out.grad
    held, ends = buckets.make(longest, form, grad), buckets.make_ends(longest, grad)
    room = len(held.score)
    tile, e = np.zeros(_FIELDS * FIELD, grad.dtype), np.zeros(room, grad.dtype)
    sums = _Sums(
        np.zeros(room, grad.dtype), np.zeros(room, grad.dtype), np.zeros(room, grad.dtype),
        np.zeros(room, grad.dtype), np.zeros(room, grad.dtype), np.zeros(room, grad.dtype),
    )  # fmt: skip
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if lists.inverse[q] == 0 or lists.weight[q] == 0:
            tiles.clear(out, q, start, stop)
            clicks.clicked[start:stop] = 0
            clicks.skipped[start:stop] = 0
            continue
        best, worst = tiles.score_range(lists.scores, start, stop)
        wide = pairs.sigma * (best - worst) > pairs.widest
        buckets.sort_into(held, q, start, stop, lists, form, 0.5 * best + 0.5 * worst)
        position = held.position[:n]
        _gather(clicks, start, position, sums)
        if not wide:
            tiles.exponentials(n, held.score, pairs.sigma, e)
        norm = tiles.norm_of(pairs, best, worst, grad)
        total = _pull(
            tile, held, ends, e, form, lists.inverse[q], pairs.truncation, wide, pairs.sigma, norm,
            sums,
        )  # fmt: skip
        weight = lists.weight[q]
        tiles.write(out, q, start, position, sums.pull, sums.curve, total, weight, pairs)
        _scatter(sums.clicked, weight, start, position, clicks.clicked)
        _scatter(sums.skipped, weight, start, position, clicks.skipped)
