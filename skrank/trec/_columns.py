"""Columns of tables and dicts, and a checked table of polars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from numbers import Integral
from operator import xor
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank.trec import _polars as pl

Where: TypeAlias = Callable[[int], str]  # names a row, for messages


class Columns(NamedTuple):
    """Query, document and number of each row, and perhaps the run and the rank.

    `field` says what the numbers are: "label", "score", "rank" or "distance".
    """

    qid: Any
    docid: Any
    number: Any
    field: str
    run: Any = None
    rank: Any = None


@dataclass
class Reading:
    """How sources are read.

    Attributes
    ----------
    columns, duplicates
        As in `skrank.trec.evaluate`.
    ranks : bool
        Whether ranks may contradict scores.
    used : bool
        Whether `columns` applied to a source.
    """

    columns: Any = None
    duplicates: str = "error"
    ranks: bool = False
    used: bool = False

    def __post_init__(self) -> None:
        check.check_choice("duplicates", self.duplicates, ("error", "first", "max"))
        self.columns = check.check_columns(self.columns)

    def by_name(self, kind: str) -> dict[str, str]:
        """Names of columns by field, for fields of the kind."""
        given = self.columns if isinstance(self.columns, dict) else {}
        found = {field: given[field] for field in check.FIELDS[kind] if field in given}
        self.used |= bool(found)
        return found

    def in_order(self, kind: str) -> list[str] | None:
        """The fields of a file without a header, if it is of this kind."""
        if not isinstance(self.columns, list) or not set(check.NUMBERS[kind]) & {*self.columns}:
            return None
        self.used = True
        return self.columns

    def check_used(self) -> None:
        """Raise ValueError if `columns` applied to no source."""
        if self.columns and not self.used:
            raise ValueError(
                f"{check.shown_columns(self.columns)} applies to no source: names are those of "
                "columns of tables, and a list of fields is that of a file without a header."
            )


def columns_of(names: Iterable[Any], table: Any, kind: str, reading: Reading, what: str) -> Columns:
    """The columns of a table, from which they are taken by name; messages call it `what`."""
    by_text = {str(name): name for name in names}
    chosen = check.chosen_columns(list(map(str, names)), kind, reading.by_name(kind), what)
    if isinstance(table, pl.LazyFrame):
        table = table.select({*chosen.values()}).collect()
    return in_fields({field: table[by_text[name]] for field, name in chosen.items()})


def in_fields(by_field: Mapping[str, Any]) -> Columns:
    """Columns by field; a distance or a score comes before a rank."""
    numbers = ("label", "distance", "score", "rank")
    field = next(field for field in numbers if field in by_field)
    more = (by_field.get("run"), by_field.get("rank"))
    return Columns(by_field["qid"], by_field["docid"], by_field[field], field, *more)


def of_queries(content: Mapping[Any, Any], kind: str, what: str) -> tuple[Columns, Where]:
    """The columns of a dict from queries to numbers by document, or to lists of documents.

    Raises
    ------
    ValueError
        If the value of a query is something else, with the query.
    """
    by_document = isinstance(next(iter(content.values()), {}), Mapping)
    lists = (list, tuple, np.ndarray, *([set, frozenset] if kind == "qrels" else []))
    kinds = Mapping if by_document else lists
    wrong = next((query for query, part in content.items() if not isinstance(part, kinds)), None)
    if wrong is not None or check.names_columns(content):
        raise check.not_by_query(content, wrong, what)
    queries = [query for query, part in content.items() for _ in part]
    documents = list(chain(*content.values()))
    field, numbers = check.NUMBERS[kind][0], [1] * len(documents)
    if by_document:
        numbers = list(chain(*(part.values() for part in content.values())))
    elif kind == "run":
        field = "rank"
        numbers = [rank for part in content.values() for rank in range(1, len(part) + 1)]
    columns = Columns(queries, documents, numbers, field, rank=numbers if field == "rank" else None)
    return columns, lambda row: f"query {check.brief(queries[row])} of {what}"


# make a table -------------------------------------------------------------------------------------


def table_of(columns: Columns, where: Where, what: str, duplicates: str) -> pl.DataFrame:
    """Columns "qid" and "docid" of texts, "number" of labels or scores, perhaps "run" and "rank".

    Ranks and distances become scores of the opposite sign. `what` is the name of the whole.

    Raises
    ------
    ValueError
        With the row, if an id is missing or neither a text nor a whole number, a number is not a
        label or a score, or a query has a document twice; if there is no row.
    """
    parts = {
        "qid": _ids(columns.qid, "query", where),
        "docid": _ids(columns.docid, "document", where),
        "number": _numbers(columns.number, columns.field, where, what),
    }
    if columns.run is not None:
        parts["run"] = _ids(columns.run, "run", where)
    if columns.rank is not None:  # perhaps not a number, as trec_eval ignores the rank
        rank = pl.Series(columns.rank, strict=False)
        parts["rank"] = rank.cast(pl.Float64, strict=False).fill_null(np.nan)
    table = pl.DataFrame(parts)
    if not len(table):
        raise ValueError(f"{what} holds no document.")
    _check_numbers(table, columns.field, where)
    if columns.field in ("rank", "distance"):
        table = table.with_columns(-pl.col("number"))
    return _without_duplicates(table, where, duplicates)


def _without_duplicates(table: pl.DataFrame, where: Where, duplicates: str) -> pl.DataFrame:
    """The table with one row of each document of a query."""
    ids = [name for name in ("run", "qid", "docid") if name in table.columns]
    keys = reduce(xor, (table[name].hash(seed) for seed, name in enumerate(ids)))
    if keys.n_unique() == len(table):  # else there is a duplicate, or two pairs have one key
        return table
    if duplicates != "error":
        ordered = table.with_row_index("row")
        if duplicates == "max":
            number = pl.col("number").fill_nan(-np.inf)
            ordered = ordered.sort(number, descending=True, maintain_order=True)
        return ordered.unique(ids, keep="first", maintain_order=True).sort("row").drop("row")
    for row in table.select((~pl.struct(ids).is_first_distinct()).arg_true()).to_series():
        raise check.duplicate(table[row, "docid"], table[row, "qid"], where(row))
    return table


def _check_numbers(table: pl.DataFrame, field: str, where: Where) -> None:
    """Raise ValueError for the first number that is not a label, or a score that is not finite."""
    numbers = table["number"].to_numpy()
    labels = check.are_no_labels(np.maximum(numbers, 0.0)) if field == "label" else None
    wrong = ~np.isfinite(numbers) if labels is None else labels
    if wrong.any():
        row = int(np.argmax(wrong))
        pair = table[row, "docid"], table[row, "qid"]
        raise check.bad_number(field, numbers[row], *pair, where(row))


def _values(values: Any) -> list[Any]:
    if isinstance(values, pl.Series):
        return values.to_list()
    return values if isinstance(values, list) else np.asarray(values, object).tolist()


def as_text(value: object) -> str | None:
    """An id as text; None unless it is a text, bytes of UTF-8 or a whole number."""
    if isinstance(value, str):
        valid = value.isascii() or value.encode(errors="ignore").decode() == value
        return value if valid else None
    if isinstance(value, bytes):
        return value.decode()
    return str(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def _ids(values: Any, what: str, where: Where) -> pl.Series:
    """Ids as texts; raises ValueError unless they are texts or whole numbers."""
    types = (pl.String, pl.Categorical, pl.Enum)
    if isinstance(values, pl.Series) and (values.dtype.is_integer() or values.dtype in types):
        column = values.cast(pl.String)
    else:
        column = pl.Series(map(as_text, _values(values)), dtype=pl.String)
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise ValueError(
            f"{where(row)}: the id of the {what} is {check.brief(_values(values)[row])}: ids are "
            "texts or whole numbers."
        )
    return column


def _numbers(values: Any, field: str, where: Where, what: str) -> pl.Series:
    """Labels, scores or ranks in double precision; a text must be a decimal, or a label as L2."""
    if not isinstance(values, pl.Series):
        numeric = getattr(getattr(values, "dtype", None), "kind", "O") in "fiub"
        listed = [] if numeric else _values(values)
        types = set(map(type, listed))
        for kind in types - {str, bytes}:
            if hasattr(kind, "__len__"):
                row = next(row for row, value in enumerate(listed) if isinstance(value, kind))
                raise check.not_a_number(field, listed[row], where(row))
        if not {str, bytes} & types:
            with check.about(what):
                return pl.Series(check.as_vector(field, values) if len(values) else np.zeros(0))
        texts = [None if value is None else str(value) for value in listed]
        values = pl.Series(texts, dtype=pl.String)
    numbers, spelled = values.cast(pl.Float64, strict=False), values.dtype == pl.String
    if spelled and numbers.null_count() > values.null_count():
        stripped = values.str.strip_chars(" \t")
        stripped = stripped.str.replace(r"^L(\d+)$", "$1") if field == "label" else stripped
        numbers = stripped.cast(pl.Float64, strict=False)
    lost = numbers.null_count() > values.null_count()
    if lost or (spelled and numbers.is_nan().any()):
        wrong = values.is_not_null() & (numbers.is_null() | numbers.is_nan())
        row = wrong.arg_true()[0]
        raise check.not_a_number(field, values[row], where(row))
    return numbers.fill_null(np.nan) if numbers.null_count() else numbers
