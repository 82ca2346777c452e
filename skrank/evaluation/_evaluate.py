"""Evaluate a ranking under many metrics with one sort, and report it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import Judgments, judge
from skrank._engine.names import unique_metrics
from skrank._engine.plan import GEOMETRIC_FLOOR, average, bounds_of
from skrank._engine.ranking import Ranking
from skrank._typing import Axes, Options
from skrank.evaluation._tables import MarkedTable, Tabular
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_METRICS = ("gap", "ndcg@10", "ap", "err@20")
_BEYOND = 10  # least expected number of resamples beyond both ends of an interval


@dataclass(frozen=True, eq=False, repr=False)
class Report(Tabular):
    """The result of `evaluate`.

    Attributes
    ----------
    per_query : DataFrame of shape (n_queries, n_metrics)
        Value of each query; NaN where a metric is not defined.
    mean : Series
        Mean over queries of each metric, weighted if weights were given. The `empty` of a metric
        says how queries without a relevant document count.
    empty : Series
        Number of queries without a relevant document, by metric.
    n_queries, n_rows : int
    judged_share : float
        Share of the rows that have a label.
    retrieved_share : float
        Share of the rows that have a score above -inf.
    weights : DataFrame of shape (n_queries, n_metrics)
        Weight of each query in the mean of each metric; 0 where it does not count.
    metric_of : dict of str to Metric
        The metric of each column.
    """

    per_query: pd.DataFrame
    mean: pd.Series
    empty: pd.Series
    n_queries: int
    n_rows: int
    judged_share: float
    retrieved_share: float
    weights: pd.DataFrame
    metric_of: dict[str, Metric]

    def to_frame(self, confidence: float = 0.95, interval: str = "bootstrap-t") -> pd.DataFrame:
        """One row per metric: mean with interval, spread over queries, queries counted and empty.

        Parameters
        ----------
        confidence : float
            Level of the interval of the mean.
        interval : {"bootstrap-t", "t", "percentile", "bca"}
            Method: `skrank.stats.t_interval`, or a method of `skrank.stats.bootstrap_interval`,
            with 1000 seeded resamples of the queries, or more for a confidence above .99. The
            default has the best coverage for most distributions. Each interval holds by itself:
            unlike the intervals of `skrank.compare`, it does not depend on the other metrics.

        Returns
        -------
        DataFrame with columns "mean", "low", "high", "std", "queries", "empty"
            "low" and "high" are NaN where fewer than two queries count.

        Notes
        -----
        Resampling cannot recover rare values that no query has. If fewer than twenty queries count
        and most of their values are 0, use `skrank.stats.bounded_interval` of a column of
        `per_query`: its coverage is at least its confidence.
        """
        import pandas as pd

        counted = self.per_query.where(self.weights > 0)
        low, high = mean_intervals(
            self.per_query, self.weights, self.metric_of, confidence, interval
        )
        return pd.DataFrame(
            {
                "mean": self.mean,
                "low": low,
                "high": high,
                "std": counted.std(),
                "queries": counted.notna().sum(),
                "empty": self.empty,
            }
        )

    def _drawn(self, display: Any, metric: str | None, ax: Axes | None, **kwargs: Any) -> Any:
        table = self.to_frame().rename(columns={"mean": "value"})
        if metric is not None:
            check.check_choice("metric", metric, list(table.index))
            table = table.loc[[metric]]
        title = "each interval holds by itself at 95 %"
        return display(table, label="mean", title=title).plot(ax, **kwargs)

    def _marked(self) -> MarkedTable:
        table = self.to_frame()[["mean", "low", "high", "queries"]].rename_axis("metric")
        return MarkedTable(table, self._caption())

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
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    max_grade: int | None = None,
    sample_weight: ArrayLike | None = None,
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
    >>> relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
    >>> skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "p@1"])
    2 queries, 4 documents: 100.0% judged, 100.0% retrieved
                  mean    low   high    std  queries  empty
    gap         0.7500 0.0000 1.0000 0.3536        2      0
    precision@1 0.5000 0.0000 1.0000 0.7071        2      0
    """
    chosen = unique_metrics(metrics)
    max_grade = check.check_max_grade(max_grade)
    check.check_same_index(
        relevance=relevance, scores=scores, groups=groups, sample_weight=sample_weight
    )
    ids = require_groups(groups, relevance, who="evaluate")
    with check.labels_first(relevance, scores):
        judgments = judge(relevance, ids)
        check.warn_single_rows(judgments.queries)
        weights = check.query_weights(sample_weight, judgments.queries)
        ranking = Ranking(judgments, scores)
        measured = measure(judgments, ranking, chosen, max_grade, weights)
    ranking.warn_if_swapped(stacklevel=2)
    return report_of(chosen, [measured])


@dataclass(frozen=True, eq=False)
class MeasuredQueries:
    """The values of some queries of an evaluation.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
    values, weights : ndarray of shape (n_metrics, n_queries)
    empty : int ndarray of shape (n_metrics,)
        Number of queries without a relevant document.
    n_rows, n_unjudged, n_retrieved : int
        Rows, those without a label, and those with a score above -inf.
    """

    ids: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    empty: np.ndarray
    n_rows: int
    n_unjudged: int
    n_retrieved: int


def measure(
    judgments: Judgments,
    ranking: Ranking,
    metrics: Mapping[str, Metric],
    max_grade: int | None,
    weights: np.ndarray | None,
) -> MeasuredQueries:
    """Value of each metric for each of some queries, and its weight in the mean."""
    plans = [one.bind(judgments, max_grade=max_grade) for one in metrics.values()]
    ranking.expect([plan.depth for plan in plans])
    values, mass = np.empty((2, len(plans), len(judgments.queries)))
    for i, plan in enumerate(plans):
        values[i], mass[i] = plan.values(ranking), plan.mass(ranking)
    if weights is not None:
        mass *= weights
    return MeasuredQueries(
        judgments.queries.ids,
        values,
        mass,
        np.array([np.count_nonzero(plan.empty) for plan in plans]),
        judgments.queries.n_rows,
        judgments.n_unjudged,
        ranking.n_retrieved,
    )


def report_of(metrics: Mapping[str, Metric], parts: Sequence[MeasuredQueries]) -> Report:
    """The report of queries that were measured in parts, in the order of the parts."""
    import pandas as pd

    names = list(metrics)
    index = pd.Index(np.concatenate([part.ids for part in parts]), name="qid")
    values = np.concatenate([part.values for part in parts], axis=1)
    mass = np.concatenate([part.weights for part in parts], axis=1)
    n_rows = sum(part.n_rows for part in parts)
    means = [average(*one) for one in zip(metrics.values(), values, mass, strict=True)]
    return Report(
        per_query=pd.DataFrame(values.T, index, names),
        mean=pd.Series(means, names, name="mean"),
        empty=pd.Series(np.sum([part.empty for part in parts], axis=0), names, name="empty"),
        n_queries=len(index),
        n_rows=n_rows,
        judged_share=1.0 - sum(part.n_unjudged for part in parts) / n_rows,
        retrieved_share=sum(part.n_retrieved for part in parts) / n_rows,
        weights=pd.DataFrame(mass.T, index, names),
        metric_of=dict(metrics),
    )


def mean_intervals(
    per_query: pd.DataFrame,
    weights: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    confidence: float = 0.95,
    interval: str = "bootstrap-t",
) -> tuple[pd.Series, pd.Series]:
    """Lower and upper ends of confidence intervals of the means of metrics.

    The columns of `per_query` and of `weights`, the weights of queries in the means, are metrics.
    The ends lie within the range of the metric. They are NaN if the mean is not defined, or if
    fewer than two queries count.
    """
    import pandas as pd

    from skrank.stats import bootstrap_interval, t_interval

    check.check_choice("interval", interval, ("bootstrap-t", "t", "percentile", "bca"))
    check.check_share("confidence", confidence)
    values = per_query.where(weights > 0)
    counted = weights > 0
    undefined = (counted & per_query.isna()).any()
    names = per_query.columns[~undefined & (counted.sum() >= 2)]
    bounds = pd.DataFrame(np.nan, index=["low", "high"], columns=per_query.columns)
    if len(names):
        geometric = [name for name in names if metric_of[name].average == "geometric"]
        values[geometric] = np.log(np.maximum(values[geometric], GEOMETRIC_FLOOR))
        how: Options = {"weights": weights[names], "confidence": confidence}
        if interval == "t":
            found = t_interval(values[names], **how)
        else:
            how["n_resamples"] = max(1000, math.ceil(_BEYOND / (1 - confidence)))
            found = bootstrap_interval(values[names], method=interval, **how)
        bounds[names] = np.stack([found.low, found.high])
        bounds[geometric] = np.exp(bounds[geometric])
        sums = [name for name in names if metric_of[name].average == "sum"]
        bounds[sums] *= weights[sums].sum()
        for name in names:
            bounds[name] = bounds[name].clip(*bounds_of(metric_of[name]))
    return bounds.loc["low"], bounds.loc["high"]
