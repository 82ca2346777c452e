"""Measure runs of TREC: files in, values of every run, query and metric out."""

from __future__ import annotations

import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from skrank import _validation as check
from skrank._engine.plan import average
from skrank._engine.threads import limit_threads, thread_count
from skrank._progress import Bar
from skrank.metrics import Metric
from skrank.trec._columns import RUNS, columns_of, is_lazy, is_nested, is_record
from skrank.trec._data import Qrels, Run, as_run
from skrank.trec._files import source_name
from skrank.trec._join import (
    CodedQrels,
    Joined,
    JoinedJudgments,
    JoinedRanking,
    facts_of,
    join,
    no_query_of,
)

MISSING_CHOICES = ("zero", "skip", "raise")
_ROWS_AT_ONCE = 1_000_000  # runs are measured together, up to this many documents

AnyRun = Any  # a Run, or what `evaluate` takes for one
AnyRuns = Any
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, eq=False)
class Runs:
    """Where runs come from, and their names if they are given."""

    sources: list[AnyRun]
    given: list[str] | None
    depth: int | None = None
    precision: str = "single"

    @classmethod
    def of(cls, runs: AnyRuns, depth: int | None = None, precision: str = "single") -> Runs:
        """Of what a caller passes; of each query so many documents."""
        given: list[str] | None = None
        if isinstance(runs, Mapping) and not is_nested(runs):
            given, sources = list(runs), list(runs.values())
        elif _is_one(runs):
            sources = [runs]
        else:
            sources = check.several("runs", runs, ())
            if sources and is_record(sources[0], RUNS):
                sources = [sources]
        if given is None and len(sources) == 1 and not isinstance(sources[0], (Run, Qrels)):
            columns = columns_of(sources[0], RUNS)
            parts = {} if columns is None else columns.parts()
            sources = [columns] if columns is not None else sources
            if parts:
                given, sources = list(parts), list(parts.values())
        if not sources:
            raise ValueError("runs is empty: pass at least one.")
        if any(isinstance(source, Qrels) for source in sources):
            raise ValueError("runs holds judgments: judgments (qrels) come first, then runs.")
        return cls(sources, given, depth, precision)

    def parts(
        self, pool: CodedQrels, missing: str, bar: Bar | None = None
    ) -> Iterator[list[Joined]]:
        """The joined runs in order, in lists of bounded size; they are read and let go."""
        part: list[Joined] = []
        for one in ahead(lambda source: self._joined(pool, source), self.sources):
            if missing == "raise" and not one.present.all():
                raise missing_error(one.name, one.ids[~one.present])
            part.append(one)
            if bar is not None:
                bar.update(1)
            if sum(len(other.codes) for other in part) >= _ROWS_AT_ONCE:
                yield part
                part = []
        if part:
            yield part

    def _joined(self, pool: CodedQrels, source: AnyRun) -> Joined:
        run = self.cut(as_run(source, precision=self.precision))
        warn_swapped(pool.qrels, run)
        joined = join(pool, run)
        if not joined.present.any():
            raise no_query_of(pool.qrels, run.name, run.queries.name(0))
        return joined

    def cut(self, run: Run) -> Run:
        """The documents of a run that count."""
        return run if self.depth is None else run.top(self.depth)

    def names(self, tags: list[str]) -> list[str]:
        """A name per run: the given one, its tag, or its path where runs share a tag."""
        if self.given is not None:
            return self.given
        count = Counter(tags)
        names = [
            tag if count[tag] == 1 or not is_file(source) else source_name(source)
            for tag, source in zip(tags, self.sources, strict=True)
        ]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
        return names


def is_file(source: object) -> bool:
    """Whether a run is to be read from a file."""
    return isinstance(source, (str, os.PathLike)) or hasattr(source, "read")


def _is_one(runs: object) -> bool:
    """Whether this is a run or the path of one, and not a collection of them or of records."""
    return (
        isinstance(runs, (Run, Qrels, str, os.PathLike, Mapping))
        or hasattr(runs, "read")
        or is_lazy(runs)
        or hasattr(runs, "columns")
        or hasattr(runs, "to_dict")
    )


def ahead(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """``work(item)`` of each item in order, some items ahead in threads."""
    single = isinstance(items, Sequence) and len(items) == 1
    n_threads = 1 if single else thread_count()
    if n_threads == 1:
        yield from map(work, items)
        return

    def alone(item: _T) -> _R:
        with limit_threads(1):
            return work(item)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="skrank-trec") as pool:
        waiting: deque[Future[_R]] = deque()
        for item in items:
            waiting.append(pool.submit(alone, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def missing_error(name: str, queries: np.ndarray) -> ValueError:
    """The error for a run without some queries of the judgments."""
    return ValueError(f"{lacks_of(name, queries)}: choose missing='zero' or 'skip'.")


def lacks_of(name: str, queries: np.ndarray) -> str:
    """What a run lacks, as a sentence."""
    some = ", ".join(queries[:3]) + ", ..." * (len(queries) > 3)
    return f"run {name!r} has no documents for {len(queries)} queries of the qrels ({some})"


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of some runs.

    Attributes
    ----------
    tags : list of str
    values, weights : ndarray of shape (n_runs, n_queries, n_metrics)
        Values, and what they weigh in the means.
    mean : ndarray of shape (n_runs, n_metrics)
    empty : int ndarray of shape (n_metrics,)
    facts : list of dict
    lacks : list of str
        What to warn of.
    """

    tags: list[str]
    values: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    empty: np.ndarray
    facts: list[dict[str, float]]
    lacks: list[str]

    def only(self, metrics: list[int]) -> Measured:
        """Some of the metrics, by their places."""
        return replace(
            self,
            values=self.values[..., metrics],
            weights=self.weights[..., metrics],
            mean=self.mean[:, metrics],
            empty=self.empty[metrics],
        )


def values_of(
    pool: CodedQrels,
    part: list[Joined],
    metrics: Iterable[Metric],
    missing: str,
    max_grade: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All metrics of runs with the same queries: `values`, `weights`, `empty` of `Measured`."""
    judgments = JoinedJudgments(pool, part)
    ranking = JoinedRanking(judgments, part)
    present = np.stack([one.present for one in part])
    n_queries = present.shape[1]
    counted = present if missing == "skip" else np.ones_like(present)
    values, weights, empty = [], [], []
    for one in metrics:
        plan = one.bind(judgments, max_grade=max_grade)
        found = plan.values(ranking).reshape(present.shape)
        values.append(np.where(counted, found, np.nan))
        weights.append(plan.mass(ranking).reshape(present.shape) * counted)
        empty.append(plan.empty[:n_queries].sum())
    return np.stack(values, axis=-1), np.stack(weights, axis=-1), np.array(empty)


def _measured(
    pool: CodedQrels,
    part: list[Joined],
    metrics: list[Metric],
    missing: str,
    max_grade: int | None,
) -> Measured:
    """All metrics of some runs."""
    values, weights, empty = values_of(pool, part, metrics, missing, max_grade)
    means = np.empty((len(part), len(metrics)))
    for i, one in enumerate(metrics):
        for run in range(len(part)):
            means[run, i] = average(one, values[run, :, i], weights[run, :, i], stacklevel=5)
    return Measured(
        [one.name for one in part],
        values,
        weights,
        means,
        empty,
        [
            facts_of(one.present, one.n_ignored, int(one.retrieved.sum()), one.n_judged)
            for one in part
        ],
        [
            lacks_of(one.name, one.ids[~one.present])
            for one in part
            if not one.present.all() and missing == "zero"
        ],
    )


def measure_all(
    pool: CodedQrels,
    parts: Iterable[list[Joined]],
    metrics: Iterable[Metric],
    missing: str,
    max_grade: int | None,
) -> Measured:
    """All metrics of all runs."""
    chosen = list(metrics)
    return together([_measured(pool, part, chosen, missing, max_grade) for part in parts])


def together(found: Sequence[Measured]) -> Measured:
    """What was measured of some runs and of others."""
    return Measured(
        [tag for one in found for tag in one.tags],
        np.concatenate([one.values for one in found]),
        np.concatenate([one.weights for one in found]),
        np.concatenate([one.mean for one in found]),
        found[0].empty,
        [facts for one in found for facts in one.facts],
        [text for one in found for text in one.lacks],
    )


def warn_swapped(qrels: Qrels, run: Run) -> None:
    """Warn where judgments and a run seem to have been passed in the wrong order."""
    if check.look_swapped(qrels.labels, run.scores):
        warnings.warn(
            f"the qrels have many labels that are no whole numbers, and run {run.name!r} has few "
            "small whole scores, as if they were swapped: qrels come first, then runs.",
            UserWarning,
            stacklevel=2,
        )


def warn_missing(lacks: list[str]) -> None:
    """Warn, in the name of the caller's caller, of queries that runs do not have."""
    if lacks:
        more = f"; and so on, {len(lacks)} runs in all" * (len(lacks) > 3)
        warnings.warn(
            f"{'; '.join(lacks[:3])}{more}: they count as queries for which nothing was retrieved. "
            "missing='skip' leaves them out.",
            UserWarning,
            stacklevel=3,
        )
