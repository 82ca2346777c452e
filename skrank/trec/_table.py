"""Tables of judgments and runs: rows of a query, a document and a number; lines of TREC.

Ids are not Python strings but slices of one array of bytes: the content of a file as it was read,
or the joined ids of columns in memory. `Lines` splits and parses the lines of a file, by the
kernels of `skrank._kernels.trec`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank._kernels.trec import Names

WORD = 8  # bytes that kernels read at once
NEWLINE = 10
BYTES = "surrogateescape"  # error handler that converts bytes that are not UTF-8, and back

_FEWEST_SLOTS = 8
# Fewer than most lines have. The estimated number of rows, which is thus too high, decides whether
# kernels are compiled or run as plain Python.
_BYTES_PER_ROW = 20


def room_for(size: int) -> np.ndarray:
    """An array for a text of `size` bytes, padded with newlines, as kernels read it."""
    text = np.empty(size + -size % WORD + WORD, np.uint8)  # whole words, and one word of padding
    text[size:] = NEWLINE
    return text


def padded(*parts: bytes | memoryview) -> np.ndarray:
    """Consecutive parts of a text, padded with newlines."""
    text, place = room_for(sum(map(len, parts))), 0
    for part in parts:
        text[place : place + len(part)] = np.frombuffer(part, np.uint8)
        place += len(part)
    return text


def decode(text: np.ndarray, places: np.ndarray) -> list[str]:
    """Slices of a text, whose `places` have the shape (n, 2), as strings.

    A byte that is not UTF-8 becomes half of a surrogate pair, so that different slices are
    different strings.
    """
    view = text.data
    return [str(view[start:stop], "utf-8", BYTES) for start, stop in places.tolist()]


class Documents(Names):
    """Ids of documents: slices of a text, with a hash of each; an argument of kernels."""

    __slots__ = ()

    def take(self, rows: np.ndarray | slice) -> Documents:
        """Documents of some rows."""
        return Documents(self.text, self.start[rows], self.stop[rows], self.hashed[rows])

    def names(self) -> list[str]:
        """The ids as strings."""
        return decode(self.text, np.stack([self.start, self.stop], axis=1))


@dataclass(frozen=True, eq=False)
class Slots:
    """A hash table of the documents of each query, by which runs and judgments are joined.

    The size of each table is a power of 2, and at least twice the number of documents.

    Attributes
    ----------
    first : int64 ndarray of shape (n_queries + 1,)
        Where the table of each query begins in `rows`, and where the last one ends.
    rows : int32 ndarray
        The row of a document, or -1 in a free slot.
    """

    first: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """Records of a query, a document and a number; the rows of each query are contiguous.

    Attributes
    ----------
    queries : Queries
        In the order of their first row.
    documents : Documents
    numbers : float64 ndarray of shape (n_rows,)
        Labels or scores.
    name : str
        Name of the file from which the rows were read, for messages; "" for rows in memory.
    tag : str
        The name of a run, if the rows have it.
    line_of : callable, optional
        Returns the number of the line of the file that holds a place of the text, for messages.
    before : int
        Number of rows of the file above these, for messages about files without lines.
    """

    queries: Queries
    documents: Documents
    numbers: np.ndarray
    name: str = ""
    tag: str = "run"
    line_of: Callable[[int], int] | None = None
    before: int = 0

    @classmethod
    def of_tokens(
        cls, text: np.ndarray, tokens: np.ndarray, document: int, numbers: np.ndarray
    ) -> Table:
        """Table of slices of a padded text.

        Parameters
        ----------
        text : uint8 ndarray
        tokens : int ndarray of shape (n_rows, n_columns, 2)
            Where each column of each row starts and stops. The first column holds queries.
        document : int
            The column of documents.
        numbers : float64 ndarray of shape (n_rows,)
        """
        from skrank._kernels import trec

        queries = _queries_of(text, tokens)
        places = tokens[:, document] if queries.order is None else tokens[queries.order, document]
        start, stop = np.ascontiguousarray(places.T)
        hashed = np.empty(len(start), np.uint64)
        trec.hashes.for_rows(len(tokens))(text.view(np.uint64), start, stop, hashed)
        documents = Documents(text, start, stop, hashed)
        return cls(Queries(queries.ids, queries.indptr), documents, queries.gather(numbers))

    def slots(self) -> Slots:
        """Hash tables of the documents; raises ValueError if a query has a document twice."""
        from skrank._kernels import trec

        _, bits = np.frexp(np.maximum(2 * self.queries.sizes, _FEWEST_SLOTS) - 1)
        first = np.append(0, np.cumsum(np.exp2(bits).astype(np.int64)))
        rows = np.empty(first[-1], np.int32)
        fill_tables = trec.fill_tables.for_rows(self.queries.n_rows)
        twice = fill_tables(self.queries.indptr, self.documents, first, rows)
        if twice[0] >= 0:
            raise self._repeated(*twice)
        return Slots(first, rows)

    def _repeated(self, *rows: int) -> ValueError:
        """The error for two rows of the same query and document."""
        documents = self.documents.take(np.array(rows))
        query = self.queries.name(self._query_of(rows[0]))
        what = f"document {documents.names()[0]!r} occurs twice in query {query}"
        if self.line_of is None:
            return ValueError(f"{self.name}: " * bool(self.name) + f"{what}: keep one of them.")
        first, second = sorted(self.line_of(int(start)) for start in documents.start)
        return ValueError(f"{self.name}, line {second}: {what}, first in line {first}.")

    def _query_of(self, row: int) -> int:
        return int(np.searchsorted(self.queries.indptr, row, side="right")) - 1

    def check_contiguous(self) -> None:
        """Raise ValueError if rows of another query stand between those of a query in the file.

        The ids of documents are slices of one text, so that their starts ascend in the order of the
        file.
        """
        start = self.documents.start
        if np.all(start[1:] >= start[:-1]):
            return
        order = np.argsort(start, kind="stable")
        queries = self.queries.row_query[order]
        seen: set[int] = set()
        for row in np.flatnonzero(np.append(True, queries[1:] != queries[:-1])).tolist():
            if int(queries[row]) in seen:
                raise self.not_contiguous(int(order[row]))
            seen.add(int(queries[row]))

    def not_contiguous(self, row: int) -> ValueError:
        """The error for a row that continues its query after rows of other queries."""
        start = int(self.documents.start[row])
        if self.line_of is None:
            place = f"row {self.before + np.count_nonzero(self.documents.start < start)}"
        else:
            place = f"line {self.line_of(start)}"
        return ValueError(
            f"{self.name}, {place}: query {self.queries.name(self._query_of(row))} occurs again "
            "after rows of other queries: sort the file by query to read it in pieces, or evaluate "
            "it without chunksize."
        )


def _queries_of(text: np.ndarray, tokens: np.ndarray) -> Queries:
    """The queries of the first column of rows."""
    from skrank._kernels import trec

    starts = np.empty(len(tokens), np.int64)  # rows whose query differs from that of the row above
    starts = starts[: trec.blocks.for_rows(len(tokens))(text, tokens, 0, starts)]
    names = decode(text, tokens[starts, 0])
    ids = np.array(list(dict.fromkeys(names)), dtype=object)
    if len(ids) == len(names):
        return Queries(ids, np.append(starts, len(tokens)))
    number = {name: i for i, name in enumerate(ids)}
    numbers = np.array([number[name] for name in names])
    queries = Queries.from_groups(np.repeat(numbers, np.diff(starts, append=len(tokens))))
    return Queries(ids[queries.ids], queries.indptr, queries.order)


# lines --------------------------------------------------------------------------------------------

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
        trec.numbers.for_rows(len(tokens))(self.text, tokens, expected.number, numbers)
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

    width, n_rows = 2 * n_columns, len(text) // _BYTES_PER_ROW
    n_newlines = int(np.count_nonzero(text == NEWLINE))
    most = min(n_newlines, len(text) // width) + 1  # rows: a line, and 2 bytes a word, or more each
    places = np.empty(width * most, np.int32 if len(text) < 2**31 else np.int64)
    found, control = trec.edges.for_rows(n_rows)(text.view(np.uint64), places)
    n_found = -(-found // width)
    places[found : n_found * width] = len(text) - 1  # the last row may lack words: they are empty
    tokens = places[: n_found * width].reshape(n_found, n_columns, 2)
    if found:  # newlines below the last row do not count
        n_newlines -= int(np.count_nonzero(text[places[found - 1] :] == NEWLINE))
    inside = found % width > 0 or n_newlines >= n_found  # the words of a row may be of two lines
    wrong = trec.first_wrong.for_rows(n_rows)(text, tokens, inside, comments)
    return tokens, wrong, bool(control)


def _shown(line: bytes) -> str:
    shown = line.decode(errors="backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")
