"""Ranked lists, and metrics as quadratic forms of their grades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skrank.extending import Judgments, QuadraticTables, Queries, Ranking, run_chunks
from skrank.informativeness import _entropy
from skrank.metrics import Metric

_MOST_COLUMNS = 64  # most distinct labels
_CELLS = 1 << 17  # numbers of a batch of lists, so that work on them stays in the caches


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists; a column of a distribution of grades stands for a label.

    Attributes
    ----------
    judgments : Judgments
        A query for each list. Its first rows are those of the list, in the order of ranks.
    retrieved : int64 ndarray of shape (n_lists,)
        Number of ranks of each list.
    labels : float64 ndarray of shape (n_columns,)
        Label of each column, ascending from 0.
    column_of : int64 ndarray of shape (n_codes,)
        Column of each code of a document. Unjudged documents have the column of label 0.
    """

    judgments: Judgments
    retrieved: np.ndarray
    labels: np.ndarray
    column_of: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, sizes: np.ndarray, retrieved: np.ndarray) -> RankedLists:
        """The lists of queries of consecutive rows; the label of an unjudged document is NaN."""
        judgments = Judgments(labels, Queries.from_sizes(sizes))
        levels, column_of = np.unique(judgments.labels, return_inverse=True)
        if len(levels) > _MOST_COLUMNS:
            raise ValueError(
                f"{len(levels)} distinct labels are too many for a distribution of grades (at most "
                f"{_MOST_COLUMNS}): bin the labels into grades, for example with numpy.digitize."
            )
        return cls(judgments, retrieved, levels, column_of.astype(np.int64).ravel())

    def cut(self, depth: int | None, *, condensed: bool) -> RankedLists:
        """The lists without unjudged documents, if `condensed`, and then down to rank `depth`."""
        lists = self
        if condensed:
            labels = self.judgments.graded(np.nan)[self.judgments.codes]
            judged, starts = ~np.isnan(labels), self.judgments.indptr[:-1]
            sizes, retrieved = (
                np.add.reduceat(mask, starts, dtype=np.int64)
                for mask in (judged, judged & self.is_shown)
            )
            lists = RankedLists.of(labels[judged], sizes, retrieved)
        most = lists.retrieved if depth is None else np.minimum(lists.retrieved, depth)
        return replace(lists, retrieved=most)

    @cached_property
    def is_shown(self) -> np.ndarray:
        """True for rows that are ranks of a list."""
        indptr = self.judgments.indptr
        sizes = np.diff(indptr)
        return np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes) < np.repeat(
            self.retrieved, sizes
        )

    def count(self, label: float) -> np.ndarray:
        """Number of documents of a label in each list."""
        has_label = (self.judgments.graded(np.nan) == label)[self.judgments.codes]
        return np.add.reduceat(
            has_label & self.is_shown, self.judgments.indptr[:-1], dtype=np.int64
        )

    @cached_property
    def ranking(self) -> Ranking:
        """The documents by their ranks."""
        return self.by_worth(-np.arange(float(len(self.judgments.codes))))

    def by_worth(self, worth: np.ndarray) -> Ranking:
        """The documents of each list by descending worth, of shape (n_rows,)."""
        return Ranking(self.judgments, np.where(self.is_shown, worth, -np.inf))

    def padded(self, lists: np.ndarray) -> np.ndarray:
        """Column of the document at each rank of some lists; -1 beyond the end of a list."""
        sizes = self.retrieved[lists]
        rank = np.arange(sizes.max(initial=0))
        inside = rank < sizes[:, None]
        rows = np.where(inside, self.judgments.indptr[lists][:, None] + rank, 0)
        return np.where(inside, self.column_of[self.judgments.codes[rows]], -1)

    def batches(self, chosen: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Some lists, with their padded columns, in batches of similar lengths."""
        order = chosen[np.argsort(self.retrieved[chosen], kind="stable")]
        found = []
        while len(order):
            cells = self.retrieved[order] * np.arange(1, len(order) + 1) * len(self.labels)
            n = max(1, int(np.searchsorted(cells, _CELLS, side="right")))
            found.append((order[:n], self.padded(order[:n])))
            order = order[n:]
        return found

    def errors(
        self,
        batches: list[tuple[np.ndarray, np.ndarray]],
        expectation: Expectation | None,
        rel: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Errors of precision-recall curves inferred from a metric, and whether steps converged.

        Parameters
        ----------
        batches : list
        expectation : Expectation or None
            None: the number of documents of each grade is known, and no metric.
        rel : ndarray of shape (n_rel,)
            Lowest relevant labels.

        Returns
        -------
        errors : ndarray of shape (n_lists, n_rel)
            NaN for lists that are in no batch, or on which the metric is not defined.
        converged : bool ndarray of shape (n_lists,)
        """
        out = np.full((len(self.retrieved), len(rel)), np.nan)
        converged = np.ones(len(out), np.bool_)

        def fill_in(first: int, last: int, _: np.ndarray) -> None:
            for lists, columns in batches[first:last]:
                if expectation is None:
                    counts = np.stack([(columns == i).sum(axis=1) for i in range(len(self.labels))])
                    sizes = (columns >= 0).sum(axis=1)
                    p = (counts / sizes)[:, :, None] * (columns >= 0)
                else:
                    is_defined = ~np.isnan(expectation.values[lists])
                    lists, columns = lists[is_defined], columns[is_defined]
                    found = expectation.infer(lists, columns, expectation.values[lists])
                    p, converged[lists] = found.p, found.done
                for r, level in enumerate(rel):
                    out[lists, r] = _entropy.curve_errors(columns, p, self.labels >= level)

        cells = [columns.size for _, columns in batches]
        run_chunks(fill_in, np.concatenate(([0], np.cumsum(cells))).astype(np.int64))
        return out, converged


class Expectation:
    """The expected value of a metric under distributions of grades.

    Parameters
    ----------
    metric : Metric
    lists : RankedLists
    max_grade : int
        Highest grade of the collection.

    Attributes
    ----------
    values : float64 ndarray of shape (n_lists,)
        Values of the lists.
    ends : float64 ndarray of shape (2, n_lists)
        Values of the documents by ascending and by descending gain. Since weights do not rise from
        rank to rank, all other orders are between them.
    """

    def __init__(self, metric: Metric, lists: RankedLists, max_grade: int) -> None:
        plan = metric.bind(lists.judgments, max_grade=max_grade)
        tables = plan.tables
        if not isinstance(tables, QuadraticTables):
            raise TypeError(
                f"{metric} is not a sum over documents and pairs of documents, which the maximum "
                "entropy method needs: use gap, ap, q, ndcg, dcg, rbp, precision or recall."
            )
        _, first = np.unique(lists.column_of, return_index=True)
        self.gain = tables.gain[first]
        if not np.array_equal(self.gain[lists.column_of], tables.gain):
            raise ValueError(
                f"{metric} distinguishes unjudged documents from documents of label 0, which a "
                "distribution of grades does not: use another metric."
            )
        pairs = tables.pairs
        if pairs is not None and lists.judgments.queries.longest > 1 and not tables.ordered:
            raise ValueError(
                f"{metric} does not depend on the order of the list, so it says nothing about "
                "grades at single ranks: add a cut-off."
            )
        n_columns, n_lists = len(lists.labels), len(lists.retrieved)
        self.worth = np.zeros((n_columns, n_columns)) if pairs is None else pairs.worth(first)
        self.u = tables.u
        self.w = np.zeros_like(tables.u) if pairs is None else pairs.weights
        self.offset = np.zeros(n_lists, np.int64) if tables.offset is None else tables.offset
        self.empty = plan.empty
        self.values = plan.values(lists.ranking)
        worth = self.gain[lists.column_of[lists.judgments.codes]]
        self.ends = np.stack([plan.values(lists.by_worth(sign * worth)) for sign in (-1, 1)])

    def forms(self, lists: np.ndarray, columns: np.ndarray) -> _entropy.Forms:
        """The quadratic forms of some lists, of which `columns` are the padded columns."""
        inside = columns >= 0
        ranks = self.offset[lists][:, None] + np.arange(columns.shape[1])
        u, w = (
            np.where(inside, weights[np.minimum(ranks, len(weights) - 1)], 0.0)
            for weights in (self.u, self.w)
        )
        counts = np.stack([(columns == i).sum(axis=1) for i in range(len(self.gain))])
        return _entropy.Forms(
            self.gain, self.worth, counts.astype(np.float64), inside.astype(np.float64), u, w
        )

    def infer(
        self, lists: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> _entropy.Solution:
        """Distributions of highest entropy whose expected values, `mean`, are `values`."""
        forms = self.forms(lists, columns)
        place = np.argsort(np.argsort(self.gain, kind="stable"))  # of each column, by gain
        low, high = (
            forms.expected(_one_hot(np.sort(np.append(places, len(places))[columns]), places))[0]
            for places in (place, len(place) - 1 - place)
        )
        worst, best = self.ends[:, lists]
        high = np.where(worst == best, low, high)  # the value says nothing
        slope = np.divide(best - worst, high - low, out=np.zeros(len(low)), where=high != low)
        target = low + np.divide(values - worst, slope, out=np.zeros(len(low)), where=slope != 0)
        found = _entropy.infer(forms, target, low, high)
        return found._replace(mean=worst + slope * (found.mean - low))


def _one_hot(sorted_places: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The distributions of certain grades: 1 where the place is that of the column."""
    return (sorted_places == place[:, None, None]).astype(np.float64)
