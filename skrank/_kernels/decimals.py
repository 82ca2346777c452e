"""Read decimals as the nearest doubles, for `trec`.

A text is an array of bytes; a decimal is one of its slices.
"""

import numpy as np

from skrank._kernels.jit import subroutine

PLUS, MINUS, POINT, ZERO, UPPER_E, LOWER_E = 43, 45, 46, 48, 69, 101
POWERS = 10.0 ** np.arange(23)  # exact in double precision
MOST_EXPONENT = 280  # of 10, so that no intermediate result overflows or is subnormal

_ONE, _HALF, _LOWER, _TOP = (np.uint64(one) for one in (1, 32, 2**32 - 1, 2**63))


def _powers_of_ten():
    """Leading 64 bits of powers of 10, and the value of the last bit of products in `_nearest`."""
    tens, units = [], []
    for exponent in range(-MOST_EXPONENT, MOST_EXPONENT + 1):
        whole = 10**exponent if exponent >= 0 else (1 << 1024) // 10**-exponent
        shift = whole.bit_length() - 64
        tens.append(whole >> shift if shift >= 0 else whole << -shift)
        units.append(2.0 ** (shift + 64 - (0 if exponent >= 0 else 1024)))
    return np.array(tens, np.uint64), np.array(units)


TENS, UNITS = _powers_of_ten()


@subroutine()
def _high_half(a, b):
    """The upper 64 bits of the product of two integers of 64 bits."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOWER, b >> _HALF, b & _LOWER
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOWER)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF)


@subroutine()
def _nearest(mantissa, exponent):
    """The double nearest to mantissa * 10^exponent; NaN if 64 bits do not determine it.

    TENS has the leading 64 bits of the power, rounded down. So the exact product of the normalised
    mantissa with the power exceeds `product` by less than 2 units of its last bit. Rounding to 53
    bits is certain unless the bits that are cut off are one half, or one unit less.
    """
    left, unit = np.uint64(mantissa), UNITS[exponent + MOST_EXPONENT]
    while left < _TOP:
        left = left << _ONE
        unit *= 0.5
    product = _high_half(left, TENS[exponent + MOST_EXPONENT])
    n_cut = np.uint64(10) + (product >> np.uint64(63))
    half = _ONE << (n_cut - _ONE)
    cut = product & ((_ONE << n_cut) - _ONE)
    if cut == half or cut == half - _ONE:
        return np.nan
    kept = (product >> n_cut) + np.uint64(cut > half)
    return np.float64(kept) * (unit * np.float64(_ONE << n_cut))


@subroutine()
def _exponent(text, start, stop):
    """The integer text[start:stop], at most 9999; 9999 if it is not an integer."""
    first = start + (start < stop and (text[start] == MINUS or text[start] == PLUS))
    found = np.int64(0 if first < stop else 9999)
    for pos in range(first, stop):
        digit = np.int64(text[pos]) - ZERO
        if not 0 <= digit < 10 or found > 999:
            return np.int64(9999)
        found = found * 10 + digit
    return -found if first > start and text[start] == MINUS else found


@subroutine()
def number(text, start, stop):
    """The double nearest to the decimal text[start:stop]; NaN if it is not a decimal, or rare.

    Rare decimals have more than 18 digits after leading zeros, an exponent beyond MOST_EXPONENT, or
    are too near to the middle of two doubles for `_nearest`. Python reads them.
    """
    first = start + (text[start] == MINUS or text[start] == PLUS)
    mantissa, point, end, exponent = np.int64(0), np.int64(-1), stop, np.int64(0)
    for pos in range(first, stop):
        digit = np.int64(text[pos]) - ZERO
        if 0 <= digit < 10:
            mantissa = mantissa * 10 + digit
        elif text[pos] == POINT and point < 0:
            point = pos
        elif text[pos] == LOWER_E or text[pos] == UPPER_E:
            end, exponent = pos, _exponent(text, pos + 1, stop)
            break
        else:
            return np.nan
    n_digits, pos = end - first - (point >= 0), first
    if n_digits == 0 or exponent == 9999:
        return np.nan
    while n_digits > 18:  # skip leading zeros
        if text[pos] != ZERO and text[pos] != POINT:
            return np.nan
        n_digits -= text[pos] == ZERO
        pos += 1
    if point >= 0:
        exponent -= end - point - 1
    if mantissa == 0:
        value = 0.0
    elif mantissa < 1 << 53 and -23 < exponent < 23:
        power = POWERS[abs(exponent)]
        value = mantissa / power if exponent < 0 else mantissa * power
    elif -MOST_EXPONENT <= exponent <= MOST_EXPONENT:
        value = _nearest(mantissa, exponent)
    else:
        value = np.nan
    return -value if text[start] == MINUS else value
