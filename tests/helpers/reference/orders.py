"""Literal orders by label, normalisers by the ideal list, and LambdaRank gradients."""

import math

from tests.helpers.engine import ranking, swap_delta
from tests.helpers.engine import without_nan as from_array

__all__ = ["from_array", "lambdas", "logistic_of_minus", "objective"]


def objective(numerator, labels, /, *, k=None, truncation_level=None, **parameters):
    """The two things ``lambdas`` asks for, of a normalised metric given by its numerator.

    The metric is the numerator cut at k; the normaliser is the ideal value of the list cut at
    min(truncation level, k), as LightGBM does.
    """
    cuts = [cut for cut in (k, truncation_level) if cut is not None]
    best_first = sorted((label or 0 for label in labels), reverse=True)
    normalizer = numerator(best_first, k=min(cuts, default=None), **parameters)

    def metric(ranked):
        return numerator(ranked, k=k, **parameters)

    return metric, normalizer


def logistic_of_minus(x):
    """1 / (1 + e^x)."""
    return 1 / (1 + math.exp(x)) if x < 700 else 0.0


def lambdas(
    metric,
    scores,
    labels,
    *,
    normalizer=1.0,
    sigma=1.0,
    truncation_level=None,
    norm=True,
    signed=False,
):
    """LambdaRank gradient and hessian of one query, in row order (Burges 2010; LightGBM's norms).

    ``metric`` maps the labels in rank order to a float. ``signed`` omits pairs for which the metric
    falls when the better document moves up. Ties are in row order. A document with the score -inf
    is in no pair.
    """
    grad, hess, total = [0.0] * len(scores), [0.0] * len(scores), 0.0
    rows = ranking(scores)
    if not rows or normalizer == 0:
        return grad, hess
    ranked = [labels[row] for row in rows]
    spread = scores[rows[0]] != scores[rows[-1]]
    last = len(rows) if truncation_level is None else min(truncation_level, len(rows))
    for a in range(1, last + 1):
        for b in range(a + 1, len(rows) + 1):
            upper, lower = ranked[a - 1] or 0, ranked[b - 1] or 0
            if upper == lower:
                continue
            change = swap_delta(metric, ranked, a, b) / normalizer
            if change == 0 or (signed and (change > 0) != (lower > upper)):
                continue
            high, low = (rows[a - 1], rows[b - 1]) if upper > lower else (rows[b - 1], rows[a - 1])
            distance = scores[high] - scores[low]
            delta = abs(change)
            if norm in (True, "score") and spread:
                delta /= 0.01 + abs(distance)
            p = logistic_of_minus(sigma * distance)
            grad[high] -= sigma * delta * p
            grad[low] += sigma * delta * p
            hess[high] += sigma**2 * delta * p * (1 - p)
            hess[low] += sigma**2 * delta * p * (1 - p)
            total += 2 * sigma * delta * p
    if norm in (True, "sum") and total > 0:
        factor = math.log1p(total) / math.log(2) / total
        grad = [factor * value for value in grad]
        hess = [factor * value for value in hess]
    return grad, hess
