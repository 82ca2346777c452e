"""Collections of Dask as pieces, one per partition, that hold their queries whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from skrank._engine.groups import show
from skrank._typing import DaskTable

if TYPE_CHECKING:
    from dask.delayed import Delayed


def aligned_pieces(collections: Mapping[str, DaskTable | None]) -> list[tuple[Delayed | None, ...]]:
    """The pieces of collections, partition by partition; None of those that are None.

    Parameters
    ----------
    collections : dict of str to dask Array, Series or DataFrame, or None
        By the names that messages have for them. Only groups and weights may be None.

    Raises
    ------
    ValueError
        If one is no collection, is cut by columns, or has other partitions than the first.
    """
    for name, one in collections.items():
        if one is None and name not in ("groups", "sample_weight"):
            raise ValueError(f"{name} is None: it must be a Dask collection.")
    first = next(iter(collections))
    columns = {
        name: _pieces(name, one, first) for name, one in collections.items() if one is not None
    }
    counts = [len(column) for column in columns.values()]
    if len(set(counts)) > 1:
        *names, last = columns
        raise ValueError(
            f"{', '.join(names)} and {last} have {counts} partitions: take all from one frame, or "
            "rechunk them alike."
        )
    absent = [None] * counts[0]
    return list(zip(*(columns.get(name, absent) for name in collections), strict=True))


def _pieces(name: str, collection: DaskTable, first: str) -> list[Delayed]:
    """The partitions of a collection."""
    if not hasattr(collection, "to_delayed"):
        raise ValueError(f"{name} must be a Dask collection{f', as {first} is' * (name != first)}.")
    pieces = np.asarray(collection.to_delayed(), dtype=object)
    if pieces.ndim == 2 and pieces.shape[1] > 1:
        raise ValueError(f"{name} is cut by columns: rechunk it, {name}.rechunk((-1, None)) first.")
    return pieces.ravel().tolist()


def check_whole(ids_of_partitions: Sequence[np.ndarray]) -> None:
    """Refuse queries that lie in two partitions: no worker would see them whole."""
    seen: dict[object, int] = {}
    for number, ids in enumerate(ids_of_partitions):
        for one in ids.tolist():
            if one in seen:
                raise ValueError(
                    f"query {show(one)} lies in partitions {seen[one]} and {number}: keep queries "
                    'whole, with frame = frame.shuffle("qid").persist() before labels, scores, '
                    "features and groups are taken from the frame: without persist, each would be "
                    "shuffled by itself, into an order of its own."
                )
            seen[one] = number
