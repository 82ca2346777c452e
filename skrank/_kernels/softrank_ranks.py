"""SoftRank from the distribution of each document's rank: see `softrank` for the model.

See docs/kernels.md (18, 19): w is the distribution p of the rank of j without the step of i. A
query takes O(n^3) time and O(n) memory. The pair of i and j is visited for the value of j and for
that of i. Each visit adds the bound of `softrank` for its own derivative, so that the curvature is
the sum of both bounds.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.lambdarank import clear
from skrank._kernels.simd import PEAK
from skrank._kernels.softrank import load, write
from skrank._kernels.softrank_pairs import make


class _Workspace(NamedTuple):
    """One document of a query, compared with all others."""

    odds: np.ndarray  # by other document: P / (1 - P), P the probability of the rarer order
    others: np.ndarray  # by other document: its slot
    ranks: np.ndarray  # by rank: its probability
    steps: np.ndarray  # by rank: difference of the discounts of the next rank and of this one
    back: np.ndarray  # `ranks` and `steps`, from the last rank to the first
    without: np.ndarray  # by other document: w at the current rank
    slopes: np.ndarray  # by other document: derivative by pi_ij, without the factor u_j


@subroutine()
def _fill_odds(scores, j, odds, others):
    """Fill in the odds of the less probable order of j and each other document.

    Documents whose score is at most that of j come first. Returns their number, which other
    functions call `low`.
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


@subroutine()
def _distribute(odds, low, ranks):
    """Fill in the probabilities of the ranks of a document."""
    ranks[:] = 0.0
    ranks[0] = 1.0
    for t in range(len(odds)):
        above = (odds[t] if t < low else 1.0) / (1.0 + odds[t])
        for r in range(t + 1, 0, -1):
            ranks[r] += above * (ranks[r - 1] - ranks[r])
        ranks[0] -= above * ranks[0]


@subroutine()
def _mean(ranks, discount):
    """Expected discount of a document."""
    total = 0.0
    for r in range(len(ranks)):
        total += ranks[r] * discount[r]
    return total


@subroutine(fastmath=True)
def _undo(ranks, steps, odds, without, slopes):
    """Fill in the derivatives by pi_ij, from the first rank in `ranks` on."""
    without[:] = 0.0
    slopes[:] = 0.0
    for r in range(len(steps)):
        rank, step = ranks[r], steps[r]
        for t in range(len(odds)):
            without[t] = rank + odds[t] * (rank - without[t])
            slopes[t] += step * without[t]


@subroutine()
def _fill_slopes(n, low, work):
    """Fill in the derivatives of the expected discount of a document by each pi_ij.

    The first `low` of the `n` other documents are undone from the first rank on.
    """
    ranks, steps, odds, back = work.ranks[:n], work.steps[:n], work.odds[:n], work.back
    without, slopes = work.without[:n], work.slopes
    for r in range(n):
        back[0, r], back[1, r] = work.ranks[n - r], steps[n - 1 - r]
    _undo(ranks, steps, odds[:low], without[:low], slopes[:low])
    _undo(back[0, :n], back[1, :n], odds[low:], without[low:], slopes[low:])


@subroutine()
def _add_gradients(documents, j, others, slopes):
    """Add the gradients and curvatures of the pairs of document j with all others."""
    score, grad, curve = documents.score, documents.slope, documents.curve
    for t in range(len(others)):
        i = others[t]
        right = score[j] - score[i]
        force = abs(slopes[t]) * documents.gain[j] * math.exp(-0.5 * right * right)
        bend = force * (right + math.sqrt(right * right + 4.0))
        grad[j] += force
        grad[i] -= force
        curve[j] += bend
        curve[i] += bend


@kernel()
def _gradients(first, last, indptr, soft, discount, workspace, values, gradients):
    """As `gradients`, which is None or two arrays here: numba compiles each case by itself."""
    documents, work = workspace
    score, gain = documents.score, documents.gain
    odds, ranks, others = work.odds, work.ranks, work.others
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n, scale = stop - start, soft.inverse[q]
        values[q] = 0.0
        if gradients is not None:
            scale *= soft.weight[q]
            scale *= PEAK
            clear(gradients[0], gradients[1], start, stop)
        if scale == 0:
            continue
        n_relevant, theta = load(soft, start, stop, 1.0, documents)
        documents.slope[:n] = 0.0
        documents.curve[:n] = 0.0
        value = 0.0
        for j in range(n_relevant):
            low = _fill_odds(score[:n], j, odds, others)
            _distribute(odds[: n - 1], low, ranks[:n])
            value += gain[j] * _mean(ranks[:n], discount)
            if gradients is not None:
                _fill_slopes(n - 1, low, work)
                _add_gradients(documents, j, others[: n - 1], work.slopes)
        values[q] = soft.inverse[q] * value
        if gradients is not None:
            write(documents, start, n, scale, theta, 1.0, gradients)


def gradients(first, last, indptr, soft, discount, out):
    """Fill in the value, and gradient and curvature of (1 - value) * weight of the query.

    `discount` is by rank. If ``out.grad`` is None, only values are computed.
    """
    longest = int(np.diff(indptr[first : last + 1]).max())
    odds, ranks, without, slopes = np.empty((4, longest))
    others, back = np.empty(longest, np.int64), np.empty((2, longest))
    work = _Workspace(odds, others, ranks, np.diff(discount), back, without, slopes)
    documents = make(longest, np.dtype(np.float64))
    filled = None if out.grad is None else (out.grad, out.hess)
    workspace = documents, work
    _gradients(first, last, indptr, soft, discount, workspace, out.values, filled)
