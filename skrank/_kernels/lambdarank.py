"""What LambdaRank does alike for all families: pairs of neighbours, and normalisation.

``lead[row]`` is what a metric gains if the better one of the documents at a rank and at the next
one stands first: positive if that is the one at the next rank, negative if it already does.
"""

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import njit


@njit(**tiles.options)
def normalise(first, last, indptr, out):
    """Scale the gradients of each query from the sum of their sizes to the logarithm of it."""
    totals, grad, hess = out.totals, out.grad, out.hess
    for q in range(first, last):
        if totals[q] > 0:
            scale = np.log2(1.0 + totals[q]) / totals[q]
            for row in range(indptr[q], indptr[q + 1]):
                grad[row] *= scale
                hess[row] *= scale


@njit(**tiles.options)
def neighbours(first, last, indptr, lists, lead, pairs, out):
    """LambdaRank gradient and curvature of each row, from pairs of neighbours in the order."""
    order, scores = lists.order, lists.scores
    longest = tiles.longest(first, last, indptr)
    pull, curve = np.zeros(longest), np.zeros(longest)
    place = np.arange(longest)
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        pull[:n] = 0
        curve[:n] = 0
        total = 0.0
        mine = scores[start : start + n]
        normed = pairs.score_norm and np.any(mine != mine[0])
        base, slope = 0.01 if normed else 1.0, 1.0 if normed else 0.0
        for r in range(n - 1):
            delta = lead[start + r]
            if delta == 0:
                continue
            upper, lower = order[start + r], order[start + r + 1]
            better, worse = (lower, upper) if delta > 0 else (upper, lower)
            ahead = tiles.gap(mine[better], mine[worse])
            wrong = tiles.wrong(pairs.sigma, ahead)
            force = abs(delta) * wrong / (base + slope * abs(ahead))
            pull[better] -= force
            pull[worse] += force
            curve[better] += force * (1.0 - wrong)
            curve[worse] += force * (1.0 - wrong)
            total += force
        tiles.write(out, q, start, place[:n], pull, curve, total, lists.weight[q], pairs)
