"""Ranked lists, and metrics as quadratic forms of their grades."""

from __future__ import annotations

import numpy as np

from skrank.extending import Judgments, QuadraticTables, Queries, Ranking, measure, run_chunks
from skrank.informativeness import _entropy
from skrank.metrics import Metric

_MOST_COLUMNS = 64  # most distinct labels
_CELLS = 1 << 17  # numbers of a batch of lists, so that work on them stays in the caches

Batches = list[tuple[np.ndarray, np.ndarray]]  # numbers of lists, and their padded columns


class RankedLists:
    """Ranked lists; a column of a distribution of grades stands for a label.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Labels of the documents of each query, NaN if not judged. The first rows of a query are
        those of the list, in the order of ranks; other relevant documents follow.
    sizes, retrieved : int64 ndarrays of shape (n_lists,)
        Number of documents of each query, and number of ranks of each list.

    Attributes
    ----------
    labels : float64 ndarray of shape (n_columns,)
        Label of each column, ascending from 0.
    column_of : int64 ndarray of shape (n_codes,)
        Column of each code of a document. Unjudged documents have the column of label 0.
    """

    def __init__(self, labels: np.ndarray, sizes: np.ndarray, retrieved: np.ndarray) -> None:
        self.judgments = Judgments(labels, Queries.from_sizes(sizes))
        self.retrieved = retrieved
        self.labels, column_of = np.unique(self.judgments.labels, return_inverse=True)
        self.column_of = column_of.astype(np.int64).ravel()
        if len(self.labels) > _MOST_COLUMNS:
            raise ValueError(
                f"{len(self.labels)} distinct labels are too many for a distribution of grades (at "
                f"most {_MOST_COLUMNS}): bin the labels into grades, such as with numpy.digitize."
            )

    def by_worth(self, worth: np.ndarray) -> Ranking:
        """The documents of each list by descending worth, of shape (n_rows,)."""
        queries = self.judgments.queries
        rank = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], queries.sizes)
        is_listed = rank < np.repeat(self.retrieved, queries.sizes)
        return Ranking(self.judgments, np.where(is_listed, worth, -np.inf))

    def padded(self, lists: np.ndarray) -> np.ndarray:
        """Column of the document at each rank of some lists; -1 beyond the end of a list."""
        sizes = self.retrieved[lists]
        rank = np.arange(sizes.max(initial=0))
        inside = rank < sizes[:, None]
        rows = np.where(inside, self.judgments.indptr[lists][:, None] + rank, 0)
        return np.where(inside, self.column_of[self.judgments.codes[rows]], -1)

    def batches(self, chosen: np.ndarray) -> Batches:
        """Some lists, in batches of similar lengths."""
        order = chosen[np.argsort(self.retrieved[chosen], kind="stable")]
        batches = []
        while len(order):
            cells = self.retrieved[order] * np.arange(1, len(order) + 1) * len(self.labels)
            n = max(1, int(np.searchsorted(cells, _CELLS, side="right")))
            batches.append((order[:n], self.padded(order[:n])))
            order = order[n:]
        return batches

    def errors(
        self, batches: Batches, expectation: Expectation | None, rel: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Errors of precision-recall curves inferred from a metric, and whether steps converged.

        Without an `expectation`, the number of documents of each grade is known, and no metric.
        Errors have the shape (n_lists, n_rel), and are NaN for lists that are in no batch, or on
        which the metric is not defined.
        """
        out = np.full((len(self.retrieved), len(rel)), np.nan)
        converged = np.ones(len(out), np.bool_)

        def fill_in(first: int, last: int, _: np.ndarray) -> None:
            for lists, columns in batches[first:last]:
                if expectation is None:
                    counts = np.stack([(columns == i).sum(axis=1) for i in range(len(self.labels))])
                    p = (counts / counts.sum(axis=0))[:, :, None] * (columns >= 0)
                else:
                    is_defined = ~np.isnan(expectation.values[lists])
                    lists, columns = lists[is_defined], columns[is_defined]
                    solution = expectation.infer(lists, columns, expectation.values[lists])
                    p, converged[lists] = solution.p, solution.done
                for r, level in enumerate(rel):
                    out[lists, r] = _entropy.curve_errors(columns, p, self.labels >= level)

        cells = [columns.size for _, columns in batches]
        run_chunks(fill_in, np.concatenate(([0], np.cumsum(cells))).astype(np.int64))
        return out, converged


class Expectation:
    """The expected value of a metric under distributions of grades.

    Attributes
    ----------
    values : float64 ndarray of shape (n_lists,)
        Values of the lists.
    ends : float64 ndarray of shape (2, n_lists)
        Values of the documents by ascending and by descending gain. Since weights do not rise from
        rank to rank, all other orders are between them.
    empty : bool ndarray of shape (n_lists,)
        Whether the metric is not defined.
    """

    def __init__(self, metric: Metric, lists: RankedLists, max_grade: int) -> None:
        judgments, column_of = lists.judgments, lists.column_of
        plan = metric.bind(judgments, max_grade=max_grade)
        tables = plan.tables
        if type(tables) is not QuadraticTables:  # a subclass has values that are not sums
            raise TypeError(
                f"{metric} is not a sum over documents and pairs of documents, which the maximum "
                "entropy method needs: use gap, ap, q, ndcg, dcg, rbp, precision or recall."
            )
        _, first = np.unique(column_of, return_index=True)
        self.gain = tables.gain[first]
        if not np.array_equal(self.gain[column_of], tables.gain):
            raise ValueError(
                f"{metric} distinguishes unjudged documents from documents of label 0, which a "
                "distribution of grades does not: use another metric."
            )
        pairs = tables.pairs
        if pairs is not None and judgments.queries.longest > 1 and not tables.ordered:
            raise ValueError(
                f"{metric} does not depend on the order of the list, so it says nothing about "
                "grades at single ranks: add a cut-off."
            )
        self.tables = tables
        self.worth = np.zeros((len(first),) * 2) if pairs is None else pairs.worth(first)
        self.w = np.zeros_like(tables.u) if pairs is None else pairs.weights
        worth = self.gain[column_of[judgments.codes]]
        orders = (-np.arange(float(len(worth))), -worth, worth)
        measured = measure(judgments, map(lists.by_worth, orders), [plan])
        self.values, *self.ends = measured.values[:, 0]
        self.empty = measured.empty[0]

    def infer(
        self, lists: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> _entropy.Solution:
        """Distributions of highest entropy whose expected values, `mean`, are `values`.

        `columns` are the padded columns of the lists.
        """
        inside, offset = columns >= 0, self.tables.offset
        ranks = np.zeros(len(lists), np.int64) if offset is None else offset[lists]
        ranks = np.minimum(ranks[:, None] + np.arange(columns.shape[1]), len(self.w) - 1)
        u, w = (np.where(inside, weights[ranks], 0.0) for weights in (self.tables.u, self.w))
        counts = np.stack([(columns == i).sum(axis=1) for i in range(len(self.gain))])
        forms = _entropy.Forms(
            self.gain, self.worth, counts.astype(np.float64), inside.astype(np.float64), u, w
        )
        place = np.argsort(np.argsort(self.gain, kind="stable"))  # of each column, by gain
        low, high = (
            forms.expected(_sorted_lists(columns, places))[0]
            for places in (place, len(place) - 1 - place)
        )
        worst, best = (end[lists] for end in self.ends)
        high = np.where(worst == best, low, high)  # the value says nothing
        slope = np.divide(best - worst, high - low, out=np.zeros(len(low)), where=high != low)
        target = low + np.divide(values - worst, slope, out=np.zeros(len(low)), where=slope != 0)
        solution = _entropy.infer(forms, target, low, high)
        return solution._replace(mean=worst + slope * (solution.mean - low))


def _sorted_lists(columns: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Lists sorted by the place of the column, as distributions: 1 for the grade at a rank."""
    place = np.sort(np.append(places, len(places))[columns])  # the last beyond the end of a list
    return (place == places[:, None, None]).astype(np.float64)
