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

Distribution of ranks. The ranks of j have the probabilities p that arise from [1] by
p(r) <- p(r) (1 - pi_ij) + p(r - 1) pi_ij for every other i, as if those events were independent,
and j is worth u_j sum_r d(r) p(r). Along pi_ij that changes by u_j sum_r p'(r) (d(r + 1) - d(r)),
p' being p without the step of i. Undoing the step is stable in the direction in which its errors
shrink: from the first rank on where pi_ij <= 1/2, else from the last. This takes O(n^3) time per
query and O(n) memory. The two shares in C_ij are never at hand together: the curvature bounds each.
"""

import math

import numpy as np
from numba import njit
from numba.extending import overload

LANES = 16  # documents per SIMD step; lists are padded to a multiple
_FAR = 13.0  # the normal density beyond is below the least normal number of single precision
_WIDEST = 1e20  # largest score in thetas; its square need not fit
_UNREACHED = -1e30  # score of the padding: below everything
_LEAST_SPREAD = 0.01  # of the scores of a query, where sigma is relative to it
_PEAK = 1 / math.sqrt(2 * math.pi)  # of the normal density

_SCORE, _GAIN, _B, _P, _Q = range(5)  # what is known of a document: rows of an array
_FIELDS = 5

_options = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = _options | {"fastmath": True}

# Chebyshev interpolation of Phi(-y) exp(y^2 / 2), 0 <= y <= 13, a polynomial in (y - 4) / (y + 4),
# and Taylor's of exp(-y), |y| <= log(2) / 2, highest powers first: as good as single precision.
_RATIO = tuple(
    np.float32(c)
    for c in (
        0.000756997019, 0.000442784647, -0.00856212245, 0.0308673207,
        -0.0716961564, 0.124379793, -0.17039819, 0.094410629,
    )
)  # fmt: skip
_TAYLOR = tuple(np.float32((-1) ** k / math.factorial(k)) for k in range(7, -1, -1))


def _normal(y):
    """Phi(-y) and exp(-y^2 / 2) for 0 <= y <= 13, in the precision of y."""
    raise NotImplementedError("for compiled callers")


@overload(_normal)
def _compile_normal(y):
    return _normal_double if y.bitwidth == 64 else _normal_single


def _normal_double(y):
    return 0.5 * math.erfc(math.sqrt(0.5) * y), math.exp(-0.5 * y * y)


def _normal_single(y):
    # without calls and branches, so that loops over it become SIMD
    powers = np.float32(0.5 / math.log(2)) * y * y  # exp(-y^2 / 2) = 2 ** -powers
    whole = np.int32(powers + np.float32(0.5))
    rest = np.float32(math.log(2)) * (powers - np.float32(whole))
    density = np.float32(0)
    for c in _TAYLOR:
        density = density * rest + c
    density *= np.int32((127 - whole) << 23).view(np.float32)  # the bits of 2 ** -whole
    t = (y - np.float32(4)) / (y + np.float32(4))
    ratio = np.float32(0)
    for c in _RATIO:
        ratio = ratio * t + c
    return ratio * density, density


@njit(**_options)
def _padded(n):
    return (n + LANES - 1) // LANES * LANES


@njit(**_options)
def _theta(scores, middle, sigma, relative):
    """Standard deviation of the difference of two scores."""
    if relative:
        total, squares = 0.0, 0.0
        for score in scores:
            total += score - middle
            squares += (score - middle) ** 2
        variance = squares / len(scores) - (total / len(scores)) ** 2
        sigma *= max(math.sqrt(max(variance, 0.0)), _LEAST_SPREAD)
    return math.sqrt(2.0) * sigma


@njit(**_options)
def _load(codes, scores, gain, sigma, relative, documents, position):
    """Scores over theta and gains, documents with a gain first. Returns their number and theta."""
    middle = 0.5 * scores.min() + 0.5 * scores.max()
    theta = _theta(scores, middle, sigma, relative)
    low, high = 0, len(codes)
    for place in range(len(codes)):
        worth = gain[codes[place]]
        if worth > 0:
            slot = low
            low += 1
        else:
            high -= 1
            slot = high
        documents[_SCORE, slot] = min(max((scores[place] - middle) / theta, -_WIDEST), _WIDEST)
        documents[_GAIN, slot] = worth
        documents[_B:, slot] = 0
        position[slot] = place
    for slot in range(len(codes), _padded(len(codes))):
        documents[_SCORE, slot] = _UNREACHED
        documents[_GAIN:, slot] = 0
    return low, theta


@njit(**_fast)
def _expect(documents, size, i, zero, one, far):
    """Sums of pi, of pi min(u, u_i) and of pi (1 - pi) over the documents that may be above i."""
    above, better, spread = zero, zero, zero
    score, gain = documents[_SCORE, i], documents[_GAIN, i]
    for lane in range(size):
        x = documents[_SCORE, lane] - score
        tail, _ = _normal(min(abs(x), far))
        pi = one - tail if x > zero else tail
        above += pi
        better += pi * min(gain, documents[_GAIN, lane])
        spread += tail * (one - tail)
    return above, better, spread


@njit(**_options)
def _average_precision(gain, above, better):
    """Worth of a document, and b, p, q."""
    b = 1.0 / (0.5 + above)
    a = 0.5 * gain + better
    return a * b, b, -a * b * b, 0.0


@njit(**_options)
def _discounted_gain(gain, above, spread, shift):
    """Worth of a document, and b, p, q, for d(x) = 1 / log2(shift + x)."""
    x = shift + 0.5 + above
    log = math.log(x)
    variance = spread - 0.25
    unit = gain * math.log(2.0)
    second = 0.5 * unit * (2 + log) / (x**2 * log**3)
    slope = -unit / (x * log**2)
    slope -= unit * variance * (log**2 + 3 * log + 3) / (x**3 * log**4)
    return unit / log + variance * second, 0.0, slope, second


@njit(**_options)
def _appraise(documents, size, relevant, shift):
    """Worth of a list; notes b, p, q of its relevant documents."""
    real = documents.dtype.type
    worth = 0.0
    for i in range(relevant):
        above, better, spread = _expect(documents, size, i, real(0), real(1), real(_FAR))
        if shift == 0:
            one, b, p, q = _average_precision(documents[_GAIN, i], above, better)
        else:
            one, b, p, q = _discounted_gain(documents[_GAIN, i], above, spread, shift)
        documents[_B, i], documents[_P, i], documents[_Q, i] = b, p, q
        worth += one
    return worth


@njit(**_fast)
def _pull(documents, size, i, bent, zero, one, far):
    """Slope and curvature of document i, from the first `size` documents; q = 0 if not `bent`."""
    two = one + one
    score, gain = documents[_SCORE, i], documents[_GAIN, i]
    b, p, q = documents[_B, i], documents[_P, i], documents[_Q, i]
    slope, curvature, bend = zero, zero, -two * q  # which the document itself adds
    for lane in range(size):
        x = score - documents[_SCORE, lane]
        y = min(abs(x), far)
        tail, density = _normal(y)
        density = density if y < far else zero  # exactly, for the padding
        c = min(gain, documents[_GAIN, lane]) * (documents[_B, lane] - b) + documents[_P, lane] - p
        if bent:
            odds = one - two * tail
            c += (documents[_Q, lane] + q) * (-odds if x > zero else odds)
            bend += (documents[_Q, lane] + q) * density * density
        right = y if (x > zero) == (c > zero) else -y
        slope += c * density
        curvature += abs(c) * density * (right + math.sqrt(right * right + two * two))
    return slope, curvature, bend


@njit(**_options)
def _longest(first, last, indptr):
    """Length of the longest list, padded."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    return _padded(longest)


@njit(**_options)
def values(
    first, last, indptr, codes, scores, gain, shift, inverse, sigma, relative, out
):  # fmt: skip
    """Soft value of each query; `shift` is that of the discount 1 / log2(shift + x), 0 for AP."""
    room = _longest(first, last, indptr)
    documents, position = np.empty((_FIELDS, room)), np.empty(room, np.int64)
    for q in range(first, last):
        rows = slice(indptr[q], indptr[q + 1])
        out[q] = 0.0
        if inverse[q] != 0:
            relevant, _ = _load(
                codes[rows], scores[rows], gain, sigma, relative, documents, position
            )
            size = _padded(indptr[q + 1] - indptr[q])
            out[q] = inverse[q] * _appraise(documents, size, relevant, shift)


@njit(**_options)
def gradients(
    first, last, indptr, codes, scores, gain, shift, inverse, weight, sigma, relative, grad, hess
):  # fmt: skip
    """Gradient and curvature of 1 - value, times the weight of the query."""
    room = _longest(first, last, indptr)
    documents, position = np.empty((_FIELDS, room), grad.dtype), np.empty(room, np.int64)
    real = grad.dtype.type
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        scale = inverse[q] * weight[q] * _PEAK
        if scale == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        relevant, theta = _load(
            codes[start:stop], scores[start:stop], gain, sigma, relative, documents, position
        )
        _appraise(documents, _padded(stop - start), relevant, shift)
        for i in range(stop - start):  # two documents without a gain do not meet
            size = _padded(stop - start if i < relevant else relevant)
            if shift == 0:
                slope, curvature, _ = _pull(documents, size, i, False, real(0), real(1), real(_FAR))
            else:
                slope, curvature, bend = _pull(
                    documents, size, i, True, real(0), real(1), real(_FAR)
                )
                curvature += 4 * _PEAK * bend
            grad[start + position[i]] = -scale / theta * slope
            hess[start + position[i]] = 0.5 * scale / theta**2 * curvature


# Distribution of ranks


@njit(**_options)
def _odds(scores, j, odds, others):
    """Odds of the less likely order of j and each other document; those not above j come first.

    Returns how many come first.
    """
    low, high = 0, len(scores) - 1
    for i in range(len(scores)):
        if i == j:
            continue
        x = scores[i] - scores[j]
        if x <= 0:
            slot = low
            low += 1
        else:
            high -= 1
            slot = high
        tail = 0.5 * math.erfc(math.sqrt(0.5) * abs(x))
        odds[slot] = tail / (1.0 - tail)
        others[slot] = i
    return low


@njit(**_options)
def _distribute(odds, low, ranks):
    """Probabilities of the ranks of a document."""
    ranks[:] = 0.0
    ranks[0] = 1.0
    for t in range(len(odds)):
        above = (odds[t] if t < low else 1.0) / (1.0 + odds[t])
        for r in range(t + 1, 0, -1):
            ranks[r] += above * (ranks[r - 1] - ranks[r])
        ranks[0] -= above * ranks[0]


@njit(**_fast)
def _undo(ranks, steps, odds, without, slopes):
    """Sums of `steps` times the probabilities without one of the documents, for each of these."""
    without[:] = 0.0
    slopes[:] = 0.0
    for r in range(len(steps)):
        for t in range(len(odds)):
            without[t] = ranks[r] + odds[t] * (ranks[r] - without[t])
            slopes[t] += steps[r] * without[t]


@njit(**_options)
def _slopes(ranks, steps, odds, low, without, slopes):
    """Slope of the expected discount of a document along the chance of each other to be above."""
    n = len(odds)
    _undo(ranks[:n], steps, odds[:low], without[:low], slopes[:low])
    backward, back = ranks[:0:-1].copy(), steps[::-1].copy()
    _undo(backward, back, odds[low:], without[low:], slopes[low:])


@njit(**_options)
def rank_values(
    first, last, indptr, codes, scores, gain, discount, inverse, sigma, relative, out
):  # fmt: skip
    """Soft value of each query from the distribution of the ranks."""
    room = _longest(first, last, indptr)
    documents, position = np.empty((_FIELDS, room)), np.empty(room, np.int64)
    odds, ranks, others = np.empty(room), np.empty(room), np.empty(room, np.int64)
    for q in range(first, last):
        rows = slice(indptr[q], indptr[q + 1])
        n = indptr[q + 1] - indptr[q]
        worth = 0.0
        if inverse[q] != 0:
            relevant, _ = _load(
                codes[rows], scores[rows], gain, sigma, relative, documents, position
            )
            for j in range(relevant):
                low = _odds(documents[_SCORE, :n], j, odds, others)
                _distribute(odds[: n - 1], low, ranks[:n])
                for r in range(n):
                    worth += documents[_GAIN, j] * ranks[r] * discount[r]
        out[q] = inverse[q] * worth


@njit(**_options)
def rank_gradients(
    first, last, indptr, codes, scores, gain, discount, inverse, weight, sigma, relative, grad, hess
):  # fmt: skip
    """Gradient and curvature of 1 - that value, times the weight of the query."""
    room = _longest(first, last, indptr)
    documents, position = np.empty((_FIELDS, room)), np.empty(room, np.int64)
    odds, ranks, others = np.empty(room), np.empty(room), np.empty(room, np.int64)
    without, slopes = np.empty(room), np.empty(room)
    pull, curve = np.empty(room), np.empty(room)
    steps = discount[1:] - discount[:-1]
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        scale = inverse[q] * weight[q] * _PEAK
        if scale == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        relevant, theta = _load(
            codes[start:stop], scores[start:stop], gain, sigma, relative, documents, position
        )
        pull[:n] = 0.0
        curve[:n] = 0.0
        for j in range(relevant):
            low = _odds(documents[_SCORE, :n], j, odds, others)
            _distribute(odds[: n - 1], low, ranks[:n])
            _slopes(ranks[:n], steps[: n - 1], odds[: n - 1], low, without, slopes)
            for t in range(n - 1):
                i = others[t]
                right = documents[_SCORE, j] - documents[_SCORE, i]
                force = abs(slopes[t]) * documents[_GAIN, j] * math.exp(-0.5 * right * right)
                bend = force * (right + math.sqrt(right * right + 4.0))
                pull[j] += force
                pull[i] -= force
                curve[j] += bend
                curve[i] += bend
        for i in range(n):
            grad[start + position[i]] = -scale / theta * pull[i]
            hess[start + position[i]] = 0.5 * scale / theta**2 * curve[i]
