"""SoftRank: the value of a list whose scores are normal variables, and its derivatives.

With z the scores divided by theta = sqrt(2) sigma, pi_ij = Phi(z_i - z_j) is the probability that i
ranks above j. The expected rank of document j is B_j = 1/2 + sum_i pi_ij, with pi_jj = 1/2 in the
sum. The value of the list is

    average precision   sum_j A_j / B_j,             A_j = u_j / 2 + sum_i pi_ij min(u_i, u_j)
    discounted gain     sum_j u_j (d(B_j) + d''(B_j) v_j / 2),       v_j = sum_i pi_ij pi_ji - 1/4

where u is the gain (for GAP the probability of relevance) and d the discount. docs/kernels.md
derives the derivative C_ij of the value by pi_ij (13), from b, p and q of each document, and the
curvature (17).
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels import softrank_pairs
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.lambdarank import clear, score_range
from skrank._kernels.simd import PEAK, UNIT, reach
from skrank._kernels.tiles import least, longest

_LEAST_SPREAD = 0.01  # smaller standard deviations of scores count as this, if sigma is relative
# Scores of a wider range, in theta / UNIT, are narrowed. Single precision rounds others by 1.5e-5.
_WIDEST = 1000.0


class Soft(NamedTuple):
    """Scores as means of normal variables."""

    codes: np.ndarray  # by row
    scores: np.ndarray  # by row
    gain: np.ndarray  # by code
    inverse: np.ndarray  # by query: one over the value of the best list; 0 if all orders are equal
    weight: np.ndarray  # by query
    sigma: float
    relative: bool  # whether sigma is in units of the standard deviation of a query's scores


@subroutine()
def _spread(scores, best, middle):
    """Standard deviation of the scores, at least _LEAST_SPREAD."""
    # scores are divided by a power of two, which is exact, so that their squares do not overflow
    _, power = math.frexp(best - middle)
    unit = math.ldexp(1.0, least(power, 1000))  # 2^1024 would overflow
    total, squares = 0.0, 0.0
    for i in range(len(scores)):
        total += (scores[i] - middle) / unit
        squares += ((scores[i] - middle) / unit) ** 2
    variance = squares / len(scores) - (total / len(scores)) ** 2
    spread = math.sqrt(variance) * unit if variance > 0 else 0.0
    return spread if spread > _LEAST_SPREAD else _LEAST_SPREAD


@subroutine()
def _narrowed(scores, scale, far):
    """Scores times `scale`, with a narrower range and the same probabilities pi.

    Gaps between neighbours, by score, are clipped to `far`, at which Phi counts as 0 or 1. So
    single precision does not round different scores to the same number if one score is far away.
    """
    order, out, place = np.argsort(scores), np.zeros(len(scores)), 0.0
    for i in range(1, len(scores)):
        gap = (scores[order[i]] - scores[order[i - 1]]) * scale
        place += gap if gap < far else far
        out[order[i]] = place
    return out - 0.5 * place


@subroutine()
def _place(codes, scores, gain_of, middle, scale, documents):
    """Fill in the documents of a query. Returns the number of relevant documents."""
    score, gain, position = documents.score, documents.gain, documents.position
    low, high = 0, len(codes) - 1
    for i in range(len(codes)):
        u = gain_of[codes[i]]
        relevant = u > 0
        slot = low if relevant else high
        low += relevant
        high -= not relevant
        score[slot] = (scores[i] - middle) * scale
        gain[slot] = u
        position[slot] = i
    return low


@subroutine()
def load(soft, start, stop, documents):
    """Fill in the documents of a query, relevant documents first; scores times UNIT / theta.

    Returns the number of relevant documents, and theta.
    """
    codes, scores = soft.codes[start:stop], soft.scores[start:stop]
    best, worst = score_range(soft.scores, start, stop)
    middle = 0.5 * best + 0.5 * worst
    sigma = soft.sigma
    if soft.relative:
        sigma *= _spread(scores, best, middle)
    theta = math.sqrt(2.0) * sigma  # standard deviation of the difference of two scores
    scale = UNIT / theta
    if (best - worst) * scale > _WIDEST:
        far = reach(documents.score[0]) + 1.0  # in the precision of the scores; + 1 for rounding
        scores = _narrowed(scores, scale, far)
        middle, scale = 0.0, 1.0
    return _place(codes, scores, soft.gain, middle, scale, documents), theta


@subroutine()
def _average_precision(gain, above, better):
    """Value, b, p, q of a document of average precision; above = B - 1/2, better = A - u / 2."""
    b = 1.0 / (0.5 + above)
    a = 0.5 * gain + better
    return a * b, b, -a * b * b, 0.0


@subroutine()
def _discounted_gain(gain, above, spread, shift):
    """As `_average_precision`, for d(B) = ln 2 / ln(shift + B); `spread` is v + 1/4."""
    x = shift + 0.5 + above
    log = math.log(x)
    each = 1.0 / (x * log)
    variance = spread - 0.25
    worth = gain * math.log(2.0) * each * x  # u d
    second = 0.5 * worth * (2 + log) * each**2  # u d'' / 2
    slope = -worth * each  # u d', and below plus u v / 2 times the third derivative
    slope -= worth * variance * (log**2 + 3 * log + 3) * each**3
    return worth + variance * second, 0.0, slope, second


@subroutine()
def _sum_values(documents, n_relevant, shift):
    """Value of a list; fills in b, p, q of its relevant documents."""
    gain, above, more = documents.gain, documents.above, documents.more
    b, p, q = documents.b, documents.p, documents.q
    value = 0.0
    for i in range(n_relevant):
        if shift is None:
            worth, b[i], p[i], q[i] = _average_precision(gain[i], above[i], more[i])
        else:
            worth, b[i], p[i], q[i] = _discounted_gain(gain[i], above[i], more[i], shift)
        value += worth
    return value


@subroutine()
def write(documents, start, n, scale, theta, grad, hess):
    """Fill in the gradients of a query from the sums `slope` and `curve` times constant factors.

    `scale` is PEAK / (best value) times the weight of the query.
    """
    position, slope, curve = documents.position, documents.slope, documents.curve
    grad_factor, hess_factor = -scale / theta, 0.5 * scale / (theta * theta * UNIT)
    for i in range(n):
        row = start + position[i]
        grad[row] = grad_factor * slope[i]
        hess[row] = hess_factor * curve[i]


def _workspace(first, last, indptr, soft, shift, values, grad, hess):
    real = values.dtype if grad is None else grad.dtype
    return softrank_pairs.make(longest(first, last, indptr), shift, real)


@kernel(work=_workspace)
def gradients(first, last, indptr, soft, shift, values, grad, hess, workspace):
    """Fill in the value, and gradient and curvature of (1 - value) * weight of the query.

    `shift` belongs to the discount 1 / log2(shift + x), or is None for average precision. If `grad`
    and `hess` are None, only values are computed; numba compiles each case by itself. Pairs are
    computed in the precision of `grad`, or else of `values`, and summed in double precision.
    """
    documents, work = workspace
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n, scale = stop - start, soft.inverse[q]
        values[q] = 0.0
        if grad is not None:
            scale *= soft.weight[q]
            scale *= PEAK
            clear(grad, hess, start, stop)
        if scale == 0:
            continue
        n_relevant, theta = load(soft, start, stop, documents)
        softrank_pairs.expect(documents, n, n_relevant, shift, work)
        values[q] = soft.inverse[q] * _sum_values(documents, n_relevant, shift)
        if grad is not None:
            softrank_pairs.pull(documents, n, n_relevant, shift, work)
            write(documents, start, n, scale, theta, grad, hess)
