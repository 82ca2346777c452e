"""Bind metrics to labels, and rankings to scores: what depends on labels is computed once."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._parallel import run_chunks
from skrank._queries import Queries, resolve_groups
from skrank.metrics.base import Lists, Metric, RankedCodes, Scale

if TYPE_CHECKING:
    import pandas as pd

GEOMETRIC_FLOOR = 1e-5  # least value in a geometric mean, as in trec_eval
_MOST_COUNTED = 64  # codes; a table of queries and codes stays small
_FEW_LABELS = 32  # whole labels below this are their own codes


class Judgments:
    """Labels of documents by query, as small codes.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels in the caller's row order; NaN = not judged.
    queries : Queries

    Attributes
    ----------
    codes : uint8 (or int32) ndarray of shape (n_rows,), rows contiguous by query
    labels : ndarray of shape (n_codes,)
        Label of each code, ascending; the code of documents not judged has label 0 and stands last.
    unjudged : int or None
        Least code of the documents not judged, if there are any: pooled ones, as infAP takes it. A
        subclass may have one more, for documents outside the pool.
    """

    def __init__(self, relevance: Any, queries: Queries) -> None:
        given = check.as_vector("relevance", relevance, queries.n_rows)
        self.queries = queries
        values = queries.gather(given)
        encoded = _encode_grades(values, queries)
        if encoded is None:
            encoded = _encode_any(values, queries)
        self.codes, self.labels, self.unjudged = encoded
        self.indptr = queries.indptr

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Documents of each code (column) in each query; None if there are too many codes."""
        from skrank._kernels import labels

        if len(self.labels) > _MOST_COUNTED:
            return None
        counts = np.empty((len(self.queries), len(self.labels)), np.int64)
        run_chunks(labels.count, self.indptr, self.codes, counts)
        return counts

    @cached_property
    def max_grade(self) -> int:
        """Highest label, rounded up, at least 1."""
        return max(1, int(np.ceil(self.labels.max(initial=0))))

    def totals(self, worth: np.ndarray) -> np.ndarray:
        """Sum over the documents of each query of a worth per code."""
        worth = np.asarray(worth, dtype=np.float64)
        if self.counts is not None:
            return self.counts @ worth
        return np.add.reduceat(worth[self.codes], self.indptr[:-1])

    def best_lists(self, worth: np.ndarray) -> RankedCodes:
        """The codes of each query, those of the highest worth first."""
        from skrank._kernels import labels, ranking

        codes = np.empty_like(self.codes)
        tied, sizes = np.zeros(len(codes), np.uint8), self.queries.sizes
        if self.counts is not None:
            best_first = np.argsort(-worth, kind="stable")
            run_chunks(labels.arrange, self.indptr, self.counts, best_first, codes)
        else:
            order, spare = np.empty(len(codes), np.int32), np.empty(len(sizes), np.int64)
            rank_scores(self.queries, worth[self.codes], order, tied, spare)
            run_chunks(ranking.gather, self.indptr, self.codes, order, codes)
        return RankedCodes(self.indptr, codes, np.zeros_like(tied), sizes)

    @cached_property
    def judged_share(self) -> float:
        """Share of the documents that were judged."""
        if self.unjudged is None:
            return 1.0
        return 1.0 - float(np.mean(self.codes >= self.unjudged))

    @cached_property
    def condensed_indptr(self) -> np.ndarray:
        """First rows when documents not judged are removed."""
        if self.unjudged is None:
            return self.indptr
        judged = self.totals(np.arange(len(self.labels)) < self.unjudged)
        return np.concatenate(([0], np.cumsum(judged))).astype(np.int64)


def _encode_grades(
    values: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray, int | None] | None:
    """Codes of labels that are small whole numbers; None if some are not."""
    from skrank._kernels import labels

    codes = np.empty(len(values), np.uint8)
    found = run_chunks(labels.encode_grades, queries.indptr, values, _FEW_LABELS, codes)
    if max(found) >= 0:
        return None
    top = int(codes.max())
    if top < _FEW_LABELS:
        return codes, np.arange(top + 1.0), None
    grades = int((codes % _FEW_LABELS).max()) + 1  # of the judged: the others are _FEW_LABELS
    np.minimum(codes, grades, out=codes)
    return codes, np.append(np.arange(float(grades)), 0.0), grades


def _encode_any(values: np.ndarray, queries: Queries) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Codes of arbitrary labels; rejects those that are no labels."""
    bad = np.flatnonzero((values < 0) | np.isinf(values))
    if len(bad):
        rows = [queries.caller_row(int(row)) for row in bad]
        row = min(rows)
        raise check.bad_label(float(values[bad[rows.index(row)]]), row)
    judged = ~np.isnan(values)
    labels, inverse = np.unique(values[judged], return_inverse=True)
    labels = labels if len(labels) and labels[0] == 0 else np.append(0.0, labels)
    shift = len(labels) - (int(inverse.max(initial=-1)) + 1)
    unjudged = None if judged.all() else len(labels)
    codes = np.full(len(values), len(labels), np.uint8 if len(labels) < 256 else np.int32)
    codes[judged] = inverse + shift
    return codes, labels if unjudged is None else np.append(labels, 0.0), unjudged


class Ranking:
    """The order that scores give to judged documents: sorted once, read by any number of metrics.

    Parameters
    ----------
    judgments : Judgments
    scores : array-like of shape (n_rows,)
        In the caller's row order; -inf = judged but not retrieved.
    """

    def __init__(self, judgments: Judgments, scores: Any) -> None:
        queries = judgments.queries
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        self.judgments = judgments
        self.order = np.empty(len(vector), np.int32)
        self.tied = np.empty(len(vector), np.uint8)
        self.retrieved = np.empty(len(queries), np.int64)
        rank_scores(queries, vector, self.order, self.tied, self.retrieved)
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def codes(self, ties: str, condensed: bool) -> RankedCodes:
        """The ranked codes under a policy for ties, with or without documents not judged."""
        condensed = condensed and self.judgments.unjudged is not None
        if (ties, condensed) not in self._seen:
            make = self._condensed if condensed else self._settled
            self._seen[ties, condensed] = make(ties)
        return self._seen[ties, condensed]

    def unknown(self, condensed: bool) -> np.ndarray:
        """Documents of each query that were neither judged nor retrieved: they say nothing."""
        return np.zeros_like(self._unknown) if condensed else self._unknown

    @cached_property
    def _unknown(self) -> np.ndarray:
        from skrank._kernels import labels

        judgments = self.judgments
        everything = np.array_equal(self.retrieved, judgments.queries.sizes)
        if judgments.unjudged is None or everything:
            return np.zeros(len(self.retrieved), np.int64)
        lost = np.empty(len(self.retrieved), np.int64)
        ranked = self.codes("average", False)
        run_chunks(
            labels.count_unknown,
            ranked.indptr,
            self.retrieved,
            judgments.unjudged,
            ranked.codes,
            lost,
        )
        return lost

    def _settled(self, ties: str) -> RankedCodes:
        from skrank._kernels import ranking

        judgments = self.judgments
        if ties == "average":
            ranked = np.empty_like(judgments.codes)
            run_chunks(ranking.gather, judgments.indptr, judgments.codes, self.order, ranked)
            return RankedCodes(judgments.indptr, ranked, self.tied, self.retrieved)
        average = self.codes("average", False)
        untied = np.zeros_like(self.tied)
        if ties == "stable":
            return replace(average, tied=untied)
        worth = judgments.labels.copy()
        if judgments.unjudged is not None:
            worth[judgments.unjudged :] = -1.0
        code_at = np.argsort(worth if ties == "worst" else -worth, kind="stable")
        place = np.argsort(code_at)
        ranked = average.codes.copy()
        run_chunks(ranking.settle_ties, judgments.indptr, self.tied, place, code_at, ranked)
        return replace(average, codes=ranked, tied=untied)

    def _condensed(self, ties: str) -> RankedCodes:
        from skrank._kernels import ranking

        full, judgments = self.codes(ties, False), self.judgments
        indptr = judgments.condensed_indptr
        n_rows = int(indptr[-1])
        kept = RankedCodes(
            indptr,
            np.empty(n_rows, full.codes.dtype),
            np.empty(n_rows, np.uint8),
            np.empty_like(full.retrieved),
        )
        run_chunks(
            ranking.condense, full.indptr, judgments.unjudged, full.codes, full.tied,
            full.retrieved, indptr, kept.codes, kept.tied, kept.retrieved,
        )  # fmt: skip
        return kept


def rank_scores(
    queries: Queries,
    scores: np.ndarray,
    order: np.ndarray,
    tied: np.ndarray,
    retrieved: np.ndarray,
    *,
    warm: bool = False,
) -> None:
    """Sort contiguous scores into `order`, `tied` and `retrieved`; reject NaN and +inf."""
    from skrank._kernels import ranking

    found = run_chunks(ranking.rank, queries.indptr, scores, warm, order, tied, retrieved)
    bad = [row for row in found if row >= 0]
    if bad:
        raise check.bad_score(float(scores[bad[0]]), queries.caller_row(bad[0]))


class Plan:
    """A metric bound to judgments: tables and normalisers, built once per data set.

    Parameters
    ----------
    metric : Metric
    judgments : Judgments
    max_grade : int, optional
        Highest grade of the collection, for a metric that does not fix it. Default: of the
        judgments.
    """

    def __new__(cls, metric: Metric | None = None, *_: Any, **__: Any) -> Plan:
        """A plan of the class that the metric asks for; copies are made without one."""
        return super().__new__(cls if metric is None or cls is not Plan else metric.plan_class)

    def __init__(
        self, metric: Metric, judgments: Judgments, *, max_grade: int | None = None
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        top = getattr(metric, "max_grade", None) or max_grade or judgments.max_grade
        longest = int(judgments.queries.sizes.max())
        self.scale = Scale(judgments.labels, top, longest, judgments)
        self.tables = metric.tables(self.scale, metric.k)

    @cached_property
    def empty(self) -> np.ndarray:
        """Queries without a relevant document, where the metric needs one."""
        return (self.relevant == 0) & self.metric.needs_relevant

    @cached_property
    def relevant(self) -> np.ndarray:
        """Number of relevant documents of each query."""
        return self.judgments.totals(self.tables.relevant)

    @cached_property
    def inverse(self) -> np.ndarray:
        """One over the normaliser of each query; 0 for empty queries."""
        return self.inverse_ideal(self.metric.ideal_cutoff)

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sum of each query at a cut-off (1 if `cutoff` is 0); 0 if empty."""
        if cutoff == 0:
            return np.where(self.empty, 0.0, 1.0)
        same = cutoff == self.metric.k
        tables = self.tables if same else self.metric.tables(self.scale, cutoff)
        ideal = tables.ideals(self.judgments)
        return np.divide(1.0, ideal, out=np.zeros_like(ideal), where=~self.empty & (ideal > 0))

    def lists(self, ranking: Ranking) -> Lists:
        """Sizes of the lists that the metric sees."""
        ranked = ranking.codes(self.metric.ties, self.metric.condensed)
        k = self.metric.k or self.scale.longest
        return Lists(
            np.minimum(ranked.retrieved, k).astype(np.float64),
            self.relevant,
            (np.diff(ranked.indptr) - ranking.unknown(self.metric.condensed)).astype(np.float64),
        )

    def slope(self) -> np.ndarray:
        """Change of each query's value per unit of its normalised sum, all documents retrieved."""
        sizes = np.diff(self.judgments.indptr).astype(np.float64)
        shown = np.minimum(sizes, self.metric.k or self.scale.longest)
        lists = Lists(shown, self.relevant, sizes)
        finish = self.metric.finish
        return finish(np.ones(len(sizes)), lists) - finish(np.zeros(len(sizes)), lists)

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query; what `empty` says for queries without a relevant document."""
        metric = self.metric
        sums = self.tables.values(ranking.codes(metric.ties, metric.condensed), self.inverse)
        values = metric.finish(sums, self.lists(ranking))
        if self.empty.any():
            if metric.empty == "raise":
                query = self.judgments.queries.name(int(np.argmax(self.empty)))
                raise ValueError(
                    f"query {query} has no relevant document, so {metric} is not defined: "
                    'drop it, or choose empty="skip", 0 or 1.'
                )
            values[self.empty] = metric.empty if metric.empty in (0, 1) else np.nan
        return values

    def mean(
        self, ranking: Ranking, values: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """Mean of the `values` that `ranking` has, with a weight per query, as the metric says."""
        mass = self.mass(ranking)
        return self.average(values, mass if weights is None else mass * weights)

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weight of each query in the mean; 0 for those that `empty` leaves out."""
        mass = self.metric.mass(self.lists(ranking))
        mass = np.ones(len(self.relevant)) if mass is None else mass
        return np.where(self.empty, 0.0, mass) if self.metric.empty == "skip" else mass

    def average(self, values: np.ndarray, mass: np.ndarray) -> float:
        """Mean of the values of weight above 0, arithmetic or geometric as the metric says."""
        counted = mass != 0
        values, mass = values[counted], mass[counted]
        if len(mass) == 0:
            warnings.warn(
                f"no query has a relevant document (of weight above 0): {self.metric} is NaN.",
                RuntimeWarning,
                stacklevel=5,
            )
            return float("nan")
        if self.metric.average == "geometric":
            return float(np.exp(mass @ np.log(np.maximum(values, GEOMETRIC_FLOOR)) / mass.sum()))
        return float(mass @ values / mass.sum())


def judge(relevance: Any, groups: Any = None) -> Judgments:
    """Judgments of labels whose groups are given, or on the index, or one query."""
    ids = resolve_groups(groups, relevance)
    rows = check.as_vector("relevance", relevance)
    queries = Queries.single(len(rows)) if ids is None else Queries.from_groups(ids)
    return Judgments(rows, queries)


def mean_over_queries(
    metric: Metric, relevance: Any, scores: Any, groups: Any, sample_weight: Any
) -> float:
    """What calling a metric does."""
    judgments = judge(relevance, groups)
    plan = Plan(metric, judgments)
    weights = check.query_weights(sample_weight, judgments.queries)
    ranking = Ranking(judgments, scores)
    return plan.mean(ranking, plan.values(ranking), weights)


def values_per_query(metric: Metric, relevance: Any, scores: Any, groups: Any) -> pd.Series:
    """What `Metric.per_query` does."""
    import pandas as pd

    judgments = judge(relevance, groups)
    values = Plan(metric, judgments).values(Ranking(judgments, scores))
    index = pd.Index(judgments.queries.ids, name="qid")
    return pd.Series(values, index=index, name=str(metric))
