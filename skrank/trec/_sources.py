"""What callers pass as judgments or a run: a checked table of a file, a frame or a dict."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skrank import _validation as check
from skrank._files import is_file, name_of
from skrank.trec import _polars as pl
from skrank.trec._columns import Columns, Reading, Where, columns_of, of_queries, table_of
from skrank.trec._files import read


class Entries(NamedTuple):
    """Columns "qid", "docid", "number" and perhaps "rank"; names of the file and of the run."""

    table: pl.DataFrame
    file: str | None = None
    tag: str | None = None


def is_frame(source: object) -> bool:
    """Whether this is a table with named columns, of any library."""
    if isinstance(source, np.ndarray):
        return source.dtype.names is not None
    if hasattr(source, "__arrow_c_array__") or hasattr(source, "collect_schema"):
        return True
    tables = hasattr(source, "__arrow_c_stream__") or hasattr(source, "iterrows")
    return tables and not hasattr(source, "to_frame")  # as a Series has


def entries_of(
    source: object, kind: str, reading: Reading, name: str | None = None
) -> list[Entries]:
    """The rows of a source, or of each of its runs; errors name the line or the row.

    `kind` is "qrels" or "run", and `name` the name of the run that the caller gives.
    """
    file = tag = None
    if is_file(source):
        what = file = name_of(source)
        columns, where, tag = read(source, kind, reading)
    else:
        what = f"run {name!r}" if name is not None else f"the {kind}"
        columns, where = _in_memory(source, kind, reading, what)
    table = table_of(columns, where, what, reading.duplicates)
    if "run" not in table.columns:
        return [Entries(table, file, tag)]
    parts = table.partition_by("run", maintain_order=True)
    return [Entries(part.drop("run"), file, part[0, "run"]) for part in parts]


def _in_memory(thing: Any, kind: str, reading: Reading, what: str) -> tuple[Columns, Where]:
    """The columns of a frame or a dict, and the names of its rows in messages."""

    def where(row: int) -> str:
        return f"row {row} of {what}"

    if isinstance(thing, Mapping):
        return of_queries(thing, kind, what)
    if not is_frame(thing):
        raise check.unreadable(thing, what)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(thing, pandas.DataFrame):
        levels = [name for name in thing.index.names if name not in (None, *thing.columns)]
        thing = thing.reset_index(levels) if levels else thing
    elif not isinstance(thing, (np.ndarray, pl.LazyFrame)):
        thing = pl.DataFrame(thing)
    names = thing.dtype.names if isinstance(thing, np.ndarray) else None
    if isinstance(thing, pl.LazyFrame):
        names = thing.collect_schema().names()
    return columns_of(thing.columns if names is None else names, thing, kind, reading, what), where
