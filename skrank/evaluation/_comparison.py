"""`Comparison`, the result of `compare` and `compare_cv`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skrank import _validation as check
from skrank._typing import Axes
from skrank.evaluation._tables import PaperTable, Tabular, spanned

if TYPE_CHECKING:
    import pandas as pd

    from skrank.plotting import IntervalDisplay

TESTS = {"max-t": "max-t test", "t": "paired t-test", "randomisation": "randomisation test"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """The result of `compare`.

    Attributes
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean over queries of each metric. The `empty` of a metric says how queries without a
        relevant document count.
    per_query : DataFrame of shape (n_queries, n_metrics * n_systems)
        Value of each query, with columns (metric, system); NaN where a metric is not defined. For
        systems with several seeds, the mean over seeds. For folds, the value of each fold.
    test : str
        Test of the differences: "max-t", "t", "randomisation", or that of seeds or of folds.
    confidence : float
        Level of the intervals. Differences with p_corrected below 1 - confidence are significant.
    baseline : hashable, list or None
        Systems that the others are compared with; None if all systems are compared with all.
    weighted : bool
        True if queries have weights.
    caption : str
        What was compared, by which test, and how p-values and intervals are corrected.
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    test: str
    confidence: float
    baseline: Hashable
    weighted: bool
    _table: pd.DataFrame
    _greater_is_better: dict[str, bool]
    _notes: Sequence[str]

    def to_frame(self) -> pd.DataFrame:
        """One row per metric and pair of systems.

        Returns
        -------
        DataFrame with columns

            metric, system, other
                The compared pair.
            difference, low, high
                Mean of `system` minus mean of `other`, and its confidence interval. All intervals
                together contain the true differences with probability `confidence`, so more metrics
                or systems make each interval wider. Intervals of "max-t" exclude 0 exactly where
                `significant` is True, and are infinite if queries are too few for a p-value below
                1 - confidence. Those of other tests are Student's with Bonferroni's correction:
                they may contain 0 where Holm's method finds a difference.
            p_corrected
                P-value corrected for the number of rows: by the max-t test, or by Holm's method.
            p_uncorrected
                P-value of this row by itself: of the test; with "max-t", of the paired t-test.
            significant
                True if `p_corrected` is below 1 - confidence.
            effect_size
                Cohen's d: mean over standard deviation of the differences.
            wins, ties, losses
                Queries on which `system` is better, equal and worse.
            queries
                Queries (or folds) compared: those with a value for both.
        """
        return self._table.copy()

    def plot(
        self, metric: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> IntervalDisplay:
        """Draw differences with their intervals, a panel per metric.

        Parameters
        ----------
        metric : str, optional
            Default: all metrics; on a given `ax`, the first one.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, with the test and the correction below.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        skrank.plotting.IntervalDisplay
            Of the first panel; its `figure_` has all panels.
        """
        from skrank.plotting import IntervalDisplay

        names = check.chosen_names("metric", metric, self.means.columns)
        pairs = self._table["system"].astype(str) + " \u2212 " + self._table["other"].astype(str)
        rows = self._table.set_index([self._table["metric"], pairs])
        rows = rows.rename(columns={"difference": "value"})
        rows = rows[["value", "low", "high", "significant"]]
        return IntervalDisplay.from_tables(
            {f"difference of {name}": rows.loc[name] for name in names},
            title="differences with intervals, grey: not significant",
            caption=self._method() if ax is None else None, reference=0.0, ax=ax, **kwargs,
        )  # fmt: skip

    def _paper_table(self, *, intervals: bool) -> PaperTable:
        if intervals:
            columns = ["system", "other", "difference", "low", "high", "p_corrected"]
            return PaperTable(self._table.set_index("metric")[columns], self.caption)
        rows, columns = (list(axis) for axis in self.means.axes)
        worse: dict[tuple[int, int], list[int]] = {}
        for test in self._table[self._table["significant"]].itertuples():
            better, other = rows.index(test.system), rows.index(test.other)
            if (test.difference > 0) != self._greater_is_better[test.metric]:
                better, other = other, better
            worse.setdefault((better, columns.index(test.metric)), []).append(other)
        caption = (
            f"{self._caption(intervals=False)}\nBest values are bold, superscripts name the "
            "systems that a value is significantly better than"
        )
        return PaperTable(self.means, caption, [*self._greater_is_better.values()], worse)

    def _method(self, *, intervals: bool = True) -> str:
        """The test, and how p-values and, if they are shown, intervals are corrected."""
        level, n_rows = f"{100 * self.confidence:g} % intervals", len(self._table)
        text = TESTS.get(self.test, self.test)
        if n_rows == 1:
            return f"{text}, {level}" if intervals else text
        by = ("", "") if self.test == "max-t" else (" by Holm's method", " by Bonferroni's")
        text = f"{text}, p-values corrected for {n_rows} comparisons{by[0]}"
        return f"{text}, {level} too{by[1]}" if intervals else text

    @property
    def caption(self) -> str:
        return self._caption(intervals=True)

    def _caption(self, *, intervals: bool) -> str:
        compared = spanned(self._table["queries"])
        unit = "folds" if self.per_query.index.name == "fold" else "queries"
        text = (
            f"{len(self.means)} systems on {compared} of {len(self.per_query)} {unit}"
            f"{', weighted' if self.weighted else ''}; "
            f"{self._method(intervals=intervals)}; {self._table['significant'].sum()} of "
            f"{check.counted(len(self._table), 'difference')} significant"
        )
        return "\n".join([text, *self._notes])

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"": self.means, "Differences": self._table}
