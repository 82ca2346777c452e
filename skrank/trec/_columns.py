"""Columns of judgments and runs that stand in memory, in any of the forms that tools have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank.trec._line_forms import decimal

if TYPE_CHECKING:
    import pandas as pd

QUERY = ("qid", "query_id", "q_id", "query", "topic", "topic_id", "query-id")
DOCUMENT = ("docid", "docno", "doc_id", "did", "document", "document_id", "corpus-id")
LABEL = ("label", "relevance", "rel", "grade", "score")
SCORE = ("score", "sim", "similarity")
_PLURAL = {"query": "queries", "document": "documents"}
RUN = ("run", "run_id", "system", "tag", "name")


@dataclass(frozen=True)
class Form:
    """What the rows are: judgments or a run."""

    kind: str
    number: tuple[str, ...]
    lengths: dict[int, tuple[int, int, int]]  # places of query, document, number by length of a row

    def example(self) -> str:
        """A row as it may be passed."""
        return f"({QUERY[0]}, {DOCUMENT[0]}, {self.number[0]})"


QRELS = Form("qrels", LABEL, {3: (0, 1, 2), 4: (0, 2, 3)})
RUNS = Form("run", SCORE, {3: (0, 1, 2), 6: (0, 2, 4)})


@dataclass(frozen=True)
class Columns:
    """Query, document and number of each row, and the run that it belongs to, if rows say so."""

    qid: Sequence[Any]
    docid: Sequence[Any]
    number: Sequence[Any]
    run: Sequence[Any] | None = None

    def parts(self) -> dict[str, Columns]:
        """The rows of each run, by name in order of first row."""
        if self.run is None:
            return {}
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.run):
            rows.setdefault(str(name), []).append(row)
        if len(rows) == 1:
            return dict.fromkeys(rows, self)
        columns = list(self.qid), list(self.docid), list(self.number)
        return {
            name: Columns(*([column[row] for row in chosen] for column in columns))
            for name, chosen in rows.items()
        }


def columns_of(thing: Any, form: Form) -> Columns | None:
    """The columns of an object in memory; None if it is none of the forms.

    Parameters
    ----------
    thing : dict of dicts, DataFrame of pandas or polars, Arrow table, iterable of records, or \
what ranx, ir_measures and ir_datasets have for it
    form : Form

    Raises
    ------
    ValueError
        If a column or a field is missing; the message names what there is.
    """
    if hasattr(thing, "read"):
        return None
    if is_lazy(thing):
        thing = thing.collect()
    if hasattr(thing, "qrels_iter") and form is QRELS:  # a data set of ir_datasets
        thing = list(thing.qrels_iter())
    elif type(thing).__module__.split(".")[0] == "ranx":
        thing = thing.to_dict()
    if hasattr(thing, "column_names") and hasattr(thing, "column"):  # Arrow
        return of_table({name: thing.column(name).to_pylist() for name in thing.column_names}, form)
    if hasattr(thing, "columns") and hasattr(thing, "__getitem__"):
        return of_table({str(name): thing[name].to_list() for name in thing.columns}, form)
    if isinstance(thing, Mapping):
        return _of_dicts(thing, form) if is_nested(thing) else None
    if isinstance(thing, Iterable) and not isinstance(thing, (str, bytes)):
        rows = list(thing)
        return _of_records(rows, form) if rows and is_record(rows[0], form) else None
    return None


def is_lazy(thing: Any) -> bool:
    """Whether this is a LazyFrame of polars, whose rows are computed by `collect`."""
    return type(thing).__module__.split(".")[0] == "polars" and hasattr(thing, "collect")


def is_nested(thing: Mapping[Any, Any]) -> bool:
    """Whether this maps queries to documents to numbers."""
    inner = [value for value in thing.values() if isinstance(value, Mapping)]
    numbers = [value for documents in inner for value in list(documents.values())[:1]]
    return len(inner) == len(thing) > 0 and not any(isinstance(n, Mapping) for n in numbers)


def is_record(row: object, form: Form) -> bool:
    """Whether this is one row: a tuple, or fields by name."""
    if isinstance(row, Mapping):
        return any(name in row for name in QUERY) and any(name in row for name in DOCUMENT)
    if hasattr(row, "query_id") and hasattr(row, "doc_id"):
        return True
    return isinstance(row, (tuple, list)) and len(row) in form.lengths


def _of_dicts(thing: Mapping[Any, Mapping[Any, Any]], form: Form) -> Columns:
    rows = list(thing.values())
    qid = [query for query, documents in thing.items() for _ in documents]
    docid, number = list(chain(*rows)), list(chain(*(documents.values() for documents in rows)))
    return checked(Columns(qid, docid, number), form)


def of_table(table: Mapping[str, list[Any]], form: Form) -> Columns:
    """Columns found by name."""
    names = list(table)
    run = run_column(names)
    found = Columns(
        table[column_name(names, QUERY, form, "queries")],
        table[column_name(names, DOCUMENT, form, "documents")],
        table[column_name(names, form.number, form, f"{form.number[0]}s")],
        table[run] if form is RUNS and run is not None else None,
    )
    return checked(found, form)


def run_column(columns: list[str]) -> str | None:
    """The column that says which run a row belongs to, if there is one."""
    by_name = {name.lower(): name for name in columns}
    return next((by_name[name] for name in RUN if name in by_name), None)


def column_name(columns: list[str], known: tuple[str, ...], form: Form, what: str) -> str:
    """The column that has the first of the known names that there is."""
    by_name = {name.lower(): name for name in columns}
    for name in known:
        if name in by_name:
            return by_name[name]
    swapped = what == "scores" and any(name in by_name for name in LABEL)
    hint = " They look like qrels: qrels come first, then runs." * swapped
    raise ValueError(
        f"the {form.kind} have no column of {what}: name one of the columns "
        f"({', '.join(columns)}) {' or '.join(map(repr, known[:3]))}.{hint}"
    )


def _of_records(rows: list[Any], form: Form) -> Columns:
    first = rows[0]
    if isinstance(first, Mapping):
        fields = [name for name in first if all(name in row for row in rows)]
        return of_table({name: [row[name] for row in rows] for name in fields}, form)
    if hasattr(first, "query_id") and hasattr(first, "doc_id"):
        number = next((name for name in form.number if hasattr(first, name)), None)
        if number is None:
            raise ValueError(f"records of {form.kind} have no {' or '.join(form.number[:2])}.")
        return checked(
            Columns(
                [row.query_id for row in rows],
                [row.doc_id for row in rows],
                [getattr(row, number) for row in rows],
            ),
            form,
        )
    places = form.lengths[len(first)]
    for place, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != len(first):
            raise ValueError(
                f"record {place} of the {form.kind} is {row!r}, and the first has "
                f"{len(first)} fields: a record is {form.example()}."
            )
    return checked(Columns(*([row[place] for row in rows] for place in places)), form)


def checked(columns: Columns, form: Form, before: int = 0) -> Columns:
    """Columns with rows, whose ids are texts or whole numbers, all of one kind.

    Messages count the rows `before` these, too.
    """
    if not len(columns.qid):
        raise ValueError(f"the {form.kind} hold no document.")
    for what, ids in (("query", columns.qid), ("document", columns.docid)):
        kinds = {type(one) for one in ids}
        wrong = {kind for kind in kinds if not issubclass(kind, (str, bytes)) and not _whole(kind)}
        if wrong:
            row, one = next((r, o) for r, o in enumerate(ids) if type(o) in wrong)
            raise ValueError(
                f"the id of the {what} of row {before + row} of the {form.kind} is {one!r}: ids "
                "are texts or whole numbers."
            )
        if len({issubclass(kind, (str, bytes)) for kind in kinds}) > 1:
            raise ValueError(
                f"ids of {_PLURAL[what]} of the {form.kind} are texts and numbers: make them "
                "all texts."
            )
    return columns


def numbers_of(name: str, values: Any, before: int = 0) -> np.ndarray:
    """Numbers in double precision; texts among them must spell them as lines of TREC do.

    Digits of other scripts than ASCII, and underscores, are numbers to Python only. Messages count
    the rows `before` these, too.
    """
    rows = values
    if not isinstance(values, (list, tuple)):
        array = np.asarray(values)
        rows = array.ravel().tolist() if array.dtype.kind in "OSTU" else []
    if any(issubclass(kind, (str, bytes)) for kind in set(map(type, rows))):
        for row, one in enumerate(rows):
            if isinstance(one, (str, bytes)) and decimal(one) is None:
                raise ValueError(
                    f"{name} must be numbers, and that of row {before + row} is {one!r}."
                )
    return check.as_vector(name, values)


def text_index(texts: Sequence[str] | np.ndarray, name: str | None = None) -> pd.Index:
    """An index of texts; of plain objects, if bytes that are not UTF-8 stand in one of them."""
    import pandas as pd

    try:
        return pd.Index(texts, name=name)
    except UnicodeEncodeError:
        return pd.Index(texts, name=name, dtype=object)


def _whole(kind: type) -> bool:
    return issubclass(kind, Integral) and not issubclass(kind, bool)
