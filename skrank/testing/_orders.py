"""Reference implementations of orders of ties, for one list.

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


def tie_expectation(metric: Literal, scores: Sequence[float], labels: Labels) -> float | None:
    """Mean of the metric over all permutations of tied documents, all equally likely."""
    unretrieved = missing(scores, labels)
    values: list[Any] = [metric(one, unretrieved=unretrieved) for one in tie_orders(scores, labels)]
    return None if values[0] is None else math.fsum(values) / len(values)
