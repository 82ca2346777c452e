"""What a campaign asks for, and the labels that answer it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.groups import show


@dataclass(frozen=True, eq=False)
class Request:
    """A query to label.

    Attributes
    ----------
    query : int or str
        Its id.
    items : ndarray of shape (n_items,)
        The documents to label: their ids if the pool has ids, else their rows.
    rows : ndarray of shape (n_items,)
        Their rows in the arrays that the campaign was started with.
    cost : float
        Cost of labelling them.
    """

    query: Hashable
    items: np.ndarray
    rows: np.ndarray
    cost: float

    def __len__(self) -> int:
        return len(self.items)


def labels_of(
    request: Request,
    labels: ArrayLike | Mapping[Hashable, float],
    grades: np.ndarray,
    query: str,
) -> np.ndarray:
    """Labels in the order of the items, all of them grades; `query` is its name in messages."""
    if isinstance(labels, Mapping):
        labels = _in_order(request.items.tolist(), labels, query)
    try:
        values = np.array(labels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"labels of query {query} must be grades, one per item.") from None
    if values.shape != request.items.shape:
        raise ValueError(
            f"{values.size} labels for the {len(request)} items of query {query}: give one label "
            "per item, in the order of Request.items."
        )
    wrong = np.flatnonzero(~np.isin(values, grades))
    if len(wrong):
        raise ValueError(
            f"label {values[wrong[0]]:g} of item {show(request.items[wrong[0]])} of query {query} "
            f"is not one of the grades {grades.tolist()}: correct it, or give all grades= when the "
            "campaign starts."
        )
    return values


def _in_order(items: list[Hashable], labels: Mapping[Hashable, float], query: str) -> list[float]:
    """The labels of items, each of which must have one."""
    known = set(items)
    for item in labels:
        if item not in known:
            raise ValueError(f"item {show(item)} is not among those asked of query {query}.")
    for item in items:
        if item not in labels:
            raise ValueError(f"item {show(item)} of query {query} has no label: give one.")
    return [labels[item] for item in items]
