"""Checks of tables of judgments and runs: names of columns, lines, and ids that differ."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from skrank._validation.arrays import as_numbers, unmasked
from skrank._validation.parameters import (
    LEAST_LABEL,
    MOST_LABEL,
    argument,
    brief,
    check_choice,
    check_known,
    check_numbers,
    counted,
)

Fields = dict[str, str] | list[str]  # names of columns by field, or fields in the order of columns

NUMBERS = {"qrels": ("label",), "run": ("score", "rank", "distance")}
FIELDS = {"qrels": ("qid", "docid", "label"), "run": ("qid", "docid", *NUMBERS["run"], "run")}
SKIPPED = "_"  # stands for a column that is not read
# Names of columns, in any case of letters. PyTerrier's tables may also have "docid" and "rank".
CONVENTIONS = {
    "PyTerrier": {"qid": "qid", "docid": "docno", "label": "label", "score": "score"},
    "skrank": {name: name for name in ("qid", "docid", "label", "score", "rank")},
    "ir_datasets": {"qid": "query_id", "docid": "doc_id", "label": "relevance", "score": "score"},
    "BEIR": {"qid": "query-id", "docid": "corpus-id", "label": "score", "score": "score"},
}
_SIMILAR = {  # words with which names of columns are compared, to suggest one for each field
    "qid": "qid query topic user question session customer",
    "docid": "docid docno document doc did pid passage item product chunk page corpus",
    "label": "label relevance rel rating grade judgment score",
    "score": "score sim similarity prediction probability",
    "rank": "rank position",
    "distance": "distance dist l2",
}
_LEAST_LIKENESS = 0.7  # of a suggested name
DOCUMENT_COLUMNS = {convention["docid"] for convention in CONVENTIONS.values()}
LINES = {
    "qrels": "<query> <iteration> <document> <label>",
    "run": "<query> <Q0> <document> <rank> <score> <tag>",
}


def check_columns(columns: Any) -> Fields | None:
    """Names of columns by field, or a list of fields; None stays None."""
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(
            f"{argument('columns', columns)} must map fields to names of columns, or be a list of "
            "the fields of a file without a header."
        )
    by_field = isinstance(columns, Mapping)
    fields = [field for field in columns if by_field or field != SKIPPED]
    check_known("field in columns", fields, {*FIELDS["qrels"], *FIELDS["run"]})
    names = list(map(str, columns.values())) if isinstance(columns, Mapping) else fields
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"columns has {name!r} {count} times: each column is one field.")
    if {"score", "distance"} <= set(fields):
        raise ValueError("columns has score and distance: choose one of them.")
    return dict(zip(fields, names, strict=True)) if by_field else list(columns)


def shown_columns(columns: Fields) -> str:
    """The argument `columns` in messages, whole."""
    return argument("columns", columns, whole=True)


@dataclass
class Reading:
    """How sources are read.

    Attributes
    ----------
    columns, duplicates
        As in `skrank.trec.evaluate`.
    used : bool
        Whether `columns` applied to a source.
    """

    columns: Any = None
    duplicates: str = "error"
    used: bool = False

    def __post_init__(self) -> None:
        check_choice("duplicates", self.duplicates, ("error", "first", "max"))
        self.columns = check_columns(self.columns)

    def names(self, kind: str) -> dict[str, str]:
        """Names of columns by field, for fields of the kind."""
        columns = self.columns if isinstance(self.columns, dict) else {}
        names = {field: columns[field] for field in FIELDS[kind] if field in columns}
        self.used |= bool(names)
        return names

    def fields(self, kind: str) -> list[str]:
        """The fields of a file without a header; empty unless `columns` lists those of the kind.

        Fields of the other kind are skipped: a list may describe judgments and runs.
        """
        columns = self.columns if isinstance(self.columns, list) else []
        fields = [field if field in FIELDS[kind] else SKIPPED for field in columns]
        fields = fields if set(NUMBERS[kind]) & {*fields} else []
        self.used |= bool(fields)
        return fields


@contextmanager
def reading_of(columns: Any, duplicates: str = "error") -> Iterator[Any]:
    """How sources are read; raises ValueError at the end if `columns` applied to no source.

    Yields a `Reading`, which functions of `skrank.trec` take as `columns`, too: then their caller,
    which reads further sources, checks it.
    """
    reading = columns if isinstance(columns, Reading) else Reading(columns, duplicates)
    yield reading
    if reading is not columns and reading.columns and not reading.used:
        raise ValueError(
            f"{shown_columns(reading.columns)} applies to no source: a dict has names of columns "
            "of tables, a list the fields of a file without a header."
        )


def chosen_columns(
    names: Sequence[str], kind: str, said: dict[str, str], what: str
) -> dict[str, str]:
    """Names of the columns of a table by field: those that are `said`, and of one convention.

    Raises
    ------
    ValueError
        If a name is missing, or two names may be meant; the error shows the columns to write.
    """
    absent = [repr(name) for name in said.values() if names.count(name) != 1]
    if absent:
        raise ValueError(
            f"{what} must have one column {', '.join(absent)}: it has {_listed(names)}."
        )
    count = Counter(map(str.lower, names))
    free = {name.lower(): name for name in names if name not in said.values()}
    wanted = set(FIELDS[kind]) - set(said)
    if set(NUMBERS[kind]) & set(said):
        wanted -= set(NUMBERS[kind])
    for convention in CONVENTIONS.values():
        by_field = (convention | {"run": "run"}).items()
        named = {field: name for field, name in by_field if field in wanted and count[name] == 1}
        chosen = said | {field: free[name] for field, name in named.items() if name in free}
        rivals = {other.get(field) for other in CONVENTIONS.values() for field in named}
        # beside another label, "score" is that of a run, not BEIR's label
        rivals -= {*named.values(), "score"}
        if convention["docid"] == "docno":  # PyTerrier's tables may have both
            rivals -= {"docid"}
        if not _missing(chosen, kind) and not rivals & free.keys():
            return chosen
    columns = _suggested_columns(names, kind, said)
    number = ""
    if kind == "run":
        number = "; score: higher is better, rank: 1 is best, distance: lower is better"
    raise ValueError(
        f"{what} has {_listed(names)}, and not the names of one convention, such as qid, docid, "
        f"{NUMBERS[kind][0]}. Say which are {', '.join(columns)}: {shown_columns(columns)}{number}."
        " Qrels come first, then runs."
    )


def _missing(chosen: Mapping[str, str], kind: str) -> list[str]:
    """Fields that a table of the kind needs and lacks."""
    lacks = [field for field in ("qid", "docid") if field not in chosen]
    return lacks if set(NUMBERS[kind]) & set(chosen) else [*lacks, NUMBERS[kind][0]]


def _suggested_columns(names: Sequence[str], kind: str, said: Mapping[str, str]) -> dict[str, str]:
    """The columns to write: for each field that is missing, the name that comes nearest."""
    columns = dict(said)
    fields = [field for field in FIELDS[kind] if field != "run"]
    near = ((_likeness(field, name), field, name) for field in fields for name in names)
    for likeness, field, name in sorted(near, reverse=True):
        numbers = set(NUMBERS[kind]) if field in NUMBERS[kind] else {field}
        known = numbers & columns.keys() or name in columns.values()
        if likeness > _LEAST_LIKENESS and not known:
            columns[field] = name
    columns |= dict.fromkeys(_missing(columns, kind), "...")
    return {field: columns[field] for field in FIELDS[kind] if field in columns}


def _likeness(field: str, name: str) -> float:
    """Likeness of a name, or of its parts, to the words for a field; above 1 for known names."""
    parts = [*re.split(r"[\W_]+", name.lower().removesuffix("id")), name.lower()]
    pairs = ((part, word) for part in parts for word in _SIMILAR[field].split())
    likeness = max(SequenceMatcher(None, *pair).ratio() for pair in pairs)
    known = {convention.get(field) for convention in CONVENTIONS.values()}
    return likeness + (name.lower() in known)


def _listed(names: Sequence[str]) -> str:
    text = f"the columns {', '.join(names[:20])}"
    return f"{text} and {len(names) - 20} more" if len(names) > 20 else text


def malformed(words: Sequence[str], kind: str, where: str) -> ValueError:
    """The error for a line without the fields that it should have."""
    choices = (shown_columns(["qid", "docid", field]) for field in NUMBERS[kind])
    return ValueError(
        f"{where}: {brief(' '.join(words))} has {counted(len(words), 'field')}. A line of {kind} "
        f"is {LINES[kind]}, a table begins with names of columns, and the fields of a file without "
        f"a header are said by columns, one for each, such as {' or '.join(choices)}."
    )


def not_by_query(query: object, part: object, what: str) -> ValueError:
    """The error for a dict that is not by query.

    A value is of another kind than the first one, or a key is the name of a column.
    """
    documents = list(part) if isinstance(part, (Mapping, set)) else [part]
    return ValueError(
        f"query {brief(query)} of {what} has {brief(part)}: each query has a dict of numbers by "
        f"document, or each a list, best first, such as {{{brief(query)}: {brief(documents)}}}. Of "
        "columns or records, make a frame."
    )


def bad_value(field: str, value: object, where: str, document: object = None) -> ValueError:
    """The error for a value that a field cannot have; of a number, with its `document`."""
    allowed = "a finite number, below 2**53 if it is whole"
    if field == "label":
        allowed = f"0 or a number from {LEAST_LABEL:g} to {MOST_LABEL:g}"
    elif field in ("qid", "docid", "run"):
        allowed = "a text or a whole number"
    of_document = "" if document is None else f" Its document is {brief(document)}."
    return ValueError(f"{where}: {field} {brief(value)} must be {allowed}.{of_document}")


def duplicate(document: str, query: str, where: str) -> ValueError:
    """The error for a document that occurs twice in a query."""
    return ValueError(
        f"{where}: document {brief(document)} occurs twice in query {brief(query)}: keep one of "
        f"them, or read the table with {argument('duplicates', 'first')} or 'max', the best one."
    )


def contradiction(what: str) -> ValueError:
    """The error for a run whose scores and ranks order every query in opposite ways."""
    fields = ["qid", SKIPPED, "docid", "rank", "distance", SKIPPED]
    return ValueError(
        f"the scores and the ranks of {what} order every query in opposite ways. If lower values "
        "are better, read them as the field distance, not score, lines of TREC by "
        f"{shown_columns(fields)}; if only the ranks are right, read rank without score."
    )


def several_runs(names: Sequence[str | None]) -> ValueError:
    """The error for a table of several runs where one is expected."""
    return ValueError(
        f"the table has {len(names)} runs in its column run ({brief(names)}): select the rows of "
        "one run, or pass the whole table, not under a name, to evaluate or read_runs."
    )


def missing_file(path: str, query: object) -> FileNotFoundError:
    """The error for a text in a dict that is not the path of a run, and may be a document."""
    text = f"{os.strerror(errno.ENOENT)}; a document is written {{{brief(query)}: [{brief(path)}]}}"
    return FileNotFoundError(errno.ENOENT, text, path)


def id_difference(ids: Iterable[str], known: Iterable[str], what: str) -> str:
    """How ids of a run differ from those of the qrels.

    `what` is "query" if they share no query, and "document" if they share no document of a query.
    """
    ids, known = list(ids), list(known)
    judged = {_plain(text): text for text in known}
    near = next((text for text in ids if _plain(text) in judged), None)
    if near is None:
        first = brief(ids[0]) if ids else "missing"
        return f"its first {what} is {first}, and that of the qrels is {brief(known[0])}"
    other = judged[_plain(near)]
    if near == other:
        return f"{what} {brief(near)} is judged for other queries only"
    return f"{what} {near!a} is {other!a} in the qrels: case, white space or Unicode form differ"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def unreadable(source: object, what: str) -> ValueError:
    """The error for an object that is neither a file, nor a frame, nor a dict."""
    return ValueError(
        f"{what} of type {type(source).__name__} cannot be read, {brief(source)}: pass a file, a "
        "frame (of records: pandas.DataFrame(records)), a dict from queries to documents (of other "
        "tools: to_dict), or Run.from_top_k(qids, indices, scores). Qrels come first, then runs."
    )


def check_fusion(named: Mapping[str, Sequence[str]], name: str) -> None:
    """Raise ValueError unless runs, of which the ids of queries are given, share queries."""
    if len(named) < 2:
        raise ValueError(f"fusion needs at least two runs, and {list(named)} is the only one.")
    if name in named:
        raise ValueError(f"{argument('name', name)} is the name of a run: choose another.")
    count = Counter(query for ids in named.values() for query in ids)
    for system, ids in named.items():
        if all(count[query] == 1 for query in ids):
            raise ValueError(f"run {system!r} shares no query with the others: check their ids.")


def check_run_weights(weights: Any, names: Sequence[str]) -> list[float]:
    """A weight for each run, from a sequence or from a mapping by name."""
    if isinstance(weights, Mapping):
        check_known("run in weights", weights, names)
        weights = [weights[name] for name in names if name in weights]
    numbers = check_numbers("weights", weights)
    if len(numbers) != len(names):
        raise ValueError(f"weights has {len(numbers)} numbers, and there are {len(names)} runs.")
    return list(numbers)


def check_top_k(
    qids: Any, indices: Any, scores: Any, docids: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, document and score of each cell that holds a document, of matrices of a vector index.

    The index of a cell without a document is -1.
    """
    ids, cells = np.asarray(qids, object), np.atleast_1d(unmasked("indices", indices, "a matrix"))
    ranks = np.broadcast_to(-np.arange(cells.shape[-1]) - 1.0, cells.shape)
    numbers = ranks if scores is None else unmasked("scores", scores, "a matrix")
    if cells.ndim != 2 or cells.shape[:1] != ids.shape or numbers.shape != cells.shape:
        raise ValueError(
            f"{ids.size} qids, indices of shape {cells.shape} and scores of {numbers.shape} do "
            "not fit: pass a row of indices and of scores for each query."
        )
    if cells.dtype.kind == "f":
        raise ValueError(f"indices are {cells.dtype}: pass ids, or whole numbers by astype(int).")
    whole = cells.dtype.kind in "iu"
    filled = cells >= 0 if whole else np.full(cells.shape, True)
    steps = np.diff(as_numbers("scores", numbers, "a matrix"))[filled[:, 1:] & filled[:, :-1]]
    if (steps > 0).any() and not (steps < 0).any():
        raise ValueError(
            "scores rise from left to right in all rows, and the best document comes first: pass "
            "distances with a minus sign."
        )
    documents = cells[filled]
    if docids is not None:
        names = np.asarray(docids, object)
        if not whole or documents.max(initial=0) >= len(names):
            raise ValueError(
                f"indices are not all positions in docids, which are below {len(names)}."
            )
        documents = names[documents]
    return ids[np.nonzero(filled)[0]], documents, numbers[filled]
