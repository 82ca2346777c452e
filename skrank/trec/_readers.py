"""Readers of tables: JSON, JSON Lines, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from skrank.trec._columns import Columns, Kind, columns_of
from skrank.trec._open import File

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_BLOCK_ROWS = 1 << 16


def _chosen(names: list[str], kind: Kind, chunksize: int | None) -> list[str]:
    """The names of the columns to read: queries, documents, numbers, and runs if there are such."""
    found = kind.columns_among(names)
    if len(found) > 3 and chunksize is not None:
        raise ValueError(
            f"column {found[3]!r} says that rows are of several runs: write one file for each, "
            "without it, to read them in pieces."
        )
    return found


def _in_blocks(rows: Iterator[list[Any]], chunksize: int | None) -> Iterator[Columns]:
    """Rows in blocks, which need not hold whole queries."""
    while block := list(islice(rows, min(chunksize or _BLOCK_ROWS, _BLOCK_ROWS))):
        yield Columns.of_rows(block)


def _csv(file: File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    text = io.TextIOWrapper(file.stream, "utf-8-sig", newline="")
    try:
        rows = csv_rows(text, file.head)
        header = next(rows)
        places = [header.index(name) for name in _chosen(header, kind, chunksize)]
        yield from _in_blocks(([row[place] for place in places] for row in rows), chunksize)
    finally:
        text.detach()  # or it would close the stream


def csv_rows(text: Iterable[str], head: bytes) -> Iterator[list[str]]:
    """The header of a CSV or TSV table that begins with `head`, then its rows; not blank rows.

    Raises
    ------
    ValueError
        With the number of the line, if it has another number of columns or cannot be read.
    """
    first = head.removeprefix(BOM).partition(b"\n")[0]
    rows = csv.reader(text, delimiter="\t" if b"\t" in first else ",", strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        for name, count in Counter(name.lower() for name in header if name).items():
            if count > 1:
                raise ValueError(f"{count} columns are called {name!r}: rename all but one.")
        yield header
        for row in filter(None, rows):
            if len(row) != len(header):
                columns = f"{len(row)} columns instead of {len(header)}"
                raise ValueError(f"line {rows.line_num}: {columns}.")
            yield row
    except csv.Error as error:  # such as a quotation mark that is never closed
        raise ValueError(f"line {rows.line_num}: {error}.") from None


def _json_lines(file: File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    return _in_blocks(_fields(json_lines(file.stream), kind, chunksize), chunksize)


def _fields(
    rows: Iterable[tuple[int, Any]], kind: Kind, chunksize: int | None
) -> Iterator[list[Any]]:
    """The fields of records that are objects or lists, all of them like the first."""
    chosen: Sequence[Any] = ()
    for number, row in rows:
        try:
            if isinstance(row, dict):
                chosen = chosen or _chosen(list(row), kind, chunksize)
            else:
                chosen = chosen or kind.places[len(row)]
            yield [row[field] for field in chosen]
        except (IndexError, KeyError, TypeError):
            wanted = ", ".join(map(str, chosen)) or kind.example()
            raise ValueError(f"line {number}: no record with {wanted}.") from None


def json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """Number and content of each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line, object_pairs_hook=unique_keys)
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number}: no JSON: {error.msg}.") from None
            except ValueError as error:  # a key that occurs twice, or bytes that are not UTF-8
                raise ValueError(f"line {number}: {error}") from None
            except RecursionError:
                raise ValueError(f"line {number}: no record: it is nested too deeply.") from None
            yield number, row


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {name!r} occurs {count} times in one object: keep one of them.")
    return found


def _json(file: File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    if chunksize is not None:
        raise ValueError(
            "JSON is one object and cannot be read in pieces: write JSON Lines, or evaluate it "
            "without chunksize."
        )
    try:
        content = json.loads(file.stream.read(), object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: no JSON: {error.msg}.") from None
    except RecursionError:
        raise ValueError("no JSON of queries and documents: it is nested too deeply.") from None
    found = columns_of(content, kind)
    if found is None:
        raise ValueError(
            f"the file holds no {kind.name}: expected queries that map to documents and numbers, "
            f"or records with the fields {kind.example()}."
        )
    yield found


def _parquet(file: File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ValueError("reading Parquet needs pyarrow: pip install skrank[parquet].") from None
    if chunksize is not None and not file.on_disk:
        raise ValueError("Parquet is read in pieces from a plain file only.")
    source = file.name if file.on_disk else io.BytesIO(file.stream.read())
    # with its default buffers, the reader would hold the whole file in the end
    with parquet.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20) as content:
        names = _chosen(content.schema_arrow.names, kind, chunksize)
        for batch in content.iter_batches(chunksize or _BLOCK_ROWS, columns=names):
            if len(batch):
                yield Columns.of_arrow(pa.Table.from_batches([batch]).select(names).columns)


# Each reader takes a file, the kind of its rows and a chunksize, and yields blocks of rows.
READERS = {"json": _json, "json lines": _json_lines, "csv": _csv, "parquet": _parquet}
