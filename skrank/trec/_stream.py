"""Runs in files of any size, read in pieces of whole queries."""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from skrank import _validation as check
from skrank.trec import _arrow
from skrank.trec._columns import DOCUMENT, QUERY, RUNS, Columns, checked, column_name, run_column
from skrank.trec._data import Run, run_of_columns
from skrank.trec._files import Documents, Source, Table, source_name, table_of
from skrank.trec._formats import HEAD, csv_rows, json_lines, kind_of
from skrank.trec._line_forms import RUN, is_comment
from skrank.trec._packed import is_packed, opened, unpacking
from skrank.trec._text import BOM, Text, as_bytes, padded

_BLOCK = 1 << 20  # bytes of lines that are looked at together
_BLANK = re.compile(rb"\n\s*\n")  # the end of a line, and blank lines


@dataclass(frozen=True, eq=False)
class Piece(ABC):
    """Rows of whole queries of a run, not parsed yet.

    Attributes
    ----------
    name : str
        Of the file.
    before : int
        Rows (or lines) of the file before these.
    """

    name: str
    before: int

    @abstractmethod
    def read(self, precision: str) -> Run:
        """The rows as a run; raises as `read_run`, and if those of a query are no neighbours."""

    @abstractmethod
    def place(self, run: Run, query: int) -> str:
        """Where the first row of a query of the run stands in the file."""

    def again(self, query: str, place: str) -> ValueError:
        """The error for a query whose rows are no neighbours."""
        return ValueError(
            f"{self.name}, {place}: query {query!r} comes again, after rows of other queries: sort "
            "the file by query to read it in pieces, or evaluate it without chunksize."
        )


@dataclass(frozen=True, eq=False)
class LinesPiece(Piece):
    """Lines of TREC, and lines of the file that were left out: see `Text`."""

    data: bytes
    gaps: tuple[tuple[int, int], ...] = ()

    def read(self, precision: str) -> Run:
        """The rows as a run."""
        table, tag = table_of(self._text(padded(self.data)), RUN)
        if np.any(np.diff(table.documents.start) < 0):
            raise self._returning(table)
        return Run._of(table, tag, precision)

    def place(self, run: Run, query: int) -> str:
        """The line."""
        rows = slice(*run.queries.indptr[query : query + 2])
        return self._line(run.documents, int(run.documents.start[rows].min()))

    def _text(self, array: np.ndarray) -> Text:
        return Text(array, self.name, self.before, self.gaps)

    def _line(self, documents: Documents, start: int) -> str:
        number, _ = self._text(documents.text).line(start)
        return f"line {number}"

    def _returning(self, table: Table) -> ValueError:
        """The error for the first row that returns to a query."""
        order = np.argsort(table.documents.start)
        queries = table.queries.row_query[order]
        place = _first_return(queries)
        start = int(table.documents.start[order[place]])
        line = self._line(table.documents, start)
        return self.again(str(table.queries.ids[queries[place]]), line)


@dataclass(frozen=True, eq=False)
class RowsPiece(Piece):
    """Rows of a table, in columns in memory or of Arrow."""

    rows: Any
    first: dict[str, int] = field(default_factory=dict)  # row of each query, once they are read

    def read(self, precision: str) -> Run:
        """The rows as a run."""
        with check.about(self.name):
            if not isinstance(self.rows, Columns):
                self._check(_arrow.codes_of(self.rows))
                run = Run._of(_arrow.table_of(self.rows, RUNS, self.before), "run", precision)
            else:
                rows = checked(self.rows, RUNS, self.before)
                self._check(np.array(rows.qid, dtype=object))
                run = run_of_columns(rows, "run", precision, self.before)
        self.first.update(zip(run.queries.ids, run.queries.indptr, strict=False))
        return run

    def _check(self, queries: np.ndarray) -> None:
        place = _first_return(queries)
        if place >= 0:
            one = self.rows.qid[place] if isinstance(self.rows, Columns) else None
            raise self.again(str(one or _arrow.id_of(self.rows, place)), self._row(place))

    def place(self, run: Run, query: int) -> str:
        """The row."""
        return self._row(int(self.first[run.queries.ids[query]]))

    def _row(self, row: int) -> str:
        return f"row {self.before + row}"


def _first_return(queries: np.ndarray) -> int:
    """The first row of a query that others came before since it was seen, or -1."""
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
    seen: set[Any] = set()
    for row, one in zip(starts.tolist(), queries[starts].tolist(), strict=True):
        if one in seen:
            return row
        seen.add(one)
    return -1


def pieces_of(source: Source, chunksize: int) -> Iterator[Piece]:
    """The rows of a file, about `chunksize` of them at once, and more for a longer query.

    Parameters
    ----------
    source : path or file object
        Of all formats of `read_run` but JSON, which is one object.
    chunksize : int

    Raises
    ------
    ValueError
        If the file is of another format, empty or damaged.
    """
    name = source_name(source)
    path = isinstance(source, (str, os.PathLike))
    with open(source, "rb") if path else nullcontext(source) as raw:  # type: ignore[arg-type]
        file = _buffered(raw)
        head = file.peek(HEAD)[:HEAD]
        packed = is_packed(head)
        with unpacking(name):
            stream = _buffered(opened(file, head), name) if packed else file
        head = stream.peek(HEAD)[:HEAD]
        kind = kind_of(name if path else "", head, RUNS)
        if kind == "json":
            raise ValueError(
                f"{name}: JSON is one object and cannot be read in pieces: write JSON Lines, or "
                "evaluate it without chunksize."
            )
        if kind == "trec":
            yield from _lines(stream, name, head, chunksize)
            return
        with check.about(name):
            if kind != "parquet":
                rows = _csv(stream, head) if kind == "csv" else _json_lines(stream)
                yield from _in_rows(rows, name, chunksize)
            elif packed or not path:
                raise ValueError("Parquet is read in pieces from a plain file only.")
            else:
                yield from _parquet(name, chunksize)


class _Raw(io.RawIOBase):
    """Bytes of anything that has `read`; of a packed file, if it is given a name."""

    def __init__(self, source: Any, packed: str | None) -> None:
        self.source, self.packed, self.rest = source, packed, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.rest:
            self.rest = self._more(len(buffer))
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _more(self, size: int) -> bytes:
        if self.packed is None:
            return as_bytes(self.source.read(size))
        with unpacking(self.packed):
            return self.source.read(size)


def _buffered(source: Any, packed: str | None = None) -> Any:
    """A stream of bytes with `peek`."""
    return io.BufferedReader(_Raw(source, packed), HEAD)


# TREC ---------------------------------------------------------------------------------------------


class _Held:
    """Lines that wait to become a piece. Blank lines, and blocks of comments, are counted only."""

    def __init__(self) -> None:
        self.blocks: list[bytes | int] = []  # an int stands for so many lines
        self.size = 0  # bytes

    def add(self, block: bytes) -> None:
        """One more block of whole lines."""
        self.blocks.append(block)
        self.size += len(block)

    def skip(self, lines: int) -> None:
        """So many more lines, which have no row."""
        self.blocks.append(lines)

    def take(self, other: _Held) -> None:
        """All blocks of another, which has none afterwards."""
        self.blocks += other.blocks
        self.size += other.size
        other.blocks, other.size = [], 0

    def piece(self, name: str, before: int) -> tuple[LinesPiece, int]:
        """The lines as a piece, and the lines of the file down to its end."""
        data: list[bytes] = []
        gaps: list[tuple[int, int]] = []
        rows, end = 0, before
        for block in self.blocks:
            if isinstance(block, int):
                gaps.append((rows, block))
                end += block
            else:
                data.append(block)
                rows += block.count(b"\n")
        return LinesPiece(name, before, b"".join(data), tuple(gaps)), end + rows


def _lines(stream: BinaryIO, name: str, head: bytes, chunksize: int) -> Iterator[Piece]:
    """Pieces of about `chunksize` lines; each byte is looked at a fixed number of times."""
    size = chunksize * max(16, len(head) // max(1, head.count(b"\n")))
    if head.startswith(BOM):
        stream.read(len(BOM))
    whole, last = _Held(), _Held()  # queries that have ended, and the one that may go on
    query, before = b"", 0
    for block in _blocks_of_lines(stream, min(size, _BLOCK)):
        if isinstance(block, int):
            last.skip(block)
            continue
        cut, its_last = _last_query(block)
        if not its_last:
            last.skip(block.count(b"\n"))
            continue
        if cut or its_last != query:
            whole.take(last)
            whole.add(block[:cut])
            if whole.size >= size:
                piece, before = whole.piece(name, before)
                yield piece
                whole = _Held()
        last.add(block[cut:])
        query = its_last
    whole.take(last)
    yield whole.piece(name, before)[0]  # a file without rows is refused where it is read


def _blocks_of_lines(stream: BinaryIO, size: int) -> Iterator[bytes | int]:
    """The content of a stream, some whole lines at a time, and the number of blank lines between.

    The last line may lack its end.
    """
    begun: list[bytes] = []  # of a line
    while block := stream.read(size):
        end = block.rfind(b"\n") + 1
        if end:
            yield from _without_blank_lines(b"".join([*begun, block[:end]]))
            begun = []
        begun.append(block[end:])
    yield b"".join(begun)


def _without_blank_lines(lines: bytes) -> Iterator[bytes | int]:
    """Some lines, and the number of blank lines between."""
    place = 0
    for blank in _BLANK.finditer(lines):
        yield lines[place : blank.start() + 1]
        yield blank[0].count(b"\n") - 1
        place = blank.end()
    yield lines[place:]


def _last_query(lines: bytes) -> tuple[int, bytes]:
    """Where the last query of some lines begins, 0 if there is no other, and the query.

    Comments above a query are its own if there is no other above them. The query is empty if there
    is no row.
    """
    cut, last = 0, b""
    stop = len(lines)
    while stop > 0:
        start = lines.rfind(b"\n", 0, stop - 1) + 1
        word = lines[start:stop].split(None, 1)[:1]
        if word and not is_comment(lines[start:stop], [RUN]):
            if last and word[0] != last:
                return cut, last
            cut, last = start, word[0]
        stop = start
    return 0, last


# tables -------------------------------------------------------------------------------------------


def _in_rows(rows: Iterator[tuple[Any, Any, Any]], name: str, chunksize: int) -> Iterator[Piece]:
    held: list[tuple[Any, Any, Any]] = []
    before = 0
    for row in rows:
        if len(held) >= chunksize and row[0] != held[-1][0]:
            yield RowsPiece(name, before, _columns_of(held))
            before += len(held)
            held = []
        held.append(row)
    yield RowsPiece(name, before, _columns_of(held))


def _columns_of(rows: list[tuple[Any, Any, Any]]) -> Columns:
    return Columns(*([row[i] for row in rows] for i in range(3)))


def _places(columns: list[str]) -> list[str]:
    """Which columns hold queries, documents and scores, of one run."""
    if run_column(columns) is not None:
        raise ValueError(
            f"column {run_column(columns)!r} says that rows are of several runs: write one file "
            "for each, without it, to read them in pieces."
        )
    named = ((QUERY, "queries"), (DOCUMENT, "documents"), (RUNS.number, "scores"))
    return [column_name(columns, known, RUNS, what) for known, what in named]


def _csv(stream: BinaryIO, head: bytes) -> Iterator[tuple[Any, Any, Any]]:
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    rows = csv_rows(text, head)
    header = next(rows)
    query, document, score = (header.index(name) for name in _places(header))
    for row in rows:
        yield row[query], row[document], row[score]


def _json_lines(stream: BinaryIO) -> Iterator[tuple[Any, Any, Any]]:
    fields: list[str] = []
    for number, row in json_lines(stream):
        try:
            fields = fields or _places(list(row))
            yield row[fields[0]], row[fields[1]], row[fields[2]]
        except (KeyError, TypeError):
            wanted = ", ".join(fields)
            raise ValueError(f"line {number}: no record with {wanted}.") from None


def _parquet(name: str, chunksize: int) -> Iterator[Piece]:
    last: list[Any] = []  # tables of the query that may go on
    query, before = None, 0
    for rows in _arrow.batches(name, _places, chunksize):
        cut = _arrow.last_query(rows)
        if cut or (last and _arrow.id_of(rows, 0) != query):
            whole = [*last, rows.slice(0, cut)]
            yield RowsPiece(name, before, _arrow.joined(whole))
            before += sum(map(len, whole))
            last = []
        last.append(rows.slice(cut))
        query = _arrow.id_of(rows, len(rows) - 1)
    if not last:
        raise ValueError("the file holds no row.")
    yield RowsPiece(name, before, _arrow.joined(last))
