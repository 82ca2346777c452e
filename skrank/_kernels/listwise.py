"""Losses that sum over the documents of a query: squared error and softmax cross-entropy.

With the weight w of the query, r_i = s_i - t_i for score and target, and the mean m of r,

                             loss                      gradient           hessian
    squared error            w sum_i r_i^2 / 2         w r_i              w
    centred by query         w sum_i (r_i - m)^2 / 2   w (r_i - m)        w (1 - 1 / n)
    softmax cross-entropy    -w sum_i p_i log(c_i)     w (c_i - p_i)      w c_i (1 - c_i)

where p_i = gain_i / sum_j gain_j, c_i = exp(s_i) / sum_j exp(s_j), and the hessian is the diagonal
of the second derivatives.

Kernels read `lists`: codes by row, scores by row, and weights by query. They fill `out`: gradients
by row, hessians by row, and losses by query.
"""

import math

import numpy as np

from skrank._kernels.draws import STEP, query_state, uniform
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.sums import N_SUMS, sum_lanes
from skrank._kernels.tiles import longest, padded


@subroutine()
def _sum(values, n):
    """Sum of the first `n` values; sets the entries after them to 0, up to a multiple of N_SUMS."""
    end = np.uint64(padded(n, N_SUMS))
    for i in range(np.uint64(n), end):
        values[i] = 0.0
    return sum_lanes(values, np.uint64(0), end)


@kernel()
def squared_error(first, last, indptr, lists, target, centered, out):
    """Fill in `out`; `target` is by code."""
    codes, scores, weight = lists
    grad, hess, losses = out
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
            residual = scores[row] - target[codes[row]] - mean
            squares += residual * residual
            grad[row] = weight[q] * residual
            hess[row] = curvature
        losses[q] = 0.5 * weight[q] * squares if weight[q] > 0 else 0.0  # squares may be inf


def _workspace(first, last, indptr, *_):
    n = longest(first, last, indptr) + N_SUMS  # `_sum` writes after the last document
    return np.empty(n), np.empty(n), np.empty(n)


@kernel(work=_workspace)
def softmax(first, last, indptr, lists, gain_of, seed, n_before, out, work):
    """Fill in `out`: 0 for a query whose gains are all 0.

    `gain_of` is by code. Unless `seed` is None, random numbers in [0, 1) are added to gains, as
    in XE-NDCG; `n_before` is the number of queries of the data set before query 0 of this block.
    """
    codes, scores, weight = lists
    grad, hess, losses = out
    gain, exp, half_losses = work
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        for i in range(n):
            gain[i] = gain_of[codes[start + i]]
        total_gain, losses[q] = _sum(gain, n), 0.0
        if total_gain == 0 or weight[q] == 0:
            for row in range(start, start + n):
                grad[row], hess[row] = 0, 0
            continue
        if seed is not None:
            state = query_state(seed, n_before + q, scores, start, start + n)
            for i in range(n):
                state += STEP
                gain[i] += uniform(state)
            total_gain = _sum(gain, n)
        if n == 1:
            gain[0] = total_gain = 1.0  # so that p of the document is exactly 1
        highest = -math.inf
        for row in range(start, start + n):
            highest = scores[row] if scores[row] > highest else highest
        for i in range(n):
            exp[i] = math.exp(scores[start + i] - highest)
        total_exp = _sum(exp, n)
        inverse_gain, inverse_exp = 1.0 / total_gain, 1.0 / total_exp
        for i in range(n):  # halved, since the difference of two large scores may overflow
            half_losses[i] = gain[i] * inverse_gain * (0.5 * highest - 0.5 * scores[start + i])
        losses[q] = weight[q] * (math.log(total_exp) + 2.0 * _sum(half_losses, n))
        for i in range(n):
            p, c = gain[i] * inverse_gain, exp[i] * inverse_exp
            grad[start + i] = weight[q] * (c - p)
            hess[start + i] = weight[q] * c * (1.0 - c)
