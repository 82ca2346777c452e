"""Files of judgments (qrels) and of runs: their format, and their rows.

The rows of a file are `Lines` of TREC, which are parsed as bytes, or `Records` of other formats,
which the readers at the end of this file decode (text is UTF-8): into lists of texts (CSV, TSV) or
of values of JSON, or into columns of Arrow (Parquet). `Lines.table` and `Records.table` check the
rows, convert labels or scores to float64, and raise ValueError with the file and the place of a
wrong row. `File.head` has the first 64 KB of the decompressed content, of which the last line may
be incomplete; `File.stream` starts at the beginning all the same.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias, TypeGuard

from skrank import _validation as check
from skrank.trec._columns import DOCUMENT, QRELS, QUERY, Columns, Kind, columns_of, table_of
from skrank.trec._lines import (
    BOM,
    LINE_FORMATS,
    SHORT_QRELS_LINE,
    SUFFIXES,
    File,
    LineFormat,
    Lines,
    Source,
    is_comment,
    opened,
    whole_text,
)
from skrank.trec._table import Table

_BLOCK_ROWS = 1 << 16  # rows of CSV, JSON Lines and Parquet that are decoded at once

# Takes a file, what its rows are, and chunksize or None. Yields blocks of consecutive rows, of at
# most chunksize rows each; a query may be in several blocks.
Reader: TypeAlias = Callable[[File, Kind, int | None], Iterator[Columns]]


@dataclass(frozen=True, eq=False)
class Records:
    """A file that is not in TREC's format, or a piece of it.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    kind : Kind
        Whether the rows are judgments or a run.
    blocks : list of Columns
        Consecutive rows: queries, documents, labels or scores, and, if the file has them, the name
        (tag) of the run.
    before : int
        Number of rows of the file above these, for the numbers of rows in messages.
    """

    name: str
    kind: Kind
    blocks: list[Columns]
    before: int = 0

    def table(self) -> Table:
        """The parsed rows; raises ValueError if a row is wrong or the rows are of several runs."""
        tags = list(dict.fromkeys(tag for block in self.blocks for tag in block.tags()))
        if len(tags) > 1:
            raise ValueError(
                f"{self.name} holds {len(tags)} runs ({', '.join(tags[:3])}, ...): select the rows "
                "of one."
            )
        with check.about(self.name):
            table = table_of(self.blocks, self.kind, self.before)  # `before` is for its messages
        tag = tags[0] if tags else "run"
        return replace(table, name=self.name, tag=tag, before=self.before)


def is_file(source: object) -> TypeGuard[Source]:
    """Whether this is a path or a file object."""
    return isinstance(source, (str, os.PathLike)) or hasattr(source, "read")


def read(source: object, kind: Kind) -> Table:
    """All rows of a file; errors name the file."""
    if not is_file(source):
        raise TypeError(
            f"{kind.name} of type {type(source).__name__} cannot be read: pass a path, a file "
            "object, or a mapping or table of them in memory."
        )
    with opened(source) as file:
        found = format_of(file, kind)
        if isinstance(found, LineFormat):
            return Lines(whole_text(file), file.name, found).table()
        with check.about(file.name):  # puts the name before messages
            blocks = list(found(file, kind, None))
        return Records(file.name, kind, blocks).table()


def format_of(file: File, kind: Kind) -> LineFormat | Reader:
    """The columns of lines of TREC, or the reader of another format.

    The suffix of the name decides, without that of compression. If it is not known, the first lines
    decide.
    """
    name = file.name.lower()
    for compression in SUFFIXES:
        name = name.removesuffix(compression)
    suffix = os.path.splitext(name)[1]
    if suffix in _READERS:
        return _READERS[suffix]
    if file.head.startswith(b"PAR1"):
        return _parquet
    lines = _first_lines(file.head, kind)
    if lines[0].startswith((b"{", b"[")):
        # A first line that is a list may begin one JSON array, and a single object may be a whole
        # file of queries: `_json` reads these.
        one_a_line = lines[0].startswith(b"{") and lines[0].endswith(b"}") and len(lines) > 1
        return _json_lines if one_a_line else _json
    words = lines[0].lower().split(b"\t" if b"\t" in lines[0] else b",")
    names = [str(word.strip(b' "'), errors="replace") for word in words]
    if not set(QUERY).isdisjoint(names) and not set(DOCUMENT).isdisjoint(names):
        return _csv
    if kind is QRELS and all(len(line.split()) == 3 for line in lines):
        return SHORT_QRELS_LINE
    return LINE_FORMATS[kind.name][0]


def _first_lines(head: bytes, kind: Kind) -> list[bytes]:
    """The first two lines that are neither blank nor comments; one empty line if there is none.

    A line with # that has the columns of a row is a row, since ids may begin with #.
    """
    found = []
    for line in head.removeprefix(BOM).splitlines():
        if line.strip() and not is_comment(line, LINE_FORMATS[kind.name]):
            found.append(line.strip())
            if len(found) == 2:
                break
    return found or [b""]


# readers, whose errors do not name the file -------------------------------------------------------


def _names_to_read(names: list[str], kind: Kind, chunksize: int | None) -> list[str]:
    """The names of the columns of queries, documents and numbers, and, if there is one, of runs.

    Raises ValueError if one of the first three is missing, and for a column of runs with a
    chunksize, as pieces could belong to different runs.
    """
    found = kind.columns_among(names)
    if len(found) > 3 and chunksize is not None:
        raise ValueError(
            f"column {found[3]!r} says that rows are of several runs: write one file for each, "
            "without it, to read them in pieces."
        )
    return found


def _in_blocks(rows: Iterator[Sequence[object]], chunksize: int | None) -> Iterator[Columns]:
    while block := list(islice(rows, min(chunksize or _BLOCK_ROWS, _BLOCK_ROWS))):
        yield Columns.of_rows(block)


def _csv(file: File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    text = io.TextIOWrapper(file.stream, "utf-8-sig", newline="")
    try:
        rows = csv_rows(text, file.head)
        header = next(rows)
        places = [header.index(name) for name in _names_to_read(header, kind, chunksize)]
        yield from _in_blocks(([row[place] for place in places] for row in rows), chunksize)
    finally:
        text.detach()  # the wrapper would close the stream, which `opened` closes


def csv_rows(text: Iterable[str], head: bytes) -> Iterator[list[str]]:
    """The header of a CSV or TSV table, then its rows; not blank rows.

    Parameters
    ----------
    text : iterable of str
        The lines.
    head : bytes
        The first bytes of the lines. Columns are separated by tabs if the first line has one, else
        by commas.

    Raises
    ------
    ValueError
        If two columns have the same name, or if a line cannot be read or has more or fewer columns
        than the header. The message about a line begins with its number.
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
    records: Iterable[tuple[int, Any]], kind: Kind, chunksize: int | None
) -> Iterator[list[object]]:
    """Query, document, number and, if there is one, run of numbered records of JSON.

    Records are objects with the names of the first object, or lists in the layout of the first
    list, whose length says which places are query, document and number. A name of a run is read
    from objects only.
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
            except RecursionError:
                raise ValueError(f"line {number}: no record: it is nested too deeply.") from None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
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
        content = json.loads(file.stream.read(), object_pairs_hook=_unique_keys)
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
        raise ValueError("Parquet is read in pieces from an uncompressed file on disk only.")
    source = file.name if file.on_disk else io.BytesIO(file.stream.read())
    # with its default buffers, the reader would hold the whole file in the end
    with parquet.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20) as content:
        names = _names_to_read(content.schema_arrow.names, kind, chunksize)
        for batch in content.iter_batches(chunksize or _BLOCK_ROWS, columns=names):
            if len(batch):
                # a table has the chunked columns that `of_arrow` takes, and `names` their order
                yield Columns.of_arrow(pa.Table.from_batches([batch]).select(names).columns)


_READERS: dict[str, Reader] = {
    ".json": _json, ".jsonl": _json_lines, ".ndjson": _json_lines, ".csv": _csv, ".tsv": _csv,
    ".parquet": _parquet, ".pq": _parquet,
}  # fmt: skip
