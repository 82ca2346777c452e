"""Literal orders by label, changes by swaps, and LambdaRank gradients."""

import math
from functools import cache

from tests.helpers.engine import ranking
from tests.helpers.engine import without_nan as from_array

__all__ = ["change_by_swap", "from_array", "lambdas", "swap_delta"]


def swap_delta(metric, ranked, a, b):
    """metric(list with ranks a and b exchanged) - metric(list); ranks from 1."""
    swapped = list(ranked)
    swapped[a - 1], swapped[b - 1] = swapped[b - 1], swapped[a - 1]
    return metric(tuple(swapped)) - metric(tuple(ranked))


def change_by_swap(numerator, labels, /, *, k=None, truncation_level=None, **parameters):
    """Change of a normalised metric, given by its numerator, by a swap of two ranks.

    The metric is the numerator cut at k; the normaliser is the ideal value of the list cut at
    min(truncation level, k), as LightGBM does.
    """
    cuts = [cut for cut in (k, truncation_level) if cut is not None]
    best_first = sorted((label or 0 for label in labels), reverse=True)
    normalizer = numerator(best_first, k=min(cuts, default=None), **parameters)

    @cache
    def metric(ranked):
        return numerator(ranked, k=k, **parameters)

    def change(ranked, a, b):
        return swap_delta(metric, ranked, a, b) / normalizer if normalizer else 0.0

    return change


def lambdas(change, scores, labels, *, sigma=1.0, truncation_level=None, norm=True, signed=False):
    """LambdaRank gradient and hessian of one query, in row order (Burges 2010; LightGBM's norms).

    ``change`` maps the labels in rank order and two ranks to a float. ``signed`` omits pairs for
    which it falls when the better document moves up. Ties are in row order. A document with the
    score -inf is in no pair.
    """
    grad, hess, total = [0.0] * len(scores), [0.0] * len(scores), 0.0
    rows = ranking(scores)
    if not rows:
        return grad, hess
    ranked = [labels[row] for row in rows]
    spread = scores[rows[0]] != scores[rows[-1]]
    last = len(rows) if truncation_level is None else min(truncation_level, len(rows))
    for a in range(1, last + 1):
        for b in range(a + 1, len(rows) + 1):
            upper, lower = ranked[a - 1] or 0, ranked[b - 1] or 0
            if upper == lower:
                continue
            delta = change(ranked, a, b)
            if delta == 0 or (signed and (delta > 0) != (lower > upper)):
                continue
            high, low = (rows[a - 1], rows[b - 1]) if upper > lower else (rows[b - 1], rows[a - 1])
            distance = scores[high] - scores[low]
            weight = abs(delta)
            if norm in (True, "score") and spread:
                weight /= 0.01 + abs(distance)
            x = sigma * distance
            p = 1 / (1 + math.exp(x)) if x < 700 else 0.0
            grad[high] -= sigma * weight * p
            grad[low] += sigma * weight * p
            hess[high] += sigma**2 * weight * p * (1 - p)
            hess[low] += sigma**2 * weight * p * (1 - p)
            total += 2 * sigma * weight * p
    if norm in (True, "sum") and total > 0:
        factor = math.log1p(total) / math.log(2) / total
        grad = [factor * value for value in grad]
        hess = [factor * value for value in hess]
    return grad, hess
