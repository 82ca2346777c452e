"""Evaluate Dask collections partition by partition, with one report of all queries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import Judgments, judge
from skrank._engine.metric import Measured, measure
from skrank._engine.names import unique_metrics
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._typing import DaskColumn
from skrank.dask._partitions import aligned_partitions, check_unsplit_queries
from skrank.evaluation import Report
from skrank.evaluation._evaluate import DEFAULT_METRICS, by_name, report_of_values, systems_of
from skrank.metrics import Metric


def evaluate(
    relevance: DaskColumn,
    scores: DaskColumn | Mapping[Hashable, DaskColumn],
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
    scores : dask Array, Series or DataFrame of one column, or mapping of systems to such columns
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
    import dask

    chosen, max_grade = unique_metrics(metrics), check.check_max_grade(max_grade)
    systems = systems_of(scores)
    pieces = aligned_partitions(
        relevance=relevance, **by_name(systems), groups=groups, sample_weight=sample_weight
    )
    summary = dask.delayed(_summary)
    columns = ((piece["relevance"], piece["groups"]) for piece in pieces)
    summaries = dask.compute(*(summary(number, *pair) for number, pair in enumerate(columns)))
    check_unsplit_queries([ids for ids, *_ in summaries])
    filled = [number for number, (ids, *_) in enumerate(summaries) if len(ids)]
    if not filled:
        raise ValueError("relevance is empty: there is no document to rank.")
    labels = np.unique(np.concatenate([labels for _, labels, _ in summaries]))  # at most one NaN
    table = Judgments(labels, Queries.single(len(labels)))  # of a document for each label
    # of the collection of `with_groups`; None if it is unknown, or labels of a partition differ
    grades = {summaries[number][2] for number in filled}
    highest = (grades.pop() if len(grades) == 1 else None) or table.max_grade
    measured = dask.delayed(partial(_measured, chosen, table, max_grade or highest))
    results = dask.compute(*(measured(number, pieces[number]) for number in filled))
    arrays, ids, sizes, part_weights = zip(*results, strict=True)
    queries, query_weights = np.concatenate(ids), None
    if sample_weight is not None:
        query_weights = check.check_weights(  # all may be 0 in a partition, but not in all
            np.concatenate(part_weights), lambda _: "sample_weight of each query"
        )
    values, weights, empty = (np.concatenate(array, axis=-1) for array in zip(*arrays, strict=True))
    whole = Measured(values, weights, empty, tuple(chosen.values()))
    numbers = np.sum(sizes, axis=0).tolist()
    # other warnings of `skrank.evaluate` need rows; users do not see warnings of workers
    if len(queries) == numbers[0]:  # the number of rows
        check.warn_single_rows(Queries.from_sizes(np.ones(numbers[0], np.int64)))
    return report_of_values(
        [*systems], queries, chosen, whole, numbers, query_weights=query_weights,
        max_grade=highest if max_grade is None else None,
    )  # fmt: skip


def _summary(number: int, relevance: Any, groups: Any) -> tuple[Any, ...]:
    """Query ids, distinct labels and grade of the collection of a partition.

    Runs on a worker, as `_measured`. The grade is None if it is unknown.
    """
    if len(relevance) == 0:
        return np.empty(0, object), np.empty(0), None
    with check.about(f"partition {number}"):
        judgments = judge(relevance, require_groups(groups, relevance, who="evaluate"))
    labels = judgments.graded(np.nan)
    # the table of labels may have labels that no document of a query has
    occurs = np.bincount(judgments.codes, minlength=len(labels)) > 0
    return judgments.queries.ids, labels[occurs], judgments.collection_grade


def _measured(
    metrics: Mapping[str, Metric], table: Judgments, max_grade: int, number: int, piece: Any
) -> tuple[Any, ...]:
    """Values, weights and empty queries of a partition, ids, numbers of rows, given weights.

    Codes of `table`, which has the labels of all partitions, give sums the same bits as in memory.
    """
    relevance, *_, groups, sample_weight = piece.values()  # scores are between them
    rankings = []
    with check.about(f"partition {number}"):
        check.check_same_index(**piece)
        judgments = judge(relevance, require_groups(groups, relevance, who="evaluate"))
        queries = judgments.queries
        weights = check.query_weights(sample_weight, queries, part=True)
        part = judgments.coded_as(table)
        for name, scores in [*piece.items()][1:-2]:
            with check.about(name):
                rankings.append(Ranking(part, scores))
        measured = measure(part, rankings, [*metrics.values()], weights, max_grade=max_grade)
    sizes = queries.n_rows, part.n_unjudged, *(ranking.n_retrieved for ranking in rankings)
    return measured[:3], queries.ids, sizes, weights
