"""Runs joined with judgments: what the metrics see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.order import RankedCodes
from skrank._engine.queries import Queries, slices
from skrank._engine.ranking import Ranking
from skrank.trec._data import Qrels, Run


@dataclass(frozen=True, eq=False)
class CodedQrels:
    """Judgments as codes of labels, made once for all runs."""

    qrels: Qrels
    codes: np.ndarray
    labels: np.ndarray
    unjudged: int

    @classmethod
    def of(cls, qrels: Qrels) -> CodedQrels:
        """The codes of judgments, one for pooled documents without a label, one for others."""
        judged = Judgments(qrels.labels, qrels.queries)
        labels = np.append(judged.labels[: judged.n_labels], [0.0, 0.0])
        return cls(qrels, judged.codes, labels, judged.n_labels)

    def only(self, queries: np.ndarray) -> CodedQrels:
        """The judgments of some queries, with the codes of all."""
        some = self.qrels.queries
        indptr, rows = slices(some.indptr[queries], some.sizes[queries])
        qrels = Qrels(
            Queries(some.ids[queries], indptr),
            self.qrels.documents.take(rows),
            self.qrels.labels[rows],
        )
        return replace(self, qrels=qrels, codes=self.codes[rows])

    def numbered(self) -> CodedQrels:
        """Numbers of rows for codes: runs joined with them can be given codes of any reduction."""
        n_rows = len(self.codes)
        return replace(self, codes=np.arange(n_rows, dtype=np.int32), unjudged=n_rows)

    def reduced(self, kept: np.ndarray) -> CodedQrels:
        """The judgments of some rows (a mask); the other documents stay in the pool, not judged."""
        unjudged = self.codes.dtype.type(self.unjudged)
        return replace(self, codes=np.where(kept, self.codes, unjudged))


@dataclass(frozen=True, eq=False)
class Joined:
    """The judged queries as a run answers them.

    Attributes
    ----------
    name : str
    ids : ndarray of shape (n_queries,)
        The judged queries.
    codes : ndarray of shape (n_rows,)
        Of the retrieved documents, best first, and of those that were not, query by query.
    sizes, retrieved : int64 ndarrays of shape (n_queries,)
        Rows of each query, and how many of them were retrieved.
    present : bool ndarray of shape (n_queries,)
        Whether the run has the query.
    n_ignored, n_judged : int
        Queries of the run that are not judged, and judged documents among those retrieved.
    """

    name: str
    ids: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    retrieved: np.ndarray
    present: np.ndarray
    n_ignored: int
    n_judged: int

    def coded(self, pool: CodedQrels) -> Joined:
        """With the codes of `pool`, if it was joined with the numbers of its rows."""
        outside = np.array([pool.unjudged, pool.unjudged + 1], pool.codes.dtype)
        return replace(self, codes=np.append(pool.codes, outside)[self.codes])


def join(pool: CodedQrels, run: Run) -> Joined:
    """Find the codes of a run's documents, and append the documents that it did not retrieve."""
    from skrank._kernels import trec

    judged = pool.qrels.queries
    place = {qid: q for q, qid in enumerate(run.queries.ids)}
    query_of = np.array([place.get(qid, -1) for qid in judged.ids])
    present = query_of >= 0
    retrieved = np.where(present, run.queries.sizes[query_of], 0)
    codes = np.empty(retrieved.sum() + len(pool.codes), pool.codes.dtype)
    indptr = np.empty(len(judged) + 1, np.int64)
    n_matched = trec.join.form(len(codes))(
        run.queries.indptr, run.documents.arrays, run.slots.first, run.slots.rows, query_of,
        judged.indptr, pool.qrels.documents.arrays, pool.codes, pool.unjudged, codes, indptr,
    )  # fmt: skip
    n_ignored = len(run.queries) - int(present.sum())
    return Joined(
        run.name, judged.ids, codes[: indptr[-1]], np.diff(indptr), retrieved, present, n_ignored,
        n_matched,
    )  # fmt: skip


def facts_of(
    present: np.ndarray, n_ignored: int, n_retrieved: int, n_judged: int
) -> dict[str, float]:
    """A row of ``TrecReport.runs``."""
    n_present = int(present.sum())
    return {
        "queries": n_present,
        "missing": len(present) - n_present,
        "ignored": n_ignored,
        "documents": n_retrieved,
        "judged": n_judged / n_retrieved,
    }


def no_query_of(qrels: Qrels, name: str, first: str) -> ValueError:
    """The error for a run without a query of the judgments."""
    return ValueError(
        f"run {name!r} has no query of the qrels: its first is {first}, and that of the qrels "
        f"{qrels.queries.name(0)}."
    )


class JoinedJudgments(Judgments):
    """Judgments of some runs: each query of each run is a query."""

    def __init__(self, pool: CodedQrels, joined: Sequence[Joined]) -> None:
        sizes = np.concatenate([one.sizes for one in joined])
        ids = np.concatenate([one.ids for one in joined])
        self.indptr = np.concatenate(([0], np.cumsum(sizes)))
        self.queries = Queries(ids, self.indptr)
        self.codes = np.concatenate([one.codes for one in joined])
        self.labels, self.unjudged = pool.labels, pool.unjudged
        self._pool = pool

    def place(self, code: int) -> str:
        """The first document of a code, by its name."""
        row = int(np.flatnonzero(self._pool.codes == code)[0])
        qrels = self._pool.qrels
        query = int(np.searchsorted(qrels.queries.indptr, row, side="right")) - 1
        (name,) = qrels.documents.take(slice(row, row + 1)).names()
        return f"document {name!r} of query {qrels.queries.name(query)}"


class JoinedRanking(Ranking):
    """Their documents, which stand in the order of their ranks, without ties."""

    def __init__(self, judgments: JoinedJudgments, joined: Sequence[Joined]) -> None:
        self.judgments = judgments
        self.tied = np.zeros(len(judgments.codes), np.uint8)
        self.retrieved = np.concatenate([one.retrieved for one in joined])
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def head(self, ties: str, depth: int) -> None:
        """None: all are in order already."""

    def _settled(self, ties: str) -> RankedCodes:
        judgments = self.judgments
        return RankedCodes.untied(judgments.indptr, judgments.codes, self.retrieved)
