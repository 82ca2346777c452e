"""Evaluate a ranking under many metrics with one sort, and report it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._queries import require_groups
from skrank.metrics.base import Metric, metric
from skrank.metrics.plan import Plan, Ranking, judge

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_METRICS = ("gap", "ndcg@10", "ap", "err@20")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `evaluate` found.

    Attributes
    ----------
    per_query : DataFrame of shape (n_queries, n_metrics)
        Value of each query; NaN where a metric is not defined.
    mean : Series
        Mean over queries of each metric, weighted if weights were given, as its `empty` says.
    empty : Series
        Number of queries without a relevant document, by metric.
    n_queries, n_rows : int
    judged_share : float
        Share of the rows that have a label.
    retrieved_share : float
        Share of the rows that have a score above -inf.
    """

    per_query: pd.DataFrame
    mean: pd.Series
    empty: pd.Series
    n_queries: int
    n_rows: int
    judged_share: float
    retrieved_share: float

    def to_frame(self) -> pd.DataFrame:
        """One row per metric: mean, standard deviation over queries, queries counted and empty.

        Returns
        -------
        DataFrame with columns "mean", "std", "queries", "empty"
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "mean": self.mean,
                "std": self.per_query.std(),
                "queries": self.per_query.notna().sum(),
                "empty": self.empty,
            }
        )

    def _caption(self) -> str:
        return (
            f"{self.n_queries} queries, {self.n_rows} documents: "
            f"{self.judged_share:.1%} judged, {self.retrieved_share:.1%} retrieved"
        )

    def __repr__(self) -> str:
        table = self.to_frame().to_string(float_format="{:.4f}".format)
        return f"{self._caption()}\n{table}"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(float_format="{:.4f}".format)
        return f"<p>{self._caption()}</p>{table}"


def evaluate(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    max_grade: int | None = None,
    sample_weight: Any = None,
) -> Report:
    """Evaluate scores under many metrics; the documents are sorted once.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    scores : array-like of shape (n_rows,)
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
    >>> relevance = skrank.with_groups([1, 0, 2, 0], ["a", "a", "b", "b"])
    >>> skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "p@1"])
    2 queries, 4 documents: 100.0% judged, 100.0% retrieved
                  mean    std  queries  empty
    gap         1.0000 0.0000        2      0
    precision@1 1.0000 0.0000        2      0
    """
    import pandas as pd

    chosen = unique_metrics([metrics] if isinstance(metrics, (str, Metric)) else metrics)
    max_grade = check.check_max_grade(max_grade)
    ids = require_groups(groups, relevance, who="evaluate")
    judgments = judge(relevance, ids)
    ranking = Ranking(judgments, scores)
    weights = check.query_weights(sample_weight, judgments.queries)
    values, mean, empty = {}, {}, {}
    for name, one in chosen.items():
        plan = Plan(one, judgments, max_grade=max_grade)
        values[name] = plan.values(ranking)
        mean[name] = plan.mean(ranking, values[name], weights)
        empty[name] = int(plan.empty.sum())
    queries = judgments.queries
    return Report(
        per_query=pd.DataFrame(values, index=pd.Index(queries.ids, name="qid")),
        mean=pd.Series(mean, name="mean"),
        empty=pd.Series(empty, name="empty"),
        n_queries=len(queries),
        n_rows=queries.n_rows,
        judged_share=judgments.judged_share,
        retrieved_share=float(np.sum(ranking.retrieved) / queries.n_rows),
    )


def unique_metrics(metrics: Sequence[str | Metric]) -> dict[str, Metric]:
    """Metrics by their full name, each once.

    Parameters
    ----------
    metrics : names or Metrics

    Returns
    -------
    dict of str to Metric, in the given order

    Raises
    ------
    ValueError
        If there is none, or one is given twice.
    """
    chosen: dict[str, Metric] = {}
    for item in metrics:
        one = metric(item)
        if str(one) in chosen:
            raise ValueError(f"metric {str(one)!r} is given twice: each has one column.")
        chosen[str(one)] = one
    if not chosen:
        raise ValueError("metrics is empty: name at least one, such as 'gap' or 'ndcg@10'.")
    return chosen
