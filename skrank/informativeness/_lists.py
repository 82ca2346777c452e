"""Ranked lists, and metrics as quadratic forms of their grades."""

from __future__ import annotations

import numpy as np

from skrank.extending import Judgments, QuadraticTables, Queries, Ranking, measure, run_chunks
from skrank.informativeness import _entropy
from skrank.metrics import Metric

_MOST_LABELS = 64  # chosen freely; each list has a hessian of about labels x labels
_CELLS = 1 << 17  # entries (label, list, rank) of a batch, so that work on it stays in the caches

Batches = list[tuple[np.ndarray, np.ndarray]]  # indexes of lists, and their padded label indexes


class RankedLists:
    """Ranked lists, as indexes of labels. Distributions of grades have an entry for each label.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Labels of the documents of each query, NaN if not judged. The first rows of a query are
        those of the list, in the order of ranks; other relevant documents follow.
    sizes, retrieved : int64 ndarrays of shape (n_lists,)
        Number of documents of each query, and number of ranks of each list.

    Attributes
    ----------
    labels : float64 ndarray of shape (n_labels,)
        The distinct labels, ascending from 0.
    label_of : int64 ndarray of shape (n_codes,)
        Index in `labels` of each code of a document; 0, that of label 0, for unjudged documents.
    """

    def __init__(self, labels: np.ndarray, sizes: np.ndarray, retrieved: np.ndarray) -> None:
        self.judgments = Judgments(labels, Queries.from_sizes(sizes))
        self.retrieved = retrieved
        self.labels, label_of = np.unique(self.judgments.labels, return_inverse=True)
        self.label_of = label_of.astype(np.int64)
        if len(self.labels) > _MOST_LABELS:
            raise ValueError(
                f"{len(self.labels)} distinct labels are too many for a distribution of grades (at "
                f"most {_MOST_LABELS}): bin the labels into grades, such as with numpy.digitize."
            )

    def ranked_by(self, scores: np.ndarray) -> Ranking:
        """The documents of each list by descending score, of shape (n_rows,)."""
        queries = self.judgments.queries
        rank = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], queries.sizes)
        is_listed = rank < np.repeat(self.retrieved, queries.sizes)
        return Ranking(self.judgments, np.where(is_listed, scores, -np.inf))  # -inf: not retrieved

    def padded(self, lists: np.ndarray) -> np.ndarray:
        """Index of the label at each rank of some lists; -1 beyond the end of a list."""
        sizes = self.retrieved[lists]
        rank = np.arange(sizes.max(initial=0))
        inside = rank < sizes[:, None]
        rows = np.where(inside, self.judgments.indptr[lists][:, None] + rank, 0)
        return np.where(inside, self.label_of[self.judgments.codes[rows]], -1)

    def batches(self, chosen: np.ndarray) -> Batches:
        """Batches of some of the lists; those of a batch have similar lengths."""
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
        """Errors of inferred precision-recall curves, and whether the inference converged.

        Without an `expectation`, curves are inferred from the number of documents of each grade
        alone, without the value of a metric. Errors have the shape (n_lists, n_rel), and are NaN
        for lists that are in no batch, or on which the metric is not defined.
        """
        out = np.full((len(self.retrieved), len(rel)), np.nan)
        converged = np.ones(len(out), np.bool_)

        def fill_in(first: int, last: int, _: np.ndarray) -> None:
            for lists, label_index in batches[first:last]:
                if expectation is None:
                    counts = np.stack(
                        [(label_index == i).sum(axis=1) for i in range(len(self.labels))]
                    )
                    p = (counts / counts.sum(axis=0))[:, :, None] * (label_index >= 0)
                else:
                    is_defined = ~np.isnan(expectation.values[lists])
                    lists, label_index = lists[is_defined], label_index[is_defined]
                    solution = expectation.infer(lists, label_index, expectation.values[lists])
                    p, converged[lists] = solution.p, solution.done
                for r, level in enumerate(rel):
                    out[lists, r] = _entropy.curve_errors(label_index, p, self.labels >= level)

        cells = [label_index.size for _, label_index in batches]
        run_chunks(fill_in, np.concatenate(([0], np.cumsum(cells))).astype(np.int64))
        return out, converged


class Expectation:
    """The expected value of a metric under distributions of grades.

    Attributes
    ----------
    values : float64 ndarray of shape (n_lists,)
        Values of the lists.
    ends : two float64 ndarrays of shape (n_lists,)
        Values of the lists sorted by ascending and by descending gain. Since weights do not rise
        from rank to rank, all other orders are between them.
    empty : bool ndarray of shape (n_lists,)
        Whether the metric is not defined.
    """

    def __init__(self, metric: Metric, lists: RankedLists, max_grade: int) -> None:
        judgments, label_of = lists.judgments, lists.label_of
        plan = metric.bind(judgments, max_grade=max_grade)
        tables = plan.tables
        if type(tables) is not QuadraticTables:  # a subclass has values that are not sums
            raise TypeError(
                f"{metric} is not a sum over documents and pairs of documents, which the maximum "
                "entropy method needs: use gap, ap, q, ndcg, dcg, rbp, precision or recall."
            )
        _, first = np.unique(label_of, return_index=True)
        self.gain = tables.gain[first]
        if not np.array_equal(self.gain[label_of], tables.gain):
            raise ValueError(
                f"{metric} distinguishes unjudged documents from documents of label 0, which a "
                "distribution of grades does not: use another metric."
            )
        pairs = tables.pairs
        # a sum over documents alone has this value in all orders, and is its own expected value
        if pairs is not None and judgments.queries.longest > 1 and not tables.ordered:
            raise ValueError(
                f"{metric} does not depend on the order of the list, so it says nothing about "
                "grades at single ranks: add a cut-off."
            )
        self.tables = tables
        self.worth = np.zeros((len(first),) * 2) if pairs is None else pairs.worth(first)
        self.w = np.zeros_like(tables.u) if pairs is None else pairs.weights
        gain_of_rows = self.gain[label_of[judgments.codes]]
        orders = (-np.arange(float(len(gain_of_rows))), -gain_of_rows, gain_of_rows)
        measured = measure(judgments, map(lists.ranked_by, orders), [plan])
        self.values, *self.ends = measured.values[:, 0]
        self.empty = measured.empty[0]

    def infer(
        self, lists: np.ndarray, label_index: np.ndarray, values: np.ndarray
    ) -> _entropy.Solution:
        """Distributions of highest entropy whose expected values, `mean`, are `values`.

        `label_index` are the padded label indexes of the lists.
        """
        inside, offset = label_index >= 0, self.tables.offset
        first = np.zeros(len(lists), np.int64) if offset is None else offset[lists]
        # indexes of weights; beyond the end of a list, any that exists
        index = np.minimum(first[:, None] + np.arange(label_index.shape[1]), len(self.w) - 1)
        u, w = (np.where(inside, weights[index], 0.0) for weights in (self.tables.u, self.w))
        counts = np.stack([(label_index == i).sum(axis=1) for i in range(len(self.gain))])
        forms = _entropy.Forms(
            self.gain, self.worth, counts.astype(np.float64), inside.astype(np.float64), u, w
        )
        place = np.argsort(np.argsort(self.gain, kind="stable"))  # of each label, by gain
        low, high = (
            forms.expected(_sorted_lists(label_index, places))[0]
            for places in (place, len(place) - 1 - place)
        )
        worst, best = (end[lists] for end in self.ends)
        high = np.where(worst == best, low, high)  # the value says nothing
        # the value is linear in the sum of the forms, which lacks the divisor of the query
        slope = np.divide(best - worst, high - low, out=np.zeros(len(low)), where=high != low)
        target = low + np.divide(values - worst, slope, out=np.zeros(len(low)), where=slope != 0)
        solution = _entropy.infer(forms, target, low, high)
        return solution._replace(mean=worst + slope * (solution.mean - low))


def _sorted_lists(label_index: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Lists sorted by the places of labels, as distributions: 1 for the grade at a rank."""
    place = np.sort(np.append(places, len(places))[label_index])  # -1 has the last place
    return (place == places[:, None, None]).astype(np.float64)
