"""Evaluate Dask collections partition by partition, with one report of all queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import collection_of, require_groups
from skrank._engine.judgments import Judgments
from skrank._engine.names import unique_metrics
from skrank._engine.plan import Measured, measure
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._typing import DaskColumn, Table
from skrank.dask._partitions import Partitions, aligned_partitions, check_unsplit_queries
from skrank.evaluation import Report
from skrank.evaluation._evaluate import DEFAULT_METRICS, contents
from skrank.evaluation._report import SCORES
from skrank.metrics import Metric

if TYPE_CHECKING:
    from dask.delayed import Delayed

T = TypeVar("T")


def evaluate(
    relevance: DaskColumn,
    scores: DaskColumn,
    groups: DaskColumn | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    *,
    max_grade: int | None = None,
    sample_weight: DaskColumn | None = None,
) -> Report:
    """Evaluate Dask collections as `skrank.evaluate` evaluates arrays, with identical values.

    Each partition is evaluated on its worker, which returns only the values of queries. Labels are
    computed twice: a first pass collects the distinct labels, and checks that queries are whole.

    Parameters
    ----------
    relevance : dask Array, Series or DataFrame of one column, of shape (n_rows,)
        Labels, at least 0; NaN = not judged. Chunk sizes may be unknown.
    scores : dask Array, Series or DataFrame of one column, of shape (n_rows,)
        Higher ranks first; -inf = judged but not retrieved.
    groups : dask Array or Series of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `relevance`. Rows of a query need not
        be neighbours, but must lie in one partition.
    metrics : names or Metrics
    max_grade : int, optional
        Highest grade of the collection, for metrics that depend on it. Default: the highest label
        of all partitions.
    sample_weight : dask Array or Series of shape (n_rows,), optional
        Weight of each row's query in the means, constant inside a query.

    Returns
    -------
    Report
        Queries in the order of the partitions.

    Raises
    ------
    ImportError
        If Dask is not installed.
    ValueError
        If a query lies in two partitions, collections have different partitions, groups are
        missing, or a label or score is invalid; the message names the query, or the partition and
        its row.

    Examples
    --------
    >>> import dask.array as da
    >>> import skrank.dask
    >>> relevance, scores = da.from_array([1, 0, 0, 2], chunks=2), da.arange(4, 0, -1, chunks=2)
    >>> groups = da.from_array([7, 7, 8, 8], chunks=2)
    >>> skrank.dask.evaluate(relevance, scores, groups, ["gap", "p@1"]).mean
             gap  precision@1
    system
    scores  0.75          0.5
    """
    chosen, max_grade = unique_metrics(metrics), check.check_max_grade(max_grade)
    pieces = aligned_partitions(
        relevance=relevance, scores=scores, groups=groups, sample_weight=sample_weight
    )
    report = joined_report(pieces, chosen, max_grade)
    n_rows = int(report.counts["documents"][0])
    if len(report.queries) == n_rows:
        check.warn_single_rows(Queries.from_sizes(np.ones(n_rows, np.int64)))
    return report


def evaluate_each(
    rows: Partitions,
    scores_of: Callable[[Table], Iterator[np.ndarray]],
    metrics: Mapping[str, Metric],
) -> dict[str, list[float]]:
    """Means of metrics for several scores of the same rows, by the name of the metric.

    Parameters
    ----------
    rows : Partitions
    scores_of : callable
        Called on the workers with the features of a partition; returns scores of its rows, one
        array after the other, and as many for each partition.
    metrics : dict of str to Metric
    """
    pieces = aligned_partitions(y=rows.y, X=rows.X, groups=rows.qid, sample_weight=rows.weight)
    averages = joined_report(pieces, metrics, None, scores_of).averages
    return dict(zip(metrics, averages.T.tolist(), strict=True))


class ScoredPartition(NamedTuple):
    """One partition of each collection: delayed on the client, data on a worker.

    `scored` has the scores, or, for `evaluate_each`, the features that scores are computed from.
    """

    number: int
    relevance: Delayed
    scored: Delayed
    groups: Delayed | None
    weights: Delayed | None

    def judged(self) -> Judgments | None:
        """Labels of the queries of the partition; None if it has no rows."""
        if len(self.relevance) == 0:
            return None
        ids = require_groups(self.groups, self.relevance, who="evaluate")
        return Judgments(
            check.without_index(self.relevance),
            Queries.from_groups(ids),
            collection=collection_of(self.relevance),
        )


def joined_report(
    pieces: Sequence[tuple[Delayed | None, ...]],
    metrics: Mapping[str, Metric],
    max_grade: int | None,
    scores_of: Callable[[Any], Iterable[ArrayLike]] = lambda scores: [scores],
) -> Report:
    """Report on labels, scores, groups and weights of partitions, with a system for each score.

    `scores_of` returns arrays of scores from the scores of a partition; by default, this one array.
    """
    parts = [ScoredPartition(number, *piece) for number, piece in enumerate(pieces)]
    labels, filled = _labels(parts)
    work = partial(
        _measured, metrics=metrics, labels=labels, max_grade=max_grade, scores_of=scores_of
    )
    found = _computed(work, [parts[number] for number in filled])
    measured, ids, sizes, heaviest = zip(*found, strict=True)
    check.check_weights(np.array(heaviest), str)
    values, weights, empty = (
        np.concatenate([getattr(one, name) for one in measured], axis=-1)
        for name in ("values", "weights", "empty")
    )
    whole = Measured(values, weights, empty, tuple(metrics.values()))
    n_rows, n_unjudged, *n_retrieved = np.sum(sizes, axis=0).tolist()
    given = contents(whole, np.concatenate(ids), n_rows, n_unjudged, n_retrieved)
    systems = [SCORES] if len(n_retrieved) == 1 else range(len(n_retrieved))
    return Report(systems, metric_of=metrics, **given)


def _computed(work: Callable[..., T], pieces: Sequence[ScoredPartition]) -> list[T]:
    """``work(*piece)`` of each piece, computed by the current Dask scheduler."""
    try:
        import dask
    except ImportError as error:
        raise ImportError("skrank.dask needs dask: pip install skrank[dask]") from error
    call = dask.delayed(work, pure=False)
    return list(dask.compute(*(call(*piece) for piece in pieces)))


def _labels(pieces: Sequence[ScoredPartition]) -> tuple[Judgments, list[int]]:
    """The distinct labels of all partitions, and the numbers of the partitions with rows."""
    labels_only = [one._replace(scored=None, weights=None) for one in pieces]
    summaries = _computed(_summary, labels_only)
    check_unsplit_queries([ids for ids, *_ in summaries])
    n_rows = [rows for _, rows, _ in summaries]
    if not any(n_rows):
        raise ValueError("relevance is empty: there is no document to rank.")
    labels = np.unique(np.concatenate([labels for *_, labels in summaries]))  # at most one NaN
    return Judgments(labels, Queries.single(len(labels))), np.flatnonzero(n_rows).tolist()


def _summary(*piece: Delayed) -> tuple[np.ndarray, int, np.ndarray]:
    """Query ids, number of rows and distinct labels of a partition."""
    one = ScoredPartition(*piece)
    with check.about(f"partition {one.number}"):
        judgments = one.judged()
    if judgments is None:
        return np.empty(0, object), 0, np.empty(0)
    labels = judgments.graded(np.nan)
    seen = np.bincount(judgments.codes, minlength=len(labels)) > 0
    return judgments.queries.ids, len(judgments.codes), labels[seen]


def _measured(
    *piece: Delayed,
    metrics: Mapping[str, Metric],
    labels: Judgments,
    max_grade: int | None,
    scores_of: Callable[[Any], Iterable[ArrayLike]],
) -> tuple[Measured, np.ndarray, list[int], float]:
    """Values and ids of the queries of a partition, numbers of rows, and the highest weight.

    The numbers are those of all rows, of rows without a label, and of retrieved rows by each of the
    scores. Runs on a worker.
    """
    one = ScoredPartition(*piece)
    with check.about(f"partition {one.number}"):
        check.check_same_index(
            relevance=one.relevance, scores=one.scored, groups=one.groups, sample_weight=one.weights
        )
        judgments = one.judged()
        assert judgments is not None
        weights = check.query_weights(one.weights, judgments.queries, part=True)
        part = judgments.coded_as(labels)
        sizes = [part.queries.n_rows, part.n_unjudged]

        def rankings() -> Iterator[Ranking]:  # one at a time, as they may be as many as trees
            for scores in scores_of(one.scored):
                ranking = Ranking(part, scores)
                sizes.append(ranking.n_retrieved)
                yield ranking

        found = measure(part, rankings(), [*metrics.values()], weights, max_grade=max_grade)
        return found, part.queries.ids, sizes, 1.0 if weights is None else float(weights.max())
