"""Curves of precision against recall: graded ones, and the eleven points of TREC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import resolve_groups
from skrank._engine.judgments import judge
from skrank._engine.metric import Plan, measure
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank.metrics.gap import GAP
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

_N_LEVELS = 101  # levels of recall of the mean curve of several queries, a free choice
_ROUNDING = 1e-9  # tolerance in comparisons of recall with a level


@dataclass(frozen=True, eq=False)
class GradedCurve:
    """Graded precision against graded recall of one ranked list, or the mean of several.

    Attributes
    ----------
    precision : ndarray of shape (n_points,)
        Graded precision at each document with a label above 0, in rank order; for several queries,
        at levels of recall.
    recall : ndarray of shape (n_points,)
        Graded recall at these points.
    rank : int ndarray of shape (n_points,), or None
        Ranks of the documents, from 1; None for several queries.
    gap : float
        The area under the steps of one query, ``sum(precision * diff(recall, prepend=0))``; for
        several queries, or with ``ties="average"``, the mean GAP.
    n_queries, n_empty : int
        Numbers of queries with a relevant document, and of queries without, which are left out.
    """

    precision: np.ndarray
    recall: np.ndarray
    rank: np.ndarray | None
    gap: float
    n_queries: int
    n_empty: int


def graded_precision_recall_curve(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    thresholds: Sequence[float] | None = None,
    max_grade: int | None = None,
    fractional: str | None = None,
    condensed: bool = False,
    ties: str = "stable",
) -> GradedCurve:
    r"""Graded precision and recall at each relevant document of a ranked list, or their mean.

    u_m is the probability that a user regards the document at rank m as relevant (see `GAP`), and D
    the sum of these probabilities over all documents of the query.

    .. math:: gRec@n = \frac1D \sum_{m \le n} u_m, \quad
              gPrec@n = \frac1n \sum_{m \le n} \min(u_m, u_n) / u_n.

    The curve of several queries is the mean over queries with a relevant document, interpolated as
    in TREC: at each of 101 levels of recall, evenly from 0 to 1, a query has its highest graded
    precision at any rank with at least this graded recall, or 0 if there is no such rank. The area
    under an interpolated curve is larger than GAP.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`, else one query.
    thresholds, max_grade, fractional, condensed
        See `GAP`.
    ties : {"average", "stable", "worst", "best"}
        How documents of equal score are ordered. "average": GAP is the exact mean over all orders;
        the curve is that of one random order with a fixed seed.

    Returns
    -------
    GradedCurve

    Raises
    ------
    ValueError
        If no document is relevant.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 3.2.

    Examples
    --------
    >>> from skrank.metrics import graded_precision_recall_curve
    >>> curve = graded_precision_recall_curve([2, 0, 1], [0.9, 0.5, 0.1])
    >>> curve.recall.round(3), curve.precision.round(3), round(curve.gap, 3)
    (array([0.667, 1.   ]), array([1.   , 0.667]), 0.889)
    """
    grading = GAP(
        thresholds=thresholds, max_grade=max_grade, fractional=fractional, condensed=condensed,
        ties=ties,
    )  # fmt: skip
    plan, ranking, curve_ranking = _ranked(grading, relevance, scores, groups)
    n_queries = int(np.count_nonzero(~plan.empty))
    if n_queries == 0:
        raise ValueError("no document is relevant to any user: graded recall is not defined.")
    gap = float(measure(plan.judgments, [ranking], [plan]).means()[0, 0])
    if curve_ranking is not ranking:
        plan = grading.bind(curve_ranking.judgments)  # queries may be in another order
    worth = grading.worth(plan.scale)
    # "average": `_ranked` has broken the ties
    ranked = curve_ranking.codes("stable" if ties == "average" else ties, condensed)
    query, rank, recall, precision = _graded_points(ranked, worth, plan.judgments.totals(worth))
    n_empty = len(plan.empty) - n_queries
    if n_queries > 1:
        best = _interpolated(query, recall, precision, len(plan.empty))
        mean = best[~plan.empty].mean(axis=0)
        return GradedCurve(mean, np.linspace(0, 1, _N_LEVELS), None, gap, n_queries, n_empty)
    if ties != "average":  # the same GAP, with the rounding of the sum that users can form
        gap = float(np.sum(precision * np.diff(recall, prepend=0.0)))
    return GradedCurve(precision, recall, rank, gap, n_queries, n_empty)


def _ranked(
    metric: GAP | InterpolatedPrecision,
    relevance: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None,
) -> tuple[Plan, Ranking, Ranking]:
    """The metric bound to the labels, the ranking, and the ranking whose curve is drawn.

    The rankings differ for ``ties="average"``: a curve has no closed form for the mean over orders
    of ties, so ties are broken at random, with a fixed seed, in the ranking of the curve.
    """
    check.check_same_index(relevance=relevance, scores=scores, groups=groups)
    plan = metric.bind(judge(relevance, groups))
    curve_ranking = ranking = Ranking(plan.judgments, scores)
    if metric.ties == "average" and ranking.tied.any():
        order = np.random.default_rng(0).permutation(plan.judgments.queries.n_rows)
        ids = resolve_groups(groups, relevance)
        # These judgments lack the collection: its highest grade cancels, see `GAP.needs_scale`.
        shuffled = judge(np.asarray(relevance)[order], None if ids is None else ids[order])
        curve_ranking = Ranking(shuffled, np.asarray(scores)[order])
    return plan, ranking, curve_ranking


def _interpolated(
    query: np.ndarray, recall: np.ndarray, precision: np.ndarray, n_queries: int
) -> np.ndarray:
    """Highest precision at each level of recall or above, of shape (n_queries, _N_LEVELS)."""
    reached = np.floor(recall * (_N_LEVELS - 1) + _ROUNDING).astype(np.int64)
    best = np.zeros(n_queries * _N_LEVELS)
    np.maximum.at(best, query * _N_LEVELS + reached, precision)
    by_falling_level = best.reshape(n_queries, _N_LEVELS)[:, ::-1]
    return np.maximum.accumulate(by_falling_level, axis=1)[:, ::-1]


def _graded_points(
    ranked: RankedCodes, worth: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Query, rank, graded recall and graded precision of documents with `worth` u > 0, by rank."""
    sizes = np.diff(ranked.indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(1, len(query) + 1) - ranked.indptr[query]
    u = np.where(rank <= ranked.retrieved[query], worth[ranked.codes], 0.0)
    starts = ranked.indptr[:-1][sizes > 0]  # condensed lists may be empty
    relevant = u > 0
    precision = np.empty(len(u))
    for u_n in np.unique(worth[worth > 0]):
        equal = u == u_n
        precision[equal] = _cumulative_sums(np.minimum(u, u_n), starts)[equal] / (rank[equal] * u_n)
    recall = _cumulative_sums(u, starts)[relevant] / totals[query[relevant]]
    return query[relevant], rank[relevant], recall, precision[relevant]


def _cumulative_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Cumulative sums that restart at `starts`: small sums have small rounding errors."""
    values = values.copy()
    values[starts[1:]] -= np.add.reduceat(values, starts)[:-1]
    return np.cumsum(values)


def eleven_point_curve(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "stable",
) -> np.ndarray:
    """Interpolated precision at recall 0, 0.1, ..., 1, mean over queries (TREC).

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups : array-like of shape (n_rows,), optional
        Query of each row.
    rel, condensed, empty
        See `InterpolatedPrecision`.
    ties : {"average", "stable", "worst", "best"}
        How documents of equal score are ordered. "average": in one random order with a fixed seed.

    Returns
    -------
    ndarray of shape (11,)
        Precision at each level of recall. The mean is the 11-point average precision.

    References
    ----------
    ROMIP 2010, appendix A, 11-point matrix (TREC).

    Examples
    --------
    >>> from skrank.metrics import eleven_point_curve
    >>> relevance = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    >>> eleven_point_curve(relevance, range(20, 0, -1)).round(2)
    array([1.  , 1.  , 1.  , 1.  , 1.  , 1.  , 0.75, 0.75, 0.27, 0.27, 0.27])
    """
    metric = InterpolatedPrecision(rel=rel, condensed=condensed, empty=empty, ties=ties)
    _, _, ranking = _ranked(metric, relevance, scores, groups)
    # "average": `_ranked` has broken the ties
    curve_metric = replace(metric, ties="stable") if ties == "average" else metric
    levels = [replace(curve_metric, recall=level) for level in ELEVEN_LEVELS]
    return measure(ranking.judgments, [ranking], levels).means()[0]
