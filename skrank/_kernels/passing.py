"""Chance that a user passes the first documents of a random order, for blocks of any length.

Of a block, `passes[j]` is the mean of prod (1 - rho) over all sets of j documents. Documents of one
rho give its powers. Two groups of documents are put together by drawing: of j documents, k are of
the first group with a hypergeometric chance,

    passes[j] = sum_k chance(k) passes_1[k] passes_2[j - k].

Nothing is subtracted, so that all digits hold. Chances are next to nothing some standard deviations
from their largest, and log passes[j] is smooth in j: beyond `EXACT` it is taken at a few places of
stretches that double, and interpolated by polynomials between. So a million documents take as long
as a few thousand.
"""

import numpy as np

from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import options

EXACT = 1024  # up to here, and as near to the end, every place is taken
NODES = 20  # of a stretch: its polynomials are right to the last digits
_NOTHING, _HUGE = 1e-18, 1e290


@part(**options)
def _rise(k, j, n, m, passes, other):
    """Whether the summand of k + 1 is above that of k."""
    up = (n - k) * (j - k) * passes[k + 1]
    return up > (k + 1.0) * (m - j + k + 1.0) * passes[k] * other


@part(**options)
def _ends(chance, chances, summand, total):
    """Whether what follows adds nothing, or what there is divides to nothing."""
    return chances > _HUGE or (chance < _NOTHING * chances and summand <= _NOTHING * total)


@part(**options)
def _drawn(j, start, n, m, passes, other, powers):
    """The sum over k for one j, and the k of its largest summand, sought from `start` on.

    `passes` is of n documents, and `other` the 1 - rho of m further ones, with its powers. The
    summands rise to the largest and fall behind it, as the chances do.
    """
    low, high = max(0, j - m), min(j, n)
    top = min(max(start, low), high)
    while top < high and _rise(top, j, n, m, passes, other):
        top += 1
    while top > low and not _rise(top - 1, j, n, m, passes, other):
        top -= 1
    chance, chances, total = 1.0, 1.0, passes[top] * powers[j - top]
    for k in range(top, high):
        chance *= (n - k) * (j - k) / ((k + 1.0) * (m - j + k + 1.0))
        summand = chance * passes[k + 1] * powers[j - k - 1]
        chances += chance
        total += summand
        if _ends(chance, chances, summand, total):
            break
    chance = 1.0
    for k in range(top, low, -1):
        chance *= k * (m - j + k) / ((n - k + 1.0) * (j - k + 1.0))
        summand = chance * passes[k - 1] * powers[j - k + 1]
        chances += chance
        total += summand
        if _ends(chance, chances, summand, total):
            break
    return total / chances, top


@part(**options, allocates=True)
def _stretch(first, last, places, logs, out):
    """Fill out[first : last] from the logarithms at some places, by the barycentric formula."""
    weights = np.empty(NODES)
    width = float(last - first)
    for i in range(NODES):
        weights[i] = 1.0
        for other in range(NODES):
            if other != i:
                weights[i] *= width / (4.0 * (places[i] - places[other]))
    for j in range(first, last):
        above, below, known = 0.0, 0.0, -1
        for i in range(NODES):
            if places[i] == j:
                known = i
                break
            share = weights[i] / (j - places[i])
            above += share * logs[i]
            below += share
        out[j] = np.exp(logs[known] if known >= 0 else above / below)


@njit(**options, allocates=True)
def join(n, m, other, shown, passes, powers, out):
    """Fill out[: shown + 1] for n documents of known `passes` and m more of one 1 - rho."""
    powers[0] = 1.0
    for i in range(1, min(m, shown) + 1):
        powers[i] = powers[i - 1] * other
    places, logs = np.empty(NODES, np.int64), np.empty(NODES)
    top, j = np.int64(0), np.int64(0)
    while j <= shown:
        length = min(j, (n + m - j) // 2)
        if j < EXACT or length < EXACT or shown + 1 - j < 4 * NODES:
            out[j], top = _drawn(j, top, n, m, passes, other, powers)
            j += 1
            continue
        last = min(j + length, shown + 1)
        least = 1.0
        for i in range(NODES):
            angle = np.cos(np.pi * (i + 0.5) / NODES)
            places[i] = j + int((1.0 - angle) / 2.0 * (last - 1 - j) + 0.5)
            value, top = _drawn(places[i], top, n, m, passes, other, powers)
            least = min(least, value)
            logs[i] = np.log(value) if value > 0 else 0.0
        if least > 0:
            _stretch(j, last, places, logs, out)
        else:  # where nobody is left
            for one in range(j, last):
                out[one], top = _drawn(one, top, n, m, passes, other, powers)
        j = last
