"""LambdaLoss for (normalised) discounted cumulated gain.

With G the normalised gains and d the discount, the documents at the ranks a < b make a pair of the
weight

    |G_a - G_b| (fall_a - fall_b + step_(b-a) stretch_b + even_b).

`fall` is the discount of the metric, so that its part is what a swap changes; `step` holds the
differences of d between neighbouring ranks at the distance of the pair. The other tables serve a
cut-off: the steps above a rank b sum to d_1 - d_b, and below the cut-off to d_1 once stretched.
"""

import numpy as np
from numba import njit

LANES = 8  # documents per SIMD step; tiles are padded to a multiple
CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
_FIELD = CAPACITY + LANES  # fields of a tile lie this far apart: known to the compiler, no aliasing
_EXP, _SCORE, _GAIN, _RANK, _FALL, _STRETCH, _EVEN, _GRAD, _HESS = (
    np.uint64(i * _FIELD) for i in range(9)
)
_TILE = 9 * _FIELD

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}


@njit(**_fast)
def _sweep(tile, steps, near, begin, end, rank, gain, fall, e, score, base, slope, zero, one):
    """All pairs of one document with the documents of a tile that rank below it.

    ``steps[near + lane]`` is the step at the distance of the document in `lane`. Returns the sums
    of gradient and curvature of the upper one, and of the sizes of the gradients; adds those of the
    others to the tile.
    """
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(begin), np.uint64(end)):
        t = np.uint64(lane)
        lead = gain - tile[t + _GAIN]
        ordered = lead > zero
        apart = steps[np.uint64(near) + t] * tile[t + _STRETCH] + tile[t + _EVEN]
        weight = abs(lead) * (fall - tile[t + _FALL] + apart)
        weight = weight if tile[t + _RANK] > rank else zero
        distance = base + slope * abs(score - tile[t + _SCORE])
        e_lower = tile[t + _EXP]
        shared = one / ((e + e_lower) * distance)
        pull = weight * shared * (e_lower if ordered else e)
        curvature = pull * shared * distance * (e if ordered else e_lower)
        signed = pull if ordered else -pull
        tile[t + _GRAD] += signed
        tile[t + _HESS] += curvature
        grad -= signed
        hess += curvature
        total += pull
    return grad, hess, total


@njit(**_options)
def _sweep_wide(
    tile, steps, near, begin, scores, gain, fall, score, sigma, base, slope, zero, one
):  # fmt: skip
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores, those below only, come in double precision: next to an outlier, single precision could
    not tell them apart.
    """
    grad, hess, total = zero, zero, zero
    for i in range(len(scores)):
        t = np.uint64(begin + i)
        lead = gain - tile[t + _GAIN]
        ordered = lead > zero
        apart = steps[np.uint64(near) + t] * tile[t + _STRETCH] + tile[t + _EVEN]
        weight = abs(lead) * (fall - tile[t + _FALL] + apart)
        gap = score - scores[i]
        ahead = gap if ordered else -gap
        e = np.exp(-abs(sigma * gap))
        wrong = e / (1.0 + e) if ahead > 0 else 1.0 / (1.0 + e)
        pull = weight * wrong / (base + slope * abs(gap))
        curvature = pull * (1.0 - wrong)
        signed = pull if ordered else -pull
        tile[t + _GRAD] += signed
        tile[t + _HESS] += curvature
        grad -= signed
        hess += curvature
        total += pull
    return grad, hess, total


@njit(**_options)
def lambdas(
    first, last, indptr, codes, order, scores,
    gain, fall, step, stretch, even, inverse, weight,
    sigma, truncation, score_norm, sum_norm, widest, grad, hess, totals,
):  # fmt: skip
    """Gradient and curvature of each row; `totals` takes twice the sum of all pulls of a query.

    The lower documents of the pairs stand in a tile, in rank order, so that the steps of one upper
    document lie next to each other as well. Arithmetic on pairs has the precision of `grad`.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    tile = np.zeros(_TILE, grad.dtype)
    steps = np.zeros(longest + 2 * _FIELD, grad.dtype)  # distance 0 at _FIELD
    for distance in range(1, longest):
        steps[_FIELD + distance] = step[distance - 1]
    score = np.empty(longest)  # less the midrange
    e, worth = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    drop = fall.astype(grad.dtype)
    pull, curve = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    number = np.zeros(6, grad.dtype)  # what is stored here comes back in the precision of `grad`
    number[1] = 1
    zero, one = number[0], number[1]
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        totals[q] = 0.0
        if inverse[q] == 0 or weight[q] == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        best, worst = -np.inf, np.inf  # the order may be of noisy scores
        for row in range(start, stop):
            best, worst = max(best, scores[row]), min(worst, scores[row])
        middle = 0.5 * (best + worst)
        wide = sigma * (best - worst) > widest
        for r in range(n):
            row = start + order[start + r]
            score[r] = scores[row] - middle
            worth[r] = inverse[q] * gain[codes[row]]
            number[2] = sigma * score[r]
            e[r] = zero if wide else np.exp(number[2])
        pull[:n] = 0
        curve[:n] = 0
        normed = score_norm and best != worst
        number[2], number[3] = 0.01 if normed else 1.0, 1.0 if normed else 0.0
        base, slope = number[2], number[3]
        total = 0.0
        for low in range(0, n, CAPACITY):
            size = min(CAPACITY, n - low)
            padded = (size + LANES - 1) // LANES * LANES
            for lane in range(padded):
                t = np.uint64(lane)
                real = lane < size
                tile[t + _EXP] = e[low + lane] if real else one
                tile[t + _SCORE] = score[low + lane] if real else 0.0
                tile[t + _GAIN] = worth[low + lane] if real else zero
                tile[t + _RANK] = low + lane if real else -1
                tile[t + _FALL] = drop[low + lane] if real else zero
                tile[t + _STRETCH] = stretch[low + lane] if real else 0.0
                tile[t + _EVEN] = even[low + lane] if real else 0.0
                tile[t + _GRAD] = 0
                tile[t + _HESS] = 0
            for r in range(min(low + size - 1, truncation)):
                begin = max(r + 1 - low, 0)
                if wide:
                    near = _FIELD + low - r
                    g, h, s = _sweep_wide(
                        tile, steps, near, begin, score[low + begin : low + size],
                        worth[r], drop[r], score[r], sigma, base, slope, zero, one,
                    )  # fmt: skip
                else:
                    number[2], number[3] = r, score[r]
                    near = _FIELD + low - r
                    g, h, s = _sweep(
                        tile, steps, near, begin // LANES * LANES, padded, number[2],
                        worth[r], drop[r], e[r], number[3], base, slope, zero, one,
                    )  # fmt: skip
                pull[r] += g
                curve[r] += h
                total += s
            for lane in range(size):
                t = np.uint64(lane)
                pull[low + lane] += tile[t + _GRAD]
                curve[low + lane] += tile[t + _HESS]
        scale = weight[q]
        totals[q] = 2.0 * sigma * total
        if sum_norm and totals[q] > 0:
            scale *= np.log2(1.0 + totals[q]) / totals[q]
        for r in range(n):
            row = start + order[start + r]
            grad[row] = scale * sigma * pull[r]
            hess[row] = scale * sigma * sigma * curve[r]
