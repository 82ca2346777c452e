"""Columns of tables and dicts, and a checked table of polars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank.trec import _polars as pl

Where: TypeAlias = Callable[[int], str]  # names a row, for messages
Fields: TypeAlias = dict[str, Any]  # columns by field: "qid", "docid", "score", ...


def fields_of(table: Any, kind: str, reading: check.Reading, what: str) -> Fields:
    """The columns of a table by field; messages call it `what`."""
    of_polars = hasattr(table, "collect_schema")
    names = list(table.collect_schema() if of_polars else table)
    texts = list(map(str, names))
    chosen = check.chosen_columns(texts, kind, reading.names(kind), what)
    if of_polars:
        table = table.lazy().select([*chosen.values()]).collect()
    return {field: table[names[texts.index(name)]] for field, name in chosen.items()}


def of_queries(content: Mapping[Any, Any], kind: str, what: str) -> tuple[Fields, Where]:
    """The columns of a dict from queries to numbers by document, or to lists of documents.

    Raises
    ------
    ValueError
        If the value of a query is something else, with the query.
    """
    by_document = isinstance(next(iter(content.values()), {}), Mapping)
    lists = (list, tuple, np.ndarray, *([set, frozenset] if kind == "qrels" else []))
    for query, part in content.items():
        of_columns = query in check.DOCUMENT_COLUMNS  # {"qid": [...], "docid": [...], ...}
        if of_columns or not isinstance(part, Mapping if by_document else lists):
            raise check.not_by_query(query, part, what)
    documents = list(chain(*content.values()))
    columns = {"qid": [query for query, part in content.items() for _ in part], "docid": documents}
    if by_document:
        numbers = [number for part in content.values() for number in part.values()]
        columns[check.NUMBERS[kind][0]] = numbers
    elif kind == "run":
        columns["rank"] = [rank for part in content.values() for rank in range(1, len(part) + 1)]
    else:
        columns["label"] = [1] * len(documents)
    return columns, lambda row: f"query {check.brief(columns['qid'][row])} of {what}"


# make a table -------------------------------------------------------------------------------------


def table_of(columns: Fields, where: Where, what: str, duplicates: str) -> pl.DataFrame:
    """Columns "qid" and "docid" of texts, "number" of labels or scores, perhaps "run" and "rank".

    Ranks and distances become scores of the opposite sign. `what` is the name of the whole.

    Raises
    ------
    ValueError
        With the row, if an id is missing or neither a text nor a whole number, a number is not a
        label or a score, or a query has a document twice; if there is no row.
    """
    table = {field: _ids(columns[field], field, where) for field in _IDS if field in columns}
    if not len(table["qid"]):
        raise ValueError(f"{what} holds no document.")
    # a rank may stand beside a score, which then decides
    field = next(field for field in ("label", "distance", "score", "rank") if field in columns)
    number = _numbers(columns[field], field, where, what, table["docid"])
    table["number"] = -number if field in ("rank", "distance") else number
    if "rank" in columns:  # perhaps not a number, as trec_eval ignores the rank
        # polars cannot cast its type Object, which arrays of objects get
        rank = columns["rank"]
        rank = map(str, rank) if getattr(rank, "dtype", None) is np.dtype(object) else rank
        table["rank"] = pl.Series(rank, strict=False).cast(pl.Float64, strict=False)
    return _without_duplicates(pl.DataFrame(table), where, duplicates)


_IDS = ("run", "qid", "docid")


def _without_duplicates(table: pl.DataFrame, where: Where, duplicates: str) -> pl.DataFrame:
    """The table with one row of each document of a query."""
    ids = [name for name in _IDS if name in table.columns]
    if table.select(ids).hash_rows().n_unique() == len(table):  # else a duplicate, or equal hashes
        return table
    repeated = table.select((~pl.struct(ids).is_first_distinct()).arg_true()).to_series()
    if duplicates == "error" and len(repeated):
        row = repeated[0]
        raise check.duplicate(table[row, "docid"], table[row, "qid"], where(row))
    ordered = table.with_row_index("row")
    if duplicates == "max":
        number = pl.col("number").fill_nan(-np.inf)
        ordered = ordered.sort(number, descending=True, maintain_order=True)
    return ordered.unique(ids, keep="first", maintain_order=True).sort("row").drop("row")


def id_text(value: object) -> str | None:
    """An id as text; None unless it is a text, bytes of UTF-8 or a whole number."""
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    if isinstance(value, str):
        valid = value.isascii() or value.encode(errors="ignore").decode() == value
        return value if valid else None
    return str(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else np.asarray(values, object).tolist()


def _ids(values: Any, field: str, where: Where) -> pl.Series:
    """Ids as texts; raises ValueError unless they are texts or whole numbers."""
    types = (pl.String, pl.Categorical, pl.Enum)
    if isinstance(values, pl.Series) and (values.dtype.is_integer() or values.dtype in types):
        column = values.cast(pl.String)
    else:
        column = pl.Series(map(id_text, _listed(values)), dtype=pl.String)
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise check.bad_value(field, _listed(values)[row], where(row))
    return column


def _numbers(values: Any, field: str, where: Where, what: str, documents: pl.Series) -> pl.Series:
    """Labels, scores, ranks or distances in double precision; NaN where a label is missing."""
    if not isinstance(values, pl.Series):
        numeric = getattr(getattr(values, "dtype", None), "kind", "O") in "fiub"
        listed = [] if numeric else _listed(values)
        if any(hasattr(kind, "__len__") for kind in set(map(type, listed))):  # texts
            texts = [None if value is None else str(value) for value in listed]
            values = pl.Series(texts, dtype=pl.String)
        else:
            with check.about(what):
                values = pl.Series(check.as_vector(field, values))
    if values.dtype.is_temporal():  # polars would convert a date to the number of its day
        values = values.cast(pl.String)
    column = values.cast(pl.Float64, strict=False)
    numbers = column.to_numpy()  # NaN for null
    label = field == "label"
    wrong = check.are_no_labels(np.maximum(numbers, 0.0)) if label else ~np.isfinite(numbers)
    if column.null_count():
        wrong |= (column.is_null() & values.is_not_null()).to_numpy()
    if values.dtype.is_integer():
        wrong |= np.abs(numbers) >= 2.0**53
    if wrong.any():
        row = int(np.argmax(wrong))
        raise check.bad_value(field, values[row], where(row), documents[row])
    return pl.Series(numbers)
