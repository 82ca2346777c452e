"""Agreement of metrics on systems: rank correlations and scatter plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display, PlainDisplay, name_points
from skrank.stats import tau_ap, tau_b

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.collections import PathCollection
    from matplotlib.image import AxesImage
    from matplotlib.text import Annotation

    from skrank.evaluation import Report

_MOST_NAMED = 60  # points; a figure of default size has space for about half of the names


class TauMatrixDisplay(PlainDisplay):
    """Heat map of the rank correlations of systems between each two metrics.

    Parameters
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean of each system; higher is better.
    method : {"tau_b", "tau_ap"}
        Kendall's tau_b, or the AP correlation, which weighs the top of the ranking more, in its
        symmetric form for rankings with ties.

    Attributes
    ----------
    matrix : DataFrame of shape (n_metrics, n_metrics)
    image_ : matplotlib AxesImage
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007, table 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from skrank.plotting import TauMatrixDisplay
    >>> means = pd.DataFrame({"ap": [0.3, 0.2, 0.1, 0.4], "gap": [0.3, 0.1, 0.2, 0.5]})
    >>> display = TauMatrixDisplay(means).plot()
    >>> display.matrix.round(2)
           ap   gap
    ap   1.00  0.67
    gap  0.67  1.00
    >>> plt.close(display.figure_)
    """

    image_: AxesImage

    def __init__(self, means: pd.DataFrame, *, method: str = "tau_b") -> None:
        import pandas as pd

        check.check_choice("method", method, ("tau_b", "tau_ap"))
        check.check_table("means", means, ())
        if len(means) < 2:
            raise ValueError(f"means has {len(means)} system: a ranking needs at least 2.")
        names = list(means.columns)
        self.method = method
        values = [[_correlation(means[a], means[b], method) for b in names] for a in names]
        self.matrix = pd.DataFrame(values, names, names)

    @classmethod
    def from_report(
        cls,
        report: Report,
        metrics: Sequence[str] | None = None,
        *,
        method: str = "tau_b",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the correlations between the metrics of a report.

        Parameters
        ----------
        report : Report
            Of `skrank.evaluate` or `skrank.trec.evaluate`, with at least two runs.
        metrics : sequence of str, optional
            Columns of the report. Default: all.
        method : {"tau_b", "tau_ap"}
        ax, **kwargs
            See `plot`.

        Returns
        -------
        TauMatrixDisplay

        Raises
        ------
        ValueError
            If the report has no such column, or fewer than two runs.
        """
        names = check.chosen_names("metric", metrics, report.mean.columns)
        signs = [1 if report.metric_of[name].greater_is_better else -1 for name in names]
        return cls(report.mean[names] * signs, method=method).plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax)
        ax.grid(visible=False)
        values = self.matrix.to_numpy()
        low = min(0.5, np.nanmin(values, initial=1.0))
        self.image_ = ax.imshow(values, **{"vmin": low, "vmax": 1, "cmap": "viridis", **style})
        places, names = range(len(values)), list(self.matrix.columns)
        ax.set_xticks(places, labels=names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(places, labels=names)
        for (row, column), value in np.ndenumerate(values):
            # white text on dark cells, black text on light cells
            colour = "white" if value < (low + 1) / 2 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        self.figure_.colorbar(self.image_, ax=ax, label=self.method)


class MetricScatterDisplay(Display):
    """Scatter plot of two metrics: a point per system, or a point per query of one system.

    Points are named by the index of `x`, starting with points that the two metrics rank most
    differently. Names that would overlap are left out.

    Parameters
    ----------
    x, y : Series or array-like of shape (n_points,)
        Values of the same systems (or queries) in the same order; NaN = not defined. The points of
        arrays have no names.
    names : (str, str)
        Names of the metrics.
    what : str
        Name of the points in the title, in the plural, such as "systems".

    Attributes
    ----------
    tau : float
        Kendall's tau_b of the points.
    scatter_ : matplotlib PathCollection
    texts_ : list of matplotlib Annotation
        Names that are drawn.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.plotting import MetricScatterDisplay
    >>> display = MetricScatterDisplay([0.3, 0.2, 0.1], [0.5, 0.2, 0.3], names=("ap", "gap"))
    >>> display.plot().ax_.get_title()
    'tau_b = 0.333, 3 systems'
    >>> plt.close(display.figure_)
    """

    scatter_: PathCollection
    texts_: list[Annotation]

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        names: Sequence[str] = ("x", "y"),
        what: str = "systems",
    ) -> None:
        check.check_same_index(x=x, y=y)
        first, second = (check.as_numbers(n, v, "one per point") for n, v in (("x", x), ("y", y)))
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError(
                f"x has shape {first.shape} and y {second.shape}: pass one value of each per point."
            )
        defined = np.isfinite(first) & np.isfinite(second)
        if np.count_nonzero(defined) < 2:
            raise ValueError(
                f"{np.count_nonzero(defined)} of {len(first)} {what} have a value of both metrics: "
                "a correlation needs at least 2."
            )
        self.x, self.y = first[defined], second[defined]
        index = getattr(x, "index", None)
        labels = np.asarray(index).astype(str)[defined] if hasattr(index, "equals") else None
        self.point_names = None if labels is None else labels.tolist()
        self.names = tuple(check.several("names", names, ()))
        self.what = what
        self.n_empty = len(first) - len(self.x)
        self.tau = tau_b(self.x, self.y)

    @classmethod
    def from_report(
        cls,
        report: Report,
        x: str,
        y: str,
        *,
        run: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw two metrics of a report.

        Parameters
        ----------
        report : Report
            Of `skrank.evaluate` or `skrank.trec.evaluate`.
        x, y : str
            Columns of the report.
        run : str, optional
            Draw the queries of this run. Default: the means of all runs.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        MetricScatterDisplay

        Raises
        ------
        ValueError
            If the report has no such column or run, or there are fewer than two points.
        """
        names = check.chosen_names("metric", [x, y], report.mean.columns)
        if run is None:
            table, what = report.mean, "systems"
        else:
            (run,) = check.chosen_names("run", [run], report.mean.index)
            table, what = report.per_query.loc[run], f"queries of {run}"
        return cls(table[x], table[y], names=names, what=what).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, show_names: bool | None = None, **kwargs: Any
    ) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        show_names : bool, optional
            Draw names beside points. Default: True for at most 60 points.
        **kwargs
            Passed to `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        The display itself
        """
        if show_names is None:
            show_names = len(self.x) <= _MOST_NAMED
        show_names = check.check_flag("show_names", show_names)
        ax = self._open(ax)
        self.scatter_ = ax.scatter(self.x, self.y, **{"s": 16, "alpha": 0.6, **kwargs})
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        empty = f"; not defined on {self.n_empty} more" if self.n_empty else ""
        ax.set_title(f"tau_b = {self.tau:.3f}, {len(self.x)} {self.what}{empty}")
        self.texts_ = []
        if show_names and self.point_names is not None:
            ranks = [scipy.stats.rankdata(values) for values in (self.x, self.y)]
            order = np.argsort(-np.abs(ranks[0] - ranks[1]), kind="stable")
            names = [self.point_names[i] for i in order]
            self.texts_ = name_points(ax, self.x[order], self.y[order], names)
        return self


def _correlation(x: pd.Series, y: pd.Series, method: str) -> float:
    """Correlation over systems with a value of both metrics; NaN if there are fewer than two."""
    defined = x.notna() & y.notna()
    if defined.sum() < 2:
        return float("nan")
    first, second = x[defined].to_numpy(), y[defined].to_numpy()
    return tau_b(first, second) if method == "tau_b" else tau_ap(first, second, ties="b")
