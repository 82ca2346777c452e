"""LambdaRank gradients of quadratic metrics: see `buckets` for the order of work.

One loop serves both kinds of gradients. Where it takes `clicks` or `costs`, None is for those of
plain labels, and for `wide` it is for scores whose exponentials fit: numba compiles the loop for
each by itself, without what the others do.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import buckets, debiased, tiles
from skrank._kernels.buckets import ABOVE, BELOW, LANES
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import CAPACITY, EXP, GRAD, HESS, RANK, SCORE


class _Powers(NamedTuple):
    """Room for powers of two, one for each document of a query; both are the same memory."""

    value: np.ndarray
    bits: np.ndarray


def _powers(longest):
    """Room for queries of up to `longest` documents."""
    value = np.zeros(longest, np.float32)
    return _Powers(value, value.view(np.int32))


@part(**tiles.fast)
def _exponentials(n, score, rate, bits, powers, e):
    """2^(rate score) of n scores in single precision, in SIMD.

    2^x = 2^whole 2^part: the first by its bits, the second by a
    polynomial.
    """
    for i in range(np.uint64(n)):
        x = rate * score[i]
        whole = np.floor(x + np.float32(0.5))
        part = x - whole
        bits[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
        y = np.float32(1.5403530e-4)
        y = y * part + np.float32(1.33335581e-3)
        y = y * part + np.float32(9.61812911e-3)
        y = y * part + np.float32(5.55041087e-2)
        y = y * part + np.float32(2.40226507e-1)
        y = y * part + np.float32(6.93147181e-1)
        e[i] = y * part + np.float32(1.0)
    for i in range(np.uint64(n)):
        e[i] *= powers[i]


@part(**tiles.fast)
def _sweep(tile, blocks, limit, rank, below, above, e, score, norm):
    """All pairs of one better document with the worse documents of a tile.

    Returns the sums of lambda and curvature of the better one; adds those of the others to the
    tile.
    """
    grad, hess = norm.zero, norm.zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        other = tile[t + RANK]
        delta = below - tile[t + BELOW] if other > rank else tile[t + ABOVE] - above
        delta = norm.zero if delta < norm.zero else delta
        delta = delta if other < limit else norm.zero
        distance = norm.base + norm.slope * abs(score - tile[t + SCORE])
        e_other = tile[t + EXP]
        shared = norm.one / ((e + e_other) * distance)
        pull = delta * e_other * shared
        curvature = pull * e * shared * distance
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@part(**tiles.options)
def _sweep_wide(tile, scores, limit, rank, below, above, score, sigma, norm):
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores come in double precision: next to an outlier, single precision could not tell them apart.
    """
    grad, hess = norm.zero, norm.zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        other = tile[t + RANK]
        delta = below - tile[t + BELOW] if other > rank else tile[t + ABOVE] - above
        delta = norm.zero if delta < norm.zero else delta
        delta = delta if other < limit else norm.zero
        gap = tiles.gap(score, scores[lane])
        wrong, right = tiles.chances(sigma, gap)
        pull = delta * wrong / (norm.base + norm.slope * abs(gap))
        curvature = pull * right
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@part(**tiles.options, forceinline=True)
def _load(tile, low, size, blocks, slots, nowhere, clicks, costs):
    """Fill a tile with the documents from slot `low` on."""
    end = blocks * LANES
    tiles.load(tile, EXP, slots.e, low, size, end, 1.0)
    tiles.load(tile, SCORE, slots.near, low, size, end, 0.0)
    tiles.load(tile, RANK, slots.rank, low, size, end, nowhere)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)
    if clicks is not None:
        debiased.load(tile, low, size, end, costs)


@part(**tiles.options, forceinline=True)
def _meet(
    tile, low, size, inside, limit, no_limit, high, end, slots, wide, sigma, norm, clicks, costs,
    total,
):  # fmt: skip
    """All pairs of the documents in slots high .. end - 1 with those of a tile; adds to `total`."""
    # arrays by themselves: a tuple of them would cost a count of references for each document
    rank, score, near, e, real = slots.rank, slots.score, slots.near, slots.e, slots.e.dtype.type
    belows, aboves, pull, curve = slots.below, slots.above, slots.pull, slots.curve
    if clicks is not None:
        click, clicked = costs.click, costs.clicked
    blocks, reach = (size + LANES - 1) // LANES, (inside + LANES - 1) // LANES
    for i in range(np.uint64(high), np.uint64(end)):
        top = rank[i] < limit
        if not top and inside == 0:
            break
        to, met = (no_limit, blocks) if top else (limit, reach)
        if clicks is None:
            if wide is not None:
                g, h = _sweep_wide(
                    tile, score[low : low + size], to, rank[i], belows[i], aboves[i], score[i],
                    sigma, norm,
                )  # fmt: skip
            else:
                g, h = _sweep(tile, met, to, rank[i], belows[i], aboves[i], e[i], near[i], norm)
        else:
            if wide is not None:
                g, h, cost = debiased.sweep_wide(
                    tile, score[low : low + size], to, rank[i], belows[i], aboves[i], score[i],
                    click[i], sigma, norm,
                )  # fmt: skip
            else:
                g, h, cost = debiased.sweep(
                    tile, met, to, rank[i], belows[i], aboves[i], e[i], near[i], click[i],
                    real(sigma), norm,
                )  # fmt: skip
            clicked[i] += cost
        pull[i] -= g
        curve[i] += h
        total += g
    return total


@part(**tiles.options, forceinline=True)
def _pull(tile, begin, slots, kernel, inverse, truncation, wide, sigma, norm, clicks, costs):
    """All pairs of a query. Returns the sum of their pulls."""
    rank, n_classes, real = slots.rank, len(kernel), slots.rank.dtype.type
    n = begin[n_classes]
    limit, no_limit = real(tiles.least(truncation, n)), real(n)
    total = 0.0
    for worse in range(n_classes - 1):
        for low in range(begin[worse], begin[worse + 1], CAPACITY):
            size = tiles.least(CAPACITY, begin[worse + 1] - low)
            blocks = (size + LANES - 1) // LANES
            inside = buckets.within(rank, low, size, limit)
            _load(tile, low, size, blocks, slots, no_limit, clicks, costs)
            for better in range(worse + 1, n_classes):
                high, end = begin[better], begin[better + 1]
                if high == end or (inside == 0 and rank[high] >= limit):
                    continue
                buckets.swap(slots, kernel, better, worse, inverse, tile, low, blocks, high, end)
                total = _meet(
                    tile, low, size, inside, limit, no_limit, high, end, slots, wide, sigma, norm,
                    clicks, costs, total,
                )  # fmt: skip
            tiles.collect(tile, GRAD, low, size, slots.pull)
            tiles.collect(tile, HESS, low, size, slots.curve)
            if clicks is not None:
                debiased.collect(tile, low, size, costs)
    return total


@njit(**tiles.options)
def _lambdas(first, last, indptr, lists, form, pairs, wide, clicks, room, powers, costs, out):
    """Gradients of the queries whose exponentials fit, or where `wide` is True of the others.

    Returns how many queries are left.
    """
    inverse, weight, scores, offset = lists.inverse, lists.weight, lists.scores, form.offset
    held, slots, tile = room
    pull, curve = slots.pull, slots.curve
    left = 0
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            tiles.clear(out, q, start, stop)
            if clicks is not None:
                debiased.clear(clicks, start, stop)
            continue
        best, worst = tiles.score_range(scores, start, stop)
        middle = 0.5 * best + 0.5 * worst
        if tiles.is_wide(pairs, best, middle, worst) == (wide is None):
            left += 1
            continue
        middle = middle if wide is None else 0.0
        buckets.sort_into(held, slots, start, stop, lists, form, offset[q], middle)
        if clicks is not None:
            debiased.gather(clicks, start, held.position[:n], costs)
        if wide is None:
            if powers is not None:
                rate = np.float32(pairs.sigma / np.log(2.0))
                _exponentials(n, slots.near, rate, powers.bits, powers.value, slots.e)
            else:
                tiles.exponentials(n, slots.score, pairs.sigma, slots.e)
        for i in range(np.uint64(n)):
            pull[i], curve[i] = 0, 0
        norm = tiles.norm_of(pairs, best, worst, out.grad)
        total = _pull(
            tile, held.begin, slots, form.kernel, inverse[q], pairs.truncation, wide, pairs.sigma,
            norm, clicks, costs,
        )  # fmt: skip
        tiles.write(out, q, start, n, held.position, pull, curve, total, weight[q], pairs)
        if clicks is not None:
            debiased.scatter(costs, weight[q], start, held.position[:n], clicks)
    return left


def debiased_lambdas(first, last, indptr, lists, form, pairs, clicks, out):
    """Gradient, curvature and costs as the better and as the worse document, of each row.

    What wide ranges of scores need, which are rare, is compiled where there are some.
    """
    longest, real = tiles.longest_of(first, last, indptr), out.grad.dtype
    room = *buckets.make(longest, form, real), np.zeros(debiased.FIELDS * tiles.FIELD, real)
    powers = _powers(longest) if clicks is None and real == np.float32 else None
    costs = None if clicks is None else debiased.make(longest, real)
    some = first, last, indptr, lists, form, pairs
    if _lambdas(*some, None, clicks, room, powers, costs, out):
        _lambdas(*some, True, clicks, room, None, costs, out)


def lambdas(first, last, indptr, lists, form, pairs, out):
    """LambdaRank gradient and curvature of each row.

    Arithmetic on pairs has the precision of ``out.grad``; swap tables are always double.
    """
    debiased_lambdas(first, last, indptr, lists, form, pairs, None, out)
