"""The report of metrics for one or several systems."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import GEOMETRIC_FLOOR, average
from skrank._typing import Axes, RandomState
from skrank.evaluation._comparison import Comparison
from skrank.evaluation._pair_tests import compare_values
from skrank.evaluation._tables import PaperTable, Tabular, spanned
from skrank.metrics import DCG, Metric

if TYPE_CHECKING:
    import pandas as pd

    from skrank.plotting import IntervalDisplay

_BEYOND = 10  # least expected resamples beyond both ends; `bootstrap_interval` warns below 2
SCORES = "scores"  # name of the system of a single array of scores


class Report(Tabular):
    """The result of `skrank.evaluate`, `skrank.trec.evaluate` and `skrank.dask.evaluate`.

    Parameters
    ----------
    systems : sequence of hashable
        Names of the systems.
    queries : ndarray of shape (n_queries,)
        Ids of the queries.
    metric_of : dict of str to Metric
        The metric of each column.
    values : ndarray of shape (n_systems, n_queries, n_metrics)
        NaN where a metric is not defined.
    weights : ndarray of shape (n_systems, n_queries, n_metrics)
        Weight of each query in the mean of each metric; 0 where it does not count.
    empty : array-like of shape (n_metrics,)
        Number of queries without a relevant document, by metric.
    counts : dict of str to sequence
        Numbers and shares of queries and documents, with an entry for each system.
    query_weights : ndarray of shape (n_queries,), optional
        Weights of queries that the caller gave; in `weights`, too.
    max_grade : int, optional
        Highest label of the collection, as far as it is known, for metrics that do not fix their
        highest grade. None: the caller gave it.

    Attributes
    ----------
    mean : DataFrame of shape (n_systems, n_metrics)
        Mean over queries of each metric, as its `empty` and `average` say. The system of a single
        array of scores is called "scores".
    per_query : DataFrame of shape (n_systems * n_queries, n_metrics), indexed by system and qid
        Value of each query; NaN where a metric is not defined.
    empty : dict of str to int
        Number of queries without a relevant document, by metric.
    counts : dict of str to list
        For arrays, "documents", the "judged" share of these, and the "retrieved" share, whose
        score is above -inf. For files, "queries" of the judgments that the run has, queries
        "missing" in it, its queries "ignored" because they have no judgments, its "documents" of
        queries with judgments, and the "judged" share of these.
    averages : ndarray of shape (n_systems, n_metrics)
        The values of `mean`.
    caption : str
        How much was measured, and what depends on the data: metrics whose highest grade is the
        highest label, and queries that are left out.
    systems, queries, metric_of, values, weights, query_weights, max_grade

    Examples
    --------
    >>> import skrank
    >>> relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
    >>> report = skrank.evaluate(relevance, {"a": [4, 3, 2, 1], "b": [3, 4, 1, 2]}, metrics="err")
    >>> print(report.caption)
    2 systems, 2 queries, 4 documents, 100.0% judged, 100.0% retrieved
    err: grades 0 to 2 (the highest label; max_grade= fixes it)
    """

    def __init__(
        self,
        systems: Sequence[Hashable],
        queries: np.ndarray,
        metric_of: Mapping[str, Metric],
        values: np.ndarray,
        weights: np.ndarray,
        empty: Sequence[int] | np.ndarray,
        counts: Mapping[str, Sequence[float]],
        query_weights: np.ndarray | None = None,
        max_grade: int | None = None,
    ) -> None:
        self.systems, self.queries = list(systems), queries
        self.metric_of, self.values, self.weights = dict(metric_of), values, weights
        self.empty = dict(zip(metric_of, np.asarray(empty).tolist(), strict=True))
        self.counts = {name: list(column) for name, column in counts.items()}
        self.query_weights, self.max_grade = query_weights, max_grade
        self.averages = np.empty((len(systems), len(metric_of)))
        for j, metric in enumerate(metric_of.values()):
            for i in range(len(systems)):
                self.averages[i, j] = average(metric, values[i, :, j], weights[i, :, j])

    @cached_property
    def mean(self) -> pd.DataFrame:
        """Mean over queries of each metric."""
        import pandas as pd

        return pd.DataFrame(self.averages, _index(self.systems, "system"), list(self.metric_of))

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """Value of each query."""
        import pandas as pd

        levels = _index(self.systems, "system"), _index(self.queries, "qid")
        index = pd.MultiIndex.from_product(levels)
        values = self.values.reshape(len(index), -1)
        return pd.DataFrame(values, index, list(self.metric_of))

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """One row per system and metric: mean with interval, spread, queries counted and empty.

        Parameters
        ----------
        confidence : float
            Level of the intervals: bootstrap-t intervals of `skrank.stats.bootstrap_interval`, with
            1,000 seeded resamples of the queries, or more for a confidence above .99. With 10,000
            resamples, a report of 10,000 queries would take 3 seconds to print, not .3. Each
            interval is that of one mean, whatever the other metrics. The intervals of two systems
            may overlap although the systems differ: `compare` tests differences.

        Returns
        -------
        DataFrame with columns "mean", "low", "high", "std", "queries", "empty"
            Indexed by system and metric. "low" and "high" are NaN where fewer than two queries
            count.
        """
        import pandas as pd

        check.check_share("confidence", confidence)
        systems, names = _index(self.systems, "system"), pd.Index([*self.metric_of], name="metric")
        ends = [self._intervals(i, confidence) for i in range(len(systems))]
        low, high = np.concatenate(ends, axis=1)
        counted = np.where(self.weights > 0, self.values, np.nan).swapaxes(0, 1)
        columns = pd.MultiIndex.from_product([systems, names])
        by_query = pd.DataFrame(counted.reshape(len(self.queries), -1), columns=columns)
        by_column = {"mean": self.averages.ravel(), "low": low, "high": high, "std": by_query.std()}
        empty = list(self.empty.values()) * len(systems)
        return pd.DataFrame(by_column | {"queries": by_query.notna().sum(), "empty": empty})

    def _intervals(self, system: int, confidence: float) -> np.ndarray:
        """Ends of intervals of the means of a system, of shape (2, n_metrics).

        The ends lie within the range of the metric. They are NaN if the mean is not defined, or if
        fewer than two queries count.
        """
        from skrank.stats import bootstrap_interval

        weights, metrics = self.weights[system].T, np.array([*self.metric_of.values()], object)
        values = np.where(weights > 0, self.values[system].T, np.nan)
        n_counted = (weights > 0).sum(axis=1)
        usable = (n_counted >= 2) & ((~np.isnan(values)).sum(axis=1) == n_counted)
        ends = np.full((2, len(metrics)), np.nan)
        if not usable.any():
            return ends
        averages = np.array([metric.average for metric in metrics[usable]])
        values, weights, geometric = values[usable], weights[usable], averages == "geometric"
        low, high = np.transpose([metric.value_range for metric in metrics[usable]])
        # a user's metric may have a wrong value_range, which `check_metric` reports
        right = (np.nanmin(values, 1) > low - 1e-9) & (np.nanmax(values, 1) < high + 1e-9)
        values[geometric] = np.log(np.maximum(values[geometric], GEOMETRIC_FLOOR))
        n_resamples = max(1000, math.ceil(_BEYOND / (1 - confidence)))
        intervals = bootstrap_interval(
            values.T, weights=weights.T, confidence=confidence, method="bootstrap-t",
            n_resamples=n_resamples, progress=False,
        )  # fmt: skip
        both = np.stack([intervals.low, intervals.high])
        both[:, geometric] = np.exp(both[:, geometric])
        both *= np.where(averages == "sum", weights.sum(axis=1), 1)
        ends[:, usable] = np.where(right, np.clip(both, low, high), both)
        return ends

    def compare(
        self,
        metrics: Sequence[str] | None = None,
        *,
        baseline: Hashable = None,
        test: str = "max-t",
        confidence: float = 0.95,
        n_resamples: int = 10_000,
        random_state: RandomState = 0,
        progress: bool | None = None,
    ) -> Comparison:
        """Test the differences between systems, corrected for the number of metrics and systems.

        Parameters
        ----------
        metrics : sequence of str, optional
            Columns to compare. Default: all.
        baseline, test, confidence, n_resamples, random_state, progress
            See `skrank.compare`.

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            If there are fewer than two systems, or a metric is defined on fewer than two queries.
        """
        import pandas as pd

        n_resamples, seed = check.check_draws(n_resamples, random_state)
        chosen = check.chosen_names("metric", metrics, self.metric_of)
        places = [list(self.metric_of).index(name) for name in chosen]
        values = self.values[:, :, places].transpose(1, 2, 0).reshape(len(self.queries), -1)
        columns = pd.MultiIndex.from_product([chosen, self.systems], names=["metric", "system"])
        metric_of = {name: self.metric_of[name] for name in chosen}
        return compare_values(
            pd.DataFrame(values, _index(self.queries, "qid"), columns),
            self.mean[chosen],
            metric_of,
            weights=self.query_weights, baseline=baseline, test=test, confidence=confidence,
            n_resamples=n_resamples, random_state=seed, progress=progress,
            notes=value_notes(metric_of, self.max_grade),
        )  # fmt: skip

    def plot(
        self,
        metric: str | None = None,
        ax: Axes | None = None,
        *,
        confidence: float = 0.95,
        **kwargs: Any,
    ) -> IntervalDisplay:
        """Draw means with their intervals: a panel per metric, or one panel for a single system.

        Parameters
        ----------
        metric : str, optional
            Default: all metrics; on a given `ax`, the first one if there are several systems.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        confidence
            See `to_frame`.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        skrank.plotting.IntervalDisplay
            Of the first panel; its `figure_` has all panels.
        """
        from skrank.plotting import IntervalDisplay

        names = check.chosen_names("metric", metric, self.metric_of)
        table = self.to_frame(confidence).rename(columns={"mean": "value"})
        title = f"{100 * confidence:g} % intervals of means"
        if len(self.systems) == 1:
            table = table.droplevel("system").loc[names]
            return IntervalDisplay(table, label="mean", title=title).plot(ax, **kwargs)
        tables = {f"mean {name}": table.xs(name, level="metric") for name in names}
        return IntervalDisplay.from_tables(tables, title=title, ax=ax, **kwargs)

    @property
    def caption(self) -> str:
        """How much was measured, and what depends on the data."""
        return self._caption()

    def _caption(self, *, of_means: bool = False) -> str:
        queries = check.counted(len(self.queries), "query", "queries")
        parts = []
        if len(self.systems) > 1:
            parts.append(check.counted(len(self.systems), "system"))
        if not of_means:
            parts.append(queries)
        counted = (self.weights > 0).sum(axis=1)
        if counted.min() < len(self.queries):
            queries = f"{spanned(counted)} of {queries}"
        for name, (value, *others) in self.counts.items():
            is_zero = name in ("missing", "ignored") and not value
            if name == "queries" or is_zero or others != [value] * len(others):
                continue
            number = check.counted(int(value), name.removesuffix("s"), name)
            parts.append(f"{value:.1%} {name}" if isinstance(value, float) else number)
        skipped = {self.empty[name] for name, m in self.metric_of.items() if m.empty == "skip"}
        if n_empty := max(skipped, default=0):
            number = check.counted(n_empty, "query", "queries")
            up_to = "up to " if len(skipped - {0}) > 1 else ""
            parts.append(f"{up_to}{number} without a relevant document left out")
        text = ", ".join(parts)
        if len(self.systems) == 1 and self.systems != [SCORES]:
            text = f"{self.systems[0]}: {text}"
        lines = [f"Means over {queries}" if of_means else "", text]
        return "\n".join([*filter(None, lines), *value_notes(self.metric_of, self.max_grade)])

    def _paper_table(self, *, intervals: bool) -> PaperTable:
        caption = self._caption(of_means=True)
        if len(self.systems) == 1:
            table = self.to_frame().droplevel("system")[["mean", "low", "high", "queries"]]
            return PaperTable(table, caption)
        rises = [metric.greater_is_better for metric in self.metric_of.values()]
        if not intervals:
            return PaperTable(self.mean, f"{caption}\nBest values are bold", rises)
        caption = f"{caption}\n95 % intervals in brackets, best values are bold"
        return PaperTable(self.mean, caption, rises, bounds=self._bounds())

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the 95 % intervals of `averages`."""
        low, high = self.to_frame()[["low", "high"]].to_numpy().T
        return low.reshape(self.averages.shape), high.reshape(self.averages.shape)

    def _printed(self) -> dict[str, pd.DataFrame]:
        import pandas as pd

        if len(self.systems) == 1:
            return {"": self.to_frame().droplevel("system").rename_axis(None)}
        texts = np.vectorize("{:.3f} [{:.3f}, {:.3f}]".format)(self.averages, *self._bounds())
        different = {name: column for name, column in self.counts.items() if len(set(column)) > 1}
        frame = pd.DataFrame(texts, self.mean.index, self.mean.columns)
        frame = frame.assign(**different).assign(**frame)  # a metric may be called as a count
        return {"95 % intervals of the means in brackets": frame}


def value_notes(metrics: Mapping[str, Metric], max_grade: int | None) -> list[str]:
    """A line about DCG with the gain "exp2", and one about metrics with a scale of grades."""
    exp2 = [name for name, m in metrics.items() if isinstance(m, DCG) and m.gain == "exp2"]
    scaled = [name for name, m in metrics.items() if m.needs_scale and max_grade is not None]
    option = check.argument("max_grade")
    scale = f"grades 0 to {max_grade} (the highest label; {option} fixes it)"
    notes = {"gain 2^grade - 1": exp2, scale: scaled}
    return [f"{', '.join(names)}: {note}" for note, names in notes.items() if names]


def _index(names: Sequence[Any] | np.ndarray, level: str) -> pd.Index:
    """An index of one level; names that are tuples stay entries."""
    import pandas as pd

    return pd.Index(names, name=level, tupleize_cols=False)
