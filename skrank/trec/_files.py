"""Columns of TREC files, read without a Python object per line; public through `skrank.trec`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import IO

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.trec._line_forms import LineForm, decimal
from skrank.trec._packed import is_packed, unpacked
from skrank.trec._text import (
    BOM,
    BYTES,
    NEWLINE,
    WORD,
    Text,
    as_bytes,
    control_character,
    decode,
    malformed,
    padded,
    padded_size,
    tidy,
)

Source = str | os.PathLike[str] | IO[bytes] | IO[str]

_ROW = 16  # bytes that take plain Python as long as a row takes it in other kernels
_FEWEST_SLOTS = 8
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, eq=False)
class Documents:
    """Names of documents, as slices of one text that is kept as it was read."""

    text: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    hashed: np.ndarray

    @classmethod
    def of(cls, text: np.ndarray, tokens: np.ndarray) -> Documents:
        """Documents of a column with its starts and stops."""
        from skrank._kernels import trec

        start, stop = np.ascontiguousarray(tokens.T)
        hashed = np.empty(len(start), np.uint64)
        trec.hashes.form(_work_of(text))(text.view(np.uint64), start, stop, hashed)
        return cls(text, start, stop, hashed)

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Documents:
        """Documents of names in memory."""
        encoded = list(map(_encoded, names))
        stop = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        start = stop - [len(name) for name in encoded]
        return cls.of(padded(b"".join(encoded)), np.stack([start, stop], axis=1))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What kernels take."""
        return self.text, self.start, self.stop, self.hashed

    def take(self, rows: np.ndarray | slice) -> Documents:
        """Documents of some rows."""
        return Documents(self.text, self.start[rows], self.stop[rows], self.hashed[rows])

    def names(self) -> list[str]:
        """The names as strings."""
        return decode(self.text, self.start, self.stop)


@dataclass(frozen=True, eq=False)
class Slots:
    """Hash tables of the documents of each query, one after the other: rows, or -1.

    The size of each is a power of 2, and at least twice the number of its documents.
    """

    first: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """Documents of queries with a number each, the rows of a query contiguous."""

    queries: Queries
    documents: Documents
    numbers: np.ndarray
    text: Text | None = None

    @classmethod
    def of_arrays(cls, qid: ArrayLike, docid: ArrayLike, numbers: np.ndarray) -> Table:
        """Table of columns in memory."""
        queries = Queries.from_groups(_strings("qid", qid, len(numbers), "query"))
        names = _strings("docid", docid, len(numbers), "document")
        documents = Documents.of_names(queries.gather(names))
        return cls(Queries(queries.ids, queries.indptr), documents, queries.gather(numbers))

    def take(self, rows: np.ndarray | slice) -> Table:
        """The same queries, their rows in another order."""
        return replace(self, documents=self.documents.take(rows), numbers=self.numbers[rows])

    def slots(self) -> Slots:
        """Tables of the documents, each of which must be in a query once."""
        from skrank._kernels import trec

        _, bits = np.frexp(np.maximum(2 * self.queries.sizes, _FEWEST_SLOTS) - 1)
        first = np.append(0, np.cumsum(np.exp2(bits).astype(np.int64)))
        rows = np.empty(first[-1], np.int32)
        fill_tables = trec.fill_tables.form(self.queries.n_rows)
        twice = fill_tables(self.queries.indptr, self.documents.arrays, first, rows)
        if twice[0] >= 0:
            raise self._repeated(*twice)
        return Slots(first, rows)

    def _repeated(self, *rows: int) -> ValueError:
        query = int(np.searchsorted(self.queries.indptr, rows[0], side="right")) - 1
        document = self.documents.take(np.array(rows))
        what = f"document {document.names()[0]!r} occurs twice in query {self.queries.name(query)}"
        if self.text is None:
            return ValueError(f"{what}: keep one of them.")
        lines = sorted(self.text.line(int(start))[0] for start in document.start)
        return ValueError(f"{self.text.name}, line {lines[1]}: {what}, first in line {lines[0]}.")


def _strings(name: str, values: ArrayLike, n_rows: int, what: str) -> np.ndarray:
    ids = check.as_ids(name, values, n_rows, what)
    texts = [one.decode(errors=BYTES) if isinstance(one, bytes) else str(one) for one in ids]
    return np.array(texts, dtype=object)


def _encoded(name: str) -> bytes:
    """The bytes of the name of a document, as `decode` reads them."""
    try:
        return name.encode(errors=BYTES)
    except UnicodeEncodeError:
        raise ValueError(
            f"document {name!r} is not text: it holds half of a surrogate pair."
        ) from None


_expected = 0


def expect(qrels: object, runs: object) -> None:
    """Tell what will be read: of large files, the small ones are read by compiled loops, too."""
    global _expected
    several = list(runs.values()) if isinstance(runs, Mapping) else runs
    sources = [qrels, *(several if isinstance(several, (list, tuple)) else [several])]
    _expected = max(_expected, sum(map(_n_bytes, sources)) // _ROW)


def _n_bytes(source: object) -> int:
    if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
        return os.path.getsize(source)
    return 0


def _work_of(text: np.ndarray) -> int:
    """The work that a text is, or the files that it is one of, in rows."""
    return max(_expected, len(text) // _ROW)


def read_table(source: Source, form: LineForm) -> tuple[Table, str]:
    """What a file says, and the last column of its first line.

    Raises
    ------
    ValueError
        With the name of the file and the number of the line.
    """
    name = source_name(source)
    return table_of(Text(_read(source, name), name), form)


def table_of(text: Text, form: LineForm) -> tuple[Table, str]:
    """What a text says, and the last column of its first line; raises as `read_table`."""
    tokens = _split(text, form)
    numbers = _numbers(text, tokens, form)
    queries = _queries(text.array, tokens)
    places = tokens[:, 2] if queries.order is None else tokens[queries.order, 2]
    documents = Documents.of(text.array, places)
    table = Table(Queries(queries.ids, queries.indptr), documents, queries.gather(numbers), text)
    tag = slice(*tokens[0, -1].tolist())
    return table, str(text.array.data[tag], "utf-8", "backslashreplace")  # a name to be shown


def source_name(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def _read(source: Source, name: str) -> np.ndarray:
    """The padded text of a file, unpacked if it is packed."""
    text, size = _contents(source)
    if is_packed(text[:WORD].tobytes()):
        text = padded(unpacked(text[:size].tobytes(), name))
    if text[: len(BOM)].tobytes() == BOM:
        text[: len(BOM)] = ord(" ")
    return text


def _contents(source: Source) -> tuple[np.ndarray, int]:
    """The padded bytes of a file, and their number; a plain file is not copied in memory."""
    if not isinstance(source, (str, os.PathLike)):
        data = as_bytes(source.read())
        return padded(data), len(data)
    with open(source, "rb") as file:
        text = np.empty(padded_size(os.fstat(file.fileno()).st_size), np.uint8)
        size = file.readinto(text)  # type: ignore[arg-type]
        rest = file.read()
    if size > len(text) - WORD:  # a pipe, or the file has grown
        data = text[:size].tobytes() + rest
        return padded(data), len(data)
    text[size:] = NEWLINE
    return text, size


def _split(text: Text, form: LineForm) -> np.ndarray:
    """Where each column of each line starts and stops: (n_rows, n_columns, 2).

    Comments, and columns that are passed over, are overwritten with spaces.
    """
    tokens, wrong, control = _tokens(text.array, len(form.columns), comments=True)
    if wrong >= 0 or control:
        if text.array[:2].tobytes() in _UTF_16:
            raise ValueError(
                f"{text.name} is in UTF-16: convert it to UTF-8, for example by iconv."
            )
        tidy(text.array, form)
        tokens, wrong, control = _tokens(text.array, len(form.columns), comments=False)
    if wrong >= 0:
        raise malformed(text, int(tokens[wrong, 0, 0]), form)
    if control:
        raise control_character(text)
    if len(tokens) == 0:
        raise ValueError(f"{text.name} is empty: a line of {form.kind} is {form}.")
    return tokens


def _tokens(text: np.ndarray, n_columns: int, *, comments: bool) -> tuple[np.ndarray, int, bool]:
    """Places of columns; the first row that is not one line of `n_columns`, or -1; whether there
    are control characters.
    """
    from skrank._kernels import trec

    width, work = 2 * n_columns, _work_of(text)
    count_newlines = trec.count_newlines.form(work)
    n_newlines = count_newlines(text)
    most = min(n_newlines, len(text) // width) + 1  # rows: blank lines have none
    places = np.empty(width * most, np.int32 if len(text) < 2**31 else np.int64)
    found, control = trec.edges.form(work)(text.view(np.uint64), places)
    n_rows = -(-found // width)
    places[found : n_rows * width] = len(text) - 1  # columns that the last line lacks are empty
    tokens = places[: n_rows * width].reshape(n_rows, n_columns, 2)
    n_newlines -= count_newlines(text[places[found - 1] :]) if found else 0
    inside = found % width > 0 or n_newlines >= n_rows
    wrong = trec.first_wrong.form(work)(text, tokens, inside, comments)
    return tokens, wrong, bool(control)


def _numbers(text: Text, tokens: np.ndarray, form: LineForm) -> np.ndarray:
    """The column of numbers, each the nearest double; all must be finite."""
    from skrank._kernels import trec

    numbers = np.empty(len(tokens))
    trec.numbers.form(_work_of(text.array))(text.array, tokens, form.number, numbers)
    left = np.flatnonzero(~(numbers <= form.most))  # NaN: not read by the compiled loop
    if len(left) == 0:
        return numbers
    words = decode(text.array, *tokens[left, form.number].T)
    for row, word in zip(left.tolist(), words, strict=True):
        number = decimal(word)
        numbers[row] = np.nan if number is None else number
        finite = np.isfinite(numbers[row])
        if not finite or numbers[row] > form.most:
            line, _ = text.line(int(tokens[row, 0, 0]))
            wrong = f"above {form.most:g}" if finite else "not a finite number"
            raise ValueError(
                f"{text.name}, line {line}: {form.columns[form.number]} {word!r} is {wrong}."
            )
    return numbers


def _queries(text: np.ndarray, tokens: np.ndarray) -> Queries:
    """The queries of the first column."""
    from skrank._kernels import trec

    first_row = np.empty(len(tokens), np.int64)
    first_row = first_row[: trec.blocks.form(_work_of(text))(text, tokens, 0, first_row)]
    names = decode(text, *tokens[first_row, 0].T)
    code = {name: i for i, name in enumerate(dict.fromkeys(names))}
    ids = np.array(list(code), dtype=object)
    if len(ids) == len(names):
        return Queries(ids, np.append(first_row, len(tokens)))
    codes = np.array([code[name] for name in names])
    queries = Queries.from_groups(np.repeat(codes, np.diff(first_row, append=len(tokens))))
    return Queries(ids[queries.ids], queries.indptr, queries.order)
