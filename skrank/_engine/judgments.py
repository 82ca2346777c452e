"""Labels of documents by query, as small codes: what metrics know of a collection."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import Collection, collection_of, highest_grade, resolve_groups
from skrank._engine.queries import Queries, RankedCodes, rank_scores
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import labels, ranking

_MOST_COUNTED = 64  # codes up to which documents are counted per query: the table stays small
_MOST_IN_A_BYTE = 254  # labels: there may be a code for documents not judged, and one more
_FEW_LABELS = 32  # whole labels below this are their own codes, and this one is that of NaN


class Judgments:
    """Labels of documents by query, as small codes.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels in the caller's row order; NaN = not judged.
    queries : Queries
    collection : Collection, optional
        The collection that the labels are a part of.

    Attributes
    ----------
    codes : uint8 (or int32) ndarray of shape (n_rows,), rows contiguous by query
    labels : ndarray of shape (n_codes,)
        Label of each code, ascending; the code of documents not judged has label 0 and stands last.
    unjudged : int or None
        Least code of the documents not judged, if there are any: pooled ones, as infAP takes it. A
        subclass may have one more, for documents outside the pool.

    Examples
    --------
    >>> from skrank.extending import Judgments, Queries
    >>> judgments = Judgments([2, 0, float("nan")], Queries.single(3))
    >>> judgments.codes, judgments.labels, judgments.unjudged
    (array([2, 0, 3], dtype=uint8), array([0., 1., 2., 0.]), 3)
    """

    _collection: Collection | None = None

    def __init__(
        self, relevance: ArrayLike, queries: Queries, *, collection: Collection | None = None
    ) -> None:
        given = check.as_vector("relevance", relevance, queries.n_rows)
        self.queries = queries
        values = queries.gather(given)
        encoded = _encode_grades(values, queries)
        if encoded is None:
            encoded = _encode_any(values, queries)
        self.codes, self.labels, self.unjudged = encoded
        self.indptr = queries.indptr
        self._collection = collection

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Documents of each code (column) in each query; None if there are too many codes."""
        if len(self.labels) > _MOST_COUNTED:
            return None
        counts = np.empty((len(self.queries), len(self.labels)), np.int64)
        run_chunks(labels.count, self.indptr, self.codes, counts)
        return counts

    @cached_property
    def max_grade(self) -> int:
        """Highest grade of the collection, as far as it is known: that of all labels, or of these.

        At least 1; a label that is not a whole number is rounded up.
        """
        return self.collection_grade or highest_grade(self.labels)

    @cached_property
    def collection_grade(self) -> int | None:
        """Highest grade of all labels that these are a part of, if they are known to be one."""
        if self._collection is None:
            return None
        tops = np.fmax.reduceat(self.graded(np.nan)[self.codes], self.indptr[:-1])
        return self._collection.grade_of(Collection(self.queries.ids, self.queries.sizes, tops))

    def totals(self, worth: np.ndarray) -> np.ndarray:
        """Sum over the documents of each query of a worth per code.

        Code by code, however many codes there are: a product of matrices, or a sum document by
        document, would round otherwise where there are other queries.
        """
        worth = np.asarray(worth, dtype=np.float64)
        if self.counts is None:
            total = np.empty(len(self.queries))
            run_chunks(labels.sum_runs, self.indptr, self._ascending.codes, worth, total)
            return total
        total = np.zeros(len(self.counts))
        for code in np.flatnonzero(worth):
            total += self.counts[:, code] * worth[code]
        return total

    @cached_property
    def _ascending(self) -> RankedCodes:
        """The codes of each query in ascending order."""
        return self.best_lists(-np.arange(len(self.labels), dtype=np.float64))

    def number_of(self, some: np.ndarray) -> np.ndarray:
        """Documents of each query that have some of the codes (a mask)."""
        key = some.tobytes(), b""
        if key not in self._sums:
            if self.counts is None:
                self._sums[key] = self.totals(some)
            else:
                self._sums[key] = (self.counts @ some).astype(np.float64)
            self._sums[key].flags.writeable = False  # many metrics share it
        return self._sums[key]

    @cached_property
    def _sums(self) -> dict[tuple[bytes, bytes], np.ndarray]:
        """Numbers of documents by codes, and best sums by worth and weights, for all metrics."""
        return {}

    def coded_as(self, whole: Judgments) -> Judgments:
        """The same with the codes of judgments that these are a part of: values are the same bits.

        Parameters
        ----------
        whole : Judgments
            Has all labels of these.
        """
        if self.unjudged == whole.unjudged and np.array_equal(self.labels, whole.labels):
            return self
        codes = np.searchsorted(whole.labels[: whole.n_labels], self.labels)
        codes[self.n_labels :] = whole.n_labels
        part = whole._with(self.queries, codes.astype(whole.codes.dtype)[self.codes])
        part._collection = self._collection
        return part

    def block(self, queries: slice) -> Judgments:
        """Those of some consecutive queries, with the codes and the highest grade of all."""
        some = self.queries.block(queries)
        rows = slice(some.first_row, some.first_row + some.n_rows)
        block = self._with(some, self.codes[rows])
        block.max_grade, block.collection_grade = self.max_grade, self.collection_grade
        return block

    def _with(self, queries: Queries, codes: np.ndarray) -> Judgments:
        """Other documents with the same labels."""
        other = Judgments.__new__(Judgments)
        other.queries, other.indptr, other.codes = queries, queries.indptr, codes
        other.labels, other.unjudged = self.labels, self.unjudged
        return other

    def best_lists(self, worth: np.ndarray, k: int | None = None) -> RankedCodes:
        """The codes of each query, those of the highest worth first, down to rank k or further."""
        sizes, indptr = self.queries.sizes, self.indptr
        if self.counts is None:
            codes = np.empty_like(self.codes)
            order, tied = np.empty(len(codes), np.int32), np.empty(len(codes), np.uint8)
            height = np.empty(len(worth))  # codes of equal worth stand apart, as where they count
            height[best_first(worth)] = -np.arange(len(worth))
            rank_scores(self.queries, height[self.codes], order, tied, np.empty_like(sizes))
            run_chunks(ranking.gather, indptr, self.codes, order, codes)
            return RankedCodes.untied(indptr, codes, sizes)
        if k is not None and k < self.queries.longest:
            sizes = np.minimum(sizes, k)
            indptr = np.concatenate(([0], np.cumsum(sizes)))
        codes = np.empty(int(indptr[-1]), self.codes.dtype)
        run_chunks(labels.arrange, indptr, self.counts, best_first(worth), codes)
        return RankedCodes.untied(indptr, codes, sizes)

    def best_sums(self, worth: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Worth per code times weight per rank, summed over best lists."""
        key = None
        if len(weights) <= len(self.queries):  # else a look-up takes as long as the sums
            key = worth.tobytes(), weights.tobytes()
            if key in self._sums:
                return self._sums[key].copy()
        before = np.zeros(len(weights) + 1)
        np.cumsum(weights, out=before[1:])
        sums = np.empty(len(self.queries))
        if self.counts is None:
            best = self.best_lists(worth).codes
            run_chunks(labels.ideals_of_lists, self.indptr, best, worth, before, sums)
        else:
            order = best_first(worth)
            run_chunks(labels.ideals, self.indptr, self.counts, order, worth, before, sums)
        if key is not None:
            self._sums[key] = sums.copy()
        return sums

    @property
    def n_labels(self) -> int:
        """Number of the labels, which is the least code of documents not judged."""
        return len(self.labels) if self.unjudged is None else self.unjudged

    def graded(self, unjudged: float) -> np.ndarray:
        """Label of each code, with another number for documents not judged."""
        labels = self.labels.copy()
        labels[self.n_labels :] = unjudged
        return labels

    def place(self, code: int) -> str:
        """Where the first document of a code stands, for messages."""
        rows = np.flatnonzero(self.queries.scatter(self.codes) == code)
        return f"row {rows[0]}" if len(rows) else "in another part of the data"

    @cached_property
    def n_unjudged(self) -> int:
        """Number of the documents that were not judged."""
        return 0 if self.unjudged is None else int(np.count_nonzero(self.codes >= self.unjudged))

    @cached_property
    def condensed_indptr(self) -> np.ndarray:
        """First rows when documents not judged are removed."""
        if self.unjudged is None:
            return self.indptr
        judged = self.totals(np.arange(len(self.labels)) < self.unjudged)
        return np.concatenate(([0], np.cumsum(judged))).astype(np.int64)


def best_first(worth: np.ndarray) -> np.ndarray:
    """Codes from the highest worth on."""
    return (-worth).argsort(kind="stable")


def _encode_grades(
    values: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray, int | None] | None:
    """Codes of labels that are small whole numbers; None if some are not."""
    codes = np.empty(len(values), np.uint8)
    if any(run_chunks(labels.encode_grades, queries.indptr, values, _FEW_LABELS, codes)):
        return None
    top = int(codes.max())
    if top < _FEW_LABELS:
        return codes, np.arange(top + 1.0), None
    # some documents are not judged: their code moves down, next to the highest one of the others
    grades = int(codes[codes < _FEW_LABELS].max(initial=0)) + 1
    np.minimum(codes, grades, out=codes)
    return codes, np.append(np.arange(float(grades)), 0.0), grades


def _encode_any(values: np.ndarray, queries: Queries) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Codes of arbitrary labels; rejects those that are not labels."""
    bad = np.flatnonzero(check.are_no_labels(values))
    if len(bad):
        rows = [queries.caller_row(int(row)) for row in bad]
        row = min(rows)
        raise check.bad_label(float(values[bad[rows.index(row)]]), row)
    judged = ~np.isnan(values)
    labels, inverse = np.unique(values[judged], return_inverse=True)
    labels = labels if len(labels) and labels[0] == 0 else np.append(0.0, labels)
    shift = len(labels) - (int(inverse.max(initial=-1)) + 1)
    unjudged = None if judged.all() else len(labels)
    codes = np.full(
        len(values), len(labels), np.uint8 if len(labels) <= _MOST_IN_A_BYTE else np.int32
    )
    codes[judged] = inverse + shift
    return codes, labels if unjudged is None else np.append(labels, 0.0), unjudged


def judge(relevance: ArrayLike, groups: ArrayLike | None = None) -> Judgments:
    """Judgments of labels whose groups are given, or on the index, or one query."""
    ids = resolve_groups(groups, relevance)
    rows = check.as_vector("relevance", relevance)
    queries = Queries.single(len(rows)) if ids is None else Queries.from_groups(ids)
    return Judgments(rows, queries, collection=collection_of(relevance))
