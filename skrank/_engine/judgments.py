"""`Judgments`: labels of documents by query, encoded as small integers."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import Collection, collection_of
from skrank._engine.queries import Queries, RankedCodes, queries_of, rank_codes
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import labels

# with at most this many codes, documents are counted by query and code: up to 512 bytes per query
_MOST_COUNTED = 64
_MOST_IN_A_BYTE = 254  # with at most this many labels, and two codes of unjudged, codes are uint8
# Labels 0, 1, ..., 31 are their own codes; `encode_grades` codes NaN as 32. The number is chosen
# freely, above the grades of collections.
_FEW_LABELS = 32


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
        Label of each code, ascending from 0. A label, such as 0, may have a code and no document.
        Codes of documents not judged come last, with label 0.
    n_labels : int
        Number of codes of labels. Documents not judged have this code or a higher code.
    collection_grade : int or None
        Highest grade of the collection that these labels are a part of; None if unknown.
    unjudged : int or None
        Code of documents that were not judged (for infAP, of pooled ones); None if there are none.
        A subclass may use the next code for documents outside the pool.

    Examples
    --------
    >>> from skrank.extending import Judgments, Queries
    >>> judgments = Judgments([2, 0, float("nan")], Queries.single(3))
    >>> judgments.codes, judgments.labels, judgments.unjudged
    (array([2, 0, 3], dtype=uint8), array([0., 1., 2., 0.]), 3)
    """

    collection_grade: int | None = None

    def __init__(
        self, relevance: ArrayLike, queries: Queries, *, collection: Collection | None = None
    ) -> None:
        values = check.as_vector("relevance", relevance, queries.n_rows)
        self.queries, self.indptr = queries, queries.indptr
        self.codes, self.labels, self.unjudged = encode(queries.gather(values), queries)
        self.n_labels = len(self.labels) if self.unjudged is None else self.unjudged
        if collection is not None:
            tops = np.fmax.reduceat(self.graded(np.nan)[self.codes], self.indptr[:-1])
            part = Collection(queries.ids, queries.sizes, tops)
            self.collection_grade = collection.grade_of(part)

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Number of documents by query and code; None if there are more than 64 codes."""
        if len(self.labels) > _MOST_COUNTED:
            return None
        counts = np.empty((len(self.queries), len(self.labels)), np.int64)
        run_chunks(labels.count, self.indptr, self.codes, counts)
        return counts

    @cached_property
    def max_grade(self) -> int:
        """Highest grade of the collection if it is known, else of these labels.

        At least 1; a label that is not a whole number is rounded up.
        """
        return self.collection_grade or check.highest_grade(self.labels)

    @property
    def entries(self) -> dict[str, int]:
        """Number of entries of tables by axis."""
        n_queries, longest = len(self.queries), self.queries.longest
        return {"codes": len(self.labels), "ranks": longest, "queries": n_queries}

    def totals(self, worth: np.ndarray) -> np.ndarray:
        """Sum of ``worth[code]`` over the documents of each query.

        Adds count * worth in ascending order of the codes. So the sum of a query has the same last
        bit whatever other queries are there, and in whatever order its documents are.
        """
        worth = np.asarray(worth, dtype=np.float64)
        if self.counts is None:
            query, length, codes = self._runs
            return np.bincount(query, length * worth[codes], len(self.queries))
        total = np.zeros(len(self.counts))
        for code in np.flatnonzero(worth):
            total += self.counts[:, code] * worth[code]
        return total

    @cached_property
    def _runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, length and code of runs of equal codes, ascending in each query."""
        ascending = self.best_lists(-np.arange(len(self.labels), dtype=np.float64))
        query, _, length, code = labels.runs(self.indptr, ascending.codes)
        return query, length, code

    def coded_as(self, whole: Judgments) -> Judgments:
        """These judgments with the codes of `whole`, so that sums have the same bits as in `whole`.

        Parameters
        ----------
        whole : Judgments
            Judgments that contain all labels of these.
        """
        if self.unjudged == whole.unjudged and np.array_equal(self.labels, whole.labels):
            return self
        codes = np.searchsorted(whole.labels[: whole.n_labels], self.labels)
        codes[self.n_labels :] = whole.n_labels
        codes = codes.astype(whole.codes.dtype)[self.codes]
        return whole._with(self.queries, codes, self.collection_grade)

    def block(self, queries: slice) -> Judgments:
        """Judgments of consecutive queries, with the codes and the highest grade of all queries."""
        block = self.queries.block(queries)
        rows = slice(block.first_row, block.first_row + block.n_rows)
        return self._with(block, self.codes[rows], self.collection_grade)

    def _with(self, queries: Queries, codes: np.ndarray, collection_grade: int | None) -> Judgments:
        """Judgments of other documents with the same table of labels."""
        other = Judgments.__new__(Judgments)
        other.queries, other.indptr, other.codes = queries, queries.indptr, codes
        other.labels, other.unjudged, other.n_labels = self.labels, self.unjudged, self.n_labels
        other.collection_grade = collection_grade
        return other

    def best_lists(self, worth: np.ndarray, k: int | None = None) -> RankedCodes:
        """The codes of each query by descending ``worth[code]``, down to rank `k` at least."""
        sizes, indptr = self.queries.sizes, self.indptr
        if self.counts is None:
            height = np.empty(len(worth))  # distinct, so that codes of equal worth do not mix
            height[best_first(worth)] = -np.arange(len(worth))
            _, ranked = rank_codes(self.queries, height[self.codes], self.codes)
            return RankedCodes.in_order(self.queries.ids, indptr, ranked.codes, sizes)
        order = best_first(worth)
        ends = np.cumsum(self.counts[:, order], axis=1)
        if k is not None and k < self.queries.longest:
            ends = np.minimum(ends, k)
            sizes = ends[:, -1]
            indptr = np.concatenate(([0], np.cumsum(sizes)))
        lengths = np.diff(ends, axis=1, prepend=0).ravel()
        codes = np.repeat(np.tile(order.astype(self.codes.dtype), len(ends)), lengths)
        return RankedCodes.in_order(self.queries.ids, indptr, codes, sizes)

    def best_runs(self, worth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Runs of equal codes in the lists of each query by descending ``worth[code]``.

        Returns
        -------
        run_ptr : int64 ndarray of shape (n_queries + 1,)
            The first run of each query, and the end of the last.
        lengths, codes : ndarrays of shape (n_runs,)
            A run may have the length 0.
        """
        numbers = np.arange(len(self.queries) + 1)
        if self.counts is None:
            query, _, lengths, codes = labels.runs(self.indptr, self.best_lists(worth).codes)
            return np.searchsorted(query, numbers), lengths, codes
        order = best_first(worth)  # a third of the time of the Q-measure is saved
        return numbers * len(order), self.counts[:, order].ravel(), np.tile(order, len(numbers) - 1)

    def best_sums(self, worth: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sum of ``worth[code] * weights[rank]`` over the best list of each query."""
        before = np.concatenate(([0.0], np.cumsum(weights)))
        if self.counts is None:
            query, rank, length, code = labels.runs(self.indptr, self.best_lists(worth).codes)
            terms = (before[rank + length] - before[rank]) * worth[code]
            return np.bincount(query, terms, len(self.queries))
        sums, rank = np.zeros(len(self.queries)), np.zeros(len(self.queries), np.int64)
        for code in best_first(worth):
            above, rank = before[rank], rank + self.counts[:, code]
            sums += (before[rank] - above) * worth[code]
        return sums

    def graded(self, unjudged: float) -> np.ndarray:
        """Label of each code, with the number `unjudged` for documents not judged."""
        labels = self.labels.copy()
        labels[self.n_labels :] = unjudged
        return labels

    def place(self, code: int) -> str:
        """The row of the first document of a code, such as "row 3", for messages."""
        return self.row_of(code) or "in another part of the data"

    def row_of(self, code: int) -> str | None:
        """The row of the first document of a code, such as "row 3"; None if there is none."""
        rows = np.flatnonzero(self.codes == code)
        if not len(rows):
            return None
        first = rows[0] if self.queries.order is None else rows[self.queries.order[rows].argmin()]
        return f"row {self.queries.caller_row(int(first))}"

    @cached_property
    def n_unjudged(self) -> int:
        """Number of documents that were not judged."""
        return 0 if self.unjudged is None else int(np.count_nonzero(self.codes >= self.unjudged))

    @cached_property
    def condensed_indptr(self) -> np.ndarray:
        """`indptr` after documents that were not judged are removed."""
        judged = self.totals(np.arange(len(self.labels)) < self.n_labels)
        return np.concatenate(([0], np.cumsum(judged))).astype(np.int64)


def best_first(worth: np.ndarray) -> np.ndarray:
    """Codes by descending ``worth[code]``."""
    return (-worth).argsort(kind="stable")


def encode(values: np.ndarray, queries: Queries) -> tuple[np.ndarray, np.ndarray, int | None]:
    """`codes`, `labels` and `unjudged` of `Judgments`, for contiguous labels of queries."""
    codes = np.empty(len(values), np.uint8)
    if any(run_chunks(labels.encode_grades, queries.indptr, values, _FEW_LABELS, codes)):
        return _encode_any(values, queries)
    top = int(codes.max())
    if top < _FEW_LABELS:
        return codes, np.arange(top + 1.0), None
    # some documents are not judged: their code becomes the number of grades
    grades = int(codes[codes < _FEW_LABELS].max(initial=0)) + 1
    np.minimum(codes, grades, out=codes)
    return codes, np.append(np.arange(float(grades)), 0.0), grades


def _encode_any(values: np.ndarray, queries: Queries) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Codes of arbitrary labels; refuses negative, infinite, too small and too large values."""
    bad = np.flatnonzero(check.are_no_labels(values))
    if len(bad):
        rows = [queries.caller_row(int(row)) for row in bad]
        row = min(rows)
        raise check.bad_label(float(values[bad[rows.index(row)]]), row)
    judged = ~np.isnan(values)
    labels = np.union1d(values[judged], [0.0])
    unjudged = None if judged.all() else len(labels)
    dtype = np.uint8 if len(labels) <= _MOST_IN_A_BYTE else np.int32
    codes = np.full(len(values), len(labels), dtype)
    codes[judged] = np.searchsorted(labels, values[judged])
    return codes, labels if unjudged is None else np.append(labels, 0.0), unjudged


def judge(relevance: ArrayLike, groups: ArrayLike | None = None) -> Judgments:
    """Judgments by `groups`, or by the index level "qid"; without both, all rows are one query."""
    rows = check.as_vector("relevance", relevance)
    queries = queries_of(groups, relevance, len(rows))
    return Judgments(rows, queries, collection=collection_of(relevance))


def judge_rows(
    relevance: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Judgments, np.ndarray | None]:
    """Judgments, and one weight per query, of the caller's arrays; `scores` are only compared."""
    check.check_same_index(
        relevance=relevance, scores=scores, groups=groups, sample_weight=sample_weight
    )
    judgments = judge(relevance, groups)
    return judgments, check.query_weights(sample_weight, judgments.queries)


def aggregate_judgments(
    judgments: ArrayLike,
    *,
    method: str = "mean",
    threshold: float = 1.0,
    cannot: ArrayLike = (),
    drop: bool = False,
) -> np.ndarray:
    """One label per document from the grades that several assessors gave.

    Parameters
    ----------
    judgments : array-like of shape (n_rows, n_assessors)
        Grades, at least 0; NaN = this assessor did not see the document.
    method : {"mean", "and", "or"}
        Of the assessors who saw the document. "mean": mean grade. "and": 1 if all gave `threshold`
        or more, else 0. "or": 1 if at least one did, else 0.
    threshold : float
        Lowest grade of a relevant document for "and" and "or", above 0.
    cannot : sequence of float
        Marks that mean "cannot be judged", for example ``(-1,)``; they may be negative.
    drop : bool
        Ignore such marks, as if the assessor had not seen the document. By default they count as
        grade 0, as in ROMIP: with "and", the label is then 0.

    Returns
    -------
    ndarray of shape (n_rows,)
        Labels; NaN where no assessor has judged. ``GAP(fractional="interp")`` takes fractions.

    References
    ----------
    ROMIP 2010, appendix A, section on judgments.

    Examples
    --------
    >>> from skrank.metrics import aggregate_judgments
    >>> aggregate_judgments([[3, 1], [2, 0], [0, 0]], method="and")
    array([1., 0., 0.])
    >>> aggregate_judgments([[3, -1], [2, 1]], cannot=(-1,))
    array([1.5, 1.5])
    >>> aggregate_judgments([[3, -1], [2, 1]], cannot=(-1,), drop=True)
    array([3. , 1.5])
    """
    check.check_choice("method", method, ("mean", "and", "or"))
    threshold = check.check_number("threshold", threshold, 0, check.MOST_LABEL, open_low=True)
    drop = check.check_flag("drop", drop)
    grades = check.as_numbers("judgments", judgments, "of documents x assessors").copy()
    if grades.ndim != 2 or 0 in grades.shape:
        raise ValueError(f"judgments has shape {grades.shape}: pass one column per assessor.")
    marks = check.as_numbers("cannot", cannot, "of labels")
    grades[np.isin(grades, marks)] = np.nan if drop else 0.0
    bad = np.argwhere((grades < 0) | np.isinf(grades))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"grade {grades[row, column]:g} of assessor {column} in row {row} is not a grade: list "
            "marks that mean 'cannot be judged' in cannot=, and use NaN for documents not seen."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows without any judgment are NaN
        if method == "mean":
            return np.nanmean(grades, axis=1)
        extreme = np.nanmin(grades, axis=1) if method == "and" else np.nanmax(grades, axis=1)
    return np.where(np.isnan(extreme), np.nan, (extreme >= threshold).astype(np.float64))
