"""Metrics of the form sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r).

DCG, precision and RBP have K = 0; AP, GAP and the Q-measure put their worth into the pairs.
`gain` is g per code, `classes` maps codes to rows and columns of K, `u` and `w` are weights per
rank.

Swapping an upper document of class x with a lower one of class y changes the sum by
D(upper rank) - D(lower rank), where, with S_z(r) = sum_{s<r} K(y_s, z) and
H_z(r) = sum_{s<r} w_s K(z, y_s),

    T_z(r) = u_r g_z + w_r S_z(r) - H_z(r)
    D(r)   = T_y(r) - T_x(r) - w_r (K(y, x) - K(x, x)).

So one table T of (ranks x classes) gives every swap by two look-ups.
"""

import numpy as np
from numba import njit

LANES = 16  # documents per SIMD step; tiles are padded to a multiple
CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
_FIELD = CAPACITY + LANES  # fields of a tile lie this far apart: known to the compiler, no aliasing
_EXP, _SCORE, _RANK, _BELOW, _ABOVE, _GRAD, _HESS = (np.uint64(i * _FIELD) for i in range(7))
_TILE = 7 * _FIELD

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}


@njit(**_options)
def _paired_classes(kernel):
    """Classes that take part in pairs at all."""
    n_classes = kernel.shape[0]
    paired = np.zeros(n_classes, np.bool_)
    for c in range(n_classes):
        for z in range(n_classes):
            paired[c] = paired[c] or kernel[c, z] != 0 or kernel[z, c] != 0
    return paired


@njit(**_options)
def _untied(ranked, u, gain):
    """Worth of the documents of a list without ties."""
    total = 0.0
    for r in range(len(ranked)):
        total += u[r] * gain[ranked[r]]
    return total


@njit(**_options)
def _untied_pairs(ranked, w, classes, kernel, earlier):
    """Worth of the pairs of a list without ties."""
    total = 0.0
    earlier[:] = 0.0
    for r in range(len(ranked)):
        c = classes[ranked[r]]
        total += w[r] * earlier[c]
        for z in range(len(earlier)):
            earlier[z] += kernel[c, z]
    return total


@njit(**_options)
def _block(
    ranked, low, high, to_rank, gain, classes, kernel, u, w, earlier, block
):  # fmt: skip
    """Expected worth of a block of ties (of one document or more); adds it to `earlier`."""
    size = high - low
    block[:] = 0.0
    gains, sum_u, sum_w, sum_steps = 0.0, 0.0, 0.0, 0.0
    for row in range(low, high):
        gains += gain[ranked[row]]
        block[classes[ranked[row]]] += 1.0
        sum_u += u[to_rank + row]
        sum_w += w[to_rank + row]
        sum_steps += w[to_rank + row] * (row - low)
    with_earlier, inside = 0.0, 0.0
    for c in range(len(block)):
        with_earlier += block[c] * earlier[c]
        for z in range(len(block)):
            inside += block[c] * (block[z] - (z == c)) * kernel[z, c]
    for c in range(len(block)):
        for z in range(len(block)):
            earlier[z] += block[c] * kernel[c, z]
    pairs = max(size * (size - 1.0), 1.0)
    return (sum_u * gains + sum_w * with_earlier) / size + sum_steps * inside / pairs


@njit(**_options)
def values(
    first, last, indptr, ranked, tied, retrieved,
    gain, classes, kernel, u, w, offset, depth, inverse, out,
):  # fmt: skip
    """Value of each query, its mean over all orders of tied documents; 0 where `inverse` is 0.

    `u` and `w` vanish from rank `depth` on.
    """
    n_classes = kernel.shape[0]
    earlier = np.zeros(n_classes)  # earlier[z]: worth of a next document of class z in pairs
    block = np.zeros(n_classes)
    for q in range(first, last):
        start = indptr[q]
        end = start + retrieved[q]
        stop = min(end, start + depth) if inverse[q] != 0 else start
        to_rank = offset[q] - start
        ties = 0
        for row in range(start, end):
            ties += tied[row]
        if ties == 0:
            total = _untied(ranked[start:stop], u[offset[q] :], gain)
            if n_classes > 1:
                total += _untied_pairs(ranked[start:stop], w[offset[q] :], classes, kernel, earlier)
            out[q] = total * inverse[q]
            continue
        earlier[:] = 0.0
        total = 0.0
        low = start
        while low < stop:
            high = low + 1
            while high < end and tied[high]:
                high += 1
            total += _block(ranked, low, high, to_rank, gain, classes, kernel, u, w, earlier, block)
            low = high
        out[q] = total * inverse[q]


@njit(**_options)
def ideals(first, last, indptr, counts, best_first, gain, before, out):
    """Worth of the documents of each query's best list, the codes in the order `best_first`.

    ``before[r]`` is the summed weight of the ranks before r.
    """
    for q in range(first, last):
        total = 0.0
        rank = 0
        for code in best_first:
            total += (before[rank + counts[q, code]] - before[rank]) * gain[code]
            rank += counts[q, code]
        out[q] = total


@njit(**_options)
def deltas(ranked, gain, classes, kernel, u, w, out):
    """Change of the sum when ranks a < b of one list are swapped, for all pairs: out[a, b]."""
    n, n_classes = len(ranked), kernel.shape[0]
    table = np.empty((n, n_classes))
    gain_of = np.zeros(n_classes)
    before, after = np.zeros(n_classes), np.zeros(n_classes)
    for row in range(n):
        gain_of[classes[ranked[row]]] = gain[ranked[row]]
    for r in range(n):
        c = classes[ranked[r]]
        for z in range(n_classes):
            table[r, z] = u[r] * gain_of[z] + w[r] * before[z] - after[z]
            before[z] += kernel[c, z]
            after[z] += w[r] * kernel[z, c]
    for a in range(n):
        x = classes[ranked[a]]
        for b in range(a + 1, n):
            y = classes[ranked[b]]
            jump = kernel[y, x] - kernel[x, x]
            upper = table[a, y] - table[a, x] - w[a] * jump
            lower = table[b, y] - table[b, x] - w[b] * jump
            out[a, b] = upper - lower


@njit(**_fast)
def _sweep(tile, blocks, limit, rank, below, above, e, score, base, slope, zero, one):
    """All pairs of one better document with the worse documents of a tile.

    Returns the sums of lambda and curvature of the better one; adds those of the others to the
    tile.
    """
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
    first, last, indptr, codes, order, scores,
    gain, classes, kernel, u, w, offset, inverse, weight,
    sigma, truncation, score_norm, sum_norm, widest, grad, hess,
):  # fmt: skip
    """LambdaRank gradient and curvature of each row, by class: see the module for the swaps.

    Documents are bucketed by class and stay in rank order inside a bucket. A better document meets
    the worse bucket as one tile of columns: no pair of one class is visited, and a pair costs no
    look-up. Arithmetic on pairs has the precision of `grad`; swap tables are always double.
    """
    n_classes = kernel.shape[0]
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    tile = np.zeros(_TILE, grad.dtype)
    score = np.empty(longest)  # less the midrange
    e, rank = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    below, above = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    pull, curve = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    number = np.zeros(4, grad.dtype)  # what is stored here comes back in the precision of `grad`
    number[1] = 1
    zero, one = number[0], number[1]
    position = np.empty(longest, np.int64)
    table = np.empty((longest, n_classes))
    pair_weight = np.empty(longest)
    begin = np.zeros(n_classes + 1, np.int64)
    fill = np.zeros(n_classes, np.int64)
    before, after, gain_of = np.zeros(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    for code in range(len(classes)):
        gain_of[classes[code]] = gain[code]
    paired = _paired_classes(kernel)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        begin[:] = 0
        for row in range(start, stop):
            begin[classes[codes[row]] + 1] += 1
        for c in range(n_classes):
            begin[c + 1] += begin[c]
            fill[c] = begin[c]
        best, worst = scores[start + order[start]], scores[start + order[stop - 1]]
        middle = 0.5 * (best + worst)
        wide = sigma * (best - worst) > widest
        before[:] = 0.0
        after[:] = 0.0
        for r in range(n):
            p = order[start + r]
            c = classes[codes[start + p]]
            slot = fill[c]
            fill[c] = slot + 1
            score[slot], rank[slot], position[slot] = scores[start + p] - middle, r, p
            number[2] = sigma * score[slot]
            e[slot] = zero if wide else np.exp(number[2])
            weight_u, weight_w = u[offset[q] + r], w[offset[q] + r]
            pair_weight[slot] = weight_w
            for z in range(n_classes):
                table[slot, z] = weight_u * gain_of[z] + weight_w * before[z] - after[z]
            if paired[c]:
                for z in range(n_classes):
                    before[z] += kernel[c, z]
                    after[z] += weight_w * kernel[z, c]
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
                inside = 0  # documents of the tile within the truncation level: the first ones
                for lane in range(blocks * LANES):
                    t = np.uint64(lane)
                    real = lane < size
                    tile[t + _EXP] = e[low + lane] if real else zero
                    tile[t + _SCORE] = score[low + lane] if real else 0.0
                    tile[t + _RANK] = rank[low + lane] if real else no_limit
                    tile[t + _BELOW] = 0
                    tile[t + _ABOVE] = 0
                    tile[t + _GRAD] = 0
                    tile[t + _HESS] = 0
                    inside += real and rank[low + lane] < limit
                reach = (inside + LANES - 1) // LANES
                for better in range(worse + 1, n_classes):
                    if begin[better] == begin[better + 1]:
                        continue
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
                        below[i] = inverse[q] * (step + pair_weight[i] * falls)
                        above[i] = inverse[q] * (step - pair_weight[i] * rises)
                        if wide:
                            g, h = _sweep_wide(
                                tile, score[low : low + size], no_limit if top else limit, rank[i],
                                below[i], above[i], score[i], sigma, base, slope, zero, one,
                            )  # fmt: skip
                        else:
                            number[2] = score[i]
                            g, h = _sweep(
                                tile, blocks if top else reach, no_limit if top else limit, rank[i],
                                below[i], above[i], e[i], number[2], base, slope, zero, one,
                            )  # fmt: skip
                        pull[i] -= g
                        curve[i] += h
                        total += g
                for lane in range(size):
                    t = np.uint64(lane)
                    pull[low + lane] += tile[t + _GRAD]
                    curve[low + lane] += tile[t + _HESS]
        scale = weight[q]
        total *= 2.0 * sigma
        if sum_norm and total > 0:
            scale *= np.log2(1.0 + total) / total
        for slot in range(n):
            grad[start + position[slot]] = scale * sigma * pull[slot]
            hess[start + position[slot]] = scale * sigma * sigma * curve[slot]
