"""Judgments and runs, from files or from memory; public through `skrank.trec`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.queries import Queries, rank_scores, slices
from skrank._engine.threads import run_chunks
from skrank.trec._columns import (
    QRELS,
    RUNS,
    Columns,
    Kind,
    Texts,
    check_labels_or_scores,
    columns_of,
    numbers_of,
    table_of,
    table_of_texts,
)
from skrank.trec._files import Source, is_file, read
from skrank.trec._table import Documents, Slots, Table

if TYPE_CHECKING:
    import pandas as pd

_PRECISIONS = ("single", "double")


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """Judged documents of a collection.

    Attributes
    ----------
    queries : Queries
        Query ids and the rows of each.
    documents : Documents
        Document ids of the rows; ``documents.names()`` returns them as strings.
    labels : float64 ndarray of shape (n_rows,)
        At least 0; NaN = in the pool but not judged (a negative label in the file).
    """

    queries: Queries
    documents: Documents
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
        return cls.of_table(_table_of_arrays(qid, docid, label, QRELS))

    @classmethod
    def of_table(cls, table: Table) -> Qrels:
        """The judgments of a table of labels."""
        table.slots()  # raises ValueError if a query has a document twice
        below = table.numbers[table.numbers < 0]
        if not np.array_equal(below, np.rint(below)):
            warnings.warn(
                f"labels of the qrels are below 0 and not whole numbers, such as {below[0]:g}, as "
                "if they were scores: qrels come first, then runs. Labels below 0 count as not "
                "judged.",
                stacklevel=1,
            )
        labels = np.where(table.numbers < 0, np.nan, table.numbers)
        return cls(table.queries, table.documents, labels)

    def with_pool_judged(self) -> Qrels:
        """Judgments in which the documents of the pool without a label are judged not relevant.

        Some tracks give labels below 0 to documents that assessors saw, such as spam.

        Returns
        -------
        Qrels
        """
        return replace(self, labels=np.nan_to_num(self.labels, nan=0.0))

    def to_frame(self) -> pd.DataFrame:
        """One row per document.

        Returns
        -------
        DataFrame with columns "qid", "docid", "label"
        """
        return _frame(self.queries, self.documents, label=self.labels)

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
    documents : Documents
        Document ids of the rows; ``documents.names()`` returns them as strings.
    scores : float64 ndarray of shape (n_rows,)
    slots : Slots
        Hash tables of the documents of each query.
    """

    name: str
    queries: Queries
    documents: Documents
    scores: np.ndarray
    slots: Slots

    @classmethod
    def from_arrays(
        cls,
        qid: ArrayLike,
        docid: ArrayLike,
        score: ArrayLike,
        *,
        name: str = "run",
        precision: str = "single",
    ) -> Run:
        """Make a run of columns in memory.

        Parameters
        ----------
        qid, docid : array-like of shape (n_rows,)
            Converted to strings.
        score : array-like of shape (n_rows,)
            Higher ranks first; finite.
        name, precision
            See `read_run`.

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
        return cls.of_table(_table_of_arrays(qid, docid, score, RUNS), precision, name)

    @classmethod
    def of_table(cls, table: Table, precision: str, name: str | None = None) -> Run:
        """The run of a table of scores. Its name is the tag of the table unless it is given."""
        from skrank._kernels import trec

        scores, queries = table.numbers, table.queries
        if check.check_choice("precision", precision, _PRECISIONS) == "single":
            widest = np.finfo(np.float32).max  # larger scores would become inf
            scores = np.clip(scores, -widest, widest).astype(np.float32).astype(np.float64)
        falls = scores[1:] < scores[:-1]
        falls[queries.indptr[1:-1] - 1] = True  # between queries
        if not falls.all():
            order, tied, _ = rank_scores(queries, scores)
            rows = np.repeat(queries.indptr[:-1], queries.sizes) + order
            text, start, stop, _ = table.documents
            run_chunks(trec.settle_by_name, queries.indptr, tied, text, start, stop, rows)
            documents = table.documents.take(rows)
            table = replace(table, documents=documents, numbers=table.numbers[rows])
        name = table.tag if name is None else name
        return cls(name, queries, table.documents, table.numbers, table.slots())

    def top(self, depth: int) -> Run:
        """The first documents of each query.

        Parameters
        ----------
        depth : int
            Number of documents of each query.

        Returns
        -------
        Run
        """
        depth = check.check_count("depth", depth, "the documents of each query to keep")
        indptr, rows = slices(self.queries.indptr[:-1], np.minimum(self.queries.sizes, depth))
        return self._kept(Queries(self.queries.ids, indptr), rows)

    def without_self(self) -> Run:
        """The run without the documents whose id is that of their query."""
        query = np.repeat(self.queries.ids, self.queries.sizes)
        rows = np.flatnonzero(np.array(self.documents.names(), dtype=object) != query)
        numbers = np.repeat(np.arange(len(self.queries)), self.queries.sizes)[rows]
        sizes = np.bincount(numbers, minlength=len(self.queries))
        indptr = np.append(0, np.cumsum(sizes[sizes > 0]))
        return self._kept(Queries(self.queries.ids[sizes > 0], indptr), rows)

    def _kept(self, queries: Queries, rows: np.ndarray) -> Run:
        table = Table(queries, self.documents.take(rows), self.scores[rows])
        return Run(self.name, queries, table.documents, table.numbers, table.slots())

    def to_frame(self) -> pd.DataFrame:
        """One row per document, best first.

        Returns
        -------
        DataFrame with columns "qid", "docid", "score"
        """
        return _frame(self.queries, self.documents, score=self.scores)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Scores by document by query, as pytrec_eval, ranx and ir_measures take them.

        Returns
        -------
        dict of str to dict of str to float
        """
        return _nested(self, self.scores.tolist())

    def __repr__(self) -> str:
        size = f"{len(self.queries)} queries, {len(self.scores)} documents"
        return f"Run {self.name!r}: {size}"


def _table_of_arrays(qid: ArrayLike, docid: ArrayLike, numbers: ArrayLike, kind: Kind) -> Table:
    vector = numbers_of(numbers, kind)
    queries = Texts.of(check.as_ids("qid", qid, len(vector), "query"), "query")
    documents = Texts.of(check.as_ids("docid", docid, len(vector), "document"), "document")
    check_labels_or_scores(vector, kind, queries, documents)
    return table_of_texts(queries, documents, vector)


_Number = TypeVar("_Number", int, float)


def _nested(table: Qrels | Run, numbers: list[_Number]) -> dict[str, dict[str, _Number]]:
    """Numbers by document by query."""
    indptr = table.queries.indptr.tolist()
    pairs = list(zip(table.documents.names(), numbers, strict=True))
    return {
        query: dict(pairs[start:stop])
        for query, start, stop in zip(table.queries.ids, indptr[:-1], indptr[1:], strict=True)
    }


def _frame(queries: Queries, documents: Documents, **column: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    qid = text_index(queries.ids).repeat(queries.sizes)
    docid = text_index(documents.names())
    return pd.DataFrame({"qid": qid, "docid": docid} | column)


def text_index(texts: Sequence[str] | np.ndarray, name: str | None = None) -> pd.Index:
    """An index of texts, of dtype object if one of them has bytes that are not UTF-8."""
    import pandas as pd

    try:
        return pd.Index(texts, name=name)
    except UnicodeEncodeError:
        return pd.Index(texts, name=name, dtype=object)


def read_qrels(source: Source) -> Qrels:
    """Read judgments: lines of query, iteration, document and label, or another format.

    Parameters
    ----------
    source : path or file object
        Lines of TREC, with or without the iteration; JSON of queries, documents and labels; JSON
        Lines, CSV, TSV or Parquet with named columns. Plain, or compressed with gzip, bzip2, xz or
        Zstandard, whatever its name. Blank lines and comments are ignored. A comment begins with #
        and cannot be a row: it has too few or too many columns, or its label is not a number.

    Returns
    -------
    Qrels
        A negative label means that the document was in the pool but not judged, as for trec_eval;
        such a label becomes NaN. A document that is not in the file was not in the pool.

    Raises
    ------
    ValueError
        With the number of the line, if the line does not have three or four columns, a label is not
        a number, or a document occurs twice in a query; if the file is empty or damaged.

    Examples
    --------
    >>> import io
    >>> from skrank import trec
    >>> trec.read_qrels(io.StringIO("301 0 FBIS3-1 1\\n301 0 FT934-9 0\\n"))
    Qrels: 1 queries, 2 documents, 2 judged
    """
    return Qrels.of_table(read(source, QRELS))


def as_qrels(qrels: object) -> Qrels:
    """Judgments in memory or in a file; raises ValueError if they are a run."""
    if isinstance(qrels, Qrels):
        return qrels
    if isinstance(qrels, Run):
        raise ValueError(f"qrels is the run {qrels.name!r}: judgments come first, then runs.")
    columns = None if is_file(qrels) else columns_of(qrels, QRELS)
    if columns is not None:
        return Qrels.of_table(table_of([columns], QRELS))
    if isinstance(qrels, (list, tuple, dict)):
        raise ValueError("qrels is a collection, as runs may be: judgments come first, then runs.")
    return Qrels.of_table(read(qrels, QRELS))


def read_run(source: Source, *, name: str | None = None, precision: str = "single") -> Run:
    """Read a run: lines of query, Q0, document, rank, score and tag, or another format.

    Parameters
    ----------
    source : path or file object
        Lines of TREC; JSON of queries, documents and scores; JSON Lines, CSV, TSV or Parquet with
        named columns. Plain, or compressed with gzip, bzip2, xz or Zstandard, whatever its name.
        Blank lines, columns after the tag, and comments are ignored. A comment begins with # and
        cannot be a row: it has too few columns, or its score is not a number.
    name : str, optional
        Default: the tag of the first line.
    precision : {"single", "double"}
        Precision in which scores are compared. Scores that are equal in this precision are tied.
        trec_eval has single precision up to version 9, and so have pytrec_eval and ir_measures;
        version 10 has double precision.

    Returns
    -------
    Run
        In the order of trec_eval: by score and then by document, both descending. The rank in the
        file is ignored.

    Raises
    ------
    ValueError
        With the number of the line, if the line has fewer than six columns, a score is not a finite
        number, or a document occurs twice in a query; if the file is empty or damaged.

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
    if name is not None:
        name = check.check_text("name", name, "the name of the run")
    return Run.of_table(read(source, RUNS), precision, name)


def as_run(run: object, precision: str = "single") -> Run:
    """A run in memory or in a file; a run in memory is called "run" unless it has a name.

    A Run is returned unchanged, in the order of its own precision.
    """
    if isinstance(run, Run):
        return run
    columns = run if isinstance(run, Columns) or is_file(run) else columns_of(run, RUNS)
    table = table_of([columns], RUNS) if isinstance(columns, Columns) else read(run, RUNS)
    return Run.of_table(table, precision)
