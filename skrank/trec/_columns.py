"""Judgments and runs in memory: the columns of any object that holds rows, and a checked table.

`columns_of` finds the columns of an object, and `table_of` makes a table of polars of them:
columns "qid" and "docid" of texts, "number" of labels or scores, and "run" and "rank" if given.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from numbers import Integral
from operator import xor
from typing import IO, Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from skrank import _validation as check
from skrank.trec import _polars as pl

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Where: TypeAlias = Callable[[int], str]  # says where a row is, for messages

# Names of columns in any case of letters, the most specific first: "docno" is the id of a document
# where "docid" is a number of PyTerrier, and "document" may be its text.
QUERY = ("query_id", "query-id", "topic_id", "topic-id", "q_id", "qid", "topic", "query")
DOCUMENT = ("docno", "document_id", "document-id", "corpus_id", "corpus-id", "doc_id", "docid",
            "did", "pid", "document")  # fmt: skip
NUMBER = {
    "qrels": ("label", "relevance", "rel", "grade", "score"),
    "run": ("score", "sim", "similarity", "rank"),
}
RUN = ("run", "run_id", "system", "tag")
WANTED = {kind: (*QUERY, *DOCUMENT, *NUMBER[kind], *RUN, "rank") for kind in NUMBER}
# places of query, document and number in a row without names, by the length of the row
PLACES: dict[str, dict[int, tuple[int, int, int]]] = {
    "qrels": {3: (0, 1, 2), 4: (0, 2, 3)},
    "run": {3: (0, 1, 2), 6: (0, 2, 4)},
}
RANK = 3  # place of the rank in a row of six
SHAPES = (
    "expected a file, a table or records with named fields, or a dict from queries to documents"
)


class Columns(NamedTuple):
    """Query, document and number of each row; the run and the rank, if the rows have them.

    `ranked` is True if the numbers are ranks, and None if only the numbers can show it.
    """

    qid: Any
    docid: Any
    number: Any
    run: Any = None
    rank: Any = None
    ranked: bool | None = False


def is_file(source: object) -> TypeGuard[Source]:
    """Whether this is a path or a file object."""
    return isinstance(source, (str, os.PathLike)) or hasattr(source, "read")


def rows_of_memory(kind: str) -> Where:
    """Names of rows of objects in memory."""
    return lambda row: f"row {row} of the {kind}"


# find the columns ---------------------------------------------------------------------------------


def columns_of(thing: Any, kind: str) -> Columns | None:
    """The columns of an object in memory; None if it does not hold rows, such as a list of runs.

    `thing` is as in `skrank.trec.evaluate`, and `kind` is "qrels" or "run". Raises ValueError if a
    column or a field is missing.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(thing, pandas.Series):
        if thing.index.nlevels != 2:
            raise ValueError(f"the {kind} is a Series without the index levels (qid, docid).")
        levels = thing.index.names if _has_ids(thing.index.names) else ["qid", "docid"]
        number = "rank" if thing.name == "rank" else NUMBER[kind][0]
        thing = thing.rename_axis(levels).rename(number).to_frame()
    if pandas is not None and isinstance(thing, pandas.DataFrame):
        thing = thing.reset_index() if _has_ids(thing.index.names) else thing
        return of_names(thing.columns, [column for _, column in thing.items()], kind)
    if isinstance(thing, pl.LazyFrame):
        names = thing.collect_schema().names()
        of_names(names, names, kind)  # the error for a missing column lists all names
        thing = thing.select(name for name in names if name.lower() in WANTED[kind]).collect()
    if hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__"):
        frame = pl.DataFrame(thing)
        return of_names(frame.columns, frame.get_columns(), kind)
    if hasattr(thing, "qrels_iter") and kind == "qrels":  # a data set of ir_datasets
        thing = thing.qrels_iter()
    elif type(thing).__module__.split(".")[0] == "ranx" and hasattr(thing, "to_dict"):
        thing = thing.to_dict()
    if isinstance(thing, Mapping):
        named = is_record(thing, kind) and all(map(_is_list, thing.values()))
        return of_names(thing, list(thing.values()), kind) if named else _of_queries(thing, kind)
    if isinstance(thing, Iterable) and not is_file(thing):
        records = list(thing)
        if records and is_record(records[0], kind):
            return of_records(records, kind, rows_of_memory(kind))
    return None


def _has_ids(levels: Iterable[object]) -> bool:
    return any(str(name).lower() in (*QUERY, *DOCUMENT) for name in levels)


def of_names(names: Iterable[object], columns: Sequence[Any], kind: str) -> Columns:
    """The columns of a table with names."""
    given = list(map(str, names))
    by_name = dict(zip(map(str.lower, given), columns, strict=True))
    for name, count in Counter(map(str.lower, given)).items():
        if count > 1 and name in WANTED[kind]:
            raise ValueError(f"{count} columns are called {name!r}: rename all but one.")

    def chosen(wanted: Sequence[str]) -> str:
        for name in wanted:
            if name in by_name:
                return name
        raise ValueError(
            f"the {kind} has no column {wanted[0]!r}: rename one of {', '.join(given)} to it. "
            "Qrels come first, then runs."
        )

    number = chosen(NUMBER[kind])
    columns = Columns(by_name[chosen(QUERY)], by_name[chosen(DOCUMENT)], by_name[number])
    if kind == "qrels":
        return columns
    run = next((by_name[name] for name in RUN if name in by_name), None)
    return columns._replace(run=run, rank=by_name.get("rank"), ranked=number == "rank")


def _is_list(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def _of_queries(thing: Mapping[Any, Any], kind: str) -> Columns | None:
    """The columns of a mapping from queries to numbers by document, or to lists of documents."""
    parts = list(thing.values())
    by_document = all(isinstance(part, Mapping) for part in parts)
    lists = (list, tuple, set, frozenset, np.ndarray)
    if not parts or not (by_document or all(isinstance(part, lists) for part in parts)):
        return None
    query, ids = [one for one, part in thing.items() for _ in part], list(chain(*parts))
    if by_document:
        numbers = list(chain(*(part.values() for part in parts)))
        if any(isinstance(one, Mapping) or _is_list(one) for one in numbers[:100]):
            return None  # a mapping from names to runs
        return Columns(query, ids, numbers)
    if not ids or not all(isinstance(one, (str, Integral)) for one in ids):
        return None
    if kind == "qrels":
        return Columns(query, ids, [1] * len(ids))
    if any(isinstance(part, (set, frozenset)) for part in parts):
        raise ValueError("the documents of a run are in a set, which has no order: pass lists.")
    ranks = [rank for part in parts for rank in range(1, len(part) + 1)]
    return Columns(query, ids, ranks, rank=ranks, ranked=True)


def is_record(row: Any, kind: str) -> bool:
    """Whether this is one row: a tuple or list, a mapping, or an object with named fields."""
    if isinstance(row, Mapping):
        names = {str(name).lower() for name in row}
        return not names.isdisjoint(QUERY) and not names.isdisjoint(DOCUMENT)
    if hasattr(row, "query_id") and hasattr(row, "doc_id"):
        return not hasattr(row, "columns")  # a frame has its columns as attributes
    sized = isinstance(row, (tuple, list)) and len(row) in PLACES[kind]
    return sized and not any(_is_list(one) for one in row)


def of_records(rows: list[Any], kind: str, where: Where) -> Columns:
    """The columns of records like the first: mappings, objects with named fields, or tuples."""
    first = rows[0]
    if hasattr(first, "query_id"):
        names = [name for name in WANTED[kind] if hasattr(first, name)]
        return of_names(names, [[getattr(row, name) for row in rows] for name in names], kind)
    named = isinstance(first, Mapping)
    ours = WANTED[kind] if is_record(first, kind) else None  # None: all fields, for the error
    names = [one for one in first if not ours or str(one).lower() in ours] if named else []
    for place, row in enumerate(rows):
        alike = isinstance(row, Mapping) and row.keys() >= set(names)
        if not named:
            alike = isinstance(row, (tuple, list)) and len(row) == len(first)
        if not alike:
            fields = ", ".join(map(str, names)) or f"{len(first)} fields"
            raise ValueError(f"{where(place)}: the record {row!r} does not have {fields}.")
    if named:
        return of_names(names, [[row[name] for row in rows] for name in names], kind)
    return of_fields(list(zip(*rows, strict=True)), kind)


def of_fields(fields: Sequence[Any], kind: str) -> Columns:
    """Columns without names, as in lines of TREC; three columns of a run may end with a rank."""
    query, document, number = PLACES[kind][len(fields)]
    columns = Columns(fields[query], fields[document], fields[number])
    if kind == "run" and len(fields) == 3:
        return columns._replace(ranked=None)
    return columns._replace(rank=fields[RANK]) if kind == "run" else columns


# make a table -------------------------------------------------------------------------------------


def table_of(columns: Columns, kind: str, where: Where) -> pl.DataFrame:
    """The table of columns, checked; ranks become scores of the opposite sign.

    Raises
    ------
    ValueError
        With the row, if an id is missing or neither a text nor a whole number, a number is not a
        label or a score, or a query has a document twice; if there is no row, or columns differ in
        length.
    """
    parts = {
        "qid": _ids(columns.qid, "query", where),
        "docid": _ids(columns.docid, "document", where),
        "number": _numbers(columns.number, NUMBER[kind][0], where),
    }
    if columns.run is not None:
        parts["run"] = _ids(columns.run, "run", where)
    if columns.rank is not None:
        parts["rank"] = _numbers(columns.rank, "rank", where)
    if len({len(part) for part in parts.values()}) > 1:
        raise ValueError(f"the columns of the {kind} differ in length.")
    table = pl.DataFrame(parts)
    if not len(table):
        raise ValueError(f"the {kind} hold{'s' * (kind == 'run')} no document.")
    _check_numbers(table, kind, where)
    ids = [name for name in ("run", "qid", "docid") if name in table.columns]
    keys = reduce(xor, (table[name].hash(seed) for seed, name in enumerate(ids)))
    if keys.n_unique() < len(table):  # or two pairs have one key
        pair = pl.struct(ids)
        for row in table.select((~pair.is_first_distinct()).arg_true()).to_series():
            raise ValueError(
                f"{where(row)}: document {table[row, 'docid']!r} occurs twice in query "
                f"{table[row, 'qid']!r}: keep one of them."
            )
    ranked = columns.ranked
    if ranked is None:
        place = pl.int_range(1, pl.len() + 1).over("qid")
        counted = table.select((pl.col("number") == place).all()).item()
        ranked = counted and table["qid"].n_unique() < len(table)
        table = table.with_columns(rank="number") if ranked else table
    return table.with_columns(-pl.col("number")) if ranked else table


def _check_numbers(table: pl.DataFrame, kind: str, where: Where) -> None:
    """Raise ValueError for the first number that is not a label, or a score that is not finite."""
    numbers, labels = table["number"].to_numpy(), kind == "qrels"
    wrong = check.are_no_labels(np.maximum(numbers, 0.0)) if labels else ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        allowed = f"0 or from {check.LEAST_LABEL:g} to {check.MOST_LABEL:g}" if labels else "finite"
        raise ValueError(
            f"{where(row)}: {NUMBER[kind][0]} of document {table[row, 'docid']!r} of query "
            f"{table[row, 'qid']!r} is {numbers[row]:g}: it must be {allowed}."
        )


def _listed(values: Any) -> list[Any]:
    if isinstance(values, pl.Series):
        return values.to_list()
    return values if isinstance(values, list) else np.asarray(values, object).tolist()


def as_text(one: object) -> str | None:
    """An id as text; None unless it is a text, bytes of UTF-8 or a whole number."""
    if isinstance(one, str):
        return one if one.isascii() or one.encode(errors="ignore").decode() == one else None
    if isinstance(one, bytes):
        return one.decode()
    return str(one) if isinstance(one, Integral) and not isinstance(one, bool) else None


def _ids(values: Any, what: str, where: Where) -> pl.Series:
    """Ids as texts; raises ValueError unless they are texts or whole numbers."""
    if isinstance(values, pl.Series) and (
        values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum)
    ):
        column = values.cast(pl.String)
    else:
        column = pl.Series(map(as_text, _listed(values)), dtype=pl.String)
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise ValueError(
            f"{where(row)}: the id of the {what} is {_listed(values)[row]!r}: ids are texts or "
            "whole numbers."
        )
    return column


def _numbers(values: Any, name: str, where: Where) -> pl.Series:
    """Labels, scores or ranks in double precision; a text must be a decimal, or a label as L2."""
    if not isinstance(values, pl.Series):
        numeric = getattr(getattr(values, "dtype", None), "kind", "O") in "fiub"
        listed = [] if numeric else _listed(values)
        if not any(issubclass(one, (str, bytes)) for one in set(map(type, listed))):
            return pl.Series(check.as_vector(name, values) if len(values) else np.zeros(0))
        values = pl.Series([None if one is None else str(one) for one in listed], dtype=pl.String)
    numbers, texts = values.cast(pl.Float64, strict=False), values.dtype == pl.String
    if texts and numbers.null_count() > values.null_count():
        spelled = values.str.strip_chars(" \t")
        spelled = spelled.str.replace(r"^L(\d+)$", "$1") if name == "label" else spelled
        numbers = spelled.cast(pl.Float64, strict=False)
    lost = numbers.null_count() > values.null_count()
    if lost or (texts and numbers.is_nan().any()):
        wrong = values.is_not_null() & (numbers.is_null() | numbers.is_nan())
        row = wrong.arg_true()[0]
        raise ValueError(f"{where(row)}: {name} {values[row]!r} is not a number.")
    return numbers.fill_null(np.nan) if numbers.null_count() else numbers
