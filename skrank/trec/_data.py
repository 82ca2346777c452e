"""Judgments and runs, from files or from memory; public through `skrank.trec`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _renamed
from skrank import _validation as check
from skrank.extending import Queries
from skrank.trec import _polars as pl
from skrank.trec._columns import Columns, Source, as_text, rows_of_memory, table_of
from skrank.trec._files import Entries, rows_of

if TYPE_CHECKING:
    import pandas as pd


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
        check.check_same_index(qid=qid, docid=docid, label=label)
        return cls._of_rows(_rows_of_arrays(qid, docid, label, "qrels"))

    @classmethod
    def _of_rows(cls, rows: Entries) -> Qrels:
        """The judgments of checked rows."""
        queries, table = by_query(rows.table)
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
    ranks : float64 ndarray of shape (n_rows,), or None
        The column of ranks, if it was read: see `fuse`.
    file : str or None
        Name of the file from which the run was read, for messages.
    weights : dict of str to float, or None
        Weight of each run, for a result of `fuse` with weights. Those of a ranker are trained on
        all judged queries and add up to 1.
    """

    name: str
    queries: Queries
    documents: pl.Series
    scores: np.ndarray
    ranks: np.ndarray | None = None
    file: str | None = None
    weights: dict[str, float] | None = None

    @classmethod
    def from_arrays(
        cls, qid: ArrayLike, docid: ArrayLike, score: ArrayLike, *, name: str = "run"
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
        check.check_same_index(qid=qid, docid=docid, score=score)
        name = check.check_text("name", name, "the name of the run")
        return cls._of_rows(_rows_of_arrays(qid, docid, score, "run"), name)

    @classmethod
    def _of_rows(cls, rows: Entries, name: str | None = None) -> Run:
        """The run of checked rows; its default name is the tag, or the file if it has none."""
        queries, table = by_query(rows.table)
        ranks = table["rank"].to_numpy() if "rank" in table.columns else None
        name = next(one for one in (name, rows.tag, rows.name, "run") if one is not None)
        scores = table["number"].to_numpy()
        return cls(name, queries, table["docid"], scores, ranks, rows.name)._ordered(scores)

    def _in_single_precision(self) -> Run:
        """The run in the order of scores as float32."""
        widest = np.finfo(np.float32).max  # larger scores would become inf
        scores = np.clip(self.scores, -widest, widest).astype(np.float32).astype(np.float64)
        return self._ordered(scores)

    def _ordered(self, scores: np.ndarray) -> Run:
        """The run in the order of these scores, and of documents where they are equal."""
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
        return self._part(self.queries, order) if rises.any() or len(tied) else self

    @_renamed.refuse_old_arguments
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
        """The run without the documents whose id is that of their query."""
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

    def _part(self, queries: Queries, rows: np.ndarray) -> Run:
        ranks = None if self.ranks is None else self.ranks[rows]
        documents, scores = self.documents[rows], self.scores[rows]
        return replace(self, queries=queries, documents=documents, scores=scores, ranks=ranks)

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


def _rows_of_arrays(qid: ArrayLike, docid: ArrayLike, numbers: ArrayLike, kind: str) -> Entries:
    n_rows = len(check.as_column("label" if kind == "qrels" else "score", numbers))
    queries, documents = (
        [as_text(one) or str(one) for one in check.as_ids(name, ids, n_rows, what)]
        for name, ids, what in (("qid", qid, "query"), ("docid", docid, "document"))
    )
    return Entries(table_of(Columns(queries, documents, numbers), kind, rows_of_memory(kind)))


def by_query(table: pl.DataFrame) -> tuple[Queries, pl.DataFrame]:
    """Rows sorted by query, in the order of the first rows, and the queries."""
    starts = _starts(table["qid"])
    if table["qid"][starts].n_unique() < len(starts):
        first = pl.Enum(table["qid"].unique(maintain_order=True))
        table = table.sort(pl.col("qid").cast(first), maintain_order=True)
        starts = _starts(table["qid"])
    ids = np.array(table["qid"][starts].to_list(), dtype=object)
    return Queries(ids, np.append(starts, len(table))), table


def _starts(ids: pl.Series) -> np.ndarray:
    """Rows whose id differs from the one above."""
    return np.flatnonzero(ids.ne_missing(ids.shift(1)).to_numpy())


def _nested(given: Qrels | Run, numbers: list[Any]) -> dict[str, dict[str, Any]]:
    """Numbers by document by query."""
    indptr = given.queries.indptr.tolist()
    pairs = list(zip(given.documents.to_list(), numbers, strict=True))
    return {
        query: dict(pairs[start:stop])
        for query, start, stop in zip(given.queries.ids, indptr[:-1], indptr[1:], strict=True)
    }


def _frame(given: Qrels | Run, **column: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    qid = pd.Index(given.queries.ids).repeat(given.queries.sizes)
    return pd.DataFrame({"qid": qid, "docid": pd.Index(given.documents.to_list())} | column)


def read_qrels(source: object) -> Qrels:
    """Read judgments: lines of query, iteration, document and label, or another format.

    Parameters
    ----------
    source : path, file object, or judgments in memory
        As in `evaluate`. A file has lines of TREC, with or without the iteration, and with labels
        such as L2 of NTCIR; JSON of queries, documents and labels; JSON Lines, CSV, TSV or Parquet
        with named columns. Plain, or compressed with gzip, bzip2, xz or Zstandard. The content
        decides, not the name. Text is UTF-8. Blank lines and comments are ignored. A comment begins
        with # and cannot be a row: it has too few or too many columns, or its label is not a
        number.

    Returns
    -------
    Qrels
        A negative label means that the document was in the pool but not judged, as for trec_eval;
        such a label becomes NaN. A document that is not in the file was not in the pool.

    Raises
    ------
    ValueError
        With the file and the number of the line, if the line does not have three or four columns, a
        label is not a number, a document occurs twice in a query, or the text is not UTF-8; if the
        file is empty or damaged.

    Examples
    --------
    >>> import io
    >>> from skrank import trec
    >>> trec.read_qrels(io.StringIO("301 0 FBIS3-1 1\\n301 0 FT934-9 0\\n"))
    Qrels: 1 queries, 2 documents, 2 judged
    """
    if isinstance(source, Run):
        raise ValueError(f"qrels is the run {source.name!r}: judgments come first, then runs.")
    return source if isinstance(source, Qrels) else Qrels._of_rows(rows_of(source, "qrels"))


def read_run(source: Source, *, name: str | None = None) -> Run:
    """Read a run: lines of query, Q0, document, rank, score and tag, or another format.

    Parameters
    ----------
    source : path or file object
        Lines of TREC; lines of query, document and score, or of query, document and rank; JSON of
        queries, documents and scores; JSON Lines, CSV, TSV or Parquet with named columns. Plain, or
        compressed with gzip, bzip2, xz or Zstandard. The content decides, not the name. Text is
        UTF-8. Blank lines, columns after the tag, comments and the description of runs of NTCIR are
        ignored. A comment begins with # and cannot be a row: it has too few columns, or its score
        is not a number.
    name : str, optional
        Default: the tag of the first line, or the name of the file if there is none.

    Returns
    -------
    Run
        In the order of trec_eval: by score and then by document, both descending. In lines of six
        columns, the rank is ignored.

    Raises
    ------
    ValueError
        With the file and the number of the line, if the line has too few columns, a score is not a
        finite number, a document occurs twice in a query, or the text is not UTF-8; if the file is
        empty or damaged.

    Notes
    -----
    A file without scores is a run by rank, such as those of MS MARCO: its column is called "rank",
    or its lines have three columns, of which the last is 1, 2, ..., n in each query in the order of
    the lines. The score of a document is then its rank with the opposite sign.

    Examples
    --------
    >>> import io
    >>> from skrank import trec
    >>> run = trec.read_run(io.StringIO("301 Q0 FT934-9 1 2.5 bm25\\n301 Q0 FBIS3-1 2 2.5 bm25\\n"))
    >>> run.to_frame()
       qid   docid  score
    0  301 FT934-9    2.5
    1  301 FBIS3-1    2.5
    """
    name = None if name is None else check.check_text("name", name, "the name of the run")
    return Run._of_rows(rows_of(source, "run"), name)


def as_run(run: object, *, ranks: bool = False) -> Run:
    """A run in memory or in a file; see `rows_of` for the parameters."""
    if isinstance(run, Run):
        return run
    return Run._of_rows(run if isinstance(run, Entries) else rows_of(run, "run", ranks=ranks))
