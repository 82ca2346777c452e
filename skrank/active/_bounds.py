"""Bounds of the value of each query before any label."""

from __future__ import annotations

import numpy as np

from skrank._engine.definition import bounds_of
from skrank._engine.judgments import Judgments
from skrank.active._graded_metric import GradedMetric, graded_metric
from skrank.active._pool import Pool


def value_bounds(metric: GradedMetric, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each ranker on each query: two arrays (n_rankers, n_queries)."""
    low = high = np.zeros((len(pool.scores), len(pool.queries)))
    for weight, term in metric.metric.terms:
        part = graded_metric(term, metric.grades, pool.queries.longest)
        if part.is_local:  # sums over ranks and cascades grow with the gains of the labels
            least, most = (
                _if_all_labels_are(part.grades[code], part, pool)
                for code in (np.argmin(part.gain), np.argmax(part.gain))
            )
        elif np.isfinite(bounds_of(term)).all():
            least, most = (np.full_like(low, bound) for bound in bounds_of(term))
        else:
            raise ValueError(
                f"values of {term} have no bounds before the labels are there, so no interval "
                "holds at every time of looking: use anytime=False."
            )
        low, high = low + weight * least, high + weight * most
    return low, high


def _if_all_labels_are(grade: float, metric: GradedMetric, pool: Pool) -> np.ndarray:
    """Values if all documents have one grade."""
    judgments = Judgments(np.full(pool.queries.n_rows, grade), pool.queries)
    return np.nan_to_num(metric.values(judgments, pool.scores))


def difference_bounds(
    metric: GradedMetric, pool: Pool, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest difference of two rankers on each query; 0 if their lists are equal."""
    low, high = value_bounds(metric, pool)
    least, most = low[first] - high[second], high[first] - low[second]
    alike = _equal_ranks(pool, first, second)
    if metric.family == "linear":
        least, most = _linear_difference(metric, pool, first, second)
    elif metric.family == "cascade":
        # Lists with equal first ranks differ by at most the largest weight of the ranks below.
        weight = np.append(np.maximum.accumulate(metric.weight[::-1])[::-1], 0.0)
        reach = weight[np.minimum(alike, len(metric.weight))]
        least, most = np.maximum(least, -reach), np.minimum(most, reach)
    same = alike >= pool.queries.sizes
    return np.where(same, 0.0, least), np.where(same, 0.0, most)


def _linear_difference(
    metric: GradedMetric, pool: Pool, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds for sums over ranks: a label counts with the difference of its two weights."""
    net = _weight_of_rows(metric, pool, first) - _weight_of_rows(metric, pool, second)
    up, down = np.maximum(net, 0.0), np.minimum(net, 0.0)
    worst, best = metric.gain.min(), metric.gain.max()
    starts = pool.queries.indptr[:-1]
    least = np.add.reduceat(up * worst + down * best, starts)
    return least, np.add.reduceat(up * best + down * worst, starts)


def _weight_of_rows(metric: GradedMetric, pool: Pool, ranker: int) -> np.ndarray:
    """Weight of the rank of each row; tied rows share the mean of their weights."""
    queries = pool.queries
    start = np.repeat(queries.indptr[:-1], queries.sizes)
    place = np.arange(queries.n_rows)
    rank = place - start
    padded = np.append(metric.weight, 0.0)
    weight = padded[np.minimum(rank, len(metric.weight))]
    weight[rank >= np.repeat(pool.retrieved[ranker], queries.sizes)] = 0.0
    group = np.flatnonzero((pool.tied[ranker] == 0) | (rank == 0))
    sizes = np.diff(np.append(group, len(place)))
    mean = np.add.reduceat(weight, group) / sizes
    out = np.empty(len(place))
    out[start + pool.order[ranker]] = np.repeat(mean, sizes)
    return out


def _equal_ranks(pool: Pool, first: int, second: int) -> np.ndarray:
    """Number of first ranks per query at which two lists have the same document, without ties."""
    queries = pool.queries
    start = np.repeat(queries.indptr[:-1], queries.sizes)
    rank = np.arange(queries.n_rows) - start
    differs = pool.order[first] != pool.order[second]
    for r in (first, second):
        tied = pool.tied[r].astype(np.bool_)
        differs |= tied
        differs[:-1] |= tied[1:] & (rank[1:] > 0)
    short = np.minimum(pool.retrieved[first], pool.retrieved[second])
    unlike = pool.retrieved[first] != pool.retrieved[second]
    differs |= (rank == np.repeat(short, queries.sizes)) & np.repeat(unlike, queries.sizes)
    found = np.where(differs, rank, np.repeat(queries.sizes, queries.sizes))
    return np.minimum.reduceat(found, queries.indptr[:-1])
