"""Probability that a user passes the first j documents of a random order of tied documents.

A user passes a document with the probability 1 - rho. For a block of tied documents, ``passes[j]``
is the mean of prod (1 - rho) over all sets of j documents. If all documents have the same rho,
``passes[j]`` is (1 - rho)^j. For two groups of documents together,

    passes[j] = sum_k chance(k) passes_1[k] passes_2[j - k],

where chance(k) is the hypergeometric probability that k of j documents are of the first group.

All terms are positive, so nothing cancels. The terms fall quickly on both sides of the largest, so
negligible terms are left out. log passes[j] is smooth in j: where j and the number of remaining
documents exceed EXACT, it is computed at NODES points of an interval and interpolated by a
polynomial between the points. Each interval is twice as long as the previous interval, so a million
documents take as long as thousands.
"""

import numpy as np

from skrank._kernels.jit import subroutine

EXACT = 1024  # up to so many documents, there is no interpolation
NODES = 20  # with so many points, the interpolation is exact up to rounding
_NEGLIGIBLE = 1e-18  # relative size of terms that are lost to rounding
_HUGE = 1e290  # sums stop here, before they overflow


@subroutine()
def _rises(k, j, n, m, passes, other):
    """Whether the term of k + 1 is larger than the term of k: see `_join_at`."""
    up = (n - k) * (j - k) * passes[k + 1]
    return up > (k + 1.0) * (m - j + k + 1.0) * passes[k] * other


@subroutine()
def _is_end(chance, chances, term, total):
    """Whether the remaining terms are negligible, or the sums would overflow."""
    negligible = chance < _NEGLIGIBLE * chances and term <= _NEGLIGIBLE * total
    return chances > _HUGE or negligible


@subroutine()
def _join_at(j, start, n, m, passes, other, powers):
    """``passes[j]`` of two groups together, and the k of the largest term, near `start`.

    The first group has n documents and the given `passes`, the second m documents with 1 - rho =
    `other` and its `powers`. chance(k) is relative to the chance of the largest term, and the
    sum is divided by the sum of all relative chances.
    """
    low, high = max(0, j - m), min(j, n)
    top = min(max(start, low), high)
    while top < high and _rises(top, j, n, m, passes, other):
        top += 1
    while top > low and not _rises(top - 1, j, n, m, passes, other):
        top -= 1
    chance, chances, total = 1.0, 1.0, passes[top] * powers[j - top]
    for k in range(top, high):
        chance *= (n - k) * (j - k) / ((k + 1.0) * (m - j + k + 1.0))
        term = chance * passes[k + 1] * powers[j - k - 1]
        chances += chance
        total += term
        if _is_end(chance, chances, term, total):
            break
    chance = 1.0
    for k in range(top, low, -1):
        chance *= k * (m - j + k) / ((n - k + 1.0) * (j - k + 1.0))
        term = chance * passes[k - 1] * powers[j - k + 1]
        chances += chance
        total += term
        if _is_end(chance, chances, term, total):
            break
    return total / chances, top


@subroutine()
def _interpolate(first, last, places, logs, out):
    """Fill ``out[first:last]`` from logarithms at NODES places, by barycentric interpolation."""
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


@subroutine()
def join(n, m, other, shown, passes, powers, out):
    """Fill ``out[: shown + 1]`` with `passes` of two groups of n and m documents together.

    The first group has the given `passes`, the second 1 - rho = `other`; `powers` is workspace.
    """
    powers[0] = 1.0
    for i in range(1, min(m, shown) + 1):
        powers[i] = powers[i - 1] * other
    places, logs = np.empty(NODES, np.int64), np.empty(NODES)
    top, j = np.int64(0), np.int64(0)
    while j <= shown:
        length = min(j, (n + m - j) // 2)
        if j < EXACT or length < EXACT or shown + 1 - j < 4 * NODES:
            out[j], top = _join_at(j, top, n, m, passes, other, powers)
            j += 1
            continue
        last = min(j + length, shown + 1)
        least = 1.0
        for i in range(NODES):
            angle = np.cos(np.pi * (i + 0.5) / NODES)
            places[i] = j + int((1.0 - angle) / 2.0 * (last - 1 - j) + 0.5)
            value, top = _join_at(places[i], top, n, m, passes, other, powers)
            least = min(least, value)
            logs[i] = np.log(value) if value > 0 else 0.0
        if least > 0:
            _interpolate(j, last, places, logs, out)
        else:  # a probability of 0 has no logarithm
            for one in range(j, last):
                out[one], top = _join_at(one, top, n, m, passes, other, powers)
        j = last
