"""Losses of lists that are sums over their documents: squared error, and cross-entropy of softmax.

With the weight w of the query, the rest r_i = s_i - t_i between score and target, and its mean m,

    squared error            w sum_i r_i^2 / 2            slope w r_i          curvature w
    centred by query         w sum_i (r_i - m)^2 / 2      w (r_i - m)          w (1 - 1 / n)

the curvature being the diagonal of the second derivatives. With the shares p_i of the documents in
the gain of the query, and their chances c_i = exp(s_i) / sum_j exp(s_j),

    cross-entropy            -w sum_i p_i log(c_i)        w (c_i - p_i)        w c_i (1 - c_i)
"""

import math

import numpy as np

from skrank._kernels.forms import njit, part
from skrank._kernels.powers import LONGEST_DOUBLE, power
from skrank._kernels.ranking import GOLDEN, mix
from skrank._kernels.tiles import longest_of, options

_BITS = math.log2(math.e)  # of a chance, per unit of a score
_MOST = LONGEST_DOUBLE - 1.0  # of bits: less is no chance
_in_any_order = options | {"fastmath": {"reassoc"}}  # SIMD, and what is no number stays none


@part(**_in_any_order)
def _sum(values, n):
    """Of the first ones."""
    total = 0.0
    for i in range(n):
        total += values[i]
    return total


@part(**_in_any_order)
def _weighted_gaps(weights, unit, scores, start, n, highest):
    """Sum of what scores lack of the highest one, times weights in some unit.

    By halves, since the difference of two numbers need not be one.
    """
    total, half = 0.0, 0.5 * highest
    for i in range(n):
        total += unit * weights[i] * (half - 0.5 * scores[start + i])
    return 2.0 * total


@njit(**options)
def squared_error(
    first, last, indptr, codes, scores, target, weight, centered, grad, hess, losses
):  # fmt: skip
    """Gradient and curvature of rows, loss of queries; `target` is one per code."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        mean, curvature = 0.0, weight[q]
        if centered:
            for row in range(start, stop):
                mean += scores[row] - target[codes[row]]
            mean /= stop - start
            curvature *= 1.0 - 1.0 / (stop - start)
        squares = 0.0
        for row in range(start, stop):
            rest = scores[row] - target[codes[row]] - mean
            squares += rest * rest
            grad[row] = weight[q] * rest
            hess[row] = curvature
        losses[q] = 0.5 * weight[q] * squares


@part(**options, fastmath={"contract"})
def _chances(scores, start, n, highest, chance):
    """Fill in how likely documents are beside the one of the highest score."""
    for i in range(n):
        bits = (highest - scores[start + i]) * _BITS
        some = power(_MOST if bits > _MOST else bits)
        chance[i] = 0.0 if bits > _MOST else some


@njit(**options)
def _softmax(
    first, last, indptr, codes, scores, gain, weight, noisy, seed, before, worth, chance, grad,
    hess, losses,
):  # fmt: skip
    """The same with room for the gains and chances of a query."""
    origin = mix(np.uint64(seed))
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        for i in range(n):
            worth[i] = gain[codes[start + i]]
        gains, losses[q] = _sum(worth, n), 0.0
        if gains == 0 or weight[q] == 0:
            for row in range(start, start + n):
                grad[row], hess[row] = 0, 0
            continue
        if noisy:
            for i in range(n):
                draw = mix(origin + GOLDEN * np.uint64(before + start + i + 1)) >> np.uint64(11)
                worth[i] += np.float64(draw) * 2.0**-53
            gains = _sum(worth, n)
        if n == 1:
            worth[0] = gains = 1.0  # whose share is exactly 1
        highest = -math.inf
        for row in range(start, start + n):
            highest = scores[row] if scores[row] > highest else highest
        _chances(scores, start, n, highest, chance)
        mass = _sum(chance, n)
        unit_gain, unit_mass = 1.0 / gains, 1.0 / mass
        behind = _weighted_gaps(worth, unit_gain, scores, start, n, highest)
        losses[q] = weight[q] * (math.log(mass) + behind)
        for i in range(n):
            share, one = worth[i] * unit_gain, chance[i] * unit_mass
            grad[start + i] = weight[q] * (one - share)
            hess[start + i] = weight[q] * one * (1.0 - one)


def softmax(
    first, last, indptr, codes, scores, gain, weight, noisy, seed, before, grad, hess, losses
):  # fmt: skip
    """Gradient and curvature of rows, loss of queries; all 0 in a query without a gain.

    `noisy` adds to each gain a number in [0, 1) that depends on `seed` and the row only; `before`
    rows stand before the first one of these.
    """
    worth, chance = np.empty((2, longest_of(first, last, indptr)))
    _softmax(
        first, last, indptr, codes, scores, gain, weight, noisy, seed, before, worth, chance,
        grad, hess, losses,
    )  # fmt: skip
