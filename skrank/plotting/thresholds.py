"""Informativeness of metrics against the thresholds of GAP."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank import metrics
from skrank._typing import Axes, Options
from skrank.plotting._display import Display

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

_ERROR = "mean RMS error of precision"
_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


class InformativenessDisplay(Display):
    """Mean error of inferred precision-recall curves against the thresholds of GAP.

    Each lowest relevant label has a line for the GAP metrics of a study, and a horizontal line in
    the same colour for each other metric. With two grades, the x axis is g_1. With three grades, a
    point per GAP metric at (g_1, g_3) has the colour of the mean error over the labels. With more
    grades, the x axis is the number of the GAP metric in the order of thresholds.

    Parameters
    ----------
    mean : DataFrame of shape (n_metrics, n_labels)
        The `mean` of `skrank.informativeness.study` or of ``select_thresholds(...).study``, or some
        of its rows and columns: the error of each metric for each lowest relevant label, with at
        least two GAP metrics that have thresholds.

    Attributes
    ----------
    thresholds : float64 ndarray of shape (n_candidates, n_grades)
        Of the GAP metrics, in ascending order.
    lines_ : dict of (str, float) to matplotlib Line2D
        By "gap" or the name of another metric, and lowest relevant label; empty for three grades.
    scatter_ : matplotlib PathCollection or None
        The points of three grades.
    ax_, figure_ : matplotlib Axes and Figure

    Raises
    ------
    ValueError
        If there are fewer than two such metrics, or their numbers of grades differ.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, figure 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from skrank.plotting import InformativenessDisplay
    >>> names = ["gap(thresholds=[0.2,0.8])", "gap(thresholds=[0.8,0.2])", "ndcg"]
    >>> mean = pd.DataFrame({1.0: [0.2, 0.1, 0.3], 2.0: [0.1, 0.2, 0.3]}, index=names)
    >>> display = InformativenessDisplay(mean).plot()
    >>> list(display.lines_)
    [('gap', 1.0), ('ndcg', 1.0), ('gap', 2.0), ('ndcg', 2.0)]
    >>> plt.close(display.figure_)
    """

    lines_: dict[tuple[str, float], Line2D]
    scatter_: PathCollection | None

    def __init__(self, mean: pd.DataFrame) -> None:
        check.check_table("mean", mean, ())
        parsed = {name: metrics.metric(name) for name in mean.index}
        candidates = {
            name: metric.thresholds
            for name, metric in parsed.items()
            if isinstance(metric, metrics.GAP) and metric.thresholds is not None
        }
        widths = {len(g) for g in candidates.values()}
        if len(candidates) < 2 or len(widths) > 1:
            raise ValueError(
                f"mean has {len(candidates)} metrics gap(thresholds=[...]) of {sorted(widths)} "
                "grades: a line takes at least 2 with the same number of grades."
            )
        self.mean = mean
        self._names = sorted(candidates, key=lambda name: tuple(candidates[name]))
        self._others = [name for name in mean.index if name not in candidates]
        self.thresholds = np.array([candidates[name] for name in self._names])

    def _draw(self, ax: Axes, style: Options) -> None:
        self.lines_, self.scatter_ = {}, None
        if self.thresholds.shape[1] == 3:
            self._plane(ax, style)
        else:
            self._curves(ax, style)

    def _curves(self, ax: Axes, style: Options) -> None:
        two = self.thresholds.shape[1] == 2
        places = self.thresholds[:, 0] if two else np.arange(1, len(self._names) + 1)
        for number, (level, errors) in enumerate(self.mean.items()):
            colour, above = f"C{number}", f"label {level:g} and above"
            look: Options = {"color": colour, "label": f"gap, {above}", "marker": "o", **style}
            (self.lines_["gap", level],) = ax.plot(places, errors[self._names], **look)
            for dashes, name in zip(cycle(_DASHES), self._others, strict=False):
                look = {"color": colour, "label": f"{name}, {above}", "linestyle": dashes, **style}
                self.lines_[name, level] = ax.axhline(errors[name], **look)
        ax.set_ylim(bottom=0)
        many = "number of the GAP metric, by thresholds g_1, g_2, ..."
        ax.set(xlabel="g_1 (g_2 = 1 - g_1)" if two else many, ylabel=_ERROR)
        ax.legend(loc="best", fontsize="small")

    def _plane(self, ax: Axes, style: Options) -> None:
        error = self.mean.mean(axis=1)
        values, (x, _, y) = error[self._names].to_numpy(), self.thresholds.T
        self.scatter_ = ax.scatter(x, y, **{"c": values, "s": 60, "cmap": "viridis_r", **style})
        best = values.argmin()
        at = ", ".join(f"{g:.3g}" for g in self.thresholds[best])
        ax.plot(x[best], y[best], "r*", markersize=14, label=f"least: {values[best]:.4f} at {at}")
        for name in self._others:
            ax.plot([], [], linestyle="none", label=f"{name}: {error[name]:.4f}")
        levels = ", ".join(f"{level:g}" for level in self.mean.columns)
        ax.set(xlabel="g_1", ylabel="g_3 (g_2 = 1 - g_1 - g_3)", title=f"relevant labels: {levels}")
        ax.legend(loc="upper right", fontsize="small")
        self.figure_.colorbar(self.scatter_, ax=ax, label=_ERROR)
