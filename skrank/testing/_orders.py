"""Reference implementations of swaps, orders of ties and LambdaRank gradients, for one list.

In this file, a metric is a function ``metric(ranked, unretrieved=())`` of labels in rank order,
None for a document that was not judged, and of the labels of judged documents that the list does
not contain. It returns None where it is not defined. The functions are slow, as in the definitions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

Labels: TypeAlias = list[float | None]
Literal: TypeAlias = Callable[..., float | None]
T = TypeVar("T")


def swap_delta(metric: Callable[..., float], labels: Sequence[Any], a: int, b: int) -> float:
    """metric(list with ranks a and b exchanged) - metric(list); ranks from 1."""
    swapped = list(labels)
    swapped[a - 1], swapped[b - 1] = swapped[b - 1], swapped[a - 1]
    return metric(swapped) - metric(list(labels))


def ranking(scores: Sequence[float]) -> list[int]:
    """Rows in rank order: stable sort by score, descending; a score of -inf is not retrieved."""
    retrieved = [row for row in range(len(scores)) if scores[row] != -math.inf]
    return sorted(retrieved, key=lambda row: -scores[row])


def missing(scores: Sequence[float], labels: Iterable[float | None]) -> list[float]:
    """Labels of the documents that were judged but not retrieved (score -inf)."""
    return [y for s, y in zip(scores, labels, strict=True) if s == -math.inf and y is not None]


def tie_orders(scores: Sequence[float], labels: Sequence[T]) -> Iterator[list[T]]:
    """The labels in each order of documents that breaks the ties of the scores."""
    rows = ranking(scores)
    groups = [list(group) for _, group in itertools.groupby(rows, key=lambda row: scores[row])]
    for orders in itertools.product(*(list(itertools.permutations(group)) for group in groups)):
        yield [labels[row] for order in orders for row in order]


def stable(metric: Literal, scores: Sequence[float], labels: Labels) -> float | None:
    """Value of the metric with ties in row order."""
    ranked = [labels[row] for row in ranking(scores)]
    return metric(ranked, unretrieved=missing(scores, labels))


def tie_values(metric: Literal, scores: Sequence[float], labels: Labels) -> list[Any]:
    """The metric of each order of the tied documents; several orders may have the same labels."""
    unretrieved = missing(scores, labels)
    return [metric(ranked, unretrieved=unretrieved) for ranked in tie_orders(scores, labels)]


def tie_expectation(metric: Literal, scores: Sequence[float], labels: Labels) -> float | None:
    """Mean of the metric over all permutations of tied documents, all equally likely."""
    values = tie_values(metric, scores, labels)
    return None if values[0] is None else math.fsum(values) / len(values)


def logistic_of_minus(x: float) -> float:
    """1 / (1 + e^x)."""
    return 1 / (1 + math.exp(x)) if x < 700 else 0.0


def lambdas(
    metric: Callable[..., float],
    scores: Sequence[float],
    labels: Labels,
    *,
    normalizer: float = 1.0,
    sigma: float = 1.0,
    truncation_level: int | None = None,
    score_norm: bool = True,
    sum_norm: bool = True,
    signed: bool = False,
) -> tuple[list[float], list[float]]:
    """LambdaRank gradient and hessian of one query, in row order (Burges 2010; LightGBM's norms).

    ``metric`` maps the labels in rank order to a float; a swap delta is the difference of the
    metric after and before the swap, divided by ``normalizer``. For each pair of ranks
    a <= min(T, n), a < b (ranks from 1) with different labels and a delta that is not zero, with
    "high" the document of the higher label:

        delta  = |delta| / (0.01 + |s_high - s_low|)   if score_norm and best score != worst score
        p      = 1 / (1 + exp(sigma (s_high - s_low)))
        lambda = sigma delta p          grad[high] -= lambda, grad[low] += lambda
        h      = sigma^2 delta p (1-p)  hess[high] += h,      hess[low] += h

    With sum_norm, gradients and hessians are multiplied by log2(1 + S) / S, S the sum of 2 lambda
    over the pairs. ``signed`` omits pairs for which the metric falls when the better document moves
    up. Ties are in row order. A document with the score -inf is in no pair.
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
            if score_norm and spread:
                delta /= 0.01 + abs(distance)
            p = logistic_of_minus(sigma * distance)
            grad[high] -= sigma * delta * p
            grad[low] += sigma * delta * p
            hess[high] += sigma**2 * delta * p * (1 - p)
            hess[low] += sigma**2 * delta * p * (1 - p)
            total += 2 * sigma * delta * p
    if sum_norm and total > 0:
        factor = math.log1p(total) / math.log(2) / total
        grad = [factor * value for value in grad]
        hess = [factor * value for value in hess]
    return grad, hess
