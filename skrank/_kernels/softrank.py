"""SoftRank: worth of a list whose scores are normal variables, its slopes and their curvature.

With z the scores over theta = sqrt(2) sigma and pi_ij = Phi(z_i - z_j), the probability that i
stands above j, a document j has the expected rank B_j = 1/2 + sum_i pi_ij, whose i = j adds the
other half, and the worth of the list is

    average precision   sum_j A_j / B_j,             A_j = u_j / 2 + sum_i pi_ij min(u_i, u_j)
    discounted gain     sum_j u_j (d(B_j) + d''(B_j) v_j / 2),       v_j = sum_i pi_ij pi_ji - 1/4

u being the gain (GAP: the probability of relevance) and d the discount. The slope along pi_ij, with
pi_ji = 1 - pi_ij, has a share of either document:

    C_ij = min(u_i, u_j) (b_j - b_i) + p_j - p_i + (q_i + q_j) (1 - 2 pi_ij)

    average precision   b = 1 / B,  p = -A / B^2,               q = 0
    discounted gain     b = 0,      p = u (d' + d''' v / 2),    q = u d'' / 2

Curvature. Let x = z_i - z_j, negated where C_ij < 0: how far the pair stands in the order that the
metric wants. With its slope held fixed the pair costs -|C| Phi(x). Since y >= 1 + log(y), that cost
lies below -|C| Phi(x0) log Phi(x) plus a constant, touching it at x0; and that one is convex, with
second derivative |C| phi (x0 + phi / Phi) at x0, which is at most |C| phi (x0 + sqrt(x0^2 + 4)) / 2
(Birnbaum's bound of Mills' ratio). The curvature of a document is the sum over its pairs of

    (|C| phi (x + sqrt(x^2 + 4)) / 2 + 2 (q_i + q_j) phi^2) / theta^2,

whose last term is what the variances add, being quadratic in pi. This is the diagonal of the second
derivatives of all pairs together, positive wherever there is a slope. Twice the diagonal exceeds
their matrix, as (a - b)^2 <= 2 a^2 + 2 b^2: with learning rates of up to 1/2, documents that all
move at once do not overshoot the bound of second order. One pair alone asks for a step of theta
(sqrt(x^2 + 4) - x) / 2: about |x| thetas where it is wrong, almost none where it is right.
"""

import math

from skrank._kernels import softrank_pairs, tiles
from skrank._kernels.forms import njit, part
from skrank._kernels.normal import PEAK, UNIT, reach

_LEAST_SPREAD = 0.01  # of the scores of a query, where sigma is relative to it
_WIDEST = 1000.0  # range of the scores of a query, in units, that single precision resolves


@part(**tiles.options)
def _theta(scores, best, middle, sigma, relative):
    """Standard deviation of the difference of two scores."""
    if relative:
        # in units of a power of two, so that squares fit and nothing is rounded by it
        _, power = math.frexp(best - middle)
        unit = math.ldexp(1.0, tiles.least(power, 1000))
        total, squares = 0.0, 0.0
        for score in scores:
            total += (score - middle) / unit
            squares += ((score - middle) / unit) ** 2
        variance = squares / len(scores) - (total / len(scores)) ** 2
        spread = math.sqrt(variance) * unit if variance > 0 else 0.0
        sigma *= spread if spread > _LEAST_SPREAD else _LEAST_SPREAD
    return math.sqrt(2.0) * sigma


@part(**tiles.options)
def _sort(scores, position, order):
    """Sort the slots of a query by score, ascending: shell sort, quick to compile."""
    n = len(scores)
    for i in range(n):
        order[i] = i
    step = n // 2
    while step > 0:
        for i in range(step, n):
            slot = order[i]
            score = scores[position[slot]]
            j = i
            while j >= step and scores[position[order[j - step]]] > score:
                order[j] = order[j - step]
                j -= step
            order[j] = slot
        step //= 2


@part(**tiles.options)
def _narrow(scores, scale, documents):
    """Replace the scores by closer ones with the same chances.

    Neighbours whose order is certain keep it at a smaller distance, so that pairs are told apart
    next to outliers, too.
    """
    score, position, order = documents.score, documents.position, documents.order
    far = reach(score) + 1.0
    _sort(scores, position, order)
    width = 0.0
    for i in range(1, len(scores)):
        gap = (scores[position[order[i]]] - scores[position[order[i - 1]]]) * scale
        width += gap if gap < far else far
    place = -0.5 * width
    score[order[0]] = place
    for i in range(1, len(scores)):
        gap = (scores[position[order[i]]] - scores[position[order[i - 1]]]) * scale
        place += gap if gap < far else far
        score[order[i]] = place


@part(**tiles.options)
def load(soft, start, stop, unit, documents):
    """Put in the documents of a query, those with a gain first; `unit` is that of a theta.

    Returns how many have a gain, and theta.
    """
    codes, scores, gains = soft.codes[start:stop], soft.scores[start:stop], soft.gain
    score, gain, position = documents.score, documents.gain, documents.position
    best, worst = tiles.score_range(soft.scores, start, stop)
    middle = 0.5 * best + 0.5 * worst
    theta = _theta(scores, best, middle, soft.sigma, soft.relative)
    scale = unit / theta
    low, high = 0, len(codes) - 1
    for place in range(len(codes)):
        worth = gains[codes[place]]
        relevant = worth > 0
        slot = low if relevant else high
        low += relevant
        high -= not relevant
        score[slot] = (scores[place] - middle) * scale
        gain[slot] = worth
        position[slot] = place
    if (best - worst) * scale > _WIDEST:
        _narrow(scores, scale, documents)
    return low, theta


@part(**tiles.options)
def _average_precision(gain, above, better):
    """Worth of a document, and b, p, q."""
    b = 1.0 / (0.5 + above)
    a = 0.5 * gain + better
    return a * b, b, -a * b * b, 0.0


@part(**tiles.options)
def _discounted_gain(gain, above, spread, shift):
    """Worth of a document, and b, p, q, for d(x) = 1 / log2(shift + x)."""
    x = shift + 0.5 + above
    log = math.log(x)
    each = 1.0 / (x * log)
    variance = spread - 0.25
    unit = gain * math.log(2.0) * each * x  # d(x), times the gain
    second = 0.5 * unit * (2 + log) * each**2
    slope = -unit * each
    slope -= unit * variance * (log**2 + 3 * log + 3) * each**3
    return unit + variance * second, 0.0, slope, second


@part(**tiles.options)
def _appraise(documents, relevant, shift):
    """Worth of a list; notes b, p, q of its relevant documents."""
    gain, above, more = documents.gain, documents.above, documents.more
    b, p, q = documents.b, documents.p, documents.q
    worth = 0.0
    for i in range(relevant):
        if shift is None:
            one, b[i], p[i], q[i] = _average_precision(gain[i], above[i], more[i])
        else:
            one, b[i], p[i], q[i] = _discounted_gain(gain[i], above[i], more[i], shift)
        worth += one
    return worth


@njit(**tiles.options)
def _values(first, last, indptr, soft, shift, documents, room, out):
    """The same with room for it."""
    for q in range(first, last):
        out[q] = 0.0
        if soft.inverse[q] != 0:
            n = indptr[q + 1] - indptr[q]
            relevant, _ = load(soft, indptr[q], indptr[q + 1], UNIT, documents)
            softrank_pairs.expect(documents, n, relevant, shift, room)
            out[q] = soft.inverse[q] * _appraise(documents, relevant, shift)


def values(first, last, indptr, soft, shift, out):
    """Soft value of each query; `shift` is that of the discount 1 / log2(shift + x), None for AP.

    Arithmetic on pairs has the precision of `out`, their sums are double.
    """
    room = _room(first, last, indptr, shift, out.dtype)
    _values(first, last, indptr, soft, shift, *room, out)


@njit(**tiles.options)
def _gradients(first, last, indptr, soft, shift, documents, room, out):
    """The same with room for it."""
    grad, hess = out.grad, out.hess
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        scale = soft.inverse[q] * soft.weight[q] * PEAK
        if scale == 0:
            clear(out, q, start, stop)
            continue
        relevant, theta = load(soft, start, stop, UNIT, documents)
        softrank_pairs.expect(documents, stop - start, relevant, shift, room)
        out.values[q] = soft.inverse[q] * _appraise(documents, relevant, shift)
        softrank_pairs.pull(documents, stop - start, relevant, shift, room)
        along, across = -scale / theta, 0.5 * scale / (theta * theta * UNIT)
        position, slope, curve = documents.position, documents.slope, documents.curve
        for i in range(stop - start):
            row = start + position[i]
            grad[row] = along * slope[i]
            hess[row] = across * curve[i]


def gradients(first, last, indptr, soft, shift, out):
    """Gradient and curvature of 1 - value, times the weight of the query; and the value.

    Arithmetic on pairs has the precision of ``out.grad``, their sums are double.
    """
    room = _room(first, last, indptr, shift, out.grad.dtype)
    _gradients(first, last, indptr, soft, shift, *room, out)


def _room(first, last, indptr, shift, real):
    """Room for the documents and pairs of any of some queries."""
    longest = tiles.longest_of(first, last, indptr)
    return softrank_pairs.make(longest, real), softrank_pairs.make_room(longest, shift, real)


@part(**tiles.options)
def clear(out, q, start, stop):
    """Nothing: a query without weight or anything to learn."""
    grad, hess = out.grad, out.hess
    out.values[q] = 0.0
    for row in range(start, stop):
        grad[row], hess[row] = 0, 0
