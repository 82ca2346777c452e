"""Ranked lists, and metrics as quadratic forms, as inputs of the maximum entropy kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.plan import Plan
from skrank._engine.quadratic import MOST_CLASSES, QuadraticTables
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank._engine.threads import run_chunks
from skrank._kernels import entropy
from skrank._kernels.entropy import Distributions, Graded


class CutRanking(Ranking):
    """A ranking in which only the first `depth` documents of each query count as retrieved."""

    def __init__(self, ranking: Ranking, depth: int | None) -> None:
        self._whole, self._depth = ranking, depth
        self.judgments, self.tied = ranking.judgments, ranking.tied
        self.retrieved = self._cut(ranking.retrieved)

    def _cut(self, retrieved: np.ndarray) -> np.ndarray:
        return retrieved if self._depth is None else np.minimum(retrieved, self._depth)

    def codes(self, ties: str, condensed: bool, depth: int | None = None) -> RankedCodes:
        """The ranked codes, with at most `depth` of the constructor retrieved."""
        whole = self._whole.codes(ties, condensed)
        return replace(whole, retrieved=self._cut(whole.retrieved))


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists of queries; a column of a distribution of grades stands for a label.

    Attributes
    ----------
    labels : float64 ndarray of shape (n_columns,)
        Label of each column, ascending from 0.
    column_of : int64 ndarray of shape (n_codes,)
        Column of each code of a document. Unjudged documents have the column of label 0.
    indptr : int64 ndarray of shape (n_lists + 1,)
        Ranks ``indptr[i]:indptr[i + 1]`` are of list i.
    columns : int64 ndarray of shape (n_ranks of all lists,)
        Column of the document at each rank.
    query : int64 ndarray of shape (n_lists,)
        Index of the query of each list.
    """

    labels: np.ndarray
    column_of: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    query: np.ndarray

    @classmethod
    def of(cls, judgments: Judgments, ranked: RankedCodes) -> RankedLists:
        """The lists of all queries."""
        labels, column_of = np.unique(judgments.labels, return_inverse=True)
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"{len(labels)} distinct labels are too many for a distribution of grades (at most "
                f"{MOST_CLASSES}): bin the labels into grades, for example with numpy.digitize."
            )
        column_of = column_of.astype(np.int64).ravel()
        rank = np.arange(len(ranked.codes)) - np.repeat(ranked.indptr[:-1], np.diff(ranked.indptr))
        kept = rank < np.repeat(ranked.retrieved, np.diff(ranked.indptr))
        indptr = np.concatenate(([0], np.cumsum(ranked.retrieved))).astype(np.int64)
        columns = column_of[ranked.codes[kept]]
        return cls(labels, column_of, indptr, columns, np.arange(len(indptr) - 1))

    @property
    def sizes(self) -> np.ndarray:
        """Number of ranks of each list."""
        return np.diff(self.indptr)

    @property
    def counts(self) -> np.ndarray:
        """Number of documents of each column in each list."""
        width = len(self.labels)
        cell = np.repeat(np.arange(len(self.sizes)), self.sizes) * width + self.columns
        found = np.bincount(cell, minlength=width * len(self.sizes))
        return found.reshape(-1, width).astype(np.int64)

    def take(self, chosen: np.ndarray) -> RankedLists:
        """The lists in the mask `chosen`."""
        sizes = self.sizes
        return replace(
            self,
            indptr=np.concatenate(([0], np.cumsum(sizes[chosen]))).astype(np.int64),
            columns=self.columns[np.repeat(chosen, sizes)],
            query=self.query[chosen],
        )

    def errors(self, p: np.ndarray, rel: np.ndarray) -> np.ndarray:
        """Errors of the precision-recall curves of `p`, of shape (n_lists, len(rel))."""
        out = np.empty((len(self.sizes), len(rel)))
        # relevant[i, j] is True if column j is relevant for the lowest relevant label rel[i]
        relevant = self.labels >= np.asarray(rel, np.float64)[:, None]
        run_chunks(entropy.curve_errors, self.indptr, self.columns, p, relevant, out)
        return out

    def evenly(self) -> np.ndarray:
        """The distribution of highest entropy given the counts only: the same at every rank."""
        shares = self.counts / np.maximum(self.sizes, 1)[:, None]
        return np.repeat(shares, self.sizes, axis=0)


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected value ``shift + slope * sum`` of a metric under distributions of grades.

    Attributes
    ----------
    lists : RankedLists
    form : Graded
        The sum, over single documents and over pairs of documents.
    slope, shift : float64 ndarray of shape (n_lists,)
    """

    lists: RankedLists
    form: Graded
    slope: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, plan: Plan, ranking: Ranking, lists: RankedLists) -> Expectation:
        """The expectation of a metric that is bound to the judgments of the lists."""
        tables = plan.tables
        if not isinstance(tables, QuadraticTables):
            raise TypeError(
                f"{plan.metric} is not a sum over documents and pairs of documents, which the "
                "maximum entropy method needs: use gap, ap, q, ndcg, dcg, rbp, precision or recall."
            )
        _, first = np.unique(lists.column_of, return_index=True)
        if not np.array_equal(tables.gain[first][lists.column_of], tables.gain):
            raise ValueError(
                f"{plan.metric} distinguishes unjudged documents from documents of label 0, which "
                "a distribution of grades does not: use another metric."
            )
        n_columns, pairs = len(lists.labels), tables.pairs
        if pairs is not None and plan.scale.longest > 1 and not tables.ordered:
            raise ValueError(
                f"{plan.metric} does not depend on the order of the list, so it says nothing about "
                "grades at single ranks: add a cut-off."
            )
        worth = np.zeros((n_columns, n_columns)) if pairs is None else pairs.worth(first)
        weights = np.zeros_like(tables.u) if pairs is None else pairs.weights
        n_queries = len(plan.empty)
        offset = np.zeros(n_queries, np.int64) if tables.offset is None else tables.offset
        line = plan.metric.line(plan.lists(ranking))
        shift = np.broadcast_to(line.at(np.zeros(n_queries)), n_queries)
        slope = np.broadcast_to(line.steepness, n_queries)
        form = Graded(
            lists.counts, tables.gain[first], worth,
            np.ascontiguousarray(tables.u), np.ascontiguousarray(weights),
            np.ascontiguousarray(offset[lists.query], dtype=np.int64),
        )  # fmt: skip
        return cls(lists, form, (slope * plan.inverse)[lists.query], shift[lists.query])

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest sum of each list over all orders; equal where the slope is 0."""
        low, high = np.empty(len(self.slope)), np.empty(len(self.slope))
        worst_first = np.argsort(self.form.gain, kind="stable")
        run_chunks(entropy.ends, self.lists.indptr, self.form, worst_first, low, high)
        return low, np.where(self.slope == 0, low, high)

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each list over all orders."""
        both = np.sort([self.shift + self.slope * end for end in self.ends()], axis=0)
        return both[0], both[1]

    def infer(self, values: np.ndarray) -> Distributions:
        """Distributions of highest entropy whose expected values, `mean`, are `values`."""
        n_lists, (low, high) = len(values), self.ends()
        found = Distributions(
            np.empty((int(self.lists.indptr[-1]), len(self.form.gain))),
            np.empty(n_lists),
            np.empty(n_lists),
            np.empty(n_lists, np.int64),
            np.empty(n_lists, np.bool_),
        )
        target = (values - self.shift) / np.where(self.slope == 0, np.nan, self.slope)
        run_chunks(entropy.infer, self.lists.indptr, self.form, target, low, high, found)
        return found._replace(mean=self.shift + self.slope * found.mean)
