"""Files of judgments and runs: their format, and their rows, as a whole or in pieces.

`pieces_of` opens any file, finds out its format and yields its rows, not parsed yet. Without a
`chunksize` it yields one piece. Formats are lines of TREC, which stay bytes, and tables: JSON, JSON
Lines, CSV, TSV and Parquet.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import IO, Any, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank.trec._columns import DOCUMENT, QRELS, QUERY, Columns, Kind, columns_of, table_of
from skrank.trec._lines import (
    FORMS,
    SHORT_QRELS_LINE,
    LineForm,
    Lines,
    is_comment,
    last_query,
)
from skrank.trec._packed import SUFFIXES, is_packed, unpacked, unpacking
from skrank.trec._table import BYTES, NEWLINE, Table, padded, padded_size

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_HEAD = 65536  # bytes by which the format is recognised
_BLOCK_BYTES, _BLOCK_ROWS = 1 << 20, 1 << 16  # read at once
_PARQUET = b"PAR1"
_FORMATS = {
    ".json": "json",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of a file, not parsed yet: all rows, or all rows of some consecutive queries.

    Attributes
    ----------
    name : str
        Of the file.
    kind : Kind
    content : Lines or list of Columns
        Columns come in blocks of rows.
    before : int
        Number of rows of the file before these, if they are columns.
    """

    name: str
    kind: Kind
    content: Lines | list[Columns]
    before: int = 0

    def table(self) -> tuple[Table, str]:
        """The parsed rows, and the tag of a run, which is "run" if the rows have no tag.

        Raises
        ------
        ValueError
            With the name of the file, and the line or row.
        """
        if isinstance(self.content, Lines):
            return self.content.parsed()
        tags = list(dict.fromkeys(tag for block in self.content for tag in block.tags()))
        if len(tags) > 1:
            raise ValueError(
                f"{self.name} holds {len(tags)} runs ({', '.join(tags[:3])}, ...): select the rows "
                "of one."
            )
        with check.about(self.name):
            table = table_of(self.content, self.kind, self.before)
        return replace(table, name=self.name), tags[0] if tags else "run"

    def check_order(self, table: Table) -> None:
        """Raise ValueError if rows of another query stand between those of a query.

        The ids of documents are slices of one text, so that their starts ascend in the order of the
        file. A table orders rows by query.
        """
        start = table.documents.start
        if np.all(start[1:] >= start[:-1]):
            return
        order = np.argsort(start, kind="stable")
        queries = table.queries.row_query[order]
        seen: set[int] = set()
        for row in np.flatnonzero(np.append(True, queries[1:] != queries[:-1])).tolist():
            if int(queries[row]) in seen:
                raise self.comes_again(table, int(order[row]))
            seen.add(int(queries[row]))

    def comes_again(self, table: Table, row: int) -> ValueError:
        """The error for a row of a query after rows of other queries."""
        start = int(table.documents.start[row])
        if isinstance(self.content, Lines):
            place = f"line {self.content.line(start)[0]}"
        else:
            place = f"row {self.before + np.count_nonzero(table.documents.start < start)}"
        query = int(np.searchsorted(table.queries.indptr, row, side="right")) - 1
        return ValueError(
            f"{self.name}, {place}: query {table.queries.name(query)} comes again, after rows of "
            "other queries: sort the file by query to read it in pieces, or evaluate it without "
            "chunksize."
        )


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def read(source: Source, kind: Kind) -> Piece:
    """All rows of a file as one piece; raises as `pieces_of`."""
    (piece,) = pieces_of(source, kind)
    return piece


def pieces_of(source: Source, kind: Kind, chunksize: int | None = None) -> Iterator[Piece]:
    """The rows of a file, about `chunksize` rows at a time; a longer query is one piece.

    Parameters
    ----------
    source : path or file object
    kind : Kind
    chunksize : int, optional
        Default: all rows in one piece.

    Raises
    ------
    ValueError
        With the name of the file, if it is damaged, of another format, or cannot be read in pieces.
    """
    if not (isinstance(source, (str, os.PathLike)) or hasattr(source, "read")):
        raise TypeError(
            f"{kind.name} of type {type(source).__name__} cannot be read: pass a path, a file "
            "object, or a mapping or table of them in memory."
        )
    with _opened(source) as file:
        form = _format_of(file, kind)
        if isinstance(form, LineForm):
            yield from _lines(file, form, kind, chunksize)
        else:
            with check.about(file.name):
                yield from _rows(file.name, _READ[form](file, kind, chunksize), kind, chunksize)


# opening ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _File:
    """An open file.

    Attributes
    ----------
    name : str
    stream : BufferedReader
        The content, unpacked.
    on_disk : bool
        Whether the content is that of the path `name`, and not packed.
    """

    name: str
    stream: io.BufferedReader
    on_disk: bool

    def head(self) -> bytes:
        """The first bytes, which remain to be read."""
        return self.stream.peek(_HEAD)[:_HEAD]


@contextmanager
def _opened(source: Source) -> Iterator[_File]:
    """A source, unpacked if it is packed, at its beginning."""
    name = name_of(source)
    with ExitStack() as stack:
        raw: io.RawIOBase
        if isinstance(source, (str, os.PathLike)):
            raw = stack.enter_context(open(source, "rb", buffering=0))
        else:
            raw = _Raw(source.read)
        stream: io.BufferedReader = io.BufferedReader(raw, _HEAD)
        packed = is_packed(stream.peek(_HEAD))
        if packed:
            with unpacking(name):
                content = unpacked(stream, stream.peek(_HEAD))
            stream = io.BufferedReader(_Raw(content.read, name), _HEAD)
        yield _File(name, stream, isinstance(raw, io.FileIO) and not packed)


class _Raw(io.RawIOBase):
    """The bytes of anything that has `read`, such as a file object that is open as text.

    Parameters
    ----------
    read : callable
        Returns some content, of about the size that it is given, or all.
    packed : str, optional
        The name of the packed file whose content this is, for errors.
    """

    def __init__(self, read: Callable[..., bytes | str], packed: str | None = None) -> None:
        self._read, self._packed = read, packed
        self._rest = (
            b""  # read, but beyond the size of the buffer: a character can be several bytes
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or self._more(len(buffer))
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def readall(self) -> bytes:
        return self._rest + self._more()

    def _more(self, *size: int) -> bytes:
        with nullcontext() if self._packed is None else unpacking(self._packed):
            content = self._read(*size)
        return content.encode(errors=BYTES) if isinstance(content, str) else content


def _format_of(file: _File, kind: Kind) -> LineForm | str:
    """The form of the lines of TREC, or the name of another format.

    The suffix of a path decides, and otherwise the content.
    """
    head = file.head()
    suffixes = [one for one in PurePath(file.name.lower()).suffixes if one not in SUFFIXES]
    if suffixes and suffixes[-1] in _FORMATS:
        return _FORMATS[suffixes[-1]]
    if head.startswith(_PARQUET):
        return "parquet"
    lines = _first_lines(head, kind)
    if lines[0].startswith((b"{", b"[")):
        one_a_line = lines[0].startswith(b"{") and lines[0].endswith(b"}") and len(lines) > 1
        return "json lines" if one_a_line else "json"
    words = lines[0].split(b"\t" if b"\t" in lines[0] else b",")
    names = {word.strip(b' "').lower().decode(errors="replace") for word in words}
    if names & set(QUERY) and names & set(DOCUMENT):
        return "csv"
    if kind is QRELS and all(len(line.split()) == 3 for line in lines):
        return SHORT_QRELS_LINE
    return FORMS[kind.name][0]


def _first_lines(head: bytes, kind: Kind) -> list[bytes]:
    """Two lines that are neither blank nor comments, as far as there are such; or an empty line."""
    lines = (line.strip() for line in head.removeprefix(BOM).splitlines())
    rows = (one for one in lines if one and not is_comment(one, FORMS[kind.name]))
    return list(islice(rows, 2)) or [b""]


# lines of TREC ------------------------------------------------------------------------------------


def _lines(file: _File, form: LineForm, kind: Kind, chunksize: int | None) -> Iterator[Piece]:
    """Pieces of lines, of `chunksize` times the mean length of the first lines in bytes."""
    if chunksize is None:
        yield Piece(file.name, kind, Lines(_whole_text(file), file.name, form))
        return
    head = file.head()
    size = chunksize * max(16, len(head) // max(1, head.count(b"\n")))
    for lines in _queries_of_lines(file.stream, file.name, form, size):
        yield Piece(file.name, kind, lines)


def _whole_text(file: _File) -> np.ndarray:
    """The padded content; a file on disk is not copied in memory."""
    if file.on_disk:
        size = os.path.getsize(file.name)
        text = np.empty(padded_size(size), np.uint8)
        found = file.stream.readinto(text[:size].data)
        text[found:] = NEWLINE
        rest = file.stream.read()
        if rest:  # of a pipe, or of a file that has grown
            text = padded(text[:found].tobytes() + rest)
    else:
        text = padded(file.stream.read())
    if text[: len(BOM)].tobytes() == BOM:
        text[: len(BOM)] = ord(" ")
    return text


def _queries_of_lines(
    stream: io.BufferedReader, name: str, form: LineForm, size: int
) -> Iterator[Lines]:
    """Lines of whole queries, about `size` bytes at a time.

    Each byte is looked at a fixed number of times, however long a query is.
    """
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    ended: list[tuple[int, bytes]] = []  # queries that have ended
    last: list[tuple[int, bytes]] = []  # the query that may go on
    query, n_bytes = b"", 0
    for number, block in _blocks_of_lines(stream, min(size, _BLOCK_BYTES)):
        cut, its_last = last_query(block)
        if not its_last:
            continue  # no row
        if cut or its_last != query:  # the rows in `last` are all rows of their query
            ended += [*last, (number, block[:cut])]
            n_bytes += sum(len(one) for _, one in last) + cut
            last = []
            if n_bytes >= size:
                yield Lines.of_blocks(ended, name, form)
                ended, n_bytes = [], 0
        last.append((number + block.count(b"\n", 0, cut), block[cut:]))
        query = its_last
    yield Lines.of_blocks(ended + last, name, form)  # refuses to be parsed if it has no row


def _blocks_of_lines(stream: io.BufferedReader, size: int) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, about `size` bytes at a time, and the number of the first line."""
    number = 1
    begun: list[bytes] = []  # a line whose end was not read yet
    while data := stream.read(size):
        end = data.rfind(b"\n") + 1
        if end:
            lines, place = b"".join([*begun, data[:end]]), 0
            for blank in re.finditer(rb"\n\s*\n", lines):
                yield number, lines[place : blank.start() + 1]
                number += lines.count(b"\n", place, blank.end())
                place = blank.end()
            yield number, lines[place:]
            number += lines.count(b"\n", place)
            begun = []
        begun.append(data[end:])
    yield number, b"".join(begun)


# tables -------------------------------------------------------------------------------------------


def _rows(
    name: str, blocks: Iterable[Columns], kind: Kind, chunksize: int | None
) -> Iterator[Piece]:
    """Blocks of rows, regrouped so that no query is cut."""
    if chunksize is None:
        yield Piece(name, kind, list(blocks))
        return
    ended: list[Columns] = []  # queries that have ended
    last: list[Columns] = []  # the query that may go on
    before = 0
    for block in blocks:
        cut = block.last_query()
        if cut or (last and last[-1].query[-1] != block.query[0]):  # the query in `last` has ended
            ended += [*last, block.part(slice(0, cut))]
            last = []
            n_rows = sum(map(len, ended))
            if n_rows >= chunksize:
                yield Piece(name, kind, ended, before)
                ended, before = [], before + n_rows
        last.append(block.part(slice(cut, None)))
    yield Piece(name, kind, ended + last, before)


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


def _csv(file: _File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
    head = file.head()
    text = io.TextIOWrapper(file.stream, "utf-8-sig", newline="")
    try:
        rows = csv_rows(text, head)
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


def _json_lines(file: _File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
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


def _json(file: _File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
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


def _parquet(file: _File, kind: Kind, chunksize: int | None) -> Iterator[Columns]:
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
_READ = {"json": _json, "json lines": _json_lines, "csv": _csv, "parquet": _parquet}
