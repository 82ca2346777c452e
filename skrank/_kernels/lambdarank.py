"""LambdaRank for all families of metrics: pairs of adjacent ranks, and normalised gradients."""

import math

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.jit import kernel


@kernel()
def normalise(first, last, indptr, out):
    """Multiply the gradients of each query by log2(1 + t) / t, where t is ``out.totals[q]``."""
    totals, grad, hess = out.totals, out.grad, out.hess
    for q in range(first, last):
        if totals[q] > 0:
            scale = math.log1p(totals[q]) / (tiles.LOG_2 * totals[q])
            for row in range(indptr[q], indptr[q + 1]):
                grad[row] *= scale
                hess[row] *= scale


@kernel()
def _neighbours(first, last, indptr, lists, changes, pairs, work, out):
    """As `neighbours`; `work` is the sums over pairs by position, and the positions 0, 1, ..."""
    order, all_scores, weight = lists.order, lists.scores, lists.weight
    out_grad, out_hess, totals = out.grad, out.hess, out.totals
    grad, hess, position = work
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        for i in range(n):
            grad[i], hess[i] = 0, 0
        pulls = 0.0
        scores = all_scores[start : start + n]
        norm = tiles.scale_of(pairs, all_scores, start, start + n, grad).norm
        for r in range(n - 1):
            delta = changes[start + r]
            if delta == 0:
                continue
            upper, lower = order[start + r], order[start + r + 1]
            better, worse = (lower, upper) if delta > 0 else (upper, lower)
            ahead = tiles.gap(scores[better], scores[worse])
            wrong, right = tiles.chances(pairs.sigma, ahead)
            pull = abs(delta) * wrong / (norm.base + norm.slope * abs(ahead))
            grad[better] -= pull
            grad[worse] += pull
            hess[better] += pull * right
            hess[worse] += pull * right
            pulls += pull
        totals[q] = 2.0 * pairs.sigma * pulls
        factor = tiles.factor_of(totals[q], weight[q], pairs)
        tiles.write(out_grad, out_hess, start, position[:n], grad, hess, factor, pairs.sigma)


def neighbours(first, last, indptr, lists, changes, pairs, out):
    """Fill in LambdaRank gradients from pairs of adjacent ranks.

    ``changes[row]`` is for the ranks r = row - indptr[q] and r + 1: see
    `quadratic.adjacent_deltas`.
    """
    longest = int(np.diff(indptr[first : last + 1]).max())
    work = np.empty(longest), np.empty(longest), np.arange(longest)
    _neighbours(first, last, indptr, lists, changes, pairs, work, out)
