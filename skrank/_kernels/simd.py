"""exp and the normal distribution for kernels.

In single precision, they have no calls and branches, so that loops over them run in SIMD. In double
precision, they use the C library.

Powers of two: with the integer k nearest to x, and r = x - k, 2^x is 2^k, whose bits follow from k,
times a polynomial in r that approximates 2^r.

The normal distribution: distances y are in units of 1 / UNIT standard deviations, in which the
density is PEAK * 2^-(y^2); below, "density" is 2^-(y^2). Phi(-y) is the density times a ratio,
which falls slowly from 1/2: a polynomial in root - y, where root = sqrt(y^2 + 4 UNIT^2). Birnbaum's
bound of Mills' ratio has the same root: docs/kernels.md (16, 17). Errors compared with scipy's
ndtr, which a test checks: 2e-7 of Phi(-y) and of the density; the relative error of Phi(-y) is
1e-4.
"""

import math

import numpy as np

from skrank._kernels.jit import by_precision, subroutine

LONGEST = 127  # 2^-x counts as 0 from this x on, in single precision

# Coefficients of 2^-r for |r| <= 1/2, by Chebyshev interpolation, highest powers first.
_POWER = tuple(
    np.float32(c)
    for c in (
        0.0001546144469856913, -0.0013400428177615838, 0.009618056678524637, -0.05550327226670302,
        0.24022650922288757, -0.6931472067028326, 1.0,
    )
)  # fmt: skip
# Coefficients of 2^r for |r| <= 1/2: the Taylor series, highest powers first. Its relative error is
# 2.4e-7. That of the coefficients above is 1e-7, but would change the bits of gradients.
_EXP = tuple(
    np.float32(c)
    for c in (
        1.5403530e-4, 1.33335581e-3, 9.61812911e-3, 5.55041087e-2, 2.40226507e-1, 0.693147181, 1.0,
    )
)  # fmt: skip
_ZERO, _HALF = np.float32(0), np.float32(0.5)


@subroutine()
def _power(x):
    """2^-x for 0 <= x < `LONGEST`; NaN if x is NaN."""
    whole = np.int32(x + _HALF)
    rest = x - np.float32(whole)
    power = _ZERO
    for c in _POWER:
        power = power * rest + c
    return power * np.int32((127 - whole) << 23).view(np.float32)  # the bits of 2^-whole


def _exp_single(score, sigma):
    x = np.float32(sigma / math.log(2.0)) * score
    whole = np.floor(x + _HALF)
    rest = x - whole
    power = _ZERO
    for c in _EXP:
        power = power * rest + c
    # the bits of 2^whole; callers exclude an overflow, and as scores lie on both sides of 0, an
    # underflow (`lambdarank.scale_of`)
    return power * np.int32((np.int32(whole) + 127) << 23).view(np.float32)


def _exp_double(score, sigma):
    return math.exp(sigma * score)


exp = by_precision(_exp_single, _exp_double)  # exp(sigma * score)

PEAK = 1 / math.sqrt(2 * math.pi)  # largest value of the density
UNIT = math.sqrt(0.5 / math.log(2))  # one standard deviation, as a distance y

# Polynomial of the ratio, highest powers first, by Remez' algorithm, with the error weighted by the
# density, or by 1/1000 if the density is less. Numbers are for (root - y) / (2 UNIT), at most 1.
_RATIO = tuple(
    np.float32(c / (2 * UNIT) ** (8 - k))
    for k, c in enumerate((
        0.0179451016810493, -0.09985109775026085, 0.2747023778701088, -0.4070026171964041,
        0.40976102449945073, -0.11023358703625973, 0.017104813452610237, 0.3975275780908548,
        4.640757230544387e-05,
    ))
)  # fmt: skip
_FOUR = np.float32(4 * UNIT**2)
_REACH = np.float32(math.sqrt(LONGEST))  # 2^-(y^2) counts as 0 from this y on
_REACH_DOUBLE = math.sqrt(1023)  # in double precision, whose least normal number is 2^-1022
_LOG_2 = math.log(2.0)


def _normal_single(y):
    square = y * y
    density = _power(square)
    root = np.float32(math.sqrt(square + _FOUR))
    ratio = _ZERO
    for c in _RATIO:
        ratio = ratio * (root - y) + c
    return ratio * density, density, root


def _normal_double(y):
    if y >= _REACH_DOUBLE:
        return 0.0, 0.0, math.sqrt(y * y + 4.0 * UNIT**2)
    density = math.exp(-_LOG_2 * (y * y))
    tail = 0.5 * math.erfc(math.sqrt(_LOG_2) * y)
    return tail, density, math.sqrt(y * y + 4.0 * UNIT**2)


# normal(y) = Phi(-y), 2^-(y^2), root, for 0 <= y <= reach(y).
normal = by_precision(_normal_single, _normal_double)
# reach(x) is the distance from which on Phi(-y) counts as 0, in the precision of x.
reach = by_precision(lambda x: _REACH, lambda x: _REACH_DOUBLE)
