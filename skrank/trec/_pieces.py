"""Pieces of the file of a run: each has all rows of each of its queries, and is measured by itself.

If the rows of a query are not contiguous in a file, the query is in several pieces. Callers of
`pieces_of` call `Table.check_contiguous`, which raises an error for this inside a piece, and
compare the queries of different pieces.
"""

from __future__ import annotations

import io
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, Self, TypeVar

from skrank import _validation as check
from skrank.trec._columns import RUNS
from skrank.trec._files import Records, format_of
from skrank.trec._lines import BOM, RUN_LINE, LineFormat, Lines, Source, is_comment, opened
from skrank.trec._table import padded

_BLOCK_BYTES = 1 << 20  # most bytes that are read at once
_SHORTEST_LINE = 16  # fewest bytes that a line of TREC is taken to have


def pieces_of(source: Source, chunksize: int) -> Iterator[Lines | Records]:
    """Yield the pieces of the file of a run; the file stays open until the last one.

    A piece has at least `chunksize` rows, but for the last. For lines of TREC, this number is
    estimated from the mean length of the first lines. Errors name the file.
    """
    with opened(source) as file:
        found = format_of(file, RUNS)
        if isinstance(found, LineFormat):
            mean_length = len(file.head) // max(1, file.head.count(b"\n"))
            n_bytes = chunksize * max(_SHORTEST_LINE, mean_length)
            for lines in _whole_queries(_blocks_of_lines(file.stream, n_bytes), n_bytes):
                yield _joined(lines, file.name, found)
            return
        before = 0
        with check.about(file.name):
            for rows in _whole_queries(found(file, RUNS, chunksize), chunksize):
                yield Records(file.name, RUNS, rows, before)
                before += sum(map(len, rows))


class _Block(Protocol):
    """Consecutive rows of a file; places and lengths count rows, or bytes of lines."""

    def __len__(self) -> int: ...

    def part(self, places: slice) -> Self: ...

    def last_query(self) -> tuple[int, Hashable] | None:
        """Place at which the rows of the last query begin, and the id of this query.

        The place is 0 if all rows are of one query. Returns None if there are only comments.
        """


_B = TypeVar("_B", bound=_Block)


def _whole_queries(blocks: Iterable[_B], size: int) -> Iterator[list[_B]]:
    """Cut blocks between queries, and collect them in lists of a total length of at least `size`.

    A query ends where a row of another query follows. The last list has the rest; it is empty for a
    file without rows, which `table` of the piece refuses.
    """
    whole: list[_B] = []
    n_whole = 0  # total length of `whole`
    rest: list[_B] = []  # rows of `query`, which the next block may continue
    query: Hashable = None
    for block in blocks:
        found = block.last_query()
        if found is None:
            continue
        start, last = found
        if start or last != query:  # the block has a row of another query
            ended = [*rest, block.part(slice(0, start))]
            whole += ended
            n_whole += sum(map(len, ended))
            rest = []
            if n_whole >= size:
                yield whole
                whole, n_whole = [], 0
        rest.append(block.part(slice(start, None)))
        query = last
    yield whole + rest


@dataclass(frozen=True, eq=False)
class _LineBlock:
    """Consecutive lines of a file.

    Attributes
    ----------
    number : int
        Number of the first line in the file, from 1.
    lines : bytes
    """

    number: int
    lines: bytes

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, places: slice) -> _LineBlock:
        """The lines at some places of the bytes."""
        start = places.start or 0
        return _LineBlock(self.number + self.lines.count(b"\n", 0, start), self.lines[places])

    def last_query(self) -> tuple[int, bytes] | None:
        """Place of the first row of the last query (0 if there is one query), and the query.

        The lines are those of a run. Returns None if there is no row.
        """
        cut, last, stop = 0, b"", len(self.lines)
        while stop > 0:
            start = self.lines.rfind(b"\n", 0, stop - 1) + 1
            line = self.lines[start:stop]
            word = line.split(None, 1)[:1]
            if word and not is_comment(line, [RUN_LINE]):
                if last and word[0] != last:
                    return cut, last
                cut, last = start, word[0]
            stop = start
        return (0, last) if last else None


def _blocks_of_lines(stream: io.BufferedReader, n_bytes: int) -> Iterator[_LineBlock]:
    """Yield blocks of whole lines of at most about `n_bytes`; blank lines end a block."""
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    number = 1
    begun: list[bytes] = []  # the beginning of a line whose end is not read yet
    while data := stream.read(min(n_bytes, _BLOCK_BYTES)):
        end = data.rfind(b"\n") + 1
        if end:
            lines, place = b"".join([*begun, data[:end]]), 0
            for blank in re.finditer(rb"\n\s*\n", lines):
                yield _LineBlock(number, lines[place : blank.start() + 1])
                number += lines.count(b"\n", place, blank.end())
                place = blank.end()
            yield _LineBlock(number, lines[place:])
            number += lines.count(b"\n", place)
            begun = []
        begun.append(data[end:])
    yield _LineBlock(number, b"".join(begun))


def _joined(blocks: Sequence[_LineBlock], name: str, format: LineFormat) -> Lines:
    """The lines of some blocks of a file."""
    places = accumulate(map(len, blocks), initial=0)
    starts = [(place, block.number) for place, block in zip(places, blocks, strict=False)]
    return Lines(padded(b"".join(block.lines for block in blocks)), name, format, starts)
