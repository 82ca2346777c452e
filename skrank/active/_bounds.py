"""Between which bounds the value of each query lies, whatever its labels."""

from __future__ import annotations

import numpy as np

from skrank._engine.judgments import Judgments
from skrank.active._forms import MetricForm, form_of
from skrank.active._moments import evaluate
from skrank.active._pool import Pool


def value_bounds(form: MetricForm, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each ranker on each query: two arrays (n_rankers, n_queries)."""
    low = high = np.zeros((len(pool.scores), len(pool.queries)))
    for weight, term in form.metric.terms:
        part = form_of(term, form.grades, pool.queries.longest)
        if part.local:  # sums over ranks and cascades grow with the worth of the labels
            least, most = (
                _of_one_grade(part, pool, part.grades[place])
                for place in (np.argmin(part.worth), np.argmax(part.worth))
            )
        elif term.value_range in ("[0, 1]", "[0, 1)"):
            least, most = np.zeros_like(low), np.ones_like(high)
        else:
            raise ValueError(
                f"nothing bounds the values of {term} before the labels are there, so no interval "
                "holds at every time of looking: use anytime=False."
            )
        low, high = low + weight * least, high + weight * most
    return low, high


def _of_one_grade(form: MetricForm, pool: Pool, grade: float) -> np.ndarray:
    """Values if all documents have one grade."""
    judgments = Judgments(np.full(pool.queries.n_rows, grade), pool.queries)
    return np.nan_to_num(evaluate(form, judgments, pool.scores))


def difference_bounds(
    form: MetricForm, pool: Pool, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest difference of two rankers on each query; both are 0 for equal lists."""
    low, high = value_bounds(form, pool)
    least, most = low[first] - high[second], high[first] - low[second]
    alike = _alike(pool, first, second)
    if form.kind == "linear":
        least, most = _linear(form, pool, first, second)
    elif form.kind == "cascade":
        # Lists that begin alike differ by no more than the weight of the first rank that differs.
        weight = np.append(np.maximum.accumulate(form.weight[::-1])[::-1], 0.0)
        reach = weight[np.minimum(alike, len(form.weight))]
        least, most = np.maximum(least, -reach), np.minimum(most, reach)
    same = alike >= pool.queries.sizes
    return np.where(same, 0.0, least), np.where(same, 0.0, most)


def _linear(form: MetricForm, pool: Pool, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Of sums over ranks: each document counts with the difference of its weights."""
    net = _weight_of_rows(form, pool, first) - _weight_of_rows(form, pool, second)
    up, down = np.maximum(net, 0.0), np.minimum(net, 0.0)
    worst, best = form.worth.min(), form.worth.max()
    starts = pool.queries.indptr[:-1]
    least = np.add.reduceat(up * worst + down * best, starts)
    return least, np.add.reduceat(up * best + down * worst, starts)


def _weight_of_rows(form: MetricForm, pool: Pool, ranker: int) -> np.ndarray:
    """Weight of the rank of each document, the mean over their ranks where several tie."""
    queries = pool.queries
    start = np.repeat(queries.indptr[:-1], queries.sizes)
    place = np.arange(queries.n_rows)
    rank = place - start
    padded = np.append(form.weight, 0.0)
    weight = padded[np.minimum(rank, len(form.weight))]
    weight[rank >= np.repeat(pool.retrieved[ranker], queries.sizes)] = 0.0
    group = np.flatnonzero((pool.tied[ranker] == 0) | (rank == 0))
    sizes = np.diff(np.append(group, len(place)))
    mean = np.add.reduceat(weight, group) / sizes
    out = np.empty(len(place))
    out[start + pool.order[ranker]] = np.repeat(mean, sizes)
    return out


def _alike(pool: Pool, first: int, second: int) -> np.ndarray:
    """Number of leading ranks per query at which both lists have the same document, untied."""
    queries = pool.queries
    start = np.repeat(queries.indptr[:-1], queries.sizes)
    rank = np.arange(queries.n_rows) - start
    one, other = pool.order[first], pool.order[second]
    differs = one != other
    for r in (first, second):
        tied = pool.tied[r].astype(np.bool_)
        differs |= tied
        differs[:-1] |= tied[1:] & (rank[1:] > 0)
    short = np.minimum(pool.retrieved[first], pool.retrieved[second])
    unlike = pool.retrieved[first] != pool.retrieved[second]
    differs |= (rank == np.repeat(short, queries.sizes)) & np.repeat(unlike, queries.sizes)
    found = np.where(differs, rank, np.repeat(queries.sizes, queries.sizes))
    return np.minimum.reduceat(found, queries.indptr[:-1])
