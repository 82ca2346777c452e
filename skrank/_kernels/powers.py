"""Powers of two without calls and branches, so that loops over them run in SIMD.

With the integer k nearest to x, and r = x - k, 2^-x is 2^-k, whose bits follow from k, times a
polynomial in r that approximates 2^-r.
"""

import numpy as np

from skrank._kernels.jit import by_precision

LONGEST, LONGEST_DOUBLE = 127, 1023  # 2^-x counts as 0 from this x on

# Coefficients of 2^-r for |r| <= 1/2, by Chebyshev interpolation, highest powers first.
_SINGLE = tuple(
    np.float32(c)
    for c in (
        0.0001546144469856913, -0.0013400428177615838, 0.009618056678524637, -0.05550327226670302,
        0.24022650922288757, -0.6931472067028326, 1.0,
    )
)  # fmt: skip
_DOUBLE = (
    -4.4558179083360645e-10, 7.074194297288521e-09, -1.0178057087733941e-07, 1.3215432535912375e-06,
    -1.5252733841556773e-05, 0.00015403530463724353, -0.001333355814640647, 0.009618129107587256,
    -0.055504108664821625, 0.24022650695910158, -0.6931471805599453, 1.0,
)  # fmt: skip
_ZERO, _HALF = np.float32(0), np.float32(0.5)


def _single(x):
    whole = np.int32(x + _HALF)
    rest = x - np.float32(whole)
    found = _ZERO
    for c in _SINGLE:
        found = found * rest + c
    return found * np.int32((127 - whole) << 23).view(np.float32)  # the bits of 2^-whole


def _double(x):
    whole = np.int32(x + 0.5)
    rest = x - np.float64(whole)
    found = 0.0
    for c in _DOUBLE:
        found = found * rest + c
    return found * np.int64((1023 - np.int64(whole)) << 52).view(np.float64)


power = by_precision(_single, _double)  # 2^-x for 0 <= x < `LONGEST`; NaN if x is NaN
