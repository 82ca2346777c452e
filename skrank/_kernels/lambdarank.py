"""What LambdaRank does alike for all families: pairs of neighbours, and normalisation.

``lead[row]`` is what a metric gains if the better one of the documents at a rank and at the next
one stands first: positive if that is the one at the next rank, negative if it already does.
"""

import numpy as np
from numba import njit

_options = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_options)
def normalise(first, last, indptr, totals, grad, hess):
    """Scale the gradients of each query from the sum `totals` to the logarithm of it."""
    for q in range(first, last):
        if totals[q] > 0:
            scale = np.log2(1.0 + totals[q]) / totals[q]
            for row in range(indptr[q], indptr[q + 1]):
                grad[row] *= scale
                hess[row] *= scale


@njit(**_options)
def neighbours(
    first, last, indptr, order, scores, lead, weight, sigma, score_norm, sum_norm,
    grad, hess, totals,
):  # fmt: skip
    """LambdaRank gradient and curvature of each row, from pairs of neighbours in the order."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    pull, curve = np.zeros(longest), np.zeros(longest)
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        pull[:n] = 0
        curve[:n] = 0
        total = 0.0
        mine = scores[start : start + n]
        normed = score_norm and np.any(mine != mine[0])
        base, slope = 0.01 if normed else 1.0, 1.0 if normed else 0.0
        for r in range(n - 1):
            delta = lead[start + r]
            if delta == 0:
                continue
            upper, lower = order[start + r], order[start + r + 1]
            better, worse = (lower, upper) if delta > 0 else (upper, lower)
            ahead = mine[better] - mine[worse]
            share = np.exp(-abs(sigma * ahead))
            wrong = share / (1.0 + share) if ahead > 0 else 1.0 / (1.0 + share)
            force = abs(delta) * wrong / (base + slope * abs(ahead))
            pull[better] -= force
            pull[worse] += force
            curve[better] += force * (1.0 - wrong)
            curve[worse] += force * (1.0 - wrong)
            total += force
        totals[q] = 2.0 * sigma * total
        scale = weight[q] * sigma
        if sum_norm and total > 0:
            scale *= np.log2(1.0 + totals[q]) / totals[q]
        for p in range(n):
            grad[start + p] = scale * pull[p]
            hess[start + p] = scale * sigma * curve[p]
