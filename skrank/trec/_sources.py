"""What callers pass as judgments or a run: a checked table of a file, a frame or a dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from skrank import _validation as check
from skrank._files import is_file, name_of
from skrank.trec import _polars as pl
from skrank.trec._columns import Fields, Reading, Where, fields_of, of_queries, table_of
from skrank.trec._files import read


class Entries(NamedTuple):
    """Columns "qid", "docid", "number" and perhaps "rank"; names of the file and of the run."""

    table: pl.DataFrame
    file: str | None = None
    tag: str | None = None


def is_frame(source: object) -> bool:
    """Whether this is a table with named columns, of any library."""
    kind = type(source)  # of a lazy frame, the columns themselves take time
    table = hasattr(kind, "columns") or hasattr(kind, "__arrow_c_stream__")
    records = getattr(getattr(source, "dtype", None), "names", None) is not None
    return records or (table and not hasattr(kind, "to_frame"))  # as a Series has


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


def _in_memory(source: Any, kind: str, reading: Reading, what: str) -> tuple[Fields, Where]:
    """The columns of a frame or a dict, and the names of its rows in messages."""
    if isinstance(source, Mapping):
        return of_queries(source, kind, what)
    if not is_frame(source):
        raise check.unreadable(source, what)
    if hasattr(source, "reset_index"):  # a frame of pandas, perhaps with ids in its index
        levels = [name for name in source.index.names if name not in (None, *source.columns)]
        source = source.reset_index(levels) if levels else source
    elif not isinstance(source, pl.LazyFrame):
        source = pl.DataFrame(source)
    return fields_of(source, kind, reading, what), lambda row: f"row {row} of {what}"
