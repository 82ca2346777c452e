"""LambdaRank gradients of quadratic metrics: see `quadratic` for the changes by swaps.

Documents are bucketed by class and stay in rank order inside a bucket. A better document meets the
worse bucket as one tile of columns: no pair of one class is visited, and a pair costs no look-up.
"""

import numpy as np
from numba import njit

LANES = 8  # documents per SIMD step; tiles are padded to a multiple
CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
_FIELD = CAPACITY + LANES  # fields of a tile lie this far apart: known to the compiler, no aliasing
_EXP, _SCORE, _RANK, _BELOW, _ABOVE, _GRAD, _HESS = (np.uint64(i * _FIELD) for i in range(7))
_TILE = 7 * _FIELD

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}


@njit(**_fast)
def _count(codes, start, stop, code):
    """Rows of a query that have a code."""
    found = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        found += codes[row] == code
    return found


@njit(**_fast)
def _range(scores, start, stop):
    """Highest and lowest score of a query."""
    best, worst = scores[start], scores[start]
    for row in range(np.uint64(start), np.uint64(stop)):
        best, worst = max(best, scores[row]), min(worst, scores[row])
    return best, worst


@njit(**_fast)
def _exponentials(n, score, rate, bits, power, e):
    """2^(rate score) of n scores in single precision, in SIMD.

    2^x = 2^whole 2^part: the first by its bits, which `power` reads as a number, the second by a
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
        e[i] *= power[i]


@njit(**_fast)
def _swap_tables(n, u, w, ranked, slot_of, gain_of, upper, lower, table):
    """T of `quadratic` by class and slot, for a list of classes `ranked`.

    ``upper[z, c]`` is K(c, z) and ``lower[z, c]`` K(z, c). Two classes at a time: the sums of one
    wait for each other.
    """
    for z in range(np.uint64(0), np.uint64(len(table)), np.uint64(2)):
        y = z + np.uint64(1)
        before_z, after_z, before_y, after_y = 0.0, 0.0, 0.0, 0.0
        for r in range(np.uint64(n)):
            c, slot = np.uint64(ranked[r]), np.uint64(slot_of[r])
            table[z, slot] = u[r] * gain_of[z] + w[r] * before_z - after_z
            table[y, slot] = u[r] * gain_of[y] + w[r] * before_y - after_y
            before_z += upper[z, c]
            before_y += upper[y, c]
            after_z += w[r] * lower[z, c]
            after_y += w[r] * lower[y, c]


@njit(**_fast)
def _swap_ends(
    table, up, down, low, blocks, pair_weight, falls, rises, scale, below, below_at, above, above_at
):  # fmt: skip
    """What a swap with a document further below, or above, takes from each of some slots."""
    up, down, low = np.uint64(up), np.uint64(down), np.uint64(low)
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        slot = low + lane
        step = table[up, slot] - table[down, slot]
        below[below_at + lane] = scale * (step + pair_weight[slot] * falls)
        above[above_at + lane] = scale * (step - pair_weight[slot] * rises)


@njit(**_fast)
def _load(tile, low, size, blocks, e, score, rank, limit, nowhere):
    """Fill a tile with `size` documents from slot `low` on; returns how many rank above `limit`."""
    low, size = np.uint64(low), np.uint64(size)
    padded = np.uint64(blocks) * np.uint64(LANES)
    inside = 0
    for t in range(size):
        tile[t + _EXP] = e[low + t]
        tile[t + _SCORE] = score[low + t]
        tile[t + _RANK] = rank[low + t]
        inside += rank[low + t] < limit
    for t in range(size, padded):
        tile[t + _EXP] = 1
        tile[t + _SCORE] = 0
        tile[t + _RANK] = nowhere
    for t in range(padded):
        tile[t + _GRAD] = 0
        tile[t + _HESS] = 0
    return inside


@njit(**_fast)
def _sweep(tile, blocks, limit, i, ranks, belows, aboves, es, scores, base, slope, zero, one):
    """All pairs of the better document in slot i with the worse documents of a tile.

    Returns the sums of lambda and curvature of the better one; adds those of the others to the
    tile.
    """
    rank, below, above, e, score = ranks[i], belows[i], aboves[i], es[i], scores[i]
    grad, hess = zero, zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        other = tile[t + _RANK]
        delta = below - tile[t + _BELOW] if other > rank else tile[t + _ABOVE] - above
        delta = max(delta, zero) if other < limit else zero
        distance = base + slope * abs(score - tile[t + _SCORE])
        e_other = tile[t + _EXP]
        shared = one / ((e + e_other) * distance)
        pull = delta * e_other * shared
        curvature = pull * e * shared * distance
        tile[t + _GRAD] += pull
        tile[t + _HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@njit(**_options)
def _sweep_wide(
    tile, scores, limit, rank, below, above, score, sigma, base, slope, zero, one
):  # fmt: skip
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores come in double precision: next to an outlier, single precision could not tell them apart.
    """
    grad, hess = zero, zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        other = tile[t + _RANK]
        delta = below - tile[t + _BELOW] if other > rank else tile[t + _ABOVE] - above
        delta = max(delta, zero) if other < limit else zero
        gap = score - scores[lane]
        e = np.exp(-abs(sigma * gap))
        wrong = e / (1.0 + e) if gap > 0 else 1.0 / (1.0 + e)
        pull = delta * wrong / (base + slope * abs(gap))
        curvature = pull * (1.0 - wrong)
        tile[t + _GRAD] += pull
        tile[t + _HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@njit(**_options)
def lambdas(
    first, last, indptr, classes, order, scores,
    gain_of, kernel, u, w, offset, inverse, weight,
    sigma, truncation, score_norm, sum_norm, widest, grad, hess, totals,
):  # fmt: skip
    """LambdaRank gradient and curvature of each row.

    Arithmetic on pairs has the precision of `grad`; swap tables are always double.
    `totals` takes twice the sum of all pulls of a query, before weights and `sum_norm`.
    """
    n_classes = len(kernel)
    longest = LANES  # what is written past the end of a bucket needs room
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q] + LANES)
    tile = np.zeros(_TILE, grad.dtype)
    score, pair_weight = np.zeros(longest), np.zeros(longest)
    ranked, slot_of = np.zeros(longest, np.int32), np.zeros(longest, np.int32)
    position = np.zeros(longest, np.int32)
    bits = np.zeros(longest, np.int32)
    power = bits.view(np.float32)
    near, e = np.zeros(longest, grad.dtype), np.zeros(longest, grad.dtype)
    rank = np.zeros(longest, grad.dtype)
    below, above = np.zeros(longest, grad.dtype), np.zeros(longest, grad.dtype)
    pull, curve = np.zeros(longest, grad.dtype), np.zeros(longest, grad.dtype)
    number = np.zeros(4, grad.dtype)  # what is stored here comes back in the precision of `grad`
    number[1] = 1
    zero, one = number[0], number[1]
    begin, fill = np.zeros(n_classes + 1, np.int64), np.zeros(n_classes, np.int64)
    even = n_classes + n_classes % 2
    table, upper, lower = np.zeros((even, longest)), np.zeros((even, even)), np.zeros((even, even))
    gains = np.zeros(even)
    gains[:n_classes] = gain_of
    upper[:n_classes, :n_classes] = kernel.T
    lower[:n_classes, :n_classes] = kernel
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        totals[q] = 0.0
        if inverse[q] == 0 or weight[q] == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        for c in range(n_classes):
            fill[c] = begin[c]
            begin[c + 1] = begin[c] + _count(classes, start, stop, c)
        best, worst = _range(scores, start, stop)
        middle = 0.5 * (best + worst)
        wide = sigma * (best - worst) > widest
        u_of, w_of = u[offset[q] :], w[offset[q] :]
        for r in range(n):
            p = order[start + r]
            c = np.uint64(classes[start + p])
            slot = fill[c]
            fill[c] = slot + 1
            score[slot], near[slot] = scores[start + p] - middle, scores[start + p] - middle
            rank[slot], position[slot], pair_weight[slot] = r, p, w_of[r]
            ranked[r], slot_of[r] = c, slot
        if not wide and grad.itemsize == 4:
            _exponentials(n, near, np.float32(sigma / np.log(2.0)), bits, power, e)
        elif not wide:
            e[:n] = np.exp(sigma * score[:n])
        _swap_tables(n, u_of, w_of, ranked, slot_of, gains, upper, lower, table)
        pull[:n] = 0
        curve[:n] = 0
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
                # documents of the tile within the truncation level: the first ones
                inside = _load(tile, low, size, blocks, e, near, rank, limit, no_limit)
                reach = (inside + LANES - 1) // LANES
                for better in range(worse + 1, n_classes):
                    high, end = begin[better], begin[better + 1]
                    if high == end or (inside == 0 and rank[high] >= limit):
                        continue
                    falls = kernel[worse, better] - kernel[better, better]
                    rises = kernel[better, worse] - kernel[worse, worse]
                    _swap_ends(
                        table, better, worse, low, blocks, pair_weight, falls, rises, inverse[q],
                        tile, _BELOW, tile, _ABOVE,
                    )  # fmt: skip
                    _swap_ends(
                        table, better, worse, high, (end - high + LANES - 1) // LANES, pair_weight,
                        falls, rises, inverse[q], below, np.uint64(high), above, np.uint64(high),
                    )  # fmt: skip
                    for i in range(high, end):
                        top = rank[i] < limit
                        if not top and inside == 0:
                            break
                        if wide:
                            g, h = _sweep_wide(
                                tile, score[low : low + size], no_limit if top else limit, rank[i],
                                below[i], above[i], score[i], sigma, base, slope, zero, one,
                            )  # fmt: skip
                        else:
                            g, h = _sweep(
                                tile, blocks if top else reach, no_limit if top else limit, i,
                                rank, below, above, e, near, base, slope, zero, one,
                            )  # fmt: skip
                        pull[i] -= g
                        curve[i] += h
                        total += g
                for lane in range(size):
                    t = np.uint64(lane)
                    pull[low + lane] += tile[t + _GRAD]
                    curve[low + lane] += tile[t + _HESS]
        scale = weight[q]
        totals[q] = 2.0 * sigma * total
        if sum_norm and total > 0:
            scale *= np.log2(1.0 + totals[q]) / totals[q]
        for slot in range(n):
            grad[start + position[slot]] = scale * sigma * pull[slot]
            hess[start + position[slot]] = scale * sigma * sigma * curve[slot]
