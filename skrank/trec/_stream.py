"""Runs in files of any size, read in pieces of whole queries."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from skrank import _validation as check
from skrank.trec import _arrow, _files
from skrank.trec._columns import DOCUMENT, QUERY, RUNS, Columns, checked, column_name, run_column
from skrank.trec._data import Run, run_of_columns
from skrank.trec._files import BOM, Documents, Source, Table, Text, padded, source_name, table_of
from skrank.trec._formats import HEAD, csv_rows, json_lines, kind_of
from skrank.trec._packed import is_packed, opened, unpacking


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
    """Lines of TREC."""

    data: bytes

    def read(self, precision: str) -> Run:
        """The rows as a run."""
        table, tag = table_of(Text(padded(self.data), self.name, self.before), _files.RUN)
        if np.any(np.diff(table.documents.start) < 0):
            raise self._returning(table)
        return Run._of(table, tag, precision)

    def place(self, run: Run, query: int) -> str:
        """The line."""
        rows = slice(*run.queries.indptr[query : query + 2])
        return self._line(run.documents, int(run.documents.start[rows].min()))

    def _line(self, documents: Documents, start: int) -> str:
        # in the text that was read, of which comments are gone, though not their lines
        number, _ = Text(documents.text, self.name, self.before).line(start)
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
                rows = checked(self.rows, RUNS)
                self._check(np.array(rows.qid, dtype=object))
                run = run_of_columns(rows, "run", precision)
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
            data = self.source.read(size)
            return data.encode() if isinstance(data, str) else data
        with unpacking(self.packed):
            return self.source.read(size)


def _buffered(source: Any, packed: str | None = None) -> Any:
    """A stream of bytes with `peek`."""
    return io.BufferedReader(_Raw(source, packed), HEAD)


# TREC ---------------------------------------------------------------------------------------------


def _lines(stream: BinaryIO, name: str, head: bytes, chunksize: int) -> Iterator[Piece]:
    size = chunksize * max(16, len(head) // max(1, head.count(b"\n")))
    if head.startswith(BOM):
        stream.read(len(BOM))
    rest, before = b"", 0
    while more := stream.read(size):
        data = rest + more
        cut = _last_query(data) or 0
        if cut:
            yield LinesPiece(name, before, data[:cut])
            before += data.count(b"\n", 0, cut)
        rest = data[cut:]
    yield LinesPiece(name, before, rest)  # a file without rows is refused where it is read


def _last_query(data: bytes) -> int | None:
    """Where the last query begins of which there is a whole line; None if there is no such line."""
    cut, last = None, b""
    stop = data.rfind(b"\n") + 1
    while stop > 0:
        start = data.rfind(b"\n", 0, stop - 1) + 1
        word = data[start:stop].split(None, 1)[:1]
        if word and word[0][:1] != b"#":
            if cut is not None and word[0] != last:
                return cut
            cut, last = start, word[0]
        stop = start
    return None if cut is None else 0  # comments above the first query stay with it


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
    rows: Any = None
    before = 0
    for more in _arrow.batches(name, _places, chunksize):
        rows = more if rows is None else _arrow.joined(rows, more)
        cut = _arrow.last_query(rows)
        if cut:
            yield RowsPiece(name, before, rows.slice(0, cut))
            before += cut
            rows = rows.slice(cut)
    if rows is None:
        raise ValueError("the file holds no row.")
    yield RowsPiece(name, before, rows)
