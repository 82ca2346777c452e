"""Read runs, join them with judgments and measure them, in parts of bounded size."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from skrank import _validation as check
from skrank._engine.plan import average
from skrank._engine.threads import limit_threads, thread_count
from skrank._progress import Bar
from skrank.metrics import Metric
from skrank.trec._columns import RUNS, columns_of, frame_of, is_nested, is_record
from skrank.trec._data import Qrels, Run, as_run
from skrank.trec._files import Records, is_file, pieces_of
from skrank.trec._join import CodedQrels, Joined, JoinedJudgments, JoinedRanking
from skrank.trec._lines import Lines
from skrank.trec._open import name_of
from skrank.trec._table import Table

MISSING_CHOICES = ("zero", "skip", "raise")
_ROWS_AT_ONCE = 1_000_000  # documents that one thread measures together, to bound memory

AnyRuns: TypeAlias = object  # what `evaluate` accepts as runs
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, eq=False)
class Runs:
    """Where runs come from.

    Attributes
    ----------
    sources : list
        One object for each run: a Run, a file, or a run in memory.
    given : list of str or None
        The names of the runs, if the caller gives them.
    """

    sources: list[object]
    given: list[str] | None

    @classmethod
    def of(cls, runs: AnyRuns) -> Runs:
        """The runs of the parameter `runs` of `evaluate`."""
        given: list[str] | None = None
        sources: list[object]
        if isinstance(runs, Mapping) and not is_nested(runs):
            given, sources = list(runs), list(runs.values())
        elif is_file(runs) or _is_one_in_memory(runs):
            sources = [runs]
        else:
            sources = check.several("runs", runs, ())
            if sources and is_record(sources[0], RUNS):
                sources = [sources]
        if given is None and len(sources) == 1 and not isinstance(sources[0], (Run, Qrels)):
            columns = None if is_file(sources[0]) else columns_of(sources[0], RUNS)
            if columns is not None:
                tags = columns.tags()
                sources = [columns.of_run(tag) for tag in tags] if len(tags) > 1 else [columns]
                given = tags or None
        if not sources:
            raise ValueError("runs is empty: pass at least one.")
        if Qrels in map(type, sources):
            raise ValueError("runs holds judgments: judgments (qrels) come first, then runs.")
        return cls(sources, given)

    def names(self, tags: list[str]) -> list[str]:
        """The given names; else the tag of each run, or its path if several runs have the tag."""
        if self.given is not None:
            return self.given
        count = Counter(tags)
        if len(count) == len(tags):
            return tags
        names = [
            name_of(source) if count[tag] > 1 and is_file(source) else tag
            for tag, source in zip(tags, self.sources, strict=True)
        ]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
        return names


def _is_one_in_memory(runs: object) -> bool:
    """Whether this is an object that holds one run, not a collection of runs or of records."""
    known = isinstance(runs, (Run, Qrels, Mapping)) or hasattr(runs, "to_dict")
    return known or frame_of(runs) is not None


# reading ------------------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """A run, or a piece of a run, and its judged queries; of a piece also the table."""

    number: int
    run: Run
    joined: Joined
    piece: Table | None


@dataclass(eq=False)
class JoinedRuns:
    """Runs that are read and joined with judgments when they are iterated.

    Iteration yields lists of `Joined` of bounded total size, in the order of the runs. Each judged
    query of each run is in one of the lists. `tags`, `facts` and `lacks` are complete when the
    iteration ends.

    Parameters
    ----------
    pool : CodedQrels
    runs : Runs
    missing, depth, precision, chunksize
        See `evaluate`.
    bar : Bar, optional
        Counts runs, or with `chunksize` the rows of runs.

    Attributes
    ----------
    tags : list of str
        The tag of each run.
    facts : list of dict
        A row of ``TrecReport.runs`` for each run.
    lacks : list of str
        With ``missing="zero"``: a clause for each run that lacks queries, for the warning.
    """

    pool: CodedQrels
    runs: Runs
    missing: str
    bar: Bar | None = None
    depth: int | None = None
    precision: str = "single"
    chunksize: int | None = None
    tags: list[str] = field(default_factory=list)
    facts: list[dict[str, float]] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[Joined]]:
        part: list[Joined] = []
        n_rows, most = 0, min(self.chunksize or _ROWS_AT_ONCE, _ROWS_AT_ONCE)
        readings = _ahead(self._read, self._items())
        for number, of_run in groupby(readings, key=attrgetter("number")):
            for joined in self._joined(number, of_run):
                part.append(joined)
                n_rows += len(joined.codes)
                if n_rows >= most:
                    yield part
                    part, n_rows = [], 0
        if part:
            yield part

    def _items(self) -> Iterator[tuple[int, object]]:
        """Yield the number of a run, and the run or a piece of it, which is not parsed yet."""
        for number, source in enumerate(self.runs.sources):
            if self.chunksize is not None and is_file(source):
                for piece in pieces_of(source, self.chunksize):
                    yield number, piece
            else:
                yield number, source

    def _read(self, item: tuple[int, object]) -> _Reading:
        """Parse and join a run or a piece."""
        number, source = item
        piece = None
        if isinstance(source, (Lines, Records)):
            piece = source.table()
            piece.check_contiguous()
            run = Run.of_table(piece, self.precision)
        else:
            run = as_run(source, self.precision)
        if self.depth is not None:
            run = run.top(self.depth)
        return _Reading(number, run, Joined.of(self.pool, run, number), piece)

    def _joined(self, number: int, readings: Iterable[_Reading]) -> Iterator[Joined]:
        """Yield the judged queries of one run; those that the run lacks come last."""
        seen: set[str] = set()
        present = np.zeros(len(self.pool.places), bool)
        n_documents = n_judged = 0
        for _, run, joined, piece in readings:
            if not seen:
                first = run
                _warn_swapped(self.pool.qrels, run)
            if piece is not None and not seen.isdisjoint(run.queries.ids):
                again = next(i for i, query in enumerate(run.queries.ids) if query in seen)
                raise piece.not_contiguous(int(piece.queries.indptr[again]))
            seen.update(run.queries.ids)
            present[joined.places] = True
            n_documents += int(joined.retrieved.sum())
            n_judged += joined.n_judged
            if len(joined.places):
                yield joined
            if self.bar is not None:
                self.bar.update(1 if self.chunksize is None else len(run.scores))
        absent = np.flatnonzero(~present)
        n_present = len(present) - len(absent)
        queries = self.pool.qrels.queries
        if not n_present:
            raise ValueError(
                f"run {first.name!r} has no query of the qrels: its first is "
                f"{first.queries.name(0)}, and that of the qrels {queries.name(0)}."
            )
        if len(absent):
            self._note_missing(first.name, queries.ids[absent])
            yield Joined.of_nothing(self.pool, absent, number)
        self.tags.append(first.name)
        self.facts.append(
            {
                "queries": n_present,
                "missing": len(absent),
                "ignored": len(seen) - n_present,
                "documents": n_documents,
                "judged": n_judged / n_documents,
            }
        )

    def _note_missing(self, tag: str, queries: np.ndarray) -> None:
        some = ", ".join(queries[:3]) + ", ..." * (len(queries) > 3)
        lacks = f"run {tag!r} has no documents for {len(queries)} queries of the qrels ({some})"
        if self.missing == "raise":
            raise ValueError(f"{lacks}: choose missing='zero' or 'skip'.")
        if self.missing == "zero":
            self.lacks.append(lacks)

    def warn(self) -> None:
        """Warn of queries that runs lack; the warning points to the caller of `evaluate`."""
        if self.lacks:
            more = f"; and so on, {len(self.lacks)} runs in all" * (len(self.lacks) > 3)
            warnings.warn(
                f"{'; '.join(self.lacks[:3])}{more}: they count as queries for which nothing was "
                "retrieved. missing='skip' leaves them out.",
                UserWarning,
                stacklevel=3,
            )


def _ahead(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Yield ``work(item)`` of each item, in order. Threads work on the next items meanwhile."""
    rest = iter(items)
    first = list(islice(rest, 2))
    n_threads = thread_count() if len(first) > 1 else 1
    if n_threads == 1:
        yield from map(work, chain(first, rest))
        return

    def in_one_thread(item: _T) -> _R:
        with limit_threads(1):  # as each item has a thread already
            return work(item)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="skrank-trec") as pool:
        waiting: deque[Future[_R]] = deque()
        for item in chain(first, rest):
            waiting.append(pool.submit(in_one_thread, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _warn_swapped(qrels: Qrels, run: Run) -> None:
    """Warn if judgments look like a run, and a run like judgments."""
    if check.look_swapped(qrels.labels, run.scores):
        warnings.warn(
            f"the qrels have many labels that are not whole numbers, and run {run.name!r} has few "
            "small whole scores, as if they were swapped: qrels come first, then runs.",
            UserWarning,
            stacklevel=2,
        )


# measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measured:
    """The values of metrics.

    Attributes
    ----------
    values, weights : float64 ndarrays of shape (n_runs, n_queries, n_metrics)
        Value of each query, and its weight in the mean.
    mean : float64 ndarray of shape (n_runs, n_metrics)
    empty : int64 ndarray of shape (n_metrics,)
        Number of queries without a relevant document.
    """

    values: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    empty: np.ndarray

    def only(self, metrics: list[int]) -> Measured:
        """The values of some of the metrics, by their places."""
        return Measured(
            self.values[..., metrics],
            self.weights[..., metrics],
            self.mean[:, metrics],
            self.empty[metrics],
        )


def measure(
    pool: CodedQrels,
    parts: Iterable[list[Joined]],
    n_runs: int,
    metrics: Iterable[Metric],
    missing: str,
    max_grade: int | None,
) -> Measured:
    """Measure all runs, which come in parts as from `JoinedRuns`, by all metrics."""
    chosen = list(metrics)
    shape = n_runs, len(pool.qrels.queries), len(chosen)
    values, weights = np.full(shape, np.nan), np.zeros(shape)

    def of_part(part: list[Joined]) -> list[int]:
        """Fill in values and weights; returns the number of empty queries for each metric."""
        judgments = JoinedJudgments(pool, part)
        ranking = JoinedRanking(judgments)
        run, query = judgments.run, judgments.places
        counted = (ranking.retrieved > 0) | (missing != "skip")
        empty = []
        for i, one in enumerate(chosen):
            plan = one.bind(judgments, max_grade=max_grade)
            values[run, query, i] = np.where(counted, plan.values(ranking), np.nan)
            weights[run, query, i] = plan.mass(ranking) * counted
            empty.append(int(plan.empty[run == 0].sum()))
        return empty

    empty = np.sum(list(_ahead(of_part, parts)), axis=0)
    mean = np.empty((n_runs, len(chosen)))
    for i, number in np.ndindex(len(chosen), n_runs):
        of_run = values[number, :, i], weights[number, :, i]
        mean[number, i] = average(chosen[i], *of_run, stacklevel=4)
    return Measured(values, weights, mean, empty)
