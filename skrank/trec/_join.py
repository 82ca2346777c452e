"""Join runs with judgments: labels of retrieved documents, in the order of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skrank.extending import Judgments, Queries
from skrank.trec import _polars as pl
from skrank.trec._data import Qrels, Run


class Joined(NamedTuple):
    """The judged queries with the documents that one run retrieved.

    Attributes
    ----------
    rows : int32 ndarray
        For each query, rows of the judgments of the retrieved documents, best first, and then of
        the pooled documents that were not retrieved. The row of a document outside of the pool is
        the number of rows.
    sizes, retrieved : int64 ndarrays of shape (n_queries,)
        Number of rows of each query, and of retrieved documents among them, which is 0 if the run
        lacks the query.
    n_judged : int
        Number of retrieved documents with a label.
    """

    rows: np.ndarray
    sizes: np.ndarray
    retrieved: np.ndarray
    n_judged: int


class Pool:
    """Judgments whose labels are coded, and whose documents are numbered, once for all runs.

    Attributes
    ----------
    qrels : Qrels
    codes : int ndarray of shape (n_rows,)
        The code of each label; `unjudged` for pooled documents without a label.
    labels : float64 ndarray
        The label of each code. The last two are those of documents without a label, in the pool
        and outside of the pool, and are 0.
    """

    def __init__(self, qrels: Qrels) -> None:
        coded = Judgments(qrels.labels, qrels.queries)
        self.qrels, self.codes, self.unjudged = qrels, coded.codes, coded.n_labels
        self.labels = np.append(coded.labels[: self.unjudged], [0.0, 0.0])
        self._place = {query: place for place, query in enumerate(qrels.queries.ids)}
        self._query = qrels.queries.row_query
        self._numbers = pl.Enum(qrels.documents.unique(maintain_order=True))
        documents = qrels.documents.cast(self._numbers).to_physical().to_numpy()
        keys = self._query * np.int64(len(self._numbers.categories)) + documents
        self._order = np.argsort(keys)  # rows by ascending keys of query and document
        self._keys = keys[self._order]

    def join(self, run: Run) -> Joined:
        """Join the documents of the judged queries of a run."""
        n_queries, n_rows = len(self._place), len(self.codes)
        place = np.array([self._place.get(query, -1) for query in run.queries.ids], np.int64)
        query = np.repeat(place, run.queries.sizes)
        documents, known = run.documents, query >= 0
        if not known.all():
            documents, query = documents.filter(pl.Series(known)), query[known]
        number = documents.cast(self._numbers, strict=False).to_physical()
        known = number.is_not_null().to_numpy()  # the others are not judged for any query
        key = query[known] * np.int64(len(self._numbers.categories))
        key += number.drop_nulls().to_numpy()
        at = np.minimum(np.searchsorted(self._keys, key), n_rows - 1)
        judged = np.full(len(query), n_rows)  # rows of the judgments, or beyond
        judged[known] = np.where(self._keys[at] == key, self._order[at], n_rows)
        in_pool = judged < n_rows
        rest = np.ones(n_rows, bool)
        rest[judged[in_pool]] = False
        both = np.concatenate([query, self._query[rest]])
        rows = np.concatenate([judged, np.flatnonzero(rest)])[np.argsort(both, kind="stable")]
        sizes, retrieved = (np.bincount(owner, minlength=n_queries) for owner in (both, query))
        labelled = np.append(self.codes < self.unjudged, False)
        n_judged = int(np.count_nonzero(labelled[judged]))
        return Joined(rows.astype(np.int32), sizes, retrieved, n_judged)


class JoinedJudgments(Judgments):
    """Judgments of some runs, in which each query of each run is a query of its own.

    `retrieved` is the number of documents that the run retrieved for each of these.
    """

    def __init__(self, pool: Pool, joined: Sequence[Joined]) -> None:
        outside = pool.codes.dtype.type(pool.unjudged + 1)
        self.codes = np.append(pool.codes, outside)[np.concatenate([run.rows for run in joined])]
        self.indptr = np.concatenate(([0], np.cumsum([run.sizes for run in joined])))
        self.retrieved = np.concatenate([run.retrieved for run in joined])
        self.queries = Queries(np.tile(pool.qrels.queries.ids, len(joined)), self.indptr)
        self.labels, self.unjudged, self._pool = pool.labels, pool.unjudged, pool
        self.n_labels = pool.unjudged

    def place(self, code: int) -> str:
        """The first document with a code, for messages."""
        row = int(np.flatnonzero(self._pool.codes == code)[0])
        qrels = self._pool.qrels
        query = qrels.queries.name(int(qrels.queries.row_query[row]))
        return f"document {qrels.documents[row]!r} of query {query}"
