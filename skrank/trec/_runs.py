"""Several runs: their sources, and their names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skrank import _validation as check
from skrank._files import is_file
from skrank.trec._columns import Reading
from skrank.trec._data import UNNAMED, Qrels, Run
from skrank.trec._sources import entries_of, is_frame


def sources_of(runs: object) -> list[tuple[str | None, object]]:
    """The sources of runs, and their names if the caller gives them.

    `runs` is the parameter of `evaluate`. A source may hold several runs.
    """
    if is_file(runs) or isinstance(runs, Run) or is_frame(runs):
        return [(None, runs)]
    if isinstance(runs, Mapping):
        if not _has_names(runs):
            return [(None, runs)]
        sources: list[tuple[str | None, object]] = []
        for name, source in runs.items():
            if isinstance(source, str) and not os.path.exists(source):
                raise check.missing_file(source, name)
            sources.append((str(name), source))
    else:
        if isinstance(runs, (str, Qrels)) or not isinstance(runs, Iterable):
            runs = [runs]
        sources = [(None, source) for source in runs]
    if not sources:
        raise ValueError("runs is empty: pass at least one.")
    if any(isinstance(source, Qrels) for _, source in sources):
        raise ValueError("runs holds judgments: judgments (qrels) come first, then runs.")
    return sources


def _has_names(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping has runs by name; otherwise it is one run, with documents by query."""
    return not runs or any(
        is_file(source)
        or isinstance(source, (Run, Qrels))
        or is_frame(source)
        or (isinstance(source, Mapping) and any(map(_holds_documents, [*source.values()][:1])))
        for source in runs.values()
    )


def _holds_documents(part: object) -> bool:
    return isinstance(part, (Mapping, list, tuple)) or bool(getattr(part, "shape", ()))


def runs_of(name: str | None, source: object, reading: Reading) -> list[tuple[str | None, Run]]:
    """The runs of a source; with the name that the caller gives, or that a column `run` gives."""
    if isinstance(source, Run):
        return [(name, source)]
    entries = entries_of(source, "run", reading, name)
    if len(entries) == 1:
        return [(name, Run._of_rows(entries[0], ranks=reading.ranks))]
    if name is not None:
        raise ValueError(
            f"run {name!r} has {check.counted(len(entries), 'run')} in its column run: pass the "
            "table without a name, or select the rows of one."
        )
    return [(rows.tag, Run._of_rows(rows, ranks=reading.ranks)) for rows in entries]


def names_of(runs: Sequence[tuple[str | None, str, str | None]]) -> list[str]:
    """The name of each run: the given one, or its tag, or its path if several runs have the tag.

    `runs` has the given name, the name and the file of each. Several unnamed runs are run1, run2.
    """
    tags = Counter(tag for given, tag, _ in runs if given is None)
    n_unnamed = sum(given is None and tag == UNNAMED and file is None for given, tag, file in runs)
    names, number = [], 0
    for given, tag, file in runs:
        name = tag if given is None else given
        if given is None and file is None and tag == UNNAMED and n_unnamed > 1:
            number += 1
            name = f"{UNNAMED}{number}"
        elif given is None and file is not None and tags[tag] > 1:
            name = file
        names.append(name)
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
    return names


def read_runs(
    runs: object, *, columns: Any = None, duplicates: str = "error", ranks: bool = False
) -> dict[str, Run]:
    """Read several runs.

    Parameters
    ----------
    runs, columns, duplicates
        As in `evaluate`.
    ranks : bool
        The ranks in files and tables are right, as for ``fuse(ranks="file")``, and may contradict
        the scores. Otherwise this is an error.

    Returns
    -------
    dict from name to Run

    Examples
    --------
    >>> from skrank import trec
    >>> trec.read_runs({"bm25": {"q1": {"a": 2.0, "b": 1.0}}})
    {'bm25': Run 'run': 1 queries, 2 documents}
    """
    reading = Reading(columns, duplicates, ranks)
    loaded = [pair for source in sources_of(runs) for pair in runs_of(*source, reading)]
    names = names_of([(given, run.name, run.file) for given, run in loaded])
    return dict(zip(names, [run for _, run in loaded], strict=True))
