"""Partitions of Dask collections that belong together and hold whole queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._typing import DaskTable, Table


def aligned_partitions(**collections: Any) -> list[dict[str, Any]]:
    """The i-th partitions of all collections by name, for each i, delayed; None if absent.

    Parameters
    ----------
    **collections : dask Array, Series or DataFrame, or None
        By name, for messages. Only "groups" and "sample_weight" may be None.

    Raises
    ------
    ValueError
        If a value is not a collection, or numbers of partitions differ.
    """
    columns = {}
    for name, collection in collections.items():
        if collection is not None or name not in ("groups", "sample_weight"):
            if not hasattr(collection, "to_delayed"):
                kind = type(collection).__name__
                raise ValueError(f"{name} must be a Dask collection, and is {kind}.")
            columns[name] = np.ravel(unsplit_columns(collection).to_delayed()).tolist()
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"the collections have different numbers of partitions, {counts}: take all of them "
            "from one frame, or rechunk them to the same numbers of rows."
        )
    absent = [None] * max(counts.values())
    rows = zip(*(columns.get(name, absent) for name in collections), strict=True)
    return [dict(zip(collections, row, strict=True)) for row in rows]


def unsplit_columns(X: DaskTable) -> DaskTable:
    """The collection with all columns of a row in one chunk."""
    return X.rechunk({1: -1}) if hasattr(X, "rechunk") and X.ndim == 2 else X


def check_unsplit_queries(ids_of_partitions: Sequence[np.ndarray]) -> None:
    """Raise if a query lies in two partitions, so that no worker has all of its rows."""
    seen: dict[object, int] = {}
    for number, ids in enumerate(ids_of_partitions):
        for query in ids.tolist():
            if seen.setdefault(query, number) != number:
                raise ValueError(
                    f"query {check.show(query)} lies in partitions {seen[query]} and {number}: "
                    "keep queries whole, with frame = frame.shuffle(on=name of the column of "
                    "queries).persist() before you take labels and features from it. Without "
                    "persist, each column is shuffled again, and the orders of rows may differ."
                )


def head_of(X: DaskTable) -> Table:
    """A table from which names and number of the features are checked; nothing is computed.

    For a frame, a row of NaN, which numbers and categories may be: rankers refuse 0 rows, and the
    empty frame that Dask has is private. An array is its own.
    """
    import pandas as pd

    return pd.DataFrame(columns=X.columns, index=[0]) if hasattr(X, "columns") else X
