"""Columns of judgments and runs in memory, from any object that holds them, and tables of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.trec._table import BYTES, Table, decimal, padded

if TYPE_CHECKING:
    import narwhals
    import pyarrow as pa

    Column: TypeAlias = list[Any] | pa.ChunkedArray

# Names of columns, as other tools have them. Letters may be of any case.
QUERY = ("qid", "query_id", "q_id", "query", "topic", "topic_id", "query-id")
DOCUMENT = ("docid", "docno", "doc_id", "did", "document", "document_id", "corpus-id")
LABEL = ("label", "relevance", "rel", "grade", "score")
SCORE = ("score", "sim", "similarity")
RUN = ("run", "run_id", "system", "tag", "name")


@dataclass(frozen=True)
class Kind:
    """What rows are, judgments or a run, and how to find their columns.

    Attributes
    ----------
    name : {"qrels", "run"}
    number : tuple of str
        Names of the column of labels or scores.
    places_by_length : dict of int to (int, int, int)
        Places of query, document and number in a row without names, by the length of the row.
    """

    name: str
    number: tuple[str, ...]
    places_by_length: dict[int, tuple[int, int, int]]

    def example(self) -> str:
        """A row without names, for messages."""
        return f"({QUERY[0]}, {DOCUMENT[0]}, {self.number[0]})"

    def columns_among(self, names: Sequence[str]) -> list[str]:
        """The names of the columns of queries, documents and numbers, and, if there is one, runs.

        Raises ValueError if a column is missing.
        """
        by_name = {name.lower(): name for name in names}
        found = []
        what = {"queries": QUERY, "documents": DOCUMENT, f"{self.number[0]}s": self.number}
        for plural, known in what.items():
            name = next((by_name[one] for one in known if one in by_name), None)
            if name is None:
                raise self._no_column(plural, known, names)
            found.append(name)
        if self is RUNS:
            found += [by_name[one] for one in RUN if one in by_name][:1]
        return found

    def _no_column(self, what: str, known: tuple[str, ...], names: Sequence[str]) -> ValueError:
        swapped = what == "scores" and any(name.lower() in LABEL for name in names)
        hint = " They look like qrels: qrels come first, then runs." * swapped
        return ValueError(
            f"no column has the {what} of the {self.name}: rename one of the columns "
            f"({', '.join(names)}) to {' or '.join(map(repr, known[:3]))}.{hint}"
        )


QRELS = Kind("qrels", LABEL, {3: (0, 1, 2), 4: (0, 2, 3)})
RUNS = Kind("run", SCORE, {3: (0, 1, 2), 6: (0, 2, 4)})


@dataclass(frozen=True, eq=False)
class Columns:
    """Query, document and number of each row, and the name of the run, if rows have one.

    Each column is a list or an array of Arrow.
    """

    query: Column
    document: Column
    number: Column
    run: Column | None = None

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[object]]) -> Columns:
        """Columns of rows of three or four fields."""
        return cls(*map(list, zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def of_arrow(cls, columns: Iterable[pa.ChunkedArray]) -> Columns:
        """Columns of Arrow. Dictionary-encoded columns are decoded."""
        import pyarrow as pa

        dictionary = pa.types.is_dictionary
        return cls(*(x.cast(x.type.value_type) if dictionary(x.type) else x for x in columns))

    def part(self, rows: slice) -> Columns:
        """Some of the rows, without the column of runs."""
        return Columns(self.query[rows], self.document[rows], self.number[rows])

    def last_query(self) -> tuple[int, Hashable]:
        """The first row of the last block of rows of one query, and the query."""
        last = self.query[-1]
        if isinstance(self.query, list):
            start = len(self) - 1
            while start > 0 and self.query[start - 1] == last:
                start -= 1
            return start, last
        import pyarrow.compute as pc

        others = np.flatnonzero(pc.not_equal(self.query, last).fill_null(True))
        return int(others.max(initial=-1)) + 1, last

    def tags(self) -> list[str]:
        """The names of the runs, in the order of their first rows."""
        return [] if self.run is None else list(dict.fromkeys(map(str, _as_list(self.run))))

    def of_run(self, tag: str) -> Columns:
        """The rows of one run."""
        rows = [row for row, name in enumerate(_as_list(self.run)) if str(name) == tag]
        columns = [_as_list(column) for column in (self.query, self.document, self.number)]
        return Columns(*([column[row] for row in rows] for column in columns))


def columns_of(thing: object, kind: Kind) -> Columns | None:
    """The columns of an object in memory; None if it does not hold rows, such as a list of runs.

    Parameters
    ----------
    thing : object
        A dict of dicts, a table that narwhals knows, an iterable of records, or qrels or a run of
        ranx, ir_measures or ir_datasets.
    kind : Kind

    Raises
    ------
    ValueError
        If a column or a field is missing.
    """
    frame = frame_of(thing)
    if frame is not None:
        columns = [frame[name] for name in kind.columns_among(frame.columns)]
        if frame.implementation.is_pyarrow():
            return Columns.of_arrow(one.to_native() for one in columns)
        return Columns(*(one.to_list() for one in columns))
    if hasattr(thing, "qrels_iter") and kind is QRELS:  # a data set of ir_datasets
        thing = thing.qrels_iter()
    elif type(thing).__module__.split(".")[0] == "ranx" and hasattr(thing, "to_dict"):
        thing = thing.to_dict()
    if is_nested(thing):
        rows = list(thing.values())
        query = [one for one, documents in thing.items() for _ in documents]
        return Columns(query, list(chain(*rows)), list(chain(*(row.values() for row in rows))))
    if isinstance(thing, Iterable) and not isinstance(thing, Mapping):
        records = list(thing)
        return _of_records(records, kind) if records and is_record(records[0], kind) else None
    return None


def frame_of(thing: object) -> narwhals.DataFrame | None:
    """A table of pandas, polars, Arrow or others as a table of narwhals; None if it is not one."""
    arrow = hasattr(thing, "__arrow_c_stream__")
    if not (arrow or hasattr(type(thing), "columns")):  # of an object, a property may compute them
        return None
    import narwhals

    found = narwhals.from_native(thing, pass_through=True)
    if isinstance(found, narwhals.LazyFrame):
        return found.collect()
    if isinstance(found, narwhals.DataFrame):
        return found
    return narwhals.from_arrow(thing, backend="pyarrow") if arrow else None


def is_nested(thing: object) -> TypeGuard[Mapping[object, Mapping[object, object]]]:
    """Whether this maps queries to mappings from documents to numbers."""
    if not isinstance(thing, Mapping) or not thing:
        return False
    inner = [value for value in thing.values() if isinstance(value, Mapping)]
    numbers = [value for documents in inner for value in list(documents.values())[:1]]
    return len(inner) == len(thing) and not any(isinstance(n, Mapping) for n in numbers)


def is_record(row: object, kind: Kind) -> bool:
    """Whether this is one row: a tuple or list, a mapping, or an object with named fields."""
    if isinstance(row, Mapping):
        names = {str(name).lower() for name in row}
        return not names.isdisjoint(QUERY) and not names.isdisjoint(DOCUMENT)
    if hasattr(row, "query_id") and hasattr(row, "doc_id"):
        return not hasattr(row, "columns")  # a frame has its columns as attributes
    return isinstance(row, (tuple, list)) and len(row) in kind.places_by_length


def _of_records(rows: list[Any], kind: Kind) -> Columns:
    """Columns of records like the first: mappings, objects with named fields, or tuples."""
    first = rows[0]
    if isinstance(first, Mapping):
        names = kind.columns_among([name for name in first if all(name in row for row in rows)])
        return Columns.of_rows(map(itemgetter(*names), rows))
    if hasattr(first, "query_id") and hasattr(first, "doc_id"):
        number = next((name for name in kind.number if hasattr(first, name)), None)
        if number is None:
            raise ValueError(f"records of {kind.name} have no {' or '.join(kind.number[:2])}.")
        return Columns.of_rows(map(attrgetter("query_id", "doc_id", number), rows))
    for place, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != len(first):
            raise ValueError(
                f"record {place} of the {kind.name} is {row!r}, and the first has "
                f"{len(first)} fields: a record is {kind.example()}."
            )
    return Columns.of_rows(map(itemgetter(*kind.places_by_length[len(first)]), rows))


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


def table_of_texts(queries: Texts, documents: Texts, numbers: np.ndarray) -> Table:
    """The table of columns of ids and of labels or scores."""
    text = padded(queries.data, documents.data)
    tokens = np.empty((len(numbers), 2, 2), np.int32 if len(text) < 2**31 else np.int64)
    for column, edges in enumerate((queries.edges, documents.edges + len(queries.data))):
        tokens[:, column, 0], tokens[:, column, 1] = edges[:-1], edges[1:]
    return Table.of_tokens(text, tokens, 1, numbers)


def table_of(blocks: Sequence[Columns], kind: Kind, before: int = 0) -> Table:
    """The table of blocks of consecutive rows.

    Parameters
    ----------
    blocks : sequence of Columns
    kind : Kind
    before : int
        Number of rows of the file above these, for the numbers of rows in messages.

    Raises
    ------
    ValueError
        If there is no row, an id is missing or neither a text nor a whole number, or a number is
        not a label or a score.
    """
    if not sum(map(len, blocks)):
        raise ValueError(f"the {kind.name} hold{'s' * (kind is RUNS)} no document.")
    query, document, number = (
        _joined([getattr(block, name) for block in blocks])
        for name in ("query", "document", "number")
    )
    queries = _texts_of(query, "query", kind, before)
    documents = _texts_of(document, "document", kind, before)
    numbers = numbers_of(number, kind, before)
    check_labels_or_scores(numbers, kind, queries, documents, before)
    return table_of_texts(queries, documents, numbers)


def numbers_of(values: ArrayLike | Column, kind: Kind, before: int = 0) -> np.ndarray:
    """Labels or scores as float64. A text must be a decimal, as in lines of TREC."""
    name = kind.number[0]
    if isinstance(values, (list, tuple)):
        rows = list(values)
    else:
        array = np.asarray(values)
        rows = array.ravel().tolist() if array.dtype.kind in "OSTU" else []
    if any(issubclass(one, (str, bytes)) for one in set(map(type, rows))):
        for row, one in enumerate(rows):
            if isinstance(one, (str, bytes)) and decimal(one) is None:
                raise ValueError(
                    f"{name} must be numbers, and that of row {before + row} is {one!r}."
                )
    return check.as_vector(name, values)


def check_labels_or_scores(
    numbers: np.ndarray, kind: Kind, queries: Texts, documents: Texts, before: int = 0
) -> None:
    """Raise ValueError if a number is neither a label nor a score."""
    if kind is QRELS:
        wrong = np.flatnonzero(check.are_no_labels(np.maximum(numbers, 0.0)))  # below 0 is allowed
        if len(wrong):
            raise check.bad_label(float(numbers[wrong[0]]), before + int(wrong[0]))
    elif not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(
            f"score of document {documents.name(row)!r} of query {queries.name(row)!r} is "
            f"{numbers[row]}: it must be a finite number."
        )


def _as_list(column: Column) -> list[Any]:
    return column if isinstance(column, list) else column.to_pylist()


def _joined(columns: Sequence[Column]) -> Column:
    """One column of the rows of all blocks."""
    lists = [column for column in columns if isinstance(column, list)]
    if lists:
        return lists[0] if len(lists) == 1 else list(chain(*lists))
    import pyarrow as pa

    arrays: Sequence[pa.ChunkedArray] = columns
    return pa.concat_arrays([chunk for column in arrays for chunk in column.chunks])


def _texts_of(ids: Column, what: str, kind: Kind, before: int) -> Texts:
    """Ids of a list or an array of Arrow; raises ValueError unless they are texts or whole."""
    if not isinstance(ids, list):
        return _of_arrow(ids, what, kind, before)
    types: set[type] = set(map(type, ids))
    wrong = {one for one in types if one is bool or not issubclass(one, (str, bytes, Integral))}
    if wrong:
        row = next(row for row, one in enumerate(ids) if type(one) in wrong)
        raise ValueError(
            f"the id of the {what} of row {before + row} of the {kind.name} is {ids[row]!r}: ids "
            "are texts or whole numbers."
        )
    return Texts.of(ids, what)


def _of_arrow(ids: pa.ChunkedArray, what: str, kind: Kind, before: int) -> Texts:
    """Ids of an array of Arrow, without a Python object for each id."""
    import pyarrow as pa

    texts = ("string", "large_string", "string_view", "binary", "large_binary")
    if str(ids.type) not in texts and not pa.types.is_integer(ids.type):
        raise ValueError(
            f"the column of {what} ids of the {kind.name} is of type {ids.type}: ids are texts or "
            "whole numbers."
        )
    if ids.null_count:
        row = int(np.argmax(ids.is_null()))
        raise ValueError(f"the id of the {what} of row {before + row} is missing.")
    array = ids.cast(pa.large_string())
    _, places, data = array.buffers()
    edges = np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
    return Texts(memoryview(data)[edges[0] : edges[-1]] if data else b"", edges - edges[0])
