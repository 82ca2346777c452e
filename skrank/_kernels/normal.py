"""The normal distribution without calls and branches, so that loops over it run in SIMD.

Distances y are in units of 1 / UNIT standard deviations, in which the density is PEAK * 2^-(y^2);
below, "density" is 2^-(y^2). Phi(-y) is the density times a ratio, which falls slowly from 1/2. In
single precision the ratio is a polynomial in root - y, where root = sqrt(y^2 + 4 UNIT^2), which
also bounds Mills' ratio. In double precision it is a polynomial in (y - c) / (y + c) with c = 5
UNIT.

Errors compared with scipy's ndtr, which a test checks:

                        Phi(-y)    relative error of Phi(-y)    density
    single precision     2e-7          1e-4                      2e-7
    double precision     4e-16         1e-12                     4e-16
"""

import math

import numpy as np

from skrank._kernels.jit import by_precision
from skrank._kernels.powers import LONGEST, LONGEST_DOUBLE, power

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
_ZERO, _FOUR = np.float32(0), np.float32(4 * UNIT**2)
_REACH = np.float32(math.sqrt(LONGEST))  # 2^-(y^2) counts as 0 from this y on
_REACH_DOUBLE = math.sqrt(LONGEST_DOUBLE)


def _single(y):
    square = y * y
    density = power(square)
    root = np.float32(math.sqrt(square + _FOUR))
    ratio = _ZERO
    for c in _RATIO:
        ratio = ratio * (root - y) + c
    return ratio * density, density, root


def _double(y):
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
normal = by_precision(_single, _double)
# reach(x) is the distance from which on Phi(-y) counts as 0, in the precision of x.
reach = by_precision(lambda x: _REACH, lambda x: _REACH_DOUBLE)
