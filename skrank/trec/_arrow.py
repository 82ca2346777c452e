"""Columns of Arrow, read without a Python object per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skrank._engine.queries import Queries
from skrank.trec._columns import Form
from skrank.trec._files import Documents, Table
from skrank.trec._text import padded

_SMALL = 2**31 - 64  # bytes of a text whose places are 32-bit numbers


def batches(path: str, choose: Callable[[list[str]], list[str]], size: int) -> Iterator[Any]:
    """Columns of a Parquet file, some rows at once.

    Parameters
    ----------
    path : str
    choose : callable
        Names of the columns to read, of those that there are.
    size : int
        Rows.

    Yields
    ------
    pyarrow.Table
    """
    pa, parquet = imported()
    try:
        # with its buffer of its own accord, the reader would hold the whole file in the end
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            names = choose(file.schema_arrow.names)
            for batch in file.iter_batches(size, columns=names):
                if len(batch):
                    yield pa.Table.from_batches([batch]).select(names)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from None


def imported() -> tuple[Any, Any]:
    """Arrow, and what reads its files."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ValueError("reading Parquet needs pyarrow: pip install skrank[parquet].") from None
    return pyarrow, pyarrow.parquet


def joined(tables: list[Any]) -> Any:
    """Tables, one under the other."""
    import pyarrow as pa

    return pa.concat_tables(tables).combine_chunks()


def codes_of(rows: Any) -> np.ndarray:
    """A number for the query of each row, equal for rows of one query."""
    import pyarrow as pa

    column = pa.concat_arrays(rows.column(0).unify_dictionaries().chunks)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return np.asarray(column.indices.fill_null(-1))


def last_query(rows: Any) -> int:
    """First row of the last query."""
    codes = codes_of(rows)
    changes = np.flatnonzero(codes[1:] != codes[:-1])
    return int(changes[-1]) + 1 if len(changes) else 0


def id_of(rows: Any, row: int) -> str:
    """The query of a row."""
    return str(rows.column(0)[row].as_py())


def table_of(rows: Any, form: Form, before: int) -> Table:
    """The table of queries, documents and numbers, contiguous by query.

    Parameters
    ----------
    rows : pyarrow.Table of three columns
    form : Form
    before : int
        Rows of the file before these, for messages.

    Raises
    ------
    ValueError
        If an id is missing or of a wrong type, or a number is not finite; names the row.
    """
    queries, documents = (
        _texts(rows.column(i), form, what, before) for i, what in enumerate(("query", "document"))
    )
    numbers = rows.column(2).cast("float64").to_numpy()
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{form.number[0]} of row {before + row} is {numbers[row]}: it must be a finite number."
        )
    codes = codes_of(rows)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    ids = np.array(queries.take(starts).to_pylist(), dtype=object)
    text, edges = _text(documents)
    places = np.stack([edges[:-1], edges[1:]], axis=1)
    return Table(
        Queries(ids, np.append(starts, len(codes))), Documents.of(padded(text), places), numbers
    )


def _texts(column: Any, form: Form, what: str, before: int) -> Any:
    """Ids as an array of strings."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    texts = ("string", "large_string", "string_view", "binary", "large_binary")
    if str(kind) not in texts and not pa.types.is_integer(kind):
        raise ValueError(
            f"the column of {what} ids of the {form.kind} is of type {kind}: ids are texts or "
            "whole numbers."
        )
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise ValueError(f"the id of the {what} of row {before + row} is missing.")
    return pa.concat_arrays(column.cast(kind).cast(pa.large_string()).chunks)


def _text(array: Any) -> tuple[bytes | memoryview, np.ndarray]:
    """The strings of an array in one, and the edges between them."""
    _, places, text = array.buffers()
    edges = np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(edges[0]), int(edges[-1])
    kind = np.int32 if last - first < _SMALL else np.int64
    return memoryview(text)[first:last] if text is not None else b"", (edges - first).astype(kind)
