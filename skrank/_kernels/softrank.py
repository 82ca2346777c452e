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

import numpy as np
from numba.extending import overload

from skrank._kernels import tiles
from skrank._kernels.cache import njit

LANES = 16  # documents per SIMD step; lists are padded to a multiple
_FAR = 13.0  # the normal density beyond is below the least normal number of single precision
_WIDEST = 1e20  # largest score in thetas; its square need not fit
_UNREACHED = -1e30  # score of the padding: below everything
_LEAST_SPREAD = 0.01  # of the scores of a query, where sigma is relative to it
PEAK = 1 / math.sqrt(2 * math.pi)  # of the normal density

SCORE, GAIN, _B, _P, _Q = range(5)  # what is known of a document: rows of an array
_FIELDS = 5

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
    return (_normal_single if isinstance(y, np.float32) else _normal_double)(y)


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


@njit(**tiles.options)
def _theta(scores, middle, sigma, relative):
    """Standard deviation of the difference of two scores."""
    if relative:
        # in units of a power of two, so that squares fit and nothing is rounded by it
        _, power = math.frexp(scores.max() - middle)
        unit = math.ldexp(1.0, min(power, 1000))
        total, squares = 0.0, 0.0
        for score in scores:
            total += (score - middle) / unit
            squares += ((score - middle) / unit) ** 2
        variance = squares / len(scores) - (total / len(scores)) ** 2
        sigma *= max(math.sqrt(max(variance, 0.0)) * unit, _LEAST_SPREAD)
    return math.sqrt(2.0) * sigma


@njit(**tiles.options)
def load(soft, start, stop, documents, position):
    """Scores over theta and gains, documents with a gain first. Returns their number and theta."""
    codes, scores, gain = soft.codes[start:stop], soft.scores[start:stop], soft.gain
    middle = 0.5 * scores.min() + 0.5 * scores.max()
    theta = _theta(scores, middle, soft.sigma, soft.relative)
    low, high = 0, len(codes)
    for place in range(len(codes)):
        worth = gain[codes[place]]
        if worth > 0:
            slot = low
            low += 1
        else:
            high -= 1
            slot = high
        documents[SCORE, slot] = min(max((scores[place] - middle) / theta, -_WIDEST), _WIDEST)
        documents[GAIN, slot] = worth
        documents[_B:, slot] = 0
        position[slot] = place
    for slot in range(len(codes), tiles.padded(len(codes), LANES)):
        documents[SCORE, slot] = _UNREACHED
        documents[GAIN:, slot] = 0
    return low, theta


@njit(**tiles.fast)
def _expect(documents, size, i, zero, one, far):
    """Sums of pi, of pi min(u, u_i) and of pi (1 - pi) over the documents that may be above i."""
    above, better, spread = zero, zero, zero
    score, gain = documents[SCORE, i], documents[GAIN, i]
    for lane in range(size):
        x = documents[SCORE, lane] - score
        tail, _ = _normal(min(abs(x), far))
        pi = one - tail if x > zero else tail
        above += pi
        better += pi * min(gain, documents[GAIN, lane])
        spread += tail * (one - tail)
    return above, better, spread


@njit(**tiles.options)
def _average_precision(gain, above, better):
    """Worth of a document, and b, p, q."""
    b = 1.0 / (0.5 + above)
    a = 0.5 * gain + better
    return a * b, b, -a * b * b, 0.0


@njit(**tiles.options)
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


@njit(**tiles.options)
def _appraise(documents, size, relevant, shift):
    """Worth of a list; notes b, p, q of its relevant documents."""
    real = documents.dtype.type
    worth = 0.0
    for i in range(relevant):
        above, better, spread = _expect(documents, size, i, real(0), real(1), real(_FAR))
        if shift == 0:
            one, b, p, q = _average_precision(documents[GAIN, i], above, better)
        else:
            one, b, p, q = _discounted_gain(documents[GAIN, i], above, spread, shift)
        documents[_B, i], documents[_P, i], documents[_Q, i] = b, p, q
        worth += one
    return worth


@njit(**tiles.fast)
def _pull(documents, size, i, bent, zero, one, far):
    """Slope and curvature of document i, from the first `size` documents; q = 0 if not `bent`."""
    two = one + one
    score, gain = documents[SCORE, i], documents[GAIN, i]
    b, p, q = documents[_B, i], documents[_P, i], documents[_Q, i]
    slope, curvature, bend = zero, zero, -two * q  # which the document itself adds
    for lane in range(size):
        x = score - documents[SCORE, lane]
        y = min(abs(x), far)
        tail, density = _normal(y)
        density = density if y < far else zero  # exactly, for the padding
        c = min(gain, documents[GAIN, lane]) * (documents[_B, lane] - b) + documents[_P, lane] - p
        if bent:
            odds = one - two * tail
            c += (documents[_Q, lane] + q) * (-odds if x > zero else odds)
            bend += (documents[_Q, lane] + q) * density * density
        right = y if (x > zero) == (c > zero) else -y
        slope += c * density
        curvature += abs(c) * density * (right + math.sqrt(right * right + two * two))
    return slope, curvature, bend


@njit(**tiles.options)
def make(first, last, indptr, like):
    """Room for the documents of one query, in the precision of `like`, and for their positions."""
    room = tiles.padded(tiles.longest(first, last, indptr), LANES)
    return np.empty((_FIELDS, room), like.dtype), np.empty(room, np.int64)


@njit(**tiles.options)
def values(first, last, indptr, soft, shift, out):
    """Soft value of each query; `shift` is that of the discount 1 / log2(shift + x), 0 for AP."""
    documents, position = make(first, last, indptr, out)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        out[q] = 0.0
        if soft.inverse[q] != 0:
            relevant, _ = load(soft, start, stop, documents, position)
            size = tiles.padded(stop - start, LANES)
            out[q] = soft.inverse[q] * _appraise(documents, size, relevant, shift)


@njit(**tiles.options)
def gradients(first, last, indptr, soft, shift, weight, grad, hess):
    """Gradient and curvature of 1 - value, times the weight of the query."""
    documents, position = make(first, last, indptr, grad)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        scale = soft.inverse[q] * weight[q] * PEAK
        if scale == 0:
            grad[start:stop] = 0
            hess[start:stop] = 0
            continue
        relevant, theta = load(soft, start, stop, documents, position)
        _appraise(documents, tiles.padded(stop - start, LANES), relevant, shift)
        _differentiate(
            documents, stop - start, relevant, shift != 0, scale, theta, position,
            grad[start:stop], hess[start:stop],
        )  # fmt: skip


@njit(**tiles.options)
def _differentiate(documents, n, relevant, bent, scale, theta, position, grad, hess):
    """Gradient and curvature of the documents of a query, once b, p, q are noted."""
    real = documents.dtype.type
    zero, one, far = real(0), real(1), real(_FAR)
    for i in range(n):  # two documents without a gain do not meet
        size = tiles.padded(n if i < relevant else relevant, LANES)
        if bent:
            slope, curvature, bend = _pull(documents, size, i, True, zero, one, far)
            curvature += 4 * PEAK * bend
        else:
            slope, curvature, _ = _pull(documents, size, i, False, zero, one, far)
        grad[position[i]] = -scale / theta * slope
        hess[position[i]] = 0.5 * scale / theta**2 * curvature
