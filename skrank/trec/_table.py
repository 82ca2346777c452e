"""Tables of judgments and runs: rows of a query, a document and a number.

Ids are not Python strings but slices of one array of bytes: the content of a file as it was read,
or the joined ids of columns in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.queries import Queries
from skrank._kernels.trec import Names

WORD = 8  # bytes that kernels read at once
NEWLINE = 10
BYTES = "surrogateescape"  # error handler that converts bytes that are not UTF-8, and back

# Lines are longer: if files are small enough for plain Python, so are their joined rows.
_BYTES_PER_ROW = 20
_FEWEST_SLOTS = 8
_n_rows_to_read = 0  # a minimum of `n_rows_of`: see `announce`


def announce(sources: Iterable[object]) -> None:
    """Take into account how large all files are that are about to be read.

    Small texts are parsed by plain Python, which is faster than importing numba. A large file needs
    numba anyway, so that small files beside it are parsed by compiled code, too: 20 % less
    processor time for a process that evaluates 200,000 rows against 7,000 judgments.
    """
    global _n_rows_to_read
    n_bytes = 0
    for source in sources:
        if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
            n_bytes += os.path.getsize(source)
    _n_rows_to_read = max(_n_rows_to_read, n_bytes // _BYTES_PER_ROW)


def n_rows_of(text: np.ndarray) -> int:
    """The number of rows by which kernels choose between plain Python and compiled code."""
    return max(_n_rows_to_read, len(text) // _BYTES_PER_ROW)


def padded_size(size: int) -> int:
    """Length of a padded text: whole words, and at least one word of padding."""
    return size + -size % WORD + WORD


def padded(data: bytes | memoryview) -> np.ndarray:
    """A text padded with newlines, as kernels read it."""
    text = np.empty(padded_size(len(data)), np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    text[len(data) :] = NEWLINE
    return text


def decode(text: np.ndarray, places: np.ndarray) -> list[str]:
    """Slices of a text, whose `places` have the shape (n, 2), as strings.

    A byte that is not UTF-8 becomes half of a surrogate pair, so that different slices are
    different strings.
    """
    view = text.data
    return [str(view[start:stop], "utf-8", BYTES) for start, stop in places.tolist()]


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of ids as UTF-8.

    Attributes
    ----------
    data : bytes
        All ids, one after the other.
    edges : int ndarray of shape (n_rows + 1,)
        Where each id starts, and where the last one ends.
    """

    data: bytes | memoryview
    edges: np.ndarray

    @classmethod
    def of(cls, ids: Iterable[object], what: str) -> Texts:
        """A column of bytes or of objects that are converted by str; `what` is for errors."""
        try:
            encoded = [
                one if isinstance(one, bytes) else str(one).encode(errors=BYTES) for one in ids
            ]
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{what} {error.object!r} is not text: it holds half of a surrogate pair."
            ) from None
        edges = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=edges[1:])
        return cls(b"".join(encoded), edges)

    def name(self, row: int) -> str:
        """The id of a row."""
        return str(self.data[self.edges[row] : self.edges[row + 1]], "utf-8", BYTES)


@dataclass(frozen=True, eq=False)
class Documents:
    """Ids of documents: slices of a text, with a hash of each."""

    text: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    hashed: np.ndarray

    @property
    def arrays(self) -> Names:
        """The arrays as an argument of kernels."""
        return Names(self.text, self.start, self.stop, self.hashed)

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
        trec.hashes.for_rows(n_rows_of(text))(text.view(np.uint64), start, stop, hashed)
        documents = Documents(text, start, stop, hashed)
        return cls(Queries(queries.ids, queries.indptr), documents, queries.gather(numbers))

    @classmethod
    def of_texts(cls, queries: Texts, documents: Texts, numbers: np.ndarray) -> Table:
        """Table of columns of ids."""
        middle, end = len(queries.data), len(queries.data) + len(documents.data)
        text = np.full(padded_size(end), NEWLINE, np.uint8)
        text[:middle] = np.frombuffer(queries.data, np.uint8)
        text[middle:end] = np.frombuffer(documents.data, np.uint8)
        tokens = np.empty((len(numbers), 2, 2), np.int32 if len(text) < 2**31 else np.int64)
        for column, edges in enumerate((queries.edges, documents.edges + middle)):
            tokens[:, column, 0], tokens[:, column, 1] = edges[:-1], edges[1:]
        return cls.of_tokens(text, tokens, 1, numbers)

    def take(self, rows: np.ndarray) -> Table:
        """The same queries, with the rows of each query in another order."""
        return replace(self, documents=self.documents.take(rows), numbers=self.numbers[rows])

    def slots(self) -> Slots:
        """Hash tables of the documents; raises ValueError if a query has a document twice."""
        from skrank._kernels import trec

        _, bits = np.frexp(np.maximum(2 * self.queries.sizes, _FEWEST_SLOTS) - 1)
        first = np.append(0, np.cumsum(np.exp2(bits).astype(np.int64)))
        rows = np.empty(first[-1], np.int32)
        fill_tables = trec.fill_tables.for_rows(self.queries.n_rows)
        twice = fill_tables(self.queries.indptr, self.documents.arrays, first, rows)
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
    starts = starts[: trec.blocks.for_rows(n_rows_of(text))(text, tokens, 0, starts)]
    names = decode(text, tokens[starts, 0])
    ids = np.array(list(dict.fromkeys(names)), dtype=object)
    if len(ids) == len(names):
        return Queries(ids, np.append(starts, len(tokens)))
    number = {name: i for i, name in enumerate(ids)}
    numbers = np.array([number[name] for name in names])
    queries = Queries.from_groups(np.repeat(numbers, np.diff(starts, append=len(tokens))))
    return Queries(ids[queries.ids], queries.indptr, queries.order)
