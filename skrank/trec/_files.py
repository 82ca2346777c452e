"""Files of judgments and runs: their format, and their rows, as a whole or in pieces.

`pieces_of` opens any file, finds out its format and yields its rows, not parsed yet. Without a
`chunksize` it yields one piece. Formats are lines of TREC, which stay bytes, and tables: JSON, JSON
Lines, CSV, TSV and Parquet.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath

import numpy as np

from skrank import _validation as check
from skrank.trec._columns import DOCUMENT, QRELS, QUERY, Columns, Kind, table_of
from skrank.trec._lines import (
    FORMS,
    SHORT_QRELS_LINE,
    LineForm,
    Lines,
    is_comment,
    last_query,
)
from skrank.trec._open import SUFFIXES, File, Source, opened
from skrank.trec._readers import BOM, READERS
from skrank.trec._table import NEWLINE, Table, padded, padded_size

_BLOCK_BYTES = 1 << 20  # read at once
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
            place = f"line {self.content.line_number(start)}"
        else:
            place = f"row {self.before + np.count_nonzero(table.documents.start < start)}"
        query = int(np.searchsorted(table.queries.indptr, row, side="right")) - 1
        return ValueError(
            f"{self.name}, {place}: query {table.queries.name(query)} comes again, after rows of "
            "other queries: sort the file by query to read it in pieces, or evaluate it without "
            "chunksize."
        )


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
    with opened(source) as file:
        form = _format_of(file, kind)
        if isinstance(form, LineForm):
            yield from _lines(file, form, kind, chunksize)
        else:
            with check.about(file.name):
                yield from _rows(file.name, READERS[form](file, kind, chunksize), kind, chunksize)


def _format_of(file: File, kind: Kind) -> LineForm | str:
    """The form of the lines of TREC, or the name of another format.

    The suffix of a path decides, and otherwise the content.
    """
    suffixes = [one for one in PurePath(file.name.lower()).suffixes if one not in SUFFIXES]
    if suffixes and suffixes[-1] in _FORMATS:
        return _FORMATS[suffixes[-1]]
    if file.head.startswith(_PARQUET):
        return "parquet"
    lines = _first_lines(file.head, kind)
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


def _lines(file: File, form: LineForm, kind: Kind, chunksize: int | None) -> Iterator[Piece]:
    """Pieces of lines, of `chunksize` times the mean length of the first lines in bytes."""
    if chunksize is None:
        yield Piece(file.name, kind, Lines(_whole_text(file), file.name, form))
        return
    size = chunksize * max(16, len(file.head) // max(1, file.head.count(b"\n")))
    for lines in _queries_of_lines(file.stream, file.name, form, size):
        yield Piece(file.name, kind, lines)


def _whole_text(file: File) -> np.ndarray:
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
