"""Files as streams of bytes, plain or compressed, and lines of TREC in them, parsed as bytes.

The kernels of `skrank._kernels.trec` check and parse lines.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank.trec._table import BYTES, NEWLINE, Table, decode, n_rows_of, padded, padded_size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

HEAD = 65536  # first bytes of a file, by which its format is recognised
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


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
_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError)


@contextmanager
def _decompressing(name: str) -> Iterator[None]:
    """Turn errors of decompression into errors of type ValueError that name the file."""
    try:
        yield
    except (*_ERRORS, ValueError) as error:
        raise ValueError(f"{name} cannot be decompressed: {str(error).rstrip('.')}.") from None


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


@dataclass(frozen=True, eq=False)
class File:
    """An open file.

    Attributes
    ----------
    name : str
    stream : BufferedReader
        The content, decompressed.
    head : bytes
        The first bytes of the content; `stream` returns them once more.
    on_disk : bool
        Whether `name` is the path of a plain file with this content.
    """

    name: str
    stream: io.BufferedReader
    head: bytes
    on_disk: bool


@contextmanager
def opened(source: Source) -> Iterator[File]:
    """Open a path, or read a file object; compressed content is decompressed."""
    name = name_of(source)
    with ExitStack() as stack:
        raw: io.RawIOBase
        if isinstance(source, (str, os.PathLike)):
            raw = stack.enter_context(open(source, "rb", buffering=0))
        else:
            raw = _Raw(source.read)
        stream: io.BufferedReader = io.BufferedReader(raw, HEAD)
        head = stream.peek(HEAD)
        magic = next(filter(head.startswith, _DECOMPRESSORS), None)
        if magic is not None:
            with _decompressing(name):
                content = _DECOMPRESSORS[magic](stream)
            stream = io.BufferedReader(_Raw(content.read, name), HEAD)
        head = stream.peek(HEAD)[:HEAD]
        yield File(name, stream, head, isinstance(raw, io.FileIO) and magic is None)


class _Raw(io.RawIOBase):
    """The bytes of an object that has `read`, such as a file that is open as text.

    `compressed` is the name of the file, for errors, if `read` decompresses it.
    """

    def __init__(self, read: Callable[..., bytes | str], compressed: str | None = None) -> None:
        self._read, self._compressed = read, compressed
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
        return self._rest + self._more()

    def _more(self, *size: int) -> bytes:
        name = self._compressed
        with nullcontext() if name is None else _decompressing(name):
            content = self._read(*size)
        return content.encode(errors=BYTES) if isinstance(content, str) else content


# lines --------------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_SPACE = 32
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # control characters that are not white space


@dataclass(frozen=True, eq=False)
class LineFormat:
    """The columns of a line. The first column holds the query.

    Attributes
    ----------
    kind : {"qrels", "run"}
    columns : tuple of str
        Their names, for messages.
    document, number : int
        Places of the columns of documents, and of labels or scores.
    most : float
        The highest label or score that is accepted.
    more : bool
        Whether a line may have further columns, which are ignored, as by trec_eval.
    """

    kind: str
    columns: tuple[str, ...]
    document: int
    number: int
    most: float
    more: bool = False

    def __str__(self) -> str:
        return " ".join(f"<{column}>" for column in self.columns)

    def holds(self, row: list[bytes]) -> bool:
        """Whether the words of a line can be a row: as many as columns, and a number in place."""
        enough = len(row) >= len(self.columns) if self.more else len(row) == len(self.columns)
        return enough and decimal(row[self.number]) is not None


RUN_LINE = LineFormat(
    "run", ("query", "Q0", "document", "rank", "score", "tag"), 2, 4, np.inf, True
)
QRELS_LINE = LineFormat(
    "qrels", ("query", "iteration", "document", "label"), 2, 3, check.MOST_LABEL
)
SHORT_QRELS_LINE = LineFormat("qrels", ("query", "document", "label"), 1, 2, check.MOST_LABEL)
LINE_FORMATS = {"run": (RUN_LINE,), "qrels": (QRELS_LINE, SHORT_QRELS_LINE)}


def whole_text(file: File) -> np.ndarray:
    """The content of a file, padded for `Lines`. A plain file is read without a second copy."""
    if file.on_disk:
        size = os.path.getsize(file.name)
        text = np.empty(padded_size(size), np.uint8)
        found = file.stream.readinto(text[:size].data)
        text[found:] = NEWLINE
        rest = file.stream.read()
        if rest:  # the path is a pipe, whose size is 0, or the file has grown
            text = padded(text[:found].tobytes() + rest)
    else:
        text = padded(file.stream.read())
    if text[: len(BOM)].tobytes() == BOM:
        text[: len(BOM)] = _SPACE
    return text


@dataclass(frozen=True, eq=False)
class Lines:
    """A piece of a file in TREC's format: bytes of whole lines, not parsed yet.

    Attributes
    ----------
    text : uint8 ndarray
        Padded, see `skrank.trec._table.padded`. Parsing overwrites comments with spaces.
    name : str
        Name of the file.
    format : LineFormat
    starts : sequence of (int, int)
        Each block of consecutive lines: its place in the text, and the number of its first line in
        the file. Lines between blocks, which have no rows, are not in the text.
    """

    text: np.ndarray
    name: str
    format: LineFormat
    starts: Sequence[tuple[int, int]] = ((0, 1),)

    def line(self, place: int) -> tuple[int, bytes]:
        """Number in the file, and content, of the line that holds a place of the text."""
        start, number = max(one for one in self.starts if one[0] <= place)
        above = self.text[:place].tobytes()
        line = self.text[above.rfind(b"\n") + 1 :].tobytes().split(b"\n", 1)[0]
        return number + above.count(b"\n", start), line.strip()

    def table(self) -> Table:
        """The parsed rows; the tag of a run is the last column of the first row.

        Raises
        ------
        ValueError
            With the name of the file and the number of the line.
        """
        tokens = self._tokens()
        table = Table.of_tokens(self.text, tokens, self.format.document, self._numbers(tokens))
        last = slice(*tokens[0, -1].tolist())
        tag = str(self.text.data[last], "utf-8", "backslashreplace")  # tags are printed
        return replace(table, name=self.name, tag=tag, line_of=lambda place: self.line(place)[0])

    def _tokens(self) -> np.ndarray:
        """Where each column of each row starts and stops: (n_rows, n_columns, 2).

        Most files have neither comments nor further columns. Both are searched for only if lines
        do not have the expected columns.
        """
        n_columns = len(self.format.columns)
        tokens, wrong, control = _split(self.text, n_columns, comments=True)
        if wrong >= 0 or control:
            if self.text[:2].tobytes() in _UTF_16:
                raise ValueError(
                    f"{self.name} is in UTF-16: convert it to UTF-8, for example by iconv."
                )
            self._blank()
            tokens, wrong, control = _split(self.text, n_columns, comments=False)
        if wrong >= 0:
            raise self._malformed(int(tokens[wrong, 0, 0]))
        if control:
            raise self._control_character()
        if len(tokens) == 0:
            raise ValueError(
                f"{self.name} is empty: a line of {self.format.kind} is {self.format}."
            )
        return tokens

    def _blank(self) -> None:
        """Overwrite comments and further columns with spaces."""
        data = self.text.tobytes()
        place = data.find(b"#")
        while place >= 0:
            start, stop = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
            if is_comment(data[start:stop], [self.format]):
                self.text[start:stop] = _SPACE
            place = data.find(b"#", stop)
        if self.format.more:
            gap = rb"[^\S\n]+"
            columns = rb"[^\S\n]*" + gap.join([rb"\S+"] * len(self.format.columns))
            for line in re.finditer(rb"(?m)^" + columns + rb"(" + gap + rb"\S[^\n]*)", data):
                self.text[slice(*line.span(1))] = _SPACE

    def _numbers(self, tokens: np.ndarray) -> np.ndarray:
        """The labels or scores: the doubles that are nearest to the decimal numbers."""
        from skrank._kernels import trec

        expected, numbers = self.format, np.empty(len(tokens))
        trec.numbers.for_rows(n_rows_of(self.text))(self.text, tokens, expected.number, numbers)
        rest = np.flatnonzero(~(numbers <= expected.most))  # NaN where the kernel could not read it
        words = decode(self.text, tokens[rest, expected.number])
        for row, word in zip(rest.tolist(), words, strict=True):
            number = decimal(word)
            numbers[row] = np.nan if number is None else number
            finite = np.isfinite(numbers[row])
            if not finite or numbers[row] > expected.most:
                line, _ = self.line(int(tokens[row, 0, 0]))
                wrong = f"above {expected.most:g}" if finite else "not a finite number"
                column = expected.columns[expected.number]
                raise ValueError(f"{self.name}, line {line}: {column} {word!r} is {wrong}.")
        return numbers

    def _malformed(self, place: int) -> ValueError:
        """The error for a line with too few or too many columns."""
        number, line = self.line(place)
        row, expected = line.split(), self.format
        if len(row) == len(expected.columns):  # the kernel found more, at control characters
            return self._control_character()
        others = [x for kind, known in LINE_FORMATS.items() if kind != expected.kind for x in known]
        swapped = any(one.holds(row) for one in others)
        hint = f" It looks like a line of {others[0].kind}: qrels come first, then runs." * swapped
        return ValueError(
            f"{self.name}, line {number}: {len(row)} columns instead of {len(expected.columns)} in "
            f"{_shown(line)}: a line of {expected.kind} is {expected}.{hint}"
        )

    def _control_character(self) -> ValueError:
        """The error for the first character that neither ids nor numbers can hold."""
        found = _CONTROL.search(self.text.tobytes())
        assert found is not None
        number, line = self.line(found.start())
        return ValueError(
            f"{self.name}, line {number}: control character {found[0].decode()!r} in "
            f"{_shown(line)}: the file must be text in UTF-8."
        )


def is_comment(line: bytes, formats: Sequence[LineFormat]) -> bool:
    """Whether a line begins with # and cannot be a row of any of the formats."""
    row = line.split()
    if not row or not row[0].startswith(b"#"):
        return False
    return not any(one.holds(row) for one in formats)


def decimal(word: bytes | str) -> float | None:
    """The number that a word spells, in ASCII and without underscores; None if it is not a number.

    "inf" and "nan" spell numbers, too.
    """
    text = word if isinstance(word, str) else word.decode("latin-1")
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _split(text: np.ndarray, n_columns: int, *, comments: bool) -> tuple[np.ndarray, int, bool]:
    """Split a padded text at white space and newlines, into rows of `n_columns` words.

    Returns
    -------
    tokens : int ndarray of shape (n_rows, n_columns, 2)
        Where each word starts and stops.
    wrong : int
        The first row that is not one whole line, or, with `comments`, that begins with #; -1 if
        there is no such row.
    control : bool
        Whether the text has control characters other than white space.
    """
    from skrank._kernels import trec

    width, n_rows = 2 * n_columns, n_rows_of(text)
    n_newlines = int(np.count_nonzero(text == NEWLINE))
    most = min(n_newlines, len(text) // width) + 1  # a bound of the number of rows
    places = np.empty(width * most, np.int32 if len(text) < 2**31 else np.int64)
    found, control = trec.edges.for_rows(n_rows)(text.view(np.uint64), places)
    n_found = -(-found // width)
    places[found : n_found * width] = len(text) - 1  # the last row may lack words: they are empty
    tokens = places[: n_found * width].reshape(n_found, n_columns, 2)
    if found:  # newlines below the last row do not count
        n_newlines -= int(np.count_nonzero(text[places[found - 1] :] == NEWLINE))
    inside = found % width > 0 or n_newlines >= n_found  # rows may hold the end of a line
    wrong = trec.first_wrong.for_rows(n_rows)(text, tokens, inside, comments)
    return tokens, wrong, bool(control)


def _shown(line: bytes) -> str:
    shown = line.decode(errors="backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")
