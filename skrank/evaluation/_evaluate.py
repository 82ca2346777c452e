"""Evaluate rankings under many metrics with one sort each, and report them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups, warn_of_cut_queries
from skrank._engine.judgments import judge
from skrank._engine.metric import Measured, measure
from skrank._engine.names import unique_metrics
from skrank._engine.ranking import Ranking
from skrank.evaluation._report import SCORES, Report
from skrank.metrics import Metric

DEFAULT_METRICS = ("gap", "ndcg@10", "ap")


def evaluate(
    relevance: ArrayLike,
    scores: ArrayLike | Mapping[Hashable, ArrayLike],
    *,
    groups: ArrayLike | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    max_grade: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Report:
    """Evaluate scores of one or several systems under many metrics; each is sorted once.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,), or mapping of systems to such arrays
        Higher ranks first; -inf = judged but not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance`.
    metrics : names or Metrics
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query; weighs the means.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If groups are missing, two metrics have one name, or a value is not usable; the message
        names the row or query.

    Examples
    --------
    >>> import skrank
    >>> relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
    >>> skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "p@1"])
    2 queries, 4 documents, 100.0% judged, 100.0% retrieved
                  mean    low   high    std  queries  empty
    gap         0.7500 0.0000 1.0000 0.3536        2      0
    precision@1 0.5000 0.0000 1.0000 0.7071        2      0
    >>> systems = {"new": [4, 3, 2, 1], "old": [3, 4, 2, 1]}
    >>> skrank.evaluate(relevance, systems, metrics=["gap", "p@1"]).mean
             gap  precision@1
    system
    new     0.75          0.5
    old     0.50          0.0
    """
    return report_of_arrays(
        relevance, systems_of(scores), groups, sample_weight, metrics, max_grade, who="evaluate"
    )


def systems_of(scores: Any) -> dict[Hashable, Any]:
    """Scores by system; scores that are not a mapping are those of the system "scores"."""
    if isinstance(scores, Mapping) and not scores:
        raise ValueError("scores is an empty mapping: pass the scores of at least one system.")
    return dict(scores) if isinstance(scores, Mapping) else {SCORES: scores}


def by_name(systems: Mapping[Hashable, Any]) -> dict[str, Any]:
    """The scores of systems by their names in messages."""
    return {SCORES if name == SCORES else f"system {name!r}": systems[name] for name in systems}


def report_of_arrays(
    relevance: ArrayLike,
    systems: Mapping[Hashable, ArrayLike],
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    metrics: str | Metric | Sequence[str | Metric],
    max_grade: int | None,
    *,
    who: str,
) -> Report:
    """The report of systems; if `who` is "compare", of each column of their scores."""
    chosen, max_grade = unique_metrics(metrics), check.check_max_grade(max_grade)
    named = by_name(systems)
    check.check_same_index(relevance=relevance, **named, groups=groups, sample_weight=sample_weight)
    judgments = judge(relevance, require_groups(groups, relevance, who=who))
    queries = judgments.queries
    warn_of_cut_queries(relevance, queries.ids, queries.sizes, "rows that are evaluated")
    check.warn_single_rows(queries)
    weights = check.query_weights(sample_weight, queries)
    rankings: list[Ranking] = []
    of_columns: list[Hashable] = []
    for system, (name, scores) in zip(systems, named.items(), strict=True):
        with nullcontext() if name == SCORES else check.about(name):
            several = who == "compare" and np.ndim(scores) == 2
            columns = np.asarray(scores).T if several else [scores]
            if not len(columns):
                raise ValueError("scores have no column: pass one per random seed.")
            rankings += [Ranking(judgments, column) for column in columns]
            of_columns += [system] * len(columns)
    for ranking in rankings:
        ranking.warn_if_arguments_swapped()
    measured = measure(judgments, rankings, [*chosen.values()], weights, max_grade=max_grade)
    numbers = queries.n_rows, judgments.n_unjudged, *(ranking.n_retrieved for ranking in rankings)
    return report_of_values(
        of_columns, queries.ids, chosen, measured, numbers, query_weights=weights,
        max_grade=judgments.max_grade if max_grade is None else None,
    )  # fmt: skip


def report_of_values(
    systems: Sequence[Hashable],
    queries: np.ndarray,
    metrics: Mapping[str, Metric],
    measured: Measured,
    numbers: Sequence[int],
    **known: Any,
) -> Report:
    """The report of the values of queries for each system; `known` are further parameters of it.

    The numbers are those of rows, of rows without a label, and, by system, of rows with a score
    above -inf.
    """
    n_rows, n_unjudged, *n_retrieved = numbers
    counts: dict[str, list[float]] = {
        "documents": [n_rows] * len(systems),
        "judged": [1.0 - n_unjudged / n_rows] * len(systems),
        "retrieved": [number / n_rows for number in n_retrieved],
    }
    values, weights = measured.values.swapaxes(1, 2), measured.weights.swapaxes(1, 2)
    n_empty = measured.empty.sum(axis=1)
    return Report(systems, queries, metrics, values, weights, n_empty, counts, **known)
