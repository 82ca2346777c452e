"""Measure runs of any size, some whole queries at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank._engine.plan import average
from skrank._progress import Bar
from skrank.metrics import Metric
from skrank.trec._data import Run, as_run
from skrank.trec._join import CodedQrels, Joined, facts_of, join, no_query_of
from skrank.trec._measure import (
    AnyRun,
    Measured,
    Runs,
    ahead,
    is_file,
    lacks_of,
    missing_error,
    values_of,
    warn_swapped,
)
from skrank.trec._stream import Piece, pieces_of


@dataclass(frozen=True, eq=False)
class Job:
    """What all pieces of all runs are measured by.

    Attributes
    ----------
    pool : CodedQrels
    metrics : list of Metric
    missing : str
    max_grade : int or None
    chunksize : int
        Rows of a piece.
    bar : Bar
        Counts them.
    """

    pool: CodedQrels
    metrics: list[Metric]
    missing: str
    max_grade: int | None
    chunksize: int
    bar: Bar

    def measure(self, runs: Runs) -> list[Measured]:
        """The values of each run."""
        place = {qid: at for at, qid in enumerate(self.pool.qrels.queries.ids)}
        return [_Large(self, runs, place).measure(source) for source in runs.sources]


class _Large:
    """One run, as far as it was read."""

    def __init__(self, job: Job, runs: Runs, place: dict[str, int]) -> None:
        shape = len(place), len(job.metrics)
        self.job, self.runs, self.place = job, runs, place
        self.values, self.weights = np.full(shape, np.nan), np.zeros(shape)
        self.empty = np.zeros(len(job.metrics), np.int64)
        self.present = np.zeros(len(place), bool)
        self.others: set[str] = set()  # queries that are not judged
        self.name = self.first = ""
        self.n_documents = self.n_judged = 0

    def measure(self, source: AnyRun) -> Measured:
        """Read and measure it."""
        job = self.job
        pieces = pieces_of(source, job.chunksize) if is_file(source) else [source]
        for piece, run, at, joined in ahead(self._read, pieces):
            if not self.name:
                self.name, self.first = run.name, run.queries.name(0)
                warn_swapped(job.pool.qrels, run)
            self._see(piece, run, at)
            if joined is not None:
                self._add(at[at >= 0], joined)
                self.n_documents += int(joined.retrieved.sum())
                self.n_judged += joined.n_judged
            job.bar.update(len(run.scores))
        if not self.present.any():
            raise no_query_of(job.pool.qrels, self.name, self.first)
        absent = np.flatnonzero(~self.present)
        ids = job.pool.qrels.queries.ids
        if len(absent) and job.missing == "raise":
            raise missing_error(self.name, ids[absent])
        for some in self._slices(absent):
            self._add(some, _nothing_of(job.pool.only(some)))
        columns = zip(job.metrics, self.values.T, self.weights.T, strict=True)
        means = [average(*one) for one in columns]
        facts = facts_of(self.present, len(self.others), self.n_documents, self.n_judged)
        warned = [lacks_of(self.name, ids[absent])] if len(absent) and job.missing == "zero" else []
        return Measured(
            [self.name],
            self.values[None],
            self.weights[None],
            np.array([means]),
            self.empty,
            [facts],
            warned,
        )

    def _read(self, piece: Any) -> tuple[Any, Run, np.ndarray, Joined | None]:
        """A piece, parsed and joined with the judgments of its queries, in a thread."""
        precision = self.runs.precision
        read = (
            piece.read(precision) if isinstance(piece, Piece) else as_run(piece, "run", precision)
        )
        run = self.runs.cut(read)
        at = np.array([self.place.get(qid, -1) for qid in run.queries.ids])
        known = at[at >= 0]
        return piece, run, at, join(self.job.pool.only(known), run) if len(known) else None

    def _see(self, piece: Any, run: Run, at: np.ndarray) -> None:
        """Note the queries of a piece, of which none may have been in one before."""
        for number, (qid, place) in enumerate(zip(run.queries.ids, at.tolist(), strict=True)):
            if self.present[place] if place >= 0 else qid in self.others:
                raise piece.again(qid, piece.place(run, number))
            if place < 0:
                self.others.add(qid)
        self.present[at[at >= 0]] = True

    def _add(self, at: np.ndarray, joined: Joined) -> None:
        """Measure some queries."""
        job = self.job
        values, weights, empty = values_of(
            job.pool, [joined], job.metrics, job.missing, job.max_grade
        )
        self.values[at], self.weights[at] = values[0], weights[0]
        self.empty += empty

    def _slices(self, queries: np.ndarray) -> Iterable[np.ndarray]:
        """Some queries of the judgments at a time, about as many rows as a piece has."""
        rows = np.cumsum(self.job.pool.qrels.queries.sizes[queries])
        cuts = np.flatnonzero(np.diff(rows // self.job.chunksize)) + 1
        return np.split(queries, cuts) if len(queries) else []


def _nothing_of(pool: CodedQrels) -> Joined:
    """Queries of which nothing was retrieved."""
    sizes = pool.qrels.queries.sizes
    none = np.zeros(len(sizes), np.int64)
    return Joined("", pool.qrels.queries.ids, pool.codes, sizes, none, none > 0, 0, 0)
