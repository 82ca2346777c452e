"""Judgments and runs, from files or from memory; public through `skrank.trec`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.extending import Queries
from skrank.trec import _polars as pl  # imports polars at its first use
from skrank.trec._columns import Fields, table_of

if TYPE_CHECKING:
    import pandas as pd

UNNAMED = "run"  # the name of a run that has none


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """Judged documents of a collection.

    Attributes
    ----------
    queries : Queries
        Query ids and the rows of each.
    documents : polars.Series of shape (n_rows,)
        Document ids of the rows.
    labels : float64 ndarray of shape (n_rows,)
        At least 0; NaN = in the pool but not judged (a negative label in the file).
    """

    queries: Queries
    documents: pl.Series
    labels: np.ndarray

    @classmethod
    def from_arrays(cls, qid: ArrayLike, docid: ArrayLike, label: ArrayLike) -> Qrels:
        """Make judgments of columns in memory.

        Parameters
        ----------
        qid, docid : array-like of shape (n_rows,)
            Converted to strings.
        label : array-like of shape (n_rows,)
            Negative or NaN = in the pool but not judged.

        Returns
        -------
        Qrels

        Examples
        --------
        >>> from skrank import trec
        >>> trec.Qrels.from_arrays(["1", "1", "2"], ["a", "b", "a"], [2, 0, -1])
        Qrels: 2 queries, 3 documents, 2 judged
        """
        return cls._of_table(_table_of_arrays(qid, docid, "label", label))

    @classmethod
    def _of_table(cls, table: pl.DataFrame) -> Qrels:
        """The judgments of a table of `table_of`, whose column "number" has the labels."""
        queries, table = by_query(table)
        labels = table["number"].to_numpy()
        return cls(queries, table["docid"], np.where(labels < 0, np.nan, labels))

    def to_frame(self) -> pd.DataFrame:
        """One row per document.

        Returns
        -------
        DataFrame with columns "qid", "docid", "label"
        """
        return _frame(self, label=self.labels)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Labels by document by query, as pytrec_eval, ranx and ir_measures take them.

        Returns
        -------
        dict of str to dict of str to int
            Documents that were not judged have the label -1.

        Raises
        ------
        ValueError
            If a label is not a whole number.
        """
        if np.any(self.labels != np.trunc(self.labels), where=~np.isnan(self.labels)):
            raise ValueError("some labels are not whole numbers, which the other tools need.")
        return _nested(self, np.nan_to_num(self.labels, nan=-1.0).astype(int).tolist())

    def __repr__(self) -> str:
        judged = np.count_nonzero(~np.isnan(self.labels))
        return f"Qrels: {len(self.queries)} queries, {len(self.labels)} documents, {judged} judged"


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Documents that a system retrieved, best first.

    The order is trec_eval's: by score and then by name of the document, both descending.

    Attributes
    ----------
    name : str
    queries : Queries
        Query ids and the rows of each.
    documents : polars.Series of shape (n_rows,)
        Document ids of the rows.
    scores : float64 ndarray of shape (n_rows,)
    file : str or None
        Name of the file from which the run was read, for messages.
    weights : dict of str to float, or None
        Weight of each run, for a result of `fuse` with weights. Those of a ranker are trained on
        all judged queries, and their absolute values add up to 1. The scores of judged queries
        are by other weights: those of their fold.
    """

    name: str
    queries: Queries
    documents: pl.Series
    scores: np.ndarray
    file: str | None = None
    weights: dict[str, float] | None = None

    @classmethod
    def from_arrays(
        cls, qid: ArrayLike, docid: ArrayLike, score: ArrayLike, *, name: str = UNNAMED
    ) -> Run:
        """Make a run of columns in memory.

        Parameters
        ----------
        qid, docid : array-like of shape (n_rows,)
            Converted to strings.
        score : array-like of shape (n_rows,)
            Higher ranks first; finite.
        name : str

        Returns
        -------
        Run

        Examples
        --------
        >>> from skrank import trec
        >>> trec.Run.from_arrays(["1", "1"], ["a", "b"], [0.5, 0.7], name="bm25")
        Run 'bm25': 1 queries, 2 documents
        """
        name = check.check_text("name", name, "the name of the run")
        return cls._of_table(_table_of_arrays(qid, docid, "score", score), name)

    @classmethod
    def from_top_k(
        cls, qids: ArrayLike, indices: ArrayLike, scores: ArrayLike | None = None, *,
        docids: ArrayLike | None = None, name: str = UNNAMED, duplicates: str = "error",
    ) -> Run:  # fmt: skip
        """Make a run of the matrices that a vector index or a recommender returns.

        Parameters
        ----------
        qids : array-like of shape (n_queries,)
            Query, or user, of each row. Converted to strings.
        indices : array-like of shape (n_queries, k)
            Documents of each query, best first, as faiss, hnswlib and scikit-learn return them:
            places in `docids`, or ids. A negative number, with which faiss fills short lists, is
            not a document.
        scores : array-like of shape (n_queries, k), optional
            Higher is better: pass the negative distances. Default: the order of the documents.
        docids : array-like of ids, optional
            Id of each document of the index. The same id for several of them, such as the page of
            passages, needs `duplicates`.
        name : str
        duplicates : {"error", "first", "max"}
            As in `evaluate`.

        Returns
        -------
        Run

        Raises
        ------
        ValueError
            If shapes differ, an index is beyond `docids`, a score is not finite, or scores rise
            from left to right in all rows, as distances do.

        Examples
        --------
        >>> from skrank import trec
        >>> run = trec.Run.from_top_k(["u1", "u2"], [[2, 0], [1, -1]], docids=["a", "b", "c"])
        >>> run.to_dict()
        {'u1': {'c': -1.0, 'a': -2.0}, 'u2': {'b': -1.0}}
        """
        ids, documents, numbers = check.check_top_k(qids, indices, scores, docids)
        name = check.check_text("name", name, "the name of the run")
        return cls._of_table(_table_of_arrays(ids, documents, "score", numbers, duplicates), name)

    @classmethod
    def _of_table(cls, table: pl.DataFrame, name: str, file: str | None = None) -> Run:
        """The run of a table of `table_of`; ValueError if ranks contradict scores."""
        queries, table = by_query(table)
        scores = table["number"].to_numpy()
        run = cls(name, queries, table["docid"], scores, file)
        order = run._order(scores)
        if "rank" in table.columns:
            ranks, scores = table["rank"].to_numpy()[order], scores[order]
            inside = np.diff(queries.row_query) == 0
            steps = np.diff(ranks)[inside & (scores[1:] < scores[:-1])]
            opposed = np.count_nonzero(steps < 0)  # not steps from or to a rank NaN
            # at least half of the neighbours, chosen freely: equal scores show no order
            if opposed and 2 * opposed >= inside.sum() and not (steps > 0).any():
                raise check.contradiction(file or f"run {name!r}")
        return run._part(queries, order)

    def _in_single_precision(self) -> Run:
        """The run in the order of scores as float32; the scores stay in double precision."""
        # Larger scores are clipped, so that NumPy does not warn of an overflow. They tie either
        # way: as this maximum, or as inf.
        widest = np.finfo(np.float32).max
        scores = np.clip(self.scores, -widest, widest).astype(np.float32)
        return self._part(self.queries, self._order(scores))

    def _order(self, scores: np.ndarray) -> np.ndarray | slice:
        """Rows in the order of these scores, and of documents where they are equal.

        A slice if they are in this order already, so that nothing is copied.
        """
        starts, query = self.queries.indptr[1:-1], self.queries.row_query
        rises = scores[1:] > scores[:-1]
        rises[starts - 1] = False  # between queries
        order = np.lexsort((-scores, query)) if rises.any() else np.arange(len(scores))
        scores = scores[order]
        falls = np.append(True, scores[1:] < scores[:-1])
        falls[starts] = True
        tied = np.flatnonzero(~falls | ~np.append(falls[1:], True))
        if len(tied):
            columns = {"list": np.cumsum(falls)[tied], "row": order[tied]}
            table = pl.DataFrame(columns | {"docid": self.documents[order[tied]]})
            order[tied] = table.sort("list", "docid", descending=[False, True])["row"].to_numpy()
        return order if rises.any() or len(tied) else slice(None)

    def top(self, k: int | None) -> Run:
        """The first documents of each query.

        Parameters
        ----------
        k : int or None
            Number of documents of each query; None: all.

        Returns
        -------
        Run
        """
        if k is None:
            return self
        k = check.check_count("k", k, "the documents of each query to keep")
        return self._selected(self.rank_in_query <= k)

    def _without_self(self) -> Run:
        """The run without documents with the id of their query (`exclude_self` of `evaluate`)."""
        return self._selected(self.documents.to_numpy() != self.queries.ids[self.queries.row_query])

    @property
    def rank_in_query(self) -> np.ndarray:
        """Rank of each row, from 1 on."""
        starts, sizes = self.queries.indptr[:-1], self.queries.sizes
        return np.arange(1, len(self.scores) + 1) - np.repeat(starts, sizes)

    def _selected(self, kept: np.ndarray) -> Run:
        """The run with the rows of a mask; queries without such a row are left out."""
        rows = np.flatnonzero(kept)
        sizes = np.bincount(self.queries.row_query[rows], minlength=len(self.queries))
        indptr = np.append(0, np.cumsum(sizes[sizes > 0]))
        return self._part(Queries(self.queries.ids[sizes > 0], indptr), rows)

    def _part(self, queries: Queries, rows: np.ndarray | slice) -> Run:
        documents, scores = self.documents[rows], self.scores[rows]
        return replace(self, queries=queries, documents=documents, scores=scores)

    def to_frame(self) -> pd.DataFrame:
        """One row per document, best first.

        Returns
        -------
        DataFrame with columns "qid", "docid", "score"
        """
        return _frame(self, score=self.scores)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Scores by document by query, as pytrec_eval, ranx and ir_measures take them.

        Returns
        -------
        dict of str to dict of str to float
        """
        return _nested(self, self.scores.tolist())

    def __repr__(self) -> str:
        return f"Run {self.name!r}: {len(self.queries)} queries, {len(self.scores)} documents"


def _table_of_arrays(
    qid: ArrayLike, docid: ArrayLike, field: str, numbers: ArrayLike, duplicates: str = "error"
) -> pl.DataFrame:
    """The table of columns in memory; ids, such as floats and dates, are converted to strings."""
    check.check_choice("duplicates", duplicates, ("error", "first", "max"))
    check.check_same_index(**{"qid": qid, "docid": docid, field: numbers})
    columns: Fields = {field: check.as_column(field, numbers)}
    for name, ids, what in (("qid", qid, "query"), ("docid", docid, "document")):
        values = check.as_ids(name, ids, len(columns[field]), what)
        # `table_of` decodes bytes, and refuses those that are not UTF-8
        columns[name] = [value if isinstance(value, bytes) else str(value) for value in values]
    return table_of(columns, lambda row: f"row {row} of the arrays", "the table", duplicates)


def by_query(table: pl.DataFrame) -> tuple[Queries, pl.DataFrame]:
    """Rows sorted by query, in the order of the first rows, and the queries."""
    stretches = table["qid"].rle().struct.unnest()  # of neighbours
    if stretches["value"].n_unique() < len(stretches):
        first = pl.Enum(table["qid"].unique(maintain_order=True))
        table = table.sort(pl.col("qid").cast(first), maintain_order=True)
        stretches = table["qid"].rle().struct.unnest()
    ids = np.array(stretches["value"].to_list(), dtype=object)
    return Queries(ids, np.cumsum([0, *stretches["len"].to_list()])), table


def _nested(source: Qrels | Run, numbers: list[Any]) -> dict[str, dict[str, Any]]:
    """Numbers by document by query."""
    indptr = source.queries.indptr.tolist()
    pairs = list(zip(source.documents.to_list(), numbers, strict=True))
    return {
        query: dict(pairs[start:stop])
        for query, start, stop in zip(source.queries.ids, indptr[:-1], indptr[1:], strict=True)
    }


def _frame(source: Qrels | Run, **column: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    qid = pd.Index(source.queries.ids).repeat(source.queries.sizes)  # converts each id once
    return pd.DataFrame({"qid": qid, "docid": source.documents.to_list()} | column)
