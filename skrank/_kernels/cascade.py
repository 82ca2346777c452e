"""Metrics of the form sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s)): ERR, PFound, reciprocal rank.

`stop` is rho per code, the probability that a user is satisfied by the document; `phi` is the worth
of being satisfied at a rank. For ranks a < b a swap changes the sum by

    prod_{s<a} (1 - rho_s) (rho_a - rho_b) (S + P phi_b - phi_a),

S and P being the sum and the product over the documents strictly between, as a user who starts
after a sees them. They grow with b at no cost, so nothing is divided and rho = 1 needs no special
case.
"""

import numpy as np
from numba import njit

LANES = 16  # documents per SIMD step; tiles are padded to a multiple
CAPACITY = 512  # documents per tile, so that a tile stays in the first cache
_FIELD = CAPACITY + LANES  # fields of a tile lie this far apart: known to the compiler, no aliasing
_EXP, _SCORE, _RANK, _STOP, _ALIVE, _PHI, _SUM, _PRODUCT, _GRAD, _HESS = (
    np.uint64(i * _FIELD) for i in range(10)
)
_TILE = 10 * _FIELD

_NOBODY = 1e-30  # below, single precision would drag subnormal numbers along

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}


@njit(**_options)
def _expected_block(ranked, low, high, stop, phi, first_rank, depth, pass_by):
    """Expected worth of a block of ties for a user who reaches it.

    ``pass_by[j]`` is the probability that a user passes the first j documents of a random order:
    the mean of prod (1 - rho) over all sets of j documents, built by adding one document at a time.
    """
    size = high - low
    shown = min(size, depth - first_rank)
    known = 0  # documents with rho = 0 leave every product as it is
    for row in range(low, high):
        known += stop[ranked[row]] == 0
    for j in range(shown + 1):
        pass_by[j] = 1.0 if j <= known else 0.0
    for row in range(low, high):
        rho = stop[ranked[row]]
        if rho == 0:
            continue
        known += 1
        for j in range(min(known, shown), 0, -1):
            share = j / known
            pass_by[j] = (1.0 - share) * pass_by[j] + share * (1.0 - rho) * pass_by[j - 1]
    worth = 0.0
    for j in range(shown):
        worth += phi[first_rank + j] * (pass_by[j] - pass_by[j + 1])
    return worth


@njit(**_options)
def values(first, last, indptr, ranked, tied, retrieved, stop, phi, depth, inverse, out):
    """Value of each query, its mean over all orders of tied documents; 0 where `inverse` is 0.

    `phi` vanishes from rank `depth` on.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    pass_by = np.empty(longest + 1)
    for q in range(first, last):
        start = indptr[q]
        end = start + retrieved[q]
        reach = min(end, start + depth) if inverse[q] != 0 else start
        alive, total = 1.0, 0.0
        low = start
        while low < reach and alive > 0:
            high = low + 1
            while high < end and tied[high]:
                high += 1
            if high == low + 1:
                rho = stop[ranked[low]]
                total += alive * rho * phi[low - start]
                alive *= 1.0 - rho
            else:
                total += alive * _expected_block(
                    ranked, low, high, stop, phi, low - start, depth, pass_by
                )
                for row in range(low, high):
                    alive *= 1.0 - stop[ranked[row]]
            low = high
        out[q] = total * inverse[q]


@njit(**_options)
def deltas(ranked, stop, phi, out):
    """Change of the sum when ranks a < b of one list are swapped, for all pairs: out[a, b]."""
    n = len(ranked)
    alive = 1.0
    for a in range(n):
        rho = stop[ranked[a]]
        between, product = 0.0, 1.0
        for b in range(a + 1, n):
            other = stop[ranked[b]]
            out[a, b] = alive * (rho - other) * (between + product * phi[b] - phi[a])
            between += product * other * phi[b]
            product *= 1.0 - other
        alive *= 1.0 - rho


@njit(**_fast)
def _sweep(tile, blocks, rank, rho, phi, e, score, base, slope, zero, one):
    """All pairs of one document with the documents of a tile that rank above it."""
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        above = tile[t + _RANK] < rank
        lead = tile[t + _STOP] - rho
        product, between = tile[t + _PRODUCT], tile[t + _SUM]
        loss = tile[t + _PHI] - between - product * phi
        delta = tile[t + _ALIVE] * abs(lead) * max(loss, zero) if above else zero
        distance = base + slope * abs(score - tile[t + _SCORE])
        e_upper = tile[t + _EXP]
        shared = one / ((e + e_upper) * distance)
        ordered = lead > zero
        pull = delta * shared * (e if ordered else e_upper)
        curvature = pull * shared * distance * (e_upper if ordered else e)
        signed = pull if ordered else -pull
        tile[t + _GRAD] -= signed
        tile[t + _HESS] += curvature
        tile[t + _SUM] = between + (product * rho * phi if above else zero)
        tile[t + _PRODUCT] = product * (one - rho if above else one)
        grad += signed
        hess += curvature
        total += pull
    return grad, hess, total


@njit(**_options)
def _sweep_wide(tile, scores, rho, phi, score, sigma, base, slope, zero, one):
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores, of the documents above only, come in double precision: next to an outlier, single
    precision could not tell them apart.
    """
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(len(scores))):
        t = np.uint64(lane)
        lead = tile[t + _STOP] - rho
        product, between = tile[t + _PRODUCT], tile[t + _SUM]
        loss = tile[t + _PHI] - between - product * phi
        delta = tile[t + _ALIVE] * abs(lead) * max(loss, zero)
        gap = scores[lane] - score if lead > zero else score - scores[lane]
        e = np.exp(-abs(sigma * gap))
        wrong = e / (1.0 + e) if gap > 0 else 1.0 / (1.0 + e)
        pull = delta * wrong / (base + slope * abs(gap))
        curvature = pull * (1.0 - wrong)
        signed = pull if lead > zero else -pull
        tile[t + _GRAD] -= signed
        tile[t + _HESS] += curvature
        tile[t + _SUM] = between + product * rho * phi
        tile[t + _PRODUCT] = product * (one - rho)
        grad += signed
        hess += curvature
        total += pull
    return grad, hess, total


@njit(**_options)
def lambdas(
    first, last, indptr, codes, order, scores, stop, phi, depth, inverse, weight,
    sigma, truncation, score_norm, sum_norm, widest, grad, hess, totals,
):  # fmt: skip
    """LambdaRank gradient and curvature of each row.

    The upper documents of the pairs stand in a tile; each lower document sweeps it once, which also
    carries every upper document's S and P on to the next rank. `totals` takes twice the sum of all
    pulls of a query, before weights and `sum_norm`.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    tile = np.zeros(_TILE, grad.dtype)
    score = np.empty(longest)  # less the midrange
    e = np.empty(longest, grad.dtype)
    rho, alive = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    pull, curve = np.empty(longest, grad.dtype), np.empty(longest, grad.dtype)
    worth = phi.astype(grad.dtype)
    number = np.zeros(4, grad.dtype)  # what is stored here comes back in the precision of `grad`
    number[1] = 1
    zero, one = number[0], number[1]
    for q in range(first, last):
        begin, end = indptr[q], indptr[q + 1]
        n = end - begin
        totals[q] = 0.0
        if inverse[q] == 0 or weight[q] == 0:
            grad[begin:end] = 0
            hess[begin:end] = 0
            continue
        best, worst = -np.inf, np.inf  # the order may be of noisy scores
        for row in range(begin, end):
            best, worst = max(best, scores[row]), min(worst, scores[row])
        middle = 0.5 * (best + worst)
        wide = sigma * (best - worst) > widest
        passing = inverse[q]
        reached = 0  # ranks that a user sees with a probability worth counting
        for r in range(n):
            row = begin + order[begin + r]
            score[r] = scores[row] - middle
            number[2] = sigma * score[r]
            e[r] = zero if wide else np.exp(number[2])
            rho[r], alive[r] = stop[codes[row]], passing
            reached += passing > _NOBODY
            passing *= 1.0 - stop[codes[row]]
        pull[:n] = 0
        curve[:n] = 0
        normed = score_norm and best != worst
        number[2], number[3] = 0.01 if normed else 1.0, 1.0 if normed else 0.0
        base, slope = number[2], number[3]
        total = 0.0
        upper = min(reached, truncation, depth)
        for low in range(0, upper, CAPACITY):
            size = min(CAPACITY, upper - low)
            for lane in range((size + LANES - 1) // LANES * LANES):
                t = np.uint64(lane)
                real = lane < size
                tile[t + _EXP] = e[low + lane] if real else one
                tile[t + _SCORE] = score[low + lane] if real else 0.0
                tile[t + _RANK] = lane if real else longest + 1
                tile[t + _STOP] = rho[low + lane] if real else zero
                tile[t + _ALIVE] = alive[low + lane] if real else zero
                tile[t + _PHI] = worth[low + lane] if real else zero
                tile[t + _SUM] = 0
                tile[t + _PRODUCT] = 1
                tile[t + _GRAD] = 0
                tile[t + _HESS] = 0
            for r in range(low + 1, n):
                above = min(r - low, size)
                if wide:
                    g, h, s = _sweep_wide(
                        tile, score[low : low + above], rho[r], worth[r], score[r],
                        sigma, base, slope, zero, one,
                    )  # fmt: skip
                else:
                    blocks = (above + LANES - 1) // LANES
                    number[2], number[3] = r - low, score[r]
                    g, h, s = _sweep(
                        tile, blocks, number[2], rho[r], worth[r], e[r], number[3],
                        base, slope, zero, one,
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
        if sum_norm and total > 0:
            scale *= np.log2(1.0 + totals[q]) / totals[q]
        for r in range(n):
            row = begin + order[begin + r]
            grad[row] = scale * sigma * pull[r]
            hess[row] = scale * sigma * sigma * curve[r]


@njit(**_options)
def adjacent_deltas(first, last, indptr, codes, order, stop, phi, depth, inverse, truncation, lead):
    """Worth of putting the better document first, for neighbours in the order: see `lambdarank`."""
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        lead[start : start + n] = 0
        alive = inverse[q]
        for r in range(min(n - 1, truncation, depth)):
            row = start + r
            rho, other = stop[codes[start + order[row]]], stop[codes[start + order[row + 1]]]
            lead[row] = alive * (other - rho) * max(phi[r] - phi[r + 1], 0.0)
            alive *= 1.0 - rho
