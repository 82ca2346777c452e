"""Agreement of metrics on systems: rank correlations and scatter plots."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.metrics import metric as metric_named
from skrank.plotting._display import Display, shown
from skrank.stats import tau_ap, tau_b

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.collections import PathCollection
    from matplotlib.image import AxesImage
    from matplotlib.text import Annotation

_MOST_NAMED = 60  # points; a figure of default size has space for about half of the names
# Offsets of a name from its point; the first offset at which the name overlaps nothing is used.
_OFFSETS = ((4, 0), (-4, 0), (0, 4), (0, -4), (3, 3), (3, -3), (-3, 3), (-3, -3))


class TauMatrixDisplay(Display):
    """Heat map of the rank correlations of systems between each two metrics.

    Parameters
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean of each system, such as the `mean` of a report. Higher is better, but for columns with
        the name of a metric whose lower values are better, such as "error@5".
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
        self.method = check.check_choice("method", method, ("tau_b", "tau_ap"))
        check.check_table("means", means, ())
        if len(means) < 2:
            raise ValueError(f"means has {len(means)} system: a ranking needs at least 2.")
        directed = means * [1 if _rises(name) else -1 for name in means.columns]
        measure = tau_b if method == "tau_b" else partial(tau_ap, ties="b")
        self.matrix = directed.corr(measure, min_periods=2)

    def _draw(self, ax: Axes, style: Options) -> None:
        ax.grid(visible=False)
        values = self.matrix.to_numpy()
        low = min(0.5, np.nanmin(values, initial=1.0))
        self.image_ = ax.imshow(values, **{"vmin": low, "vmax": 1, "cmap": "viridis", **style})
        places, names = range(len(values)), [*map(shown, self.matrix.columns)]
        ax.set_xticks(places, labels=names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(places, labels=names)
        for (row, column), value in np.ndenumerate(values):
            # white text on dark cells, black text on light cells
            colour = "white" if value < (low + 1) / 2 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        self.figure_.colorbar(self.image_, ax=ax, label=self.method)


def _rises(name: Hashable) -> bool:
    """True unless the name is that of a metric whose lower values are better."""
    try:
        return metric_named(str(name)).greater_is_better
    except ValueError:
        return True


class MetricScatterDisplay(Display):
    """Scatter plot of two metrics: a point per system, or a point per query of one system.

    Points are named by the index of `x`, starting with points that the two metrics rank most
    differently. Names that would overlap are left out.

    Parameters
    ----------
    x, y : Series or array-like of shape (n_points,)
        Values of the same systems (or queries) in the same order; NaN = not defined. The points of
        arrays have no names.
    names : (str, str), optional
        Names of the metrics. Default: those of the Series, else "x" and "y".
    what : str
        Name of the points in the title, in the plural, such as "systems".
    show_names : bool, optional
        Draw names beside points. Default: True for at most 60 points.

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
        names: Sequence[str] | None = None,
        what: str = "systems",
        show_names: bool | None = None,
    ) -> None:
        check.check_same_index(x=x, y=y)
        first, second = (check.as_numbers(n, v, "one per point") for n, v in (("x", x), ("y", y)))
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError(
                f"x has shape {first.shape} and y {second.shape}: pass one value of each per point."
            )
        defined = np.isfinite(first) & np.isfinite(second)
        self.x, self.y = first[defined], second[defined]
        if len(self.x) < 2:
            raise ValueError(
                f"{len(self.x)} of {len(first)} {what} have a value of both metrics: a correlation "
                "needs at least 2."
            )
        index = getattr(x, "index", None)
        named = hasattr(index, "equals")  # `index` of a list is a method
        self.point_names = np.asarray(index).astype(str)[defined].tolist() if named else []
        of_series = [str(getattr(v, "name", None) or n) for n, v in (("x", x), ("y", y))]
        self.names = tuple(of_series if names is None else check.several("names", names, ()))
        few = len(self.x) <= _MOST_NAMED
        self.show_names = few if show_names is None else check.check_flag("show_names", show_names)
        self.what, self.n_empty = what, len(first) - len(self.x)
        self.tau = tau_b(self.x, self.y)

    def _draw(self, ax: Axes, style: Options) -> None:
        self.scatter_ = ax.scatter(self.x, self.y, **{"s": 16, "alpha": 0.6, **style})
        ax.set(xlabel=shown(self.names[0]), ylabel=shown(self.names[1]))
        empty = f"; not defined on {self.n_empty} more" if self.n_empty else ""
        ax.set_title(f"tau_b = {self.tau:.3f}, {len(self.x)} {shown(self.what)}{empty}")
        self.texts_ = []
        if self.show_names and self.point_names:
            moved = scipy.stats.rankdata(self.x) - scipy.stats.rankdata(self.y)
            order = np.argsort(-np.abs(moved), kind="stable")
            names = [shown(self.point_names[i]) for i in order]
            self.texts_ = _name_points(ax, self.x[order], self.y[order], names)


def _name_points(ax: Axes, x: np.ndarray, y: np.ndarray, names: Sequence[str]) -> list[Annotation]:
    """Draw names beside points, in the given order.

    A name that would overlap a point, another name or the frame at every offset is left out.
    """
    from matplotlib.transforms import Bbox

    figure = ax.figure.figure  # also where the axes belong to a subfigure
    figure.draw_without_rendering()  # sets the size of the axes
    pixels = ax.transData.transform(np.column_stack([x, y]))
    frame = ax.get_window_extent()
    taken = [Bbox.from_bounds(px - 3, py - 3, 6, 6) for px, py in pixels]
    written = []
    for point, name in zip(zip(x, y, strict=True), names, strict=True):
        for dx, dy in _OFFSETS:
            # np.sign is 0, 1 or -1: the index of the alignment away from the point
            ha = ("center", "left", "right")[np.sign(dx)]
            va = ("center", "bottom", "top")[np.sign(dy)]
            text = ax.annotate(
                name, point, (dx, dy), textcoords="offset points", ha=ha, va=va, fontsize="x-small"
            )
            box = text.get_window_extent()
            inside = frame.contains(*box.min) and frame.contains(*box.max)
            if inside and not box.count_overlaps(taken):
                taken.append(box)
                written.append(text)
                break
            text.remove()
    return written
