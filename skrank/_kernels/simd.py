"""Functions of one number without calls and branches, so that loops over them run in SIMD.

In single precision, and for `power` and `normal` also in double precision. `exp` of
doubles is that of the C library.

Powers of two: with the integer k nearest to x, and r = x - k, 2^x is 2^k, whose bits follow from k,
times a polynomial in r that approximates 2^r.

The normal distribution: distances y are in units of 1 / UNIT standard deviations, in which the
density is PEAK * 2^-(y^2); below, "density" is 2^-(y^2). Phi(-y) is the density times a ratio,
which falls slowly from 1/2. In single precision the ratio is a polynomial in root - y, where root =
sqrt(y^2 + 4 UNIT^2), which also bounds Mills' ratio. In double precision it is a polynomial in
(y - c) / (y + c) with c = 5 UNIT. Errors compared with scipy's ndtr, which a test checks:

                        Phi(-y)    relative error of Phi(-y)    density
    single precision     2e-7          1e-4                      2e-7
    double precision     4e-16         1e-12                     4e-16
"""

import math

import numpy as np

from skrank._kernels.jit import by_precision

LONGEST, LONGEST_DOUBLE = 127, 1023  # 2^-x counts as 0 from this x on

# Coefficients of 2^-r for |r| <= 1/2, by Chebyshev interpolation, highest powers first.
_POWER = tuple(
    np.float32(c)
    for c in (
        0.0001546144469856913, -0.0013400428177615838, 0.009618056678524637, -0.05550327226670302,
        0.24022650922288757, -0.6931472067028326, 1.0,
    )
)  # fmt: skip
_POWER_DOUBLE = (
    -4.4558179083360645e-10, 7.074194297288521e-09, -1.0178057087733941e-07, 1.3215432535912375e-06,
    -1.5252733841556773e-05, 0.00015403530463724353, -0.001333355814640647, 0.009618129107587256,
    -0.055504108664821625, 0.24022650695910158, -0.6931471805599453, 1.0,
)  # fmt: skip
# Coefficients of 2^r for |r| <= 1/2: the Taylor series, highest powers first.
_EXP = tuple(
    np.float32(c)
    for c in (
        1.5403530e-4, 1.33335581e-3, 9.61812911e-3, 5.55041087e-2, 2.40226507e-1, 0.693147181, 1.0,
    )
)  # fmt: skip
_ZERO, _HALF = np.float32(0), np.float32(0.5)


def _power_single(x):
    whole = np.int32(x + _HALF)
    rest = x - np.float32(whole)
    found = _ZERO
    for c in _POWER:
        found = found * rest + c
    return found * np.int32((127 - whole) << 23).view(np.float32)  # the bits of 2^-whole


def _power_double(x):
    whole = np.int32(x + 0.5)
    rest = x - np.float64(whole)
    found = 0.0
    for c in _POWER_DOUBLE:
        found = found * rest + c
    return found * np.int64((1023 - np.int64(whole)) << 52).view(np.float64)


power = by_precision(_power_single, _power_double)  # 2^-x for 0 <= x < `LONGEST`; NaN if x is NaN


def _exp_single(score, sigma):
    x = np.float32(sigma / math.log(2.0)) * score
    whole = np.floor(x + _HALF)
    rest = x - whole
    found = _ZERO
    for c in _EXP:
        found = found * rest + c
    return found * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


def _exp_double(score, sigma):
    return math.exp(sigma * score)


exp = by_precision(_exp_single, _exp_double)  # exp(sigma * score)

PEAK = 1 / math.sqrt(2 * math.pi)  # largest value of the density
UNIT = math.sqrt(0.5 / math.log(2))  # one standard deviation, as a distance y

# Polynomials of the ratio, highest powers first. In single precision by Remez' algorithm, with the
# error weighted by the density, or by 1/1000 if the density is less; in double precision by
# Chebyshev interpolation, with even and odd powers in two loops, since LLVM unrolls only short
# loops.
_RATIO = tuple(
    np.float32(c / (2 * UNIT) ** (8 - k))
    for k, c in enumerate((
        0.0179451016810493, -0.09985109775026085, 0.2747023778701088, -0.4070026171964041,
        0.40976102449945073, -0.11023358703625973, 0.017104813452610237, 0.3975275780908548,
        4.640757230544387e-05,
    ))
)  # fmt: skip
_RATIO_EVEN = (
    1.5414183289220556e-9, -1.1285406496965039e-8, 7.79063754253734e-8, -6.7575930428481748e-7,
    6.6447270301400955e-6, -6.0427562146069949e-5, 0.00021955074944962857, 0.008991370549649723,
    0.047855352284203327, 0.11606881188600297, 0.076919304975006296,
)  # fmt: skip
_RATIO_ODD = (
    4.0705034041021367e-9, -3.7216186657130767e-8, 2.4204335338391658e-7, -1.2695477340714897e-6,
    9.6117230140699998e-7, 0.00013427686444866711, -0.002378844358675725, -0.023413900487589691,
    -0.080883877264129788, -0.14345755526401196,
)  # fmt: skip
_FOUR = np.float32(4 * UNIT**2)
_REACH = np.float32(math.sqrt(LONGEST))  # 2^-(y^2) counts as 0 from this y on
_REACH_DOUBLE = math.sqrt(LONGEST_DOUBLE)


def _normal_single(y):
    square = y * y
    density = power(square)
    root = np.float32(math.sqrt(square + _FOUR))
    ratio = _ZERO
    for c in _RATIO:
        ratio = ratio * (root - y) + c
    return ratio * density, density, root


def _normal_double(y):
    square = y * y
    density = power(square)
    t = 1.0 - (10.0 * UNIT) / (y + 5.0 * UNIT)
    even, odd = 0.0, 0.0
    for c in _RATIO_EVEN:
        even = even * (t * t) + c
    for c in _RATIO_ODD:
        odd = odd * (t * t) + c
    return (even + odd * t) * density, density, math.sqrt(square + 4.0 * UNIT**2)


# normal(y) = Phi(-y), 2^-(y^2), root, for 0 <= y <= reach(y).
normal = by_precision(_normal_single, _normal_double)
# reach(x) is the distance from which on Phi(-y) counts as 0, in the precision of x.
reach = by_precision(lambda x: _REACH, lambda x: _REACH_DOUBLE)
