"""What callers pass as judgments or a run: a checked table of a file, a frame or a dict."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skrank import _validation as check
from skrank._files import is_file, name_of
from skrank.trec import _polars as pl
from skrank.trec._columns import Fields, Where, fields_of, of_queries, table_of
from skrank.trec._data import UNNAMED, Qrels, Run
from skrank.trec._files import read


def is_frame(source: object) -> bool:
    """Whether this is a table with named columns, of any library."""
    kind = type(source)  # of a lazy frame, the columns themselves take time
    named = hasattr(kind, "columns") or hasattr(kind, "__arrow_c_stream__")
    return named and not hasattr(kind, "to_frame")  # as a Series has


def tables_of(
    source: object, kind: str, reading: check.Reading, name: str | None = None
) -> list[tuple[pl.DataFrame, str | None, str | None]]:
    """A table of each run, or of the judgments, of a source; its name, if it has one; its file.

    `kind` is "qrels" or "run", and `name` the name of the run that the caller gives. Errors name
    the line or the row.
    """
    file = None
    if is_file(source):
        what = file = name_of(source)
        columns, where = read(source, kind, reading)
    else:
        what = f"run {name!r}" if name is not None else f"the {kind}"
        columns, where = _in_memory(source, kind, reading, what)
    table = table_of(columns, where, what, reading.duplicates)
    if "run" not in table.columns:
        return [(table, columns["tag"][0] if "tag" in columns else file, file)]
    parts = table.partition_by("run", maintain_order=True)
    return [(part, part[0, "run"], file) for part in parts]


def _in_memory(source: Any, kind: str, reading: check.Reading, what: str) -> tuple[Fields, Where]:
    """The columns of a frame or a dict, and the names of its rows in messages."""
    if isinstance(source, Mapping):
        return of_queries(source, kind, what)
    if not is_frame(source):
        raise check.unreadable(source, what)
    if not hasattr(source, "iterrows") and not isinstance(source, pl.LazyFrame):
        source = pl.DataFrame(source)
    return fields_of(source, kind, reading, what), lambda row: f"row {row} of {what}"


def read_qrels(source: object, *, columns: Any = None, duplicates: str = "error") -> Qrels:
    """Read judgments: lines of TREC, a table, or a dict.

    Parameters
    ----------
    source : path, file object, frame or dict
        As in `evaluate`. TREC's lines: query, iteration, document, label; blank ones are ignored.
    columns, duplicates
        As in `evaluate`.

    Returns
    -------
    Qrels
        A negative label means that the document was in the pool but not judged, as for trec_eval;
        such a label becomes NaN. A document that is not in the file was not in the pool.

    Raises
    ------
    ValueError
        With the file and the number of the line, if the line does not have four fields, a label is
        not a number, a document occurs twice in a query, or the text is not UTF-8; if the file is
        empty or damaged; with the columns of a table, if it is not said which to read.

    Examples
    --------
    >>> import io
    >>> from skrank import trec
    >>> trec.read_qrels(io.StringIO("301 0 FBIS3-1 1\\n301 0 FT934-9 0\\n"))
    Qrels: 1 queries, 2 documents, 2 judged
    """
    with check.reading_of(columns, duplicates) as reading:
        return as_qrels(source, reading)


def as_qrels(source: object, reading: check.Reading) -> Qrels:
    """Judgments in memory or in a file."""
    if isinstance(source, Qrels):
        return source
    ((table, _, _),) = tables_of(source, "qrels", reading)
    return Qrels._of_table(table)


# runs ------------------------------------------------------------------------------------------


def sources_of(runs: object) -> list[tuple[str | None, object]]:
    """The sources of runs, and their names if the caller gives them.

    `runs` is the parameter of `evaluate`. A source may hold several runs.
    """
    sources: list[tuple[str | None, object]] = [(None, runs)]
    if isinstance(runs, Mapping) and _has_names(runs):
        sources = [(str(name), source) for name, source in runs.items()]
        for name, source in sources:
            if isinstance(source, str) and not os.path.exists(source):
                raise check.missing_file(source, name)
    elif not (isinstance(runs, Mapping) or is_file(runs) or is_frame(runs)):
        sources = [(None, source) for source in (runs if isinstance(runs, Iterable) else [runs])]
    if not sources:
        raise ValueError("runs is empty: pass at least one.")
    return sources


def _has_names(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping has runs by name; otherwise it is one run, with documents by query."""
    for source in runs.values():
        part = next(iter(source.values()), None) if isinstance(source, Mapping) else None
        if is_file(source) or isinstance(source, (Run, Qrels)) or is_frame(source):
            return True
        if isinstance(part, (Mapping, list, tuple)) or bool(getattr(part, "shape", ())):
            return True
    return not runs


def runs_of(name: str | None, source: object, reading: check.Reading) -> list[Run]:
    """The runs of a source; with the name that the caller gives, or that a column `run` gives."""
    if isinstance(source, Run):
        return [source if name is None else replace(source, name=name, file=None)]
    tables = tables_of(source, "run", reading, name)
    if name is not None:
        if len(tables) > 1:
            raise check.several_runs([tag for _, tag, _ in tables])
        tables = [(tables[0][0], name, None)]
    return [Run._of_table(table, tag or UNNAMED, file) for table, tag, file in tables]


def names_of(runs: Sequence[Any]) -> list[str]:
    """The name of each run: its own, or its file if several runs of files have the name.

    Each of `runs` has a `name` and a `file`. Several unnamed runs are run1, run2.
    """
    count = Counter(run.name for run in runs)
    names = [run.file if run.file and count[run.name] > 1 else run.name for run in runs]
    if names.count(UNNAMED) > 1:
        numbers = itertools.count(1)
        names = [f"{name}{next(numbers)}" if name == UNNAMED else name for name in names]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
    return names


def read_run(
    source: object, *, name: str | None = None, columns: Any = None, duplicates: str = "error"
) -> Run:
    """Read a run: lines of TREC, a table, or a dict.

    Parameters
    ----------
    source : path, file object, frame or dict
        As in `evaluate`. TREC's lines: query, Q0, document, rank, score, tag; columns after the
        tag are ignored.
    name : str, optional
        Default: the tag of the first line, the column `run`, or the name of the file.
    columns, duplicates
        As in `evaluate`.

    Returns
    -------
    Run
        In the order of trec_eval: by score and then by document, both descending. Distances, and
        ranks where there are no scores, are read with the opposite sign.

    Raises
    ------
    ValueError
        With the file and the number of the line, if the line has too few fields, a score is not a
        finite number, a document occurs twice in a query, or the text is not UTF-8; if the file is
        empty or damaged, has several runs, or ranks that contradict its scores; with the columns of
        a table, if it is not said which to read.

    Examples
    --------
    >>> import io
    >>> from skrank import trec
    >>> lines = "301\\tFT934-9\\t1\\n301\\tFBIS3-1\\t2\\n"
    >>> run = trec.read_run(io.StringIO(lines), columns=["qid", "docid", "rank"])
    >>> run.to_frame()
       qid   docid  score
    0  301 FT934-9   -1.0
    1  301 FBIS3-1   -2.0
    """
    if name is not None:
        name = check.check_text("name", name, "the name of the run")
    with check.reading_of(columns, duplicates) as reading:
        runs = runs_of(name, source, reading)
    if len(runs) > 1:
        raise check.several_runs([run.name for run in runs])
    return runs[0]


def read_runs(runs: object, *, columns: Any = None, duplicates: str = "error") -> dict[str, Run]:
    """Read several runs.

    Parameters
    ----------
    runs, columns, duplicates
        As in `evaluate`.

    Returns
    -------
    dict from name to Run

    Examples
    --------
    >>> from skrank import trec
    >>> trec.read_runs({"bm25": {"q1": {"a": 2.0, "b": 1.0}}})
    {'bm25': Run 'bm25': 1 queries, 2 documents}
    """
    with check.reading_of(columns, duplicates) as reading:
        loaded = [run for source in sources_of(runs) for run in runs_of(*source, reading)]
    return dict(zip(names_of(loaded), loaded, strict=True))
