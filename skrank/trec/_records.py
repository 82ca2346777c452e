"""Read judgments and runs in CSV, TSV, JSON, JSON Lines and Parquet.

A reader decodes a file (text is UTF-8) into columns of texts (CSV, TSV), of values of JSON, or of
Arrow (Parquet); its errors do not name the file. `table_of_records` checks the rows and converts
labels or scores to float64.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any, TypeAlias

from skrank import _validation as check
from skrank.trec._columns import Columns, Kind, columns_of, table_of
from skrank.trec._table import Table

_BLOCK_ROWS = 1 << 16  # rows of CSV, JSON Lines and Parquet that are decoded at once

# Takes a file, what its rows are, and chunksize or None. Yields blocks of consecutive rows, of at
# most chunksize or _BLOCK_ROWS rows each; a query may be in several blocks.
Reader: TypeAlias = Callable[[io.BufferedReader, Kind, int | None], Iterator[Columns]]


def table_of_records(name: str, kind: Kind, blocks: list[Columns], before: int = 0) -> Table:
    """The table of a file, or of a piece of it; raises ValueError if a row is wrong.

    Parameters
    ----------
    name : str
        Name of the file, for messages.
    kind : Kind
    blocks : list of Columns
        Consecutive rows, which must be of one run.
    before : int
        Number of rows of the file above these, for the numbers of rows in messages.
    """
    tags = list(dict.fromkeys(tag for block in blocks for tag in block.tags()))
    if len(tags) > 1:
        raise ValueError(
            f"{name} holds {len(tags)} runs ({', '.join(tags[:3])}, ...): select the rows of one."
        )
    with check.about(name):
        table = table_of(blocks, kind, before)
    return replace(table, name=name, tag=tags[0] if tags else "run", before=before)


def _names_to_read(names: list[str], kind: Kind, chunksize: int | None) -> list[str]:
    """The names of the columns of queries, documents and numbers, and, if there is one, of runs.

    Raises ValueError if one of the first three is missing, and for a column of runs with a
    chunksize, as pieces could belong to different runs.
    """
    found = kind.columns_among(names)
    if len(found) > 3 and chunksize is not None:
        raise ValueError(
            f"column {found[3]!r} has names of runs, which files that are read in pieces must not "
            "have: write one file for each run, without this column."
        )
    return found


def _in_blocks(rows: Iterator[Sequence[object]], chunksize: int | None) -> Iterator[Columns]:
    while block := list(islice(rows, min(chunksize or _BLOCK_ROWS, _BLOCK_ROWS))):
        yield Columns.of_rows(block)


def read_csv(stream: io.BufferedReader, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    rows = csv_rows(stream)
    header = next(rows)
    wanted = itemgetter(*map(header.index, _names_to_read(header, kind, chunksize)))
    return _in_blocks(map(wanted, rows), chunksize)


def csv_rows(stream: io.BufferedReader) -> Iterator[list[str]]:
    """The header of a CSV or TSV table, then its rows; not blank rows.

    Columns are separated by tabs if the first line has one, else by commas.

    Raises
    ------
    ValueError
        If two columns have the same name, or if a line cannot be read or has more or fewer columns
        than the header. The message about a line begins with its number.
    """
    first = stream.peek().partition(b"\n")[0]
    rows = csv.reader(
        map(bytes.decode, stream), delimiter="\t" if b"\t" in first else ",", strict=True
    )
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
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not text in UTF-8: {error}.") from None


def read_json_lines(
    stream: io.BufferedReader, kind: Kind, chunksize: int | None
) -> Iterator[Columns]:
    return _in_blocks(_fields(json_lines(stream), kind, chunksize), chunksize)


def _fields(
    records: Iterable[tuple[int, Any]], kind: Kind, chunksize: int | None
) -> Iterator[list[object]]:
    """Query, document, number and, if there is one, run of numbered records of JSON.

    All records are like the first: objects with its names, or lists of its length, which says which
    places are query, document and number. A name of a run is read from objects only.
    """
    chosen: Sequence[str] | Sequence[int] = ()
    for number, record in records:
        try:
            if isinstance(record, dict):
                chosen = chosen or _names_to_read(list(record), kind, chunksize)
            else:
                chosen = chosen or kind.places_by_length[len(record)]
            if isinstance(record, str):
                raise TypeError  # a string could be indexed, too
            yield [record[field] for field in chosen]
        except (IndexError, KeyError, TypeError):
            wanted = ", ".join(map(str, chosen)) or kind.example()
            raise ValueError(f"line {number}: no record with {wanted}.") from None


def json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """Number (from 1) and content of each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line, object_pairs_hook=_unique_keys)
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number}: no JSON: {error.msg}.") from None
            except ValueError as error:  # a key that occurs twice, or bytes that are not UTF-8
                raise ValueError(f"line {number}: {error}") from None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON; raises ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {name!r} occurs {count} times in one object: keep one of them.")
    return found


def read_json(stream: io.BufferedReader, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    if chunksize is not None:
        raise ValueError(
            "JSON is one object and cannot be read in pieces: write JSON Lines, or evaluate it "
            "without chunksize."
        )
    try:
        content = json.loads(stream.read(), object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: no JSON: {error.msg}.") from None
    found = columns_of(content, kind)
    if found is None:
        raise ValueError(
            f"the file holds no {kind.name}: expected queries that map to documents and numbers, "
            f"or records with the fields {kind.example()}."
        )
    yield found


def read_parquet(stream: io.BufferedReader, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ValueError("reading Parquet needs pyarrow: pip install skrank[parquet].") from None
    on_disk = isinstance(stream.raw, io.FileIO)
    if chunksize is not None and not on_disk:
        raise ValueError("Parquet is read in pieces from an uncompressed file on disk only.")
    source = stream.name if on_disk else io.BytesIO(stream.read())
    # with its default buffers, the reader would hold the whole file in the end
    with parquet.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20) as content:
        names = _names_to_read(content.schema_arrow.names, kind, chunksize)
        for batch in content.iter_batches(chunksize or _BLOCK_ROWS, columns=names):
            if len(batch):
                # a table has the chunked columns that `of_arrow` takes, and `names` their order
                yield Columns.of_arrow(pa.Table.from_batches([batch]).select(names).columns)


READERS: dict[str, Reader] = {
    ".json": read_json, ".jsonl": read_json_lines, ".ndjson": read_json_lines, ".csv": read_csv,
    ".tsv": read_csv, ".parquet": read_parquet, ".pq": read_parquet,
}  # fmt: skip
