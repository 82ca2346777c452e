"""One table of judgments or of a run, from any object in memory that holds rows.

`columns_of` finds the columns of an object, and `table_of` makes a table of polars of them:
columns "qid" and "docid" of texts, and "number" of labels or scores.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from skrank import _validation as check

if TYPE_CHECKING:
    import polars as pl
else:
    from skrank.trec import _polars as pl

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Where: TypeAlias = Callable[[int], str]  # says where a row is, for messages
# Queries and documents of judgments, which decide between columns that can be the ids of a run
Known: TypeAlias = tuple[Iterable[str], Iterable[str]]

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
# places of query, document and number in a row without names, by the length of the row
PLACES: dict[str, dict[int, tuple[int, int, int]]] = {
    "qrels": {3: (0, 1, 2), 4: (0, 2, 3)},
    "run": {3: (0, 1, 2), 6: (0, 2, 4)},
}
RANK = 3  # place of the rank in a row of six
SHAPES = (
    "expected a path, a file object, a table or records with named fields, a dict from queries to "
    "dicts from documents to numbers, or a dict from queries to lists of documents"
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


def columns_of(thing: Any, kind: str, known: Known | None = None) -> Columns | None:
    """The columns of an object in memory; None if it does not hold rows, such as a list of runs.

    Parameters
    ----------
    thing : object
        See `skrank.trec.evaluate`.
    kind : {"qrels", "run"}
    known : Known, optional

    Raises
    ------
    ValueError
        If a column or a field is missing.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(thing, pandas.Series):
        if thing.index.nlevels != 2:
            raise ValueError(
                f"the {kind} is a Series without documents: its index must have the levels (qid, "
                "docid), as after set_index(['qid', 'docid'])."
            )
        named = str(thing.index.names[0]).lower() in (*QUERY, *DOCUMENT)
        thing = thing.rename_axis(thing.index.names if named else ["qid", "docid"])
        thing = thing.rename("rank" if thing.name == "rank" else NUMBER[kind][0]).reset_index()
    if pandas is not None and isinstance(thing, pandas.DataFrame):
        if any(str(name).lower() in (*QUERY, *DOCUMENT) for name in thing.index.names):
            thing = thing.reset_index()
        check_names(list(map(str, thing.columns)))
        return of_names({str(name): thing[name] for name in thing.columns}, kind, known)
    if isinstance(thing, pl.LazyFrame):
        thing = thing.collect()
    if hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__"):
        return of_names(pl.DataFrame(thing).to_dict(), kind, known)
    if hasattr(thing, "qrels_iter") and kind == "qrels":  # a data set of ir_datasets
        thing = thing.qrels_iter()
    elif type(thing).__module__.split(".")[0] == "ranx" and hasattr(thing, "to_dict"):
        thing = thing.to_dict()
    if isinstance(thing, Mapping):
        named = is_record(thing, kind) and all(map(_is_list, thing.values()))
        return of_names(thing, kind, known) if named else _of_queries(thing, kind)
    if isinstance(thing, Iterable) and not is_file(thing):
        records = list(thing)
        if records and is_record(records[0], kind):
            return of_records(records, kind, known, rows_of_memory(kind))
    return None


def of_names(named: Mapping[str, Any], kind: str, known: Known | None) -> Columns:
    """The columns of a table with names."""
    check_names(list(named))
    by_name = {name.lower(): name for name in named}

    def chosen(names: Sequence[str], what: str, ids: Iterable[str] | None = None) -> str:
        found = [by_name[name] for name in names if name in by_name]
        if not found:
            swapped = what == "scores" and not by_name.keys().isdisjoint(NUMBER["qrels"])
            raise ValueError(
                f"no column has the {what} of the {kind}: rename one of the columns "
                f"({', '.join(named)}) to {' or '.join(map(repr, names[:3]))}."
                + " They look like qrels: qrels come first, then runs."
                * swapped
            )
        if len(found) > 1 and ids is not None:
            judged = set(ids)
            found.sort(key=lambda name: judged.isdisjoint(map(str, _listed(named[name]))))
        return found[0]

    queries, documents = known or (None, None)
    query, document = chosen(QUERY, "queries", queries), chosen(DOCUMENT, "documents", documents)
    number = chosen(NUMBER[kind], f"{NUMBER[kind][0]}s")
    columns = Columns(named[query], named[document], named[number])
    if kind == "qrels":
        return columns
    run = next((named[by_name[name]] for name in RUN if name in by_name), None)
    rank = named[by_name["rank"]] if "rank" in by_name else None
    return columns._replace(run=run, rank=rank, ranked=number.lower() == "rank")


def check_names(names: list[str]) -> None:
    """Refuse two columns with one name, if it is one that is read."""
    for name, count in Counter(map(str.lower, names)).items():
        if count > 1 and name in (*QUERY, *DOCUMENT, *NUMBER["qrels"], *NUMBER["run"], *RUN):
            raise ValueError(f"{count} columns are called {name!r}: rename all but one.")


def _is_list(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def _of_queries(thing: Mapping[Any, Any], kind: str) -> Columns | None:
    """The columns of a mapping from queries to numbers by document, or to lists of documents."""
    parts = list(thing.values())
    if not parts:
        return None
    if all(isinstance(part, Mapping) for part in parts):
        ids = list(chain(*parts))
        numbers = list(chain(*(part.values() for part in parts)))
        if any(isinstance(one, Mapping) or _is_list(one) for one in numbers[:100]):
            return None  # a mapping from names to runs
        return Columns([one for one, part in thing.items() for _ in part], ids, numbers)
    if not all(isinstance(part, (list, tuple, set, frozenset, np.ndarray)) for part in parts):
        return None
    ids = list(chain(*parts))
    if not ids or not all(isinstance(one, (str, Integral)) for one in ids):
        return None
    query = [one for one, part in thing.items() for _ in part]
    if kind == "qrels":
        return Columns(query, ids, [1] * len(ids))
    if any(isinstance(part, (set, frozenset)) for part in parts):
        raise ValueError("the documents of a run are in a set, which has no order: pass lists.")
    ranks = [rank for part in parts for rank in range(1, len(part) + 1)]
    return Columns(query, ids, ranks, rank=ranks, ranked=True)


def is_record(row: object, kind: str) -> bool:
    """Whether this is one row: a tuple or list, a mapping, or an object with named fields."""
    if isinstance(row, Mapping):
        names = {str(name).lower() for name in row}
        return not names.isdisjoint(QUERY) and not names.isdisjoint(DOCUMENT)
    if hasattr(row, "query_id") and hasattr(row, "doc_id"):
        return not hasattr(row, "columns")  # a frame has its columns as attributes
    return isinstance(row, (tuple, list)) and len(row) in PLACES[kind]


def of_records(rows: list[Any], kind: str, known: Known | None, where: Where) -> Columns:
    """The columns of records like the first: mappings, objects with named fields, or tuples."""
    first = rows[0]
    wanted = (*QUERY, *DOCUMENT, *NUMBER[kind], *RUN)
    if isinstance(first, Mapping):
        names = [name for name in first if str(name).lower() in wanted]
        for place, row in enumerate(rows):
            if not isinstance(row, Mapping) or not all(name in row for name in names):
                raise ValueError(f"{where(place)}: no record with {', '.join(names)}.")
        return of_names({name: [row[name] for row in rows] for name in names}, kind, known)
    if hasattr(first, "query_id"):
        names = [name for name in wanted if hasattr(first, name)]
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        return of_names(columns, kind, known)
    for place, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != len(first):
            raise ValueError(
                f"{where(place)}: the record is {row!r}, and the first has {len(first)} fields: a "
                f"record is (qid, docid, {NUMBER[kind][0]})."
            )
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
    """The table of columns, checked; it has the columns "run" and "rank" if these are given.

    Raises
    ------
    ValueError
        With the row, if an id is missing or neither a text nor a whole number, or a number is not
        a label or a score; if there is no row, or columns differ in length.
    """
    number = _numbers(columns.number, kind, where)
    parts = {
        "qid": _ids(columns.qid, "query", where),
        "docid": _ids(columns.docid, "document", where),
        "number": number,
    }
    if columns.run is not None:
        parts["run"] = _ids(columns.run, "run", where)
    if columns.rank is not None:
        parts["rank"] = number if columns.ranked else _numbers(columns.rank, "rank", where)
    if len({len(part) for part in parts.values()}) > 1:
        raise ValueError(f"the columns of the {kind} differ in length.")
    return checked(pl.DataFrame(parts), kind, where, columns.ranked)


def checked(table: pl.DataFrame, kind: str, where: Where, ranked: bool | None) -> pl.DataFrame:
    """A table whose numbers are labels or scores; ranks become scores of the opposite sign."""
    if not len(table):
        raise ValueError(f"the {kind} hold{'s' * (kind == 'run')} no document.")
    numbers, labels = table["number"].to_numpy(), kind == "qrels"
    wrong = check.are_no_labels(np.maximum(numbers, 0.0)) if labels else ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        allowed = (
            f"0 or between {check.LEAST_LABEL:g} and {check.MOST_LABEL:g}" if labels else "finite"
        )
        raise ValueError(
            f"{where(row)}: {NUMBER[kind][0]} of document {table[row, 'docid']!r} of query "
            f"{table[row, 'qid']!r} is {numbers[row]:g}: it must be {allowed}."
        )
    again = _repeated(table)
    if again is not None:
        first, second = again
        raise ValueError(
            f"{where(second)}: document {table[second, 'docid']!r} occurs twice in query "
            f"{table[second, 'qid']!r}, first in {where(first)}: keep one of them."
        )
    if ranked is None:
        place = pl.int_range(1, pl.len() + 1).over("qid")
        counted = table.select((pl.col("number") == place).all()).item()
        ranked = counted and table["qid"].n_unique() < len(table)
        if ranked:
            table = table.with_columns(rank="number")
    return table.with_columns(-pl.col("number")) if ranked else table


def _repeated(table: pl.DataFrame) -> tuple[int, int] | None:
    """The first two rows of a document that a query has twice."""
    names = [name for name in ("run", "qid", "docid") if name in table.columns]
    pair = pl.struct(names)
    if table.select(pair.hash().n_unique()).item() == len(table):
        return None
    again = table.select(~pair.is_first_distinct()).to_series().arg_true()
    if not len(again):
        return None  # two pairs have one hash
    same = pl.all_horizontal(pl.col(name) == table[again[0], name] for name in names)
    return table.select(same).to_series().arg_true()[0], again[0]


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


def _numbers(values: Any, kind: str, where: Where) -> pl.Series:
    """Labels, scores or ranks in double precision; a text must be a decimal."""
    name = NUMBER[kind][0] if kind in NUMBER else kind
    texts = values
    if not isinstance(values, pl.Series):
        numeric = getattr(getattr(values, "dtype", None), "kind", "O") in "fiub"
        listed = [] if numeric else _listed(values)
        if not any(issubclass(one, (str, bytes)) for one in set(map(type, listed))):
            return pl.Series(check.as_vector(name, values) if len(values) else np.zeros(0))
        texts = pl.Series([one and str(one) for one in listed], dtype=pl.String)
    if texts.dtype == pl.String:
        texts = texts.str.strip_chars(" \t")
    numbers = texts.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & texts.is_not_null()).arg_true()
    if len(wrong):
        raise ValueError(f"{where(wrong[0])}: {name} {texts[wrong[0]]!r} is not a number.")
    return numbers.fill_null(np.nan)
