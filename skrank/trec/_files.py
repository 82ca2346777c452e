"""Files of judgments (qrels) and of runs: open, decompress, recognise the format, read.

A file is read as a whole (`read`) or in pieces (`pieces_of`). Lines of TREC are parsed by
`skrank.trec._table`, other formats are decoded by the readers of `skrank.trec._records`. A file is
handled as an `io.BufferedReader` of the decompressed content without byte order mark, whose `name`
is for messages. The format is recognised by the first 64 KB.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

from skrank import _validation as check
from skrank.trec._columns import DOCUMENT, QRELS, QUERY, RUNS, Columns, Kind
from skrank.trec._records import (
    READERS,
    Reader,
    read_csv,
    read_json,
    read_json_lines,
    read_parquet,
    table_of_records,
)
from skrank.trec._table import (
    BYTES,
    LINE_FORMATS,
    NEWLINE,
    RUN_LINE,
    SHORT_QRELS_LINE,
    LineFormat,
    Lines,
    Table,
    is_comment,
    padded,
    room_for,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from _typeshed import WriteableBuffer

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_HEAD = 65536  # first bytes of a file, by which its format is recognised

# open and decompress ------------------------------------------------------------------------------


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes | str: ...


def _zstandard(file: BinaryIO) -> _Readable:
    for name in ("compression.zstd", "zstandard", "pyarrow"):  # the first from Python 3.14 on
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "compression.zstd":
            return module.ZstdFile(file)
        if name == "zstandard":
            return module.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return module.CompressedInputStream(file, "zstd")
    raise ValueError("install zstandard or pyarrow to read Zstandard")


# by the first bytes of compressed content
_DECOMPRESSORS: dict[bytes, Callable[[BinaryIO], _Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstandard,
}


@contextmanager
def _decompressing(name: str) -> Iterator[None]:
    """Turn errors of decompression into errors of type ValueError that name the file."""
    try:
        yield
    except Exception as error:  # each library has its own class
        raise ValueError(f"{name} cannot be decompressed: {str(error).rstrip('.')}.") from None


class _Raw(io.RawIOBase):
    """The bytes of a file object: one that the caller opened, maybe as text, or a decompressor."""

    def __init__(self, name: str, file: _Readable, *, packed: bool = False) -> None:
        self.name, self._file, self._packed = name, file, packed
        self._rest = b""  # bytes beyond the last buffer: a character of text can be several bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        self._rest = self._rest or self._more(len(view))
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)

    def readall(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest + self._more()

    def _more(self, *size: int) -> bytes:
        with _decompressing(self.name) if self._packed else nullcontext():
            content = self._file.read(*size)
        # bytes that are not UTF-8 come back as they were in the file
        return content.encode(errors=BYTES) if isinstance(content, str) else content


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


@contextmanager
def opened(source: Source) -> Iterator[io.BufferedReader]:
    """Open a path, or read a file object; compressed content is decompressed.

    The stream of a plain file on disk has an `io.FileIO` as its attribute `raw`.
    """
    name = name_of(source)
    with ExitStack() as stack:
        raw: io.RawIOBase
        if isinstance(source, (str, os.PathLike)):
            raw = stack.enter_context(open(name, "rb", buffering=0))
        else:
            raw = _Raw(name, source)
        stream: io.BufferedReader = io.BufferedReader(raw, _HEAD)
        magic = next(filter(stream.peek(_HEAD).startswith, _DECOMPRESSORS), None)
        if magic is not None:
            with _decompressing(name):
                content = _DECOMPRESSORS[magic](stream)
            stream = io.BufferedReader(_Raw(name, content, packed=True), _HEAD)
        if stream.peek(_HEAD).startswith(BOM):
            stream.read(len(BOM))
        yield stream


# recognise the format, and read -------------------------------------------------------------------


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
    with opened(source) as stream:
        found = _format_of(stream, kind)
        if isinstance(found, LineFormat):
            return Lines(_whole_text(stream), stream.name, found).table()
        with check.about(stream.name):  # puts the name before messages
            blocks = list(found(stream, kind, None))
        return table_of_records(stream.name, kind, blocks)


def _whole_text(stream: io.BufferedReader) -> np.ndarray:
    """The content as bytes (uint8), followed by newlines up to a whole number of 8-byte words.

    Kernels read words. A plain file is not copied, which saves a fifth of the time of reading it.
    If fewer bytes are read than the file has (without its byte order mark, or if it shrinks
    meanwhile), newlines follow, which are blank lines.
    """
    if not isinstance(stream.raw, io.FileIO):
        return padded(stream.read())
    size = os.path.getsize(stream.name)
    text = room_for(size)
    n_read = stream.readinto(text.data[:size])
    text[n_read:] = NEWLINE
    rest = stream.read()  # of a pipe, whose size is 0, or of a file that grows
    return padded(text.data[:n_read], rest) if rest else text


def _format_of(stream: io.BufferedReader, kind: Kind) -> LineFormat | Reader:
    """The columns of lines of TREC, or the reader of another format.

    The suffix of the name decides, without that of compression. If it is not known, the first lines
    decide.
    """
    name = stream.name.lower()
    for compression in SUFFIXES:
        name = name.removesuffix(compression)
    suffix = os.path.splitext(name)[1]
    if suffix in READERS:
        return READERS[suffix]
    head = stream.peek(_HEAD)[:_HEAD]
    if head.startswith(b"PAR1"):
        return read_parquet
    lines = _first_lines(head, kind)
    if lines[0].startswith((b"{", b"[")):
        # A first line that is a list may begin one JSON array, and a single object may be a whole
        # file of queries: `read_json` reads these.
        one_a_line = lines[0].startswith(b"{") and lines[0].endswith(b"}") and len(lines) > 1
        return read_json_lines if one_a_line else read_json
    first = str(lines[0], errors="replace").lower().replace('"', " ")
    names = set(map(str.strip, first.split("\t" if "\t" in first else ",")))
    if names & set(QUERY) and names & set(DOCUMENT):
        return read_csv
    if kind is QRELS and set(map(len, map(bytes.split, lines))) == {3}:
        return SHORT_QRELS_LINE
    return LINE_FORMATS[kind.name][0]


def _first_lines(head: bytes, kind: Kind) -> list[bytes]:
    """The first two lines that are neither blank nor comments; one empty line if there is none.

    The last line may be incomplete. A line with # that has the columns of a row is a row, since ids
    may begin with #.
    """
    found = []
    for line in head.splitlines():
        if line.strip() and not is_comment(line, LINE_FORMATS[kind.name]):
            found.append(line.strip())
            if len(found) == 2:
                break
    return found or [b""]


# read in pieces -----------------------------------------------------------------------------------

_BLOCK_BYTES = 1 << 20  # most bytes that are read at once
_SHORTEST_LINE = 16  # fewest bytes that a line of TREC is taken to have


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of the file of a run, not parsed yet; `parse` can be called in any thread."""

    parse: Callable[[], Table]


def pieces_of(source: Source, chunksize: int) -> Iterator[Piece]:
    """Yield the pieces of the file of a run.

    A piece has all rows of each of its queries, and at least `chunksize` rows, but for the last.
    For lines of TREC, this number is estimated from the mean length of the first lines. The file
    stays open until the last piece. Errors name the file.

    If the rows of a query are not contiguous in the file, the query is in several pieces. Callers
    call `Table.check_contiguous`, which raises an error for this inside a piece, and compare the
    queries of different pieces.
    """
    with opened(source) as stream:
        found = _format_of(stream, RUNS)
        if isinstance(found, LineFormat):
            head = stream.peek(_HEAD)[:_HEAD]
            mean_length = len(head) // max(1, head.count(b"\n"))
            n_bytes = chunksize * max(_SHORTEST_LINE, mean_length)
            for blocks in _whole_queries(_blocks_of_lines(stream, n_bytes), n_bytes):
                text = padded(*(block.lines for block in blocks))
                places = accumulate(map(len, blocks), initial=0)
                starts = [(at, block.number) for at, block in zip(places, blocks, strict=False)]
                yield Piece(Lines(text, stream.name, found, starts).table)
            return
        before = 0
        with check.about(stream.name):
            for rows in _whole_queries(found(stream, RUNS, chunksize), chunksize):
                yield Piece(partial(table_of_records, stream.name, RUNS, rows, before))
                before += sum(map(len, rows))


@dataclass(frozen=True, eq=False)
class _LineBlock:
    """Consecutive lines of the file of a run; `number` is that of the first, from 1.

    Its length and the places in it are in bytes; those of `Columns` are in rows. A block may be
    empty.
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

        Returns None if there are only comments.
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


_Block = TypeVar("_Block", _LineBlock, Columns)


def _whole_queries(blocks: Iterable[_Block], size: int) -> Iterator[list[_Block]]:
    """Cut blocks between queries, and collect them in lists of a total length of at least `size`.

    A query ends where a row of another query follows. The last list has the rest; it is empty for a
    file without rows, which the parsing of the piece refuses.
    """
    whole: list[_Block] = []
    n_whole = 0  # total length of `whole`
    rest: list[_Block] = []  # rows of `query`, which the next block may continue
    query: Hashable = None
    for block in blocks:
        found = block.last_query()
        if found is None:
            continue
        start, last = found
        if start or last != query:  # the block has a row of another query
            rest.append(block.part(slice(0, start)))
            whole += rest
            n_whole += sum(map(len, rest))
            rest = []
            if n_whole >= size:
                yield whole
                whole, n_whole = [], 0
        rest.append(block.part(slice(start, None)))
        query = last
    yield whole + rest


def _blocks_of_lines(stream: io.BufferedReader, n_bytes: int) -> Iterator[_LineBlock]:
    """Yield blocks of whole lines of at most about `n_bytes`.

    Blank lines end a block and are left out, so that any number of them takes no memory. Some may
    remain at the start of a block; the parser accepts them.
    """
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
