"""Studies of metrics: discriminative power, fewer and fewer judgments, and informativeness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.incompleteness import Robustness
from skrank.informativeness import Study
from skrank.metrics.gap import GAP
from skrank.plotting._display import Display, PlainDisplay
from skrank.stats import DiscriminativePower, discriminative_power

if TYPE_CHECKING:
    from matplotlib.collections import PathCollection

    from skrank.evaluation import Report

_AXES = {
    "tau_b": "tau_b with the ranking by all judgments",
    "tau_ap": "AP correlation with the ranking by all judgments",
    "power": "discriminative power at {alpha:g}",
    "required_difference": "required difference at {alpha:g}",
    "mean": "mean over systems",
}
_ERROR = "RMS error of precision\nmean of {} lists"
_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


class ASLCurveDisplay(PlainDisplay):
    """Achieved significance levels of all pairs of systems in descending order, for some metrics.

    The lower the curve of a metric, the more pairs it distinguishes at the same level. The legend
    has the share of pairs below `alpha`, and the difference of means that is significant for every
    pair. Levels of 0, which no resample reached, are not drawn on the logarithmic axis.

    Parameters
    ----------
    powers : dict of str to DiscriminativePower
        Result of `skrank.stats.discriminative_power` for each metric.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The curve of each metric.
    line_ : matplotlib Line2D
        Horizontal line at `alpha`.
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    T. Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import stats
    >>> from skrank.plotting import ASLCurveDisplay
    >>> noise = np.random.default_rng(0).random((50, 10))
    >>> powers = {
    ...     name: stats.discriminative_power(noise + weight * np.linspace(0, 1, 10))
    ...     for name, weight in (("sharp", 1.0), ("blunt", 0.2))
    ... }
    >>> display = ASLCurveDisplay(powers).plot()
    >>> list(display.lines_)
    ['sharp', 'blunt']
    >>> plt.close(display.figure_)
    """

    def __init__(self, powers: Mapping[str, DiscriminativePower]) -> None:
        if not isinstance(powers, Mapping) or not powers:
            raise ValueError("powers is empty: pass a dict of results of discriminative_power.")
        for name, power in powers.items():
            check.check_result(
                f"powers[{name!r}]", power, DiscriminativePower, "stats.discriminative_power"
            )
        if len({one.alpha for one in powers.values()}) > 1:
            raise ValueError("powers have different alpha: compute all with one alpha.")
        self.powers = dict(powers)

    @classmethod
    def from_report(
        cls,
        report: Report,
        metrics: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        n_resamples: int = 1000,
        random_state: check.RandomState = 0,
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw the curves of the metrics of a report.

        Parameters
        ----------
        report : Report
            Of `skrank.evaluate` or `skrank.trec.evaluate`, with at least two runs.
        metrics : sequence of str, optional
            Columns of the report. Default: all.
        alpha, n_resamples, random_state
            See `skrank.stats.discriminative_power`.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        ASLCurveDisplay

        Raises
        ------
        ValueError
            If the report has no such column, or fewer than two runs.
        """
        how: Options = {"alpha": alpha, "n_resamples": n_resamples, "random_state": random_state}
        powers = {
            name: discriminative_power(report.per_query[name].unstack("system", sort=False), **how)
            for name in check.chosen_names("metric", metrics, report.per_query.columns)
        }
        return cls(powers).plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax)
        self.lines_ = {}
        alpha = next(iter(self.powers.values())).alpha
        least, most = alpha, 0
        for name, found in self.powers.items():
            levels = found.asl_curve
            label = f"{name} ({found.power:.1%}, difference {found.required_difference:.3f})"
            numbers = np.arange(1, len(levels) + 1)
            (self.lines_[name],) = ax.plot(numbers, levels, **{"label": label, **style})
            least, most = min([least, *levels[levels > 0]]), max(most, len(levels))
        label = f"significant at {alpha:g}"
        self.line_ = ax.axhline(alpha, color="black", linestyle="--", linewidth=1, label=label)
        ax.set(yscale="log", xlim=(0, most + 1), ylim=(least / 1.5, 1.5))
        ax.set(xlabel="pairs of systems, sorted", ylabel="achieved significance level")
        ax.legend(loc="best", fontsize="small")


class RobustnessDisplay(Display):
    """Correlation with the full ranking, or discriminative power, against the share of judgments.

    A metric on condensed lists has a dashed line in the colour of the metric on full lists. With
    several repeats, the line is their mean, in a band from the smallest to the largest value.

    Parameters
    ----------
    robustness : Robustness
        Result of `skrank.incompleteness.robustness`.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The line of each metric.
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007, figures 1 to 3.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import trec
    >>> from skrank.incompleteness import robustness
    >>> from skrank.plotting import RobustnessDisplay
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(20), 50), np.tile(np.arange(50), 20)
    >>> label = random.choice(3, p=[0.7, 0.2, 0.1], size=1000)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> runs = [
    ...     trec.Run.from_arrays(qid, docid, label + s * random.normal(size=1000), name=f"noise{s}")
    ...     for s in (1.0, 1.2, 1.4, 1.6)
    ... ]
    >>> found = robustness(qrels, runs, ["gap", "bpref"], n_resamples=200)
    >>> display = RobustnessDisplay(found).plot(column="power")
    >>> list(display.lines_)
    ['gap', 'bpref']
    >>> plt.close(display.figure_)
    """

    def __init__(self, robustness: Robustness) -> None:
        self.robustness = check.check_result(
            "robustness", robustness, Robustness, "incompleteness.robustness"
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        column: str = "tau_b",
        metrics: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw one column of the study.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        column : {"tau_b", "tau_ap", "power", "required_difference", "mean"}
            Column of `skrank.incompleteness.Robustness` to draw.
        metrics : sequence of str, optional
            Default: all of the study.
        **kwargs
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        The display itself

        Raises
        ------
        ValueError
            If the study has no such column or metric.
        """
        check.check_choice("column", column, tuple(_AXES))
        table = self.robustness.table
        chosen = check.chosen_names("metric", metrics, table["metric"].unique())
        ax = self._open(ax)
        self.lines_ = {}
        full = list(dict.fromkeys(_on_full_lists(name) for name in chosen))
        colours = {name: f"C{number}" for number, name in enumerate(full)}
        for name in chosen:
            values = table[table["metric"] == name].groupby("percent")[column]
            mean, colour = values.mean(), colours[_on_full_lists(name)]
            dashes = "-" if _on_full_lists(name) == name else "--"
            look = {"marker": "o", "label": name, "linestyle": dashes, "color": colour}
            (self.lines_[name],) = ax.plot(mean.index, mean, **(look | kwargs))
            if table["repeat"].any():
                ax.fill_between(mean.index, values.min(), values.max(), color=colour, alpha=0.1)
        percents = sorted(table["percent"].unique())
        margin = 0.03 * (percents[-1] - percents[0]) + 0.5
        ax.set(xticks=percents, xlim=(percents[-1] + margin, percents[0] - margin))
        ylabel = _AXES[column].format(**vars(self.robustness))
        ax.set(xlabel="percent of the judgments", ylabel=ylabel)
        ax.legend(loc="best", fontsize="small")
        return self


def _on_full_lists(name: str) -> str:
    """The name of a metric without condensed=True."""
    return re.sub(r"\(condensed=True\)|condensed=True,|,condensed=True", "", name)


class InformativenessDisplay(Display):
    """Mean error of inferred precision-recall curves against the thresholds of GAP.

    Each lowest relevant label has a line for the GAP metrics of a study, and a horizontal line in
    the same colour for each other metric. With two grades, the x axis is g_1. With three grades, a
    triangle has a point per GAP metric, at the barycentric coordinates (g_1, g_2, g_3), whose
    colour is the mean error over the labels. With more grades, the x axis is the number of the GAP
    metric in the order of thresholds.

    Parameters
    ----------
    study : Study
        Of `skrank.informativeness.study` or ``select_thresholds(...).study``, with at least two
        GAP metrics that have thresholds.

    Attributes
    ----------
    thresholds : float64 ndarray of shape (n_candidates, n_grades)
        Of the GAP metrics, in ascending order.
    lines_ : dict of (str, float) to matplotlib Line2D
        By "gap" or the name of another metric, and lowest relevant label; empty in a triangle.
    scatter_ : matplotlib PathCollection or None
        The points of a triangle.
    ax_, figure_ : matplotlib Axes and Figure

    Raises
    ------
    ValueError
        If the study has fewer than two such metrics, or their numbers of grades differ.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, figure 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import informativeness, trec
    >>> from skrank.plotting import InformativenessDisplay
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(10), 60), np.tile(np.arange(60), 10)
    >>> label = random.choice(3, p=[0.6, 0.2, 0.2], size=600)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> run = trec.Run.from_arrays(qid, docid, label + random.normal(size=600))
    >>> names = ["gap(thresholds=[0.2,0.8])", "gap(thresholds=[0.8,0.2])", "ndcg"]
    >>> study = informativeness.study(qrels, run, names)
    >>> display = InformativenessDisplay(study).plot()
    >>> list(display.lines_)
    [('gap', 1.0), ('ndcg', 1.0), ('gap', 2.0), ('ndcg', 2.0)]
    >>> plt.close(display.figure_)
    """

    scatter_: PathCollection | None

    def __init__(self, study: Study) -> None:
        self.study = check.check_result("study", study, Study, "informativeness.study")
        candidates = {
            name: one.thresholds
            for name, one in study.metric_of.items()
            if isinstance(one, GAP) and one.thresholds is not None
        }
        widths = {len(g) for g in candidates.values()}
        if len(candidates) < 2 or len(widths) > 1:
            raise ValueError(
                f"the study has {len(candidates)} metrics gap(thresholds=[...]) of "
                f"{sorted(widths)} grades: a line takes at least 2 with the same number of grades."
            )
        self._names = sorted(candidates, key=lambda name: tuple(candidates[name]))
        self.thresholds = np.array([candidates[name] for name in self._names])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        rel: Sequence[float] | None = None,
        metrics: Sequence[str] | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        rel : sequence of float, optional
            Lowest relevant labels. Default: all of the study.
        metrics : sequence of str, optional
            Metrics to draw besides GAP. Default: all other metrics of the study.
        **kwargs
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        The display itself

        Raises
        ------
        ValueError
            If the study has no such label or metric.
        """
        chosen = self._levels(rel)
        known = [one for one in self.study.metrics if one not in self._names]
        others = check.chosen_names("metric", metrics, known, may_be_empty=True)
        ax = self._open(ax)
        self.lines_, self.scatter_ = {}, None
        draw = self._triangle if self.thresholds.shape[1] == 3 else self._curves
        draw(ax, chosen, others, kwargs)
        return self

    def _curves(self, ax: Axes, levels: list[float], others: list[str], style: Options) -> None:
        mean = self.study.mean
        two = self.thresholds.shape[1] == 2
        places = self.thresholds[:, 0] if two else np.arange(1, len(self._names) + 1)
        for number, level in enumerate(levels):
            errors, colour, above = mean[level], f"C{number}", f"label {level:g} and above"
            look: Options = {"color": colour, "label": f"gap, {above}", "marker": "o", **style}
            (self.lines_["gap", level],) = ax.plot(places, errors[self._names], **look)
            for dashes, name in zip(cycle(_DASHES), others, strict=False):
                look = {"color": colour, "label": f"{name}, {above}", "linestyle": dashes, **style}
                self.lines_[name, level] = ax.axhline(errors[name], **look)
        ax.set_ylim(bottom=0)
        many = "number of the GAP metric, by thresholds g_1, g_2, ..."
        xlabel = "g_1 (g_2 = 1 - g_1)" if two else many
        ax.set(xlabel=xlabel, ylabel=_ERROR.format(len(self.study.lists)))
        ax.legend(loc="best", fontsize="small")

    def _triangle(self, ax: Axes, levels: list[float], others: list[str], style: Options) -> None:
        error = self.study.mean[levels].mean(axis=1)
        values = error[self._names].to_numpy()
        x, y = _draw_triangle(ax, ["g_1", "g_2", "g_3"]) @ self.thresholds.T
        self.scatter_ = ax.scatter(x, y, **{"c": values, "s": 60, "cmap": "viridis_r", **style})
        best = values.argmin()
        thresholds = ", ".join(f"{g:.3g}" for g in self.thresholds[best])
        label = f"least: {values[best]:.4f} at {thresholds}"
        ax.plot(x[best], y[best], "r*", markersize=14, label=label)
        for name in others:
            ax.plot([], [], linestyle="none", label=f"{name}: {error[name]:.4f}")
        shown = ", ".join(f"{level:g}" for level in levels)
        many = len(levels) > 1
        ax.set_title(f"{'mean over lowest' if many else 'lowest'} relevant label {shown}")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), fontsize="small", frameon=False)
        self.figure_.colorbar(self.scatter_, ax=ax, label=_ERROR.format(len(self.study.lists)))

    def _levels(self, rel: Sequence[float] | None) -> list[float]:
        known = self.study.rel.tolist()
        levels = known if rel is None else list(check.check_numbers("rel", rel))
        for level in levels:
            if level not in known:
                raise ValueError(f"rel={level:g} is not in the study, which has {known}.")
        return levels


# x and y of the corners for shares (1, 0, 0), (0, 1, 0), (0, 0, 1): left, right and top.
_CORNERS = np.array([[0.0, 1.0, 0.5], [0.0, 0.0, np.sqrt(0.75)]])
# Offsets of the names from the corners, and alignments of their texts.
_OFFSETS = np.array([[-0.01, -0.02], [0.01, -0.02], [0, 0.02]])
_SIDES = (("right", "top"), ("left", "top"), ("center", "bottom"))
_LEVELS = (0.25, 0.5, 0.75)


def _draw_triangle(ax: Axes, names: Sequence[str]) -> np.ndarray:
    """Draw an empty triangle with named corners, and lines of equal shares at quarters.

    Returns the matrix of shape (2, 3) that maps three shares to x and y.
    """
    ax.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.12, 1.0))
    ax.axis("off")
    around = _CORNERS[:, [0, 1, 2, 0]]
    ax.plot(*around, color="black", linewidth=1)
    for (x, y), name, (ha, va) in zip(_CORNERS.T + _OFFSETS, names, _SIDES, strict=True):
        ax.text(x, y, f"{name} = 1", ha=ha, va=va)
    for level in _LEVELS:
        for corner in range(3):
            # shares of the end points of the line on which the share of `corner` is `level`
            ends = np.roll([[level, level], [1 - level, 0], [0, 1 - level]], corner, axis=0)
            ax.plot(*(_CORNERS @ ends), color="gray", linewidth=0.5, alpha=0.5, zorder=0)
    return _CORNERS
