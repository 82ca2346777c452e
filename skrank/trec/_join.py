"""Join runs with judgments: the labels of retrieved documents, in the order of their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries, RankedCodes, slices
from skrank._engine.ranking import Ranking
from skrank._engine.threads import cached_property
from skrank._kernels.arguments import HashedRun, Judged
from skrank.trec._data import Qrels, Run


@dataclass(frozen=True, eq=False)
class CodedQrels:
    """Judgments with a small integer code for each label, made once for all runs.

    Attributes
    ----------
    qrels : Qrels
    codes : int ndarray of shape (n_rows,)
    labels : float64 ndarray
        The label of each code.
    unjudged : int
        The code of pooled documents without a label. The next code is that of retrieved documents
        outside of the pool.
    """

    qrels: Qrels
    codes: np.ndarray
    labels: np.ndarray
    unjudged: int

    @classmethod
    def of(cls, qrels: Qrels) -> CodedQrels:
        """Give a code to each label."""
        judged = Judgments(qrels.labels, qrels.queries)
        labels = np.append(judged.labels[: judged.n_labels], [0.0, 0.0])
        return cls(qrels, judged.codes, labels, judged.n_labels)

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each query among all queries, by its id."""
        ids = self.qrels.queries.ids
        return dict(zip(ids, range(len(ids)), strict=True))

    def only(self, places: np.ndarray) -> CodedQrels:
        """The judgments of the queries at some ascending places, with the codes of all queries."""
        all_queries = self.qrels.queries
        if len(places) == len(all_queries):
            return self
        indptr, rows = slices(all_queries.indptr[places], all_queries.sizes[places])
        queries = Queries(all_queries.ids[places], indptr)
        qrels = Qrels(queries, self.qrels.documents.take(rows), self.qrels.labels[rows])
        return replace(self, qrels=qrels, codes=self.codes[rows])

    def numbered(self) -> CodedQrels:
        """Judgments whose codes are the numbers of the rows.

        Runs that are joined with them are given the codes of other judgments of the same rows by
        `Joined.coded`, without another join.
        """
        n_rows = len(self.codes)
        return replace(self, codes=np.arange(n_rows, dtype=np.int32), unjudged=n_rows)

    def reduced(self, kept: np.ndarray) -> CodedQrels:
        """Judgments in which documents are not judged, but in the pool, unless `kept` (a mask)."""
        unjudged = self.codes.dtype.type(self.unjudged)
        return replace(self, codes=np.where(kept, self.codes, unjudged))


@dataclass(frozen=True, eq=False)
class Joined:
    """Some judged queries with the documents that one run retrieved.

    Attributes
    ----------
    run, places : int64 ndarrays of shape (n_queries,)
        Number of the run, the same for all queries, and places of the queries in the judgments,
        ascending.
    codes : int ndarray of shape (n_rows,)
        For each query, codes of the retrieved documents, best first, and then of the pooled
        documents that were not retrieved.
    sizes, retrieved : int64 ndarrays of shape (n_queries,)
        Number of rows of each query, and of retrieved documents among them, which is 0 if the run
        lacks the query.
    n_judged : int
        Number of retrieved documents with a label.
    """

    run: np.ndarray
    places: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    retrieved: np.ndarray
    n_judged: int

    @classmethod
    def of(cls, pool: CodedQrels, run: Run, number: int) -> Joined:
        """The judged queries that a run has."""
        from skrank._kernels import trec

        place_of = np.array([pool.places.get(query, -1) for query in run.queries.ids])
        query_of = np.flatnonzero(place_of >= 0)
        query_of = query_of[np.argsort(place_of[query_of])]
        places = place_of[query_of]
        judged = pool.only(places)
        qrels, names = judged.qrels, run.documents.arrays
        retrieved = run.queries.sizes[query_of]
        codes = np.empty(retrieved.sum() + len(judged.codes), judged.codes.dtype)
        indptr = np.empty(len(places) + 1, np.int64)
        n_judged = trec.join.for_rows(len(judged.codes))(
            HashedRun(run.queries.indptr, names, run.slots.first, run.slots.rows),
            Judged(query_of, qrels.queries.indptr, qrels.documents.arrays, judged.codes),
            judged.unjudged,
            codes,
            indptr,
        )
        runs = np.full(len(places), number)
        return cls(runs, places, codes[: indptr[-1]], np.diff(indptr), retrieved, n_judged)

    @classmethod
    def of_nothing(cls, pool: CodedQrels, places: np.ndarray, number: int) -> Joined:
        """Judged queries that a run lacks."""
        judged = pool.only(places)
        sizes = judged.qrels.queries.sizes
        runs = np.full(len(places), number)
        return cls(runs, places, judged.codes, sizes, np.zeros_like(sizes), 0)

    def coded(self, pool: CodedQrels) -> Joined:
        """The same with the codes of `pool`; the run was joined with `CodedQrels.numbered`."""
        outside = np.array([pool.unjudged, pool.unjudged + 1], pool.codes.dtype)
        return replace(self, codes=np.append(pool.codes, outside)[self.codes])


class JoinedJudgments(Judgments):
    """Judgments of some runs, in which each query of each run is a query of its own.

    Attributes
    ----------
    run, places : int ndarrays of shape (n_queries,)
        Number of the run of each query, and place of the query in the qrels.
    retrieved : int ndarray of shape (n_queries,)
        Number of documents that the run retrieved.
    """

    def __init__(self, pool: CodedQrels, joined: Sequence[Joined]) -> None:
        arrays = map(attrgetter("run", "places", "codes", "sizes", "retrieved"), joined)
        self.run, self.places, self.codes, sizes, self.retrieved = map(
            np.concatenate, zip(*arrays, strict=True)
        )
        self.indptr = np.concatenate(([0], np.cumsum(sizes)))
        self.queries = Queries(pool.qrels.queries.ids[self.places], self.indptr)
        self.labels, self.unjudged = pool.labels, pool.unjudged
        self._pool = pool

    def place(self, code: int) -> str:
        """The first document with a code, for messages."""
        row = int(np.flatnonzero(self._pool.codes == code)[0])
        qrels = self._pool.qrels
        query = int(np.searchsorted(qrels.queries.indptr, row, side="right")) - 1
        (name,) = qrels.documents.take(slice(row, row + 1)).names()
        return f"document {name!r} of query {qrels.queries.name(query)}"


class JoinedRanking(Ranking):
    """The ranking of the documents of `JoinedJudgments`: by rank already, and without ties."""

    _deepest = None  # do not search for the first ranks: all are known

    def __init__(self, judgments: JoinedJudgments) -> None:
        self.judgments = judgments
        self.tied = np.zeros(len(judgments.codes), np.uint8)
        self.retrieved = judgments.retrieved
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def _settled(self, ties: str) -> RankedCodes:
        judgments = self.judgments
        return RankedCodes.untied(judgments.indptr, judgments.codes, self.retrieved)
