"""Estimates and their uncertainty: intervals, posterior probabilities, and campaigns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.stats

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display, PlainDisplay
from skrank.stats import BayesianComparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.container import ErrorbarContainer

    from skrank.active import Campaign
    from skrank.evaluation import Comparison, Report

_COLOURS = {"worse": "C3", "equivalent": "0.7", "better": "C0"}


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
    ax_, figure_ : matplotlib Axes and Figure

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
        report: Report,
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
        report : Report
            Of `skrank.evaluate` or `skrank.trec.evaluate`.
        metric : str
            Column of the report.
        confidence, interval
            See `skrank.evaluation.Report.to_frame`.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        IntervalDisplay

        Raises
        ------
        ValueError
            If the report has no such column.
        """
        (name,) = check.chosen_names("metric", [metric], report.mean.columns)
        found = report.to_frame(confidence, interval).xs(name, level="metric")
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
        ax, **kwargs
            See `plot`.

        Returns
        -------
        IntervalDisplay

        Raises
        ------
        ValueError
            If the comparison has no such metric.
        """
        (name,) = check.chosen_names("metric", [metric], comparison.means.columns)
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
        ends = np.concatenate([value, low, high])
        if np.isinf(ends).any():  # such intervals are drawn to the edges of the axes
            inside = ends[np.isfinite(ends)] if np.isfinite(value).any() else np.zeros(1)
            margin = 0.05 * np.ptp(inside) or 1.0
            edges = inside.min() - margin, inside.max() + margin
            low, high = np.clip(low, *edges), np.clip(high, *edges)
            ax.set_xlim(*edges)
        contains = np.zeros(len(rows), dtype=bool)
        if self.reference is not None:
            ax.axvline(self.reference, color="black", linewidth=0.8)
            contains = (low <= self.reference) & (self.reference <= high)

        def draw(chosen: np.ndarray, colour: str) -> ErrorbarContainer:
            sides = np.stack([value - low, high - value])[:, chosen]
            look = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour, **style}
            return ax.errorbar(value[chosen], rows[chosen], xerr=np.nan_to_num(sides), **look)

        self.bars_ = draw(~contains, "C0")
        self.faint_bars_ = draw(contains, "0.6") if contains.any() else None
        ax.set_yticks(rows, labels=self.table.index.astype(str))
        ax.set(xlabel=self.label, ylim=(-0.6, len(rows) - 0.4))
        ax.tick_params(axis="y", labelsize="small")
        if self.title:
            ax.set_title(self.title, fontsize="medium")


class PosteriorDisplay(Display):
    """Posterior probabilities of pairs of systems, or the posterior density of one pair.

    Parameters
    ----------
    found : BayesianComparison
        Result of `skrank.stats.bayesian_comparison`.
    names : sequence of str, optional
        Names of the systems. Default: their numbers.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import stats
    >>> from skrank.plotting import PosteriorDisplay
    >>> scores = np.random.default_rng(0).random((50, 3)) + [0.1, 0, 0]
    >>> found = stats.bayesian_comparison(scores, rope=0.05)
    >>> display = PosteriorDisplay(found, names=["new", "old", "older"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['old against older', 'new against older', 'new against old']
    >>> plt.close(display.figure_)
    >>> display = PosteriorDisplay(found).plot(pair=0)
    >>> plt.close(display.figure_)
    """

    def __init__(self, found: BayesianComparison, *, names: Sequence[str] | None = None) -> None:
        check.check_result("found", found, BayesianComparison, "stats.bayesian_comparison")
        n_systems = int(found.pairs.max()) + 1
        if names is not None and np.ndim(names) != 1:
            raise ValueError(f"names={names!r} must be a sequence with a name for each system.")
        names = list(map(str, range(n_systems) if names is None else names))
        if len(names) < n_systems:
            raise ValueError(f"names has {len(names)} entries for {n_systems} systems.")
        self.found = found
        self.names = names

    def plot(self, ax: Axes | None = None, *, pair: int | None = None, **kwargs: object) -> Self:
        """Draw a bar of three parts for each pair, or the density of one pair.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all bars.
        pair : int, optional
            Number of the pair whose density is drawn, for method "t". Default: bars of all pairs.
        **kwargs
            Passed to `matplotlib.axes.Axes.barh`, or to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        The display itself

        Raises
        ------
        ValueError
            If there is no such pair, or its posterior has no density.
        """
        if pair is None:
            return self._bars(ax, kwargs)
        pair = check.check_count("pair", pair, "the number of a pair", 0)
        if pair >= len(self.found.pairs):
            raise ValueError(f"pair={pair} is not one of the {len(self.found.pairs)} pairs.")
        if self.found.method != "t" or self.found.error[pair] == 0:
            raise ValueError(
                f'the posterior of pair {pair} has no density, which needs method "t" and '
                "differences that vary. Leave `pair` out to draw its probabilities."
            )
        return self._density(ax, pair, kwargs)

    def _title(self, pair: int) -> str:
        first, second = self.found.pairs[pair]
        return f"{self.names[first]} against {self.names[second]}"

    def _bars(self, ax: Axes | None, style: Options) -> Self:
        n_pairs = len(self.found.pairs)
        ax = self._open(ax, n_pairs)
        rows, left = np.arange(n_pairs)[::-1], np.zeros(n_pairs)
        for name, colour in _COLOURS.items():
            share = getattr(self.found, name)
            ax.barh(rows, share, left=left, **{"color": colour, "label": name, **style})
            left = left + share
        ax.set_yticks(rows[::-1], labels=[self._title(pair) for pair in rows])
        low, high = self.found.rope
        ax.set(xlim=(0, 1), xlabel=f"probability; equivalent: from {low:g} to {high:g}")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
        return self

    def _density(self, ax: Axes | None, pair: int, style: Options) -> Self:
        found = self.found
        posterior = scipy.stats.t(found.freedom[pair], found.difference[pair], found.error[pair])
        low, high = found.rope
        ends = min(posterior.ppf(0.001), 1.5 * low), max(posterior.ppf(0.999), 1.5 * high)
        x = np.linspace(*ends, 500)
        density = posterior.pdf(x)
        ax = self._open(ax)
        ax.plot(x, density, **{"color": "black", "linewidth": 1, **style})
        inside = (x >= low) & (x <= high)
        for name, part in (("worse", x <= low), ("equivalent", inside), ("better", x >= high)):
            label = f"{name}: {getattr(found, name)[pair]:.3f}"
            ax.fill_between(x, density, where=part, color=_COLOURS[name], alpha=0.6, label=label)
        for bound in (low, high):
            ax.axvline(bound, color="black", linestyle="--", linewidth=0.8)
        ax.set(xlabel="mean difference", ylabel="posterior density", title=self._title(pair))
        ax.set_ylim(bottom=0)
        ax.legend(loc="best")
        return self


@dataclass(eq=False, repr=False)
class CampaignDisplay(PlainDisplay):
    """The estimate of a campaign and its intervals, against the cost of the labels.

    With two or more rankers, the estimate is the difference of the first two. A line marks 0 if
    estimates or bounds have both signs.

    Parameters
    ----------
    progress : DataFrame
        Result of ``progress`` of an `ActiveEvaluator` or `ActiveComparator`.
    budget : float, optional
        Highest total cost of labels: drawn as a vertical line.
    label : str, optional
        Name of the estimate, for the axis.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The estimate.
    band_ : matplotlib collection
        The intervals with finite bounds.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.active import ActiveEvaluator
    >>> from skrank.datasets import make_ranking
    >>> from skrank.plotting import CampaignDisplay
    >>> data = make_ranking(100, random_state=0)
    >>> campaign = ActiveEvaluator(
    ...     data.X[:, 0], data.qid, metric="err", grades=range(5), budget=300, random_state=0
    ... )
    >>> for request in campaign.ask(100):
    ...     campaign.tell(request, data.relevance[request.rows])
    >>> display = CampaignDisplay.from_campaign(campaign, anytime=True)
    >>> bool(display.line_.get_ydata()[-1] == campaign.estimate().value)
    True
    >>> plt.close(display.figure_)
    """

    progress: pd.DataFrame
    _: KW_ONLY
    budget: float | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        check.check_table("progress", self.progress, ("cost", "value", "low", "high"))
        if self.budget is not None:
            check.check_number("budget", self.budget, 0, math.inf)

    @classmethod
    def from_campaign(
        cls,
        campaign: Campaign,
        confidence: float = 0.95,
        *,
        estimator: str = "assisted",
        anytime: bool = False,
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw a campaign as it stands.

        Parameters
        ----------
        campaign : ActiveEvaluator or ActiveComparator
            With at least the first query labelled.
        confidence, estimator, anytime
            See ``campaign.estimate``.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        CampaignDisplay

        Raises
        ------
        ValueError
            If no query of the campaign is labelled yet.
        """
        progress = campaign.progress(confidence, estimator=estimator, anytime=anytime)
        names = campaign.names
        label = str(campaign.metric)
        if len(names) > 1:
            label = f"{label}: {names[0]} less {names[1]}"
        return cls(progress, budget=campaign.budget, label=label).plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax)
        cost, value = self.progress["cost"].to_numpy(), self.progress["value"].to_numpy()
        low, high = self.progress["low"].to_numpy(), self.progress["high"].to_numpy()
        bounded = np.isfinite(low) & np.isfinite(high)
        (self.line_,) = ax.plot(cost, value, **{"drawstyle": "steps-post", **style})
        self.band_ = ax.fill_between(
            cost, low, high, where=bounded, step="post", color=self.line_.get_color(), alpha=0.2
        )
        low, high, value = low[bounded], high[bounded], value[np.isfinite(value)]
        shown = np.concatenate([value, low, high])
        if len(shown) and shown.min() < 0 < shown.max():
            ax.axhline(0, color="grey", linewidth=1)
        if self.budget is not None and math.isfinite(self.budget):
            ax.axvline(self.budget, color="grey", linestyle=":", linewidth=1)
        ax.set(xlabel="cost of the labels", ylabel=self.label or "estimate", xlim=(0, None))
        # limits of the y axis from the later half of the intervals, as first ones may be very wide
        later = slice(len(low) // 2, None)
        shown = np.concatenate([value, low[later], high[later]])
        if len(shown):
            margin = 0.05 * (shown.max() - shown.min()) or 0.1
            ax.set_ylim(shown.min() - margin, shown.max() + margin)
