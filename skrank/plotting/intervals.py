"""Means of systems, or their differences, with intervals."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import PlainDisplay, choose

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.container import ErrorbarContainer

    from skrank.evaluation import Comparison
    from skrank.trec import TrecReport


@dataclass(eq=False, repr=False)
class IntervalDisplay(PlainDisplay):
    """Intervals of means or differences of systems, one row each, the highest value on top.

    `from_report` shows means of systems and `from_comparison` their differences.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, 3)
        Columns "value", "low" and "high", indexed by the names of the rows.
    label : str
        Name of the values.
    title : str, optional
        Title of the plot.
    reference : float, optional
        Value at which a line is drawn, such as 0 for differences.

    Attributes
    ----------
    bars_ : matplotlib ErrorbarContainer
        Intervals that exclude the reference; without a reference, all intervals.
    faint_bars_ : matplotlib ErrorbarContainer or None
        Intervals that contain the reference.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import skrank
    >>> from skrank.datasets import make_ranking
    >>> from skrank.plotting import IntervalDisplay
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> systems = {f"feature {i}": data.X[:, i] for i in range(4)}
    >>> found = skrank.compare(systems, data.relevance, groups=data.qid, correction="max-t")
    >>> display = IntervalDisplay.from_comparison(found, "gap")
    >>> len(display.table)
    6
    >>> plt.close(display.figure_)
    """

    table: pd.DataFrame
    _: KW_ONLY
    label: str = "value"
    title: str | None = None
    reference: float | None = None

    def __post_init__(self) -> None:
        check.check_table("table", self.table, ("value", "low", "high"))
        if self.reference is not None:
            check.check_number("reference", self.reference, -1e300, 1e300)
        self.table = self.table.sort_values("value", kind="stable")

    @classmethod
    def from_report(
        cls,
        report: TrecReport,
        metric: str,
        *,
        confidence: float = 0.95,
        interval: str = "bootstrap-t",
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw the means of the runs of a report.

        Parameters
        ----------
        report : TrecReport
            Of `skrank.trec.evaluate`.
        metric : str
            Column of the report.
        confidence, interval
            See `skrank.trec.TrecReport.intervals`.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all rows.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        IntervalDisplay

        Raises
        ------
        ValueError
            If the report has no such column.
        """
        (name,) = choose("metric", [metric], report.mean.columns)
        found = report.intervals(confidence, interval).xs(name, level="metric")
        table = found.rename(columns={"mean": "value"})
        title = f"each interval holds by itself at {100 * confidence:g} %"
        return cls(table, label=f"mean {name}", title=title).plot(ax, **kwargs)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        metric: str,
        *,
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw the differences of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Result of `skrank.compare`. Its `correction` decides if intervals hold simultaneously.
        metric : str
            Column of its means.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all rows.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        IntervalDisplay

        Raises
        ------
        ValueError
            If the comparison has no such metric.
        """
        (name,) = choose("metric", [metric], comparison.means.columns)
        found = comparison.to_frame().query("metric == @name")
        names = found["system"].astype(str) + " \u2212 " + found["other"].astype(str)
        table = found.set_index(names).rename(columns={"difference": "value"})
        table = table[["value", "low", "high"]]
        each = "each by itself" if comparison.correction == "none" else "all together"
        title = f"intervals hold {each} at {100 * (1 - comparison.alpha):g} %"
        display = cls(table, label=f"difference of {name}", title=title, reference=0.0)
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax, len(self.table))
        rows = np.arange(len(self.table))
        value, low, high = (self.table[name].to_numpy() for name in ("value", "low", "high"))
        contains = np.zeros(len(rows), dtype=bool)
        if self.reference is not None:
            ax.axvline(self.reference, color="black", linewidth=0.8)
            contains = (low <= self.reference) & (self.reference <= high)

        def draw(chosen: np.ndarray, colour: str) -> ErrorbarContainer:
            sides = np.stack([value - low, high - value])[:, chosen]
            look = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour, **style}
            # a side of infinite length is drawn with length 0: matplotlib cannot draw it
            return ax.errorbar(
                value[chosen], rows[chosen], xerr=np.where(np.isfinite(sides), sides, 0), **look
            )

        self.bars_ = draw(~contains, "C0")
        self.faint_bars_ = draw(contains, "0.6") if contains.any() else None
        ax.set_yticks(rows, labels=self.table.index.astype(str))
        ax.set(xlabel=self.label, ylim=(-0.6, len(rows) - 0.4))
        ax.tick_params(axis="y", labelsize="small")
        if self.title:
            ax.set_title(self.title, fontsize="medium")
