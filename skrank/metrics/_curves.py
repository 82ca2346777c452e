"""Curves of precision against recall: graded ones, and the eleven points of TREC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import judge
from skrank._engine.plan import average, measure
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking
from skrank.metrics.gap import GAP
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision


@dataclass(frozen=True, eq=False)
class GradedCurve:
    """Graded precision against graded recall of one ranked list.

    Attributes
    ----------
    precision : ndarray of shape (n_pivots,)
        Graded precision at each document with a label above 0, in rank order.
    recall : ndarray of shape (n_pivots,)
        Graded recall at these documents.
    rank : int ndarray of shape (n_pivots,)
        Ranks of these documents, from 1.
    gap : float
        The area under the steps: ``sum(precision * diff(recall, prepend=0))``.
    """

    precision: np.ndarray
    recall: np.ndarray
    rank: np.ndarray
    gap: float


def graded_precision_recall_curve(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    thresholds: Sequence[float] | None = None,
    max_grade: int | None = None,
    labels: str | None = None,
) -> GradedCurve:
    r"""Graded precision and recall at each relevant document of one ranked list.

    u_m is the probability that a user regards the document at rank m as relevant (see `GAP`), and D
    the sum of these probabilities over all documents of the query.

    .. math:: gRec@n = \frac1D \sum_{m \le n} u_m, \quad
              gPrec@n = \frac1n \sum_{m \le n} \min(u_m, u_n) / u_n.

    Documents of equal score keep their row order.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_documents,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of one query.
    thresholds, max_grade, labels
        See `GAP`.

    Returns
    -------
    GradedCurve

    Raises
    ------
    ValueError
        If `relevance` has the labels of more than one query, or no document is relevant.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 3.2.

    Examples
    --------
    >>> from skrank.metrics import graded_precision_recall_curve
    >>> curve = graded_precision_recall_curve([2, 0, 1], [0.9, 0.5, 0.1])
    >>> curve.recall.round(3), curve.precision.round(3)
    (array([0.667, 1.   ]), array([1.   , 0.667]))
    """
    metric = GAP(thresholds=thresholds, max_grade=max_grade, labels=labels, ties="stable")
    check.check_same_index(relevance=relevance, scores=scores)
    judgments = judge(relevance)
    if len(judgments.queries) != 1:
        raise ValueError(
            f"relevance has the labels of {len(judgments.queries)} queries: a curve is of one "
            "query. Select its rows, or plot the mean with GradedPrecisionRecallDisplay."
        )
    plan = metric.bind(judgments)
    ranked = Ranking(judgments, scores).codes("stable", condensed=False)
    worth = metric.worth(plan.scale)
    total = float(worth[judgments.codes].sum())
    if total == 0:
        raise ValueError("no document is relevant to any user: graded recall is not defined.")
    _, rank, recall, precision = graded_points(ranked, worth, np.array([total]))
    area = float(np.sum(precision * np.diff(recall, prepend=0.0)))
    return GradedCurve(precision, recall, rank, area)


def graded_points(
    ranked: RankedCodes, worth: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Query, rank, graded recall and graded precision of documents with `worth` u > 0, by rank."""
    sizes = np.diff(ranked.indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(1, len(query) + 1) - ranked.indptr[query]
    u = np.where(rank <= ranked.retrieved[query], worth[ranked.codes], 0.0)
    starts = ranked.indptr[:-1][sizes > 0]
    pivots = u > 0
    precision = np.empty(len(u))
    for level in np.unique(worth[worth > 0]):
        equal = u == level
        precision[equal] = _sums(np.minimum(u, level), starts)[equal] / (rank[equal] * level)
    recall = _sums(u, starts)[pivots] / totals[query[pivots]]
    return query[pivots], rank[pivots], recall, precision[pivots]


def _sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Cumulative sums that start again at `starts`; rounding errors stay inside each part."""
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
    rel, condensed, empty, ties
        See `InterpolatedPrecision`.

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
    check.check_same_index(relevance=relevance, scores=scores, groups=groups)
    metric = InterpolatedPrecision(rel=rel, condensed=condensed, empty=empty, ties=ties)
    return eleven_points(metric, Ranking(judge(relevance, groups), scores))


def eleven_points(metric: InterpolatedPrecision, ranking: Ranking) -> np.ndarray:
    """Means of interpolated precision at the eleven levels, with the parameters of `metric`."""
    levels = [replace(metric, recall=level) for level in ELEVEN_LEVELS]
    found = measure(ranking.judgments, [ranking], levels)
    each = zip(found.values[0], found.weights[0], strict=True)
    return np.array([average(metric, values, weights) for values, weights in each])
