"""What LambdaRank does alike for all families: pairs of neighbours, and normalisation.

``lead[row]`` is what a metric gains if the better one of the documents at a rank and at the next
one stands first: positive if that is the one at the next rank, negative if it already does.
"""

import math

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import njit


@njit(**tiles.options)
def normalise(first, last, indptr, out):
    """Scale the gradients of each query from the sum of their sizes to the logarithm of it."""
    totals, grad, hess = out.totals, out.grad, out.hess
    for q in range(first, last):
        if totals[q] > 0:
            scale = math.log1p(totals[q]) / (tiles.LOG_2 * totals[q])
            for row in range(indptr[q], indptr[q + 1]):
                grad[row] *= scale
                hess[row] *= scale


@njit(**tiles.options)
def _neighbours(first, last, indptr, lists, lead, pairs, pull, curve, place, out):
    """The same with room for it; `place` counts from 0."""
    order, scores = lists.order, lists.scores
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        for i in range(n):
            pull[i], curve[i] = 0, 0
        total = 0.0
        mine = scores[start : start + n]
        best, worst = tiles.score_range(scores, start, start + n)
        norm = tiles.norm_of(pairs, best, worst, pull)
        for r in range(n - 1):
            delta = lead[start + r]
            if delta == 0:
                continue
            upper, lower = order[start + r], order[start + r + 1]
            better, worse = (lower, upper) if delta > 0 else (upper, lower)
            ahead = tiles.gap(mine[better], mine[worse])
            wrong, right = tiles.chances(pairs.sigma, ahead)
            force = abs(delta) * wrong / (norm.base + norm.slope * abs(ahead))
            pull[better] -= force
            pull[worse] += force
            curve[better] += force * right
            curve[worse] += force * right
            total += force
        tiles.write(out, q, start, n, place, pull, curve, total, lists.weight[q], pairs)


def neighbours(first, last, indptr, lists, lead, pairs, out):
    """LambdaRank gradient and curvature of each row, from pairs of neighbours in the order."""
    longest = tiles.longest_of(first, last, indptr)
    room = np.empty(longest), np.empty(longest), np.arange(longest)
    _neighbours(first, last, indptr, lists, lead, pairs, *room, out)
