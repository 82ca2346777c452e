"""LambdaRank for clicks whose chance depends on where a document was shown: unbiased LambdaMART.

With t+ the chance of a click at a position and t- that of none, in units of those at the first
position, a pair of a clicked document i and another one j that was not clicked weighs

    |delta_ij| / (t+_i t-_j),

delta being the change of the metric when the two swap places. `click` holds 1 / t+, `skip` 1 / t-
of each row. The costs of the pairs say what t must be next: a row gets the sum of its pairs' costs,
each divided by t of the other document.

See `quadratic` for the swaps. Documents are bucketed by class and stay in rank order inside a
bucket; a better document meets the worse bucket as one tile of columns.
"""

import math

import numpy as np
from numba import njit
from numba.extending import overload

LANES = 8  # documents per SIMD step; tiles are padded to a multiple
CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
_FIELD = CAPACITY + LANES  # fields of a tile lie this far apart: known to the compiler, no aliasing
_EXP, _SCORE, _RANK, _BELOW, _ABOVE, _SKIP, _GRAD, _HESS, _COST = (
    np.uint64(i * _FIELD) for i in range(9)
)
_TILE = 9 * _FIELD

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}

_SERIES = tuple(np.float32(2 / (2 * k + 1)) for k in range(7, -1, -1))  # of log(1 + u)


def _log1p(u):
    """log(1 + u) for u in [0, 1], in the precision of u."""
    raise NotImplementedError("for compiled callers")


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


@njit(**_fast)
def _sweep(
    tile, blocks, limit, rank, below, above, e, score, click, sigma, base, slope, zero, one
):  # fmt: skip
    """All pairs of one better document with the worse documents of a tile.

    Returns the sums of gradient and curvature of the better one, and its cost; adds those of the
    others to the tile.
    """
    grad, hess, cost = zero, zero, zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        other = tile[t + _RANK]
        delta = below - tile[t + _BELOW] if other > rank else tile[t + _ABOVE] - above
        delta = max(delta, zero) if other < limit else zero
        gap = score - tile[t + _SCORE]
        e_other = tile[t + _EXP]
        weight = delta / (base + slope * abs(gap))
        shared = one / (e + e_other)
        pull = weight * click * tile[t + _SKIP] * e_other * shared
        curvature = pull * e * shared
        likely = min(e, e_other) / max(e, e_other)
        pair = weight * (_log1p(likely) + sigma * max(-gap, zero))
        tile[t + _GRAD] += pull
        tile[t + _HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@njit(**_options)
def _sweep_wide(
    tile, scores, limit, rank, below, above, score, click, sigma, base, slope, zero
):  # fmt: skip
    """The same for score ranges whose exponentials overflow, on scores in double precision."""
    grad, hess, cost = zero, zero, zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        other = tile[t + _RANK]
        delta = below - tile[t + _BELOW] if other > rank else tile[t + _ABOVE] - above
        delta = max(delta, zero) if other < limit else zero
        gap = score - scores[lane]
        e = math.exp(-abs(sigma * gap))
        wrong = e / (1.0 + e) if gap > 0 else 1.0 / (1.0 + e)
        weight = delta / (base + slope * abs(gap))
        pull = weight * click * tile[t + _SKIP] * wrong
        curvature = pull * (1.0 - wrong)
        pair = weight * (math.log1p(e) + sigma * max(-gap, 0.0))
        tile[t + _GRAD] += pull
        tile[t + _HESS] += curvature
        tile[t + _COST] += pair * click
        grad += pull
        hess += curvature
        cost += pair * tile[t + _SKIP]
    return grad, hess, cost


@njit(**_options)
def _tabulate(ranked, slot_of, gain_of, kernel, u, w, table):
    """The swap table T of a list of classes, by slot and class."""
    n_classes = len(gain_of)
    before, after = np.zeros(n_classes), np.zeros(n_classes)
    for r in range(len(ranked)):
        c = ranked[r]
        for z in range(n_classes):
            table[slot_of[r], z] = u[r] * gain_of[z] + w[r] * before[z] - after[z]
        for z in range(n_classes):
            before[z] += kernel[c, z]
            after[z] += w[r] * kernel[z, c]


@njit(**_options)
def lambdas(
    first, last, indptr, classes, order, scores,
    gain_of, kernel, u, w, offset, inverse, weight, click, skip,
    sigma, truncation, score_norm, sum_norm, widest, grad, hess, totals, clicked, skipped,
):  # fmt: skip
    """Gradient, curvature and costs as the better and as the worse document, of each row.

    `totals` takes twice the sum of all pulls of a query, before weights and `sum_norm`. Arithmetic
    on pairs has the precision of `grad`; swap tables are always double.
    """
    n_classes = len(kernel)
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    tile = np.zeros(_TILE, grad.dtype)
    score, pair_weight = np.empty(longest), np.empty(longest)  # scores less the midrange
    e, rank = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    factor = np.empty((2, longest), grad.dtype)  # 1 / t+ and 1 / t- by slot
    mine = np.empty((4, longest), grad.dtype)  # gradient, curvature and both costs by slot
    row_of, ranked = np.empty(longest, np.int64), np.empty(longest, np.int64)
    slot_of, table = np.empty(longest, np.int64), np.empty((longest, n_classes))
    begin, fill = np.zeros(n_classes + 1, np.int64), np.zeros(n_classes, np.int64)
    number = np.zeros(8, grad.dtype)  # what is stored here comes back in the precision of `grad`
    number[1], number[7] = 1, sigma
    zero, one, rate = number[0], number[1], number[7]
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        totals[q] = 0.0
        if inverse[q] == 0 or weight[q] == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            clicked[start:stop] = 0
            skipped[start:stop] = 0
            continue
        begin[:] = 0
        for row in range(start, stop):
            begin[classes[row] + 1] += 1
        for c in range(n_classes):
            begin[c + 1] += begin[c]
            fill[c] = begin[c]
        best, worst = -np.inf, np.inf  # the order may be of noisy scores
        for row in range(start, stop):
            best, worst = max(best, scores[row]), min(worst, scores[row])
        middle = 0.5 * (best + worst)
        wide = sigma * (best - worst) > widest
        u_of, w_of = u[offset[q] :], w[offset[q] :]
        for r in range(n):
            row = start + order[start + r]
            c = classes[row]
            slot = fill[c]
            fill[c] = slot + 1
            score[slot], rank[slot], row_of[slot] = scores[row] - middle, r, row
            pair_weight[slot], ranked[r], slot_of[r] = w_of[r], c, slot
            factor[0, slot], factor[1, slot] = click[row], skip[row]
            number[2] = sigma * score[slot]
            e[slot] = zero if wide else np.exp(number[2])
        _tabulate(ranked[:n], slot_of, gain_of, kernel, u_of, w_of, table)
        mine[:, :n] = 0
        normed = score_norm and best != worst
        number[2], number[3] = 0.01 if normed else 1.0, 1.0 if normed else 0.0
        base, slope = number[2], number[3]
        number[2], number[3] = min(truncation, n), n
        limit, no_limit = number[2], number[3]
        total = 0.0
        for worse in range(n_classes - 1):
            for low in range(begin[worse], begin[worse + 1], CAPACITY):
                size = min(CAPACITY, begin[worse + 1] - low)
                blocks = (size + LANES - 1) // LANES
                inside = 0  # documents of the tile within the truncation level: the first ones
                for lane in range(blocks * LANES):
                    t = np.uint64(lane)
                    real = lane < size
                    tile[t + _EXP] = e[low + lane] if real else one
                    tile[t + _SCORE] = score[low + lane] if real else 0.0
                    tile[t + _RANK] = rank[low + lane] if real else no_limit
                    tile[t + _SKIP] = factor[1, low + lane] if real else zero
                    tile[t + _BELOW] = 0
                    tile[t + _ABOVE] = 0
                    tile[t + _GRAD] = 0
                    tile[t + _HESS] = 0
                    tile[t + _COST] = 0
                    inside += real and rank[low + lane] < limit
                reach = (inside + LANES - 1) // LANES
                for better in range(worse + 1, n_classes):
                    falls = kernel[worse, better] - kernel[better, better]
                    rises = kernel[better, worse] - kernel[worse, worse]
                    for lane in range(size):
                        t = np.uint64(lane)
                        step = table[low + lane, better] - table[low + lane, worse]
                        tile[t + _BELOW] = inverse[q] * (step + pair_weight[low + lane] * falls)
                        tile[t + _ABOVE] = inverse[q] * (step - pair_weight[low + lane] * rises)
                    for i in range(begin[better], begin[better + 1]):
                        top = rank[i] < limit
                        if not top and inside == 0:
                            break
                        step = table[i, better] - table[i, worse]
                        number[4] = inverse[q] * (step + pair_weight[i] * falls)
                        number[5] = inverse[q] * (step - pair_weight[i] * rises)
                        number[6] = score[i]
                        to = no_limit if top else limit
                        if wide:
                            g, h, c = _sweep_wide(
                                tile, score[low : low + size], to, rank[i], number[4], number[5],
                                score[i], factor[0, i], sigma, base, slope, zero,
                            )  # fmt: skip
                        else:
                            g, h, c = _sweep(
                                tile, blocks if top else reach, to, rank[i], number[4], number[5],
                                e[i], number[6], factor[0, i], rate, base, slope, zero, one,
                            )  # fmt: skip
                        mine[0, i] -= g
                        mine[1, i] += h
                        mine[2, i] += c
                        total += g
                for lane in range(size):
                    t = np.uint64(lane)
                    mine[0, low + lane] += tile[t + _GRAD]
                    mine[1, low + lane] += tile[t + _HESS]
                    mine[3, low + lane] += tile[t + _COST]
        scale = weight[q]
        totals[q] = 2.0 * sigma * total
        if sum_norm and totals[q] > 0:
            scale *= np.log2(1.0 + totals[q]) / totals[q]
        for slot in range(n):
            row = row_of[slot]
            grad[row] = scale * sigma * mine[0, slot]
            hess[row] = scale * sigma * sigma * mine[1, slot]
            clicked[row] = weight[q] * mine[2, slot]
            skipped[row] = weight[q] * mine[3, slot]
