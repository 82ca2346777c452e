"""Lines of TREC files, checked and parsed as bytes by the kernels of `skrank._kernels.trec`."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from skrank import _validation as check
from skrank.trec._open import File
from skrank.trec._table import NEWLINE, Table, decode, n_rows_of, padded, padded_size

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_BLOCK_BYTES = 1 << 20  # most bytes that are read at once
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


@dataclass(frozen=True, eq=False)
class LineBlock:
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

    def part(self, places: slice) -> LineBlock:
        """The lines at some places of the bytes."""
        start = places.start or 0
        return LineBlock(self.number + self.lines.count(b"\n", 0, start), self.lines[places])

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


def blocks_of_lines(stream: io.BufferedReader, n_bytes: int) -> Iterator[LineBlock]:
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
                yield LineBlock(number, lines[place : blank.start() + 1])
                number += lines.count(b"\n", place, blank.end())
                place = blank.end()
            yield LineBlock(number, lines[place:])
            number += lines.count(b"\n", place)
            begun = []
        begun.append(data[end:])
    yield LineBlock(number, b"".join(begun))


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

    @classmethod
    def of_blocks(cls, blocks: Sequence[LineBlock], name: str, format: LineFormat) -> Lines:
        """The lines of some blocks of a file."""
        places = accumulate(map(len, blocks), initial=0)
        starts = [(place, block.number) for place, block in zip(places, blocks, strict=False)]
        return cls(padded(b"".join(block.lines for block in blocks)), name, format, starts)

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
