"""SoftRank from the whole distribution of ranks: see `softrank` for the model and the curvature.

The ranks of a document j have the probabilities p that arise from [1] by
p(r) <- p(r) (1 - pi_ij) + p(r - 1) pi_ij for every other i, as if those events were independent,
and j is worth u_j sum_r d(r) p(r). Along pi_ij that changes by u_j sum_r p'(r) (d(r + 1) - d(r)),
p' being p without the step of i. Undoing the step is stable in the direction in which its errors
shrink: from the first rank on where pi_ij <= 1/2, else from the last. This takes O(n^3) time per
query and O(n) memory. The two shares in C_ij are never at hand together: the curvature bounds each.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import njit, part
from skrank._kernels.normal import PEAK
from skrank._kernels.softrank import clear, load
from skrank._kernels.softrank_pairs import make


class _Room(NamedTuple):
    """Room for one document of a query and all others."""

    odds: np.ndarray
    others: np.ndarray
    ranks: np.ndarray
    back: np.ndarray  # probabilities and steps from the last rank on
    without: np.ndarray
    slopes: np.ndarray
    pull: np.ndarray
    curve: np.ndarray


def _room(longest):
    """Room for queries of up to `longest` documents, and for the pairs of one of them."""
    odds, ranks, without, slopes, pull, curve = np.empty((6, longest))
    others, back = np.empty(longest, np.int64), np.empty((2, longest))
    pairs = _Room(odds, others, ranks, back, without, slopes, pull, curve)
    return make(longest, np.dtype(np.float64)), pairs


@part(**tiles.options)
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


@part(**tiles.options)
def _distribute(odds, low, ranks):
    """Probabilities of the ranks of a document."""
    ranks[:] = 0.0
    ranks[0] = 1.0
    for t in range(len(odds)):
        above = (odds[t] if t < low else 1.0) / (1.0 + odds[t])
        for r in range(t + 1, 0, -1):
            ranks[r] += above * (ranks[r - 1] - ranks[r])
        ranks[0] -= above * ranks[0]


@part(**tiles.options)
def _mean(ranks, discount):
    """Expected discount of a document."""
    total = 0.0
    for r in range(len(ranks)):
        total += ranks[r] * discount[r]
    return total


@part(**tiles.fast)
def _undo(ranks, steps, odds, without, slopes):
    """Sums of `steps` times the probabilities without one of the documents, for each of these."""
    without[:] = 0.0
    slopes[:] = 0.0
    for r in range(len(steps)):
        for t in range(len(odds)):
            without[t] = ranks[r] + odds[t] * (ranks[r] - without[t])
            slopes[t] += steps[r] * without[t]


@part(**tiles.options)
def _slopes(ranks, steps, odds, low, back, without, slopes):
    """Slope of the expected discount of a document along the chance of each other to be above."""
    n = len(odds)
    for r in range(n):
        back[0, r], back[1, r] = ranks[n - r], steps[n - 1 - r]
    _undo(ranks[:n], steps, odds[:low], without[:low], slopes[:low])
    _undo(back[0, :n], back[1, :n], odds[low:], without[low:], slopes[low:])


@njit(**tiles.options)
def _values(first, last, indptr, soft, discount, documents, room, out):
    """The same with room for it."""
    score, gain = documents.score, documents.gain
    odds, ranks, others = room.odds, room.ranks, room.others
    for q in range(first, last):
        n = indptr[q + 1] - indptr[q]
        worth = 0.0
        if soft.inverse[q] != 0:
            relevant, _ = load(soft, indptr[q], indptr[q + 1], 1.0, documents)
            for j in range(relevant):
                low = _odds(score[:n], j, odds, others)
                _distribute(odds[: n - 1], low, ranks[:n])
                worth += gain[j] * _mean(ranks[:n], discount)
        out[q] = soft.inverse[q] * worth


def values(first, last, indptr, soft, discount, out):
    """Soft value of each query; `discount` by rank."""
    room = _room(tiles.longest_of(first, last, indptr))
    _values(first, last, indptr, soft, discount, *room, out)


@njit(**tiles.options)
def _gradients(first, last, indptr, soft, discount, steps, documents, room, out):
    """The same with room for it, and with the steps between discounts."""
    grad, hess = out.grad, out.hess
    score, gain, position = documents.score, documents.gain, documents.position
    odds, ranks, others, slopes = room.odds, room.ranks, room.others, room.slopes
    pull, curve = room.pull, room.curve
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        scale = soft.inverse[q] * soft.weight[q] * PEAK
        if scale == 0:
            clear(out, q, start, stop)
            continue
        relevant, theta = load(soft, start, stop, 1.0, documents)
        pull[:n] = 0.0
        curve[:n] = 0.0
        worth = 0.0
        for j in range(relevant):
            low = _odds(score[:n], j, odds, others)
            _distribute(odds[: n - 1], low, ranks[:n])
            worth += gain[j] * _mean(ranks[:n], discount)
            _slopes(ranks[:n], steps[: n - 1], odds[: n - 1], low, room.back, room.without, slopes)
            _pull(score, gain[j], j, others[: n - 1], slopes, pull, curve)
        out.values[q] = soft.inverse[q] * worth
        for i in range(n):
            grad[start + position[i]] = -scale / theta * pull[i]
            hess[start + position[i]] = 0.5 * scale / theta**2 * curve[i]


def gradients(first, last, indptr, soft, discount, out):
    """Gradient and curvature of 1 - value, times the weight of the query; and the value."""
    room = _room(tiles.longest_of(first, last, indptr))
    _gradients(first, last, indptr, soft, discount, discount[1:] - discount[:-1], *room, out)


@part(**tiles.options)
def _pull(score, gain, j, others, slopes, pull, curve):
    """Add what the chances of document j against each other one pull at both."""
    for t in range(len(others)):
        i = others[t]
        right = score[j] - score[i]
        force = abs(slopes[t]) * gain * math.exp(-0.5 * right * right)
        bend = force * (right + math.sqrt(right * right + 4.0))
        pull[j] += force
        pull[i] -= force
        curve[j] += bend
        curve[i] += bend
