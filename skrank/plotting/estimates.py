"""Intervals of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.container import ErrorbarContainer


class IntervalDisplay(Display):
    """Intervals of means or differences of systems, one row each, the highest value on top.

    The `plot` of a report shows means of systems, and that of a comparison their differences.

    Parameters
    ----------
    table : DataFrame
        Columns "value", "low" and "high", indexed by the names of the rows; rows whose column
        "significant", if there is one, is False are grey.
    label : str
        Name of the values.
    title : str, optional
        Title of the plot.
    reference : float, optional
        Value at which a line is drawn, such as 0 for differences. Without a column "significant",
        intervals that contain it are grey.

    Attributes
    ----------
    bars_, faint_bars_ : matplotlib ErrorbarContainer
        The coloured intervals, and the grey ones, or None if there are none.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from skrank.plotting import IntervalDisplay
    >>> bounds = {"value": [0.1, 0.3], "low": [-0.1, 0.2], "high": [0.3, 0.4]}
    >>> table = pd.DataFrame(bounds, index=["new", "old"])
    >>> display = IntervalDisplay(table, label="difference", reference=0).plot()
    >>> display.ax_.get_xlabel()
    'difference'
    >>> plt.close(display.figure_)
    """

    bars_: ErrorbarContainer
    faint_bars_: ErrorbarContainer | None

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        label: str = "value",
        title: str | None = None,
        reference: float | None = None,
    ) -> None:
        check.check_table("table", table, ("value", "low", "high"))
        if reference is not None:
            check.check_number("reference", reference, -1e300, 1e300)
        self.table = table.sort_values("value", kind="stable")
        self.label, self.title, self.reference = label, title, reference
        self._n_rows = len(table)

    def _draw(self, ax: Axes, style: Options) -> None:
        rows = np.arange(len(self.table))
        value, low, high = (self.table[name].to_numpy() for name in ("value", "low", "high"))
        ends = np.concatenate([value, low, high])
        if np.isinf(ends).any():  # such intervals are drawn to the edges of the axes
            inside = ends[np.isfinite(ends)] if np.isfinite(value).any() else np.zeros(1)
            margin = 0.05 * np.ptp(inside) or 1.0
            edges = inside.min() - margin, inside.max() + margin
            low, high = np.clip(low, *edges), np.clip(high, *edges)
            ax.set_xlim(*edges)
        faint = np.zeros(len(rows), dtype=bool)
        if self.reference is not None:
            ax.axvline(self.reference, color="black", linewidth=0.8)
            faint = (low <= self.reference) & (self.reference <= high)
        if "significant" in self.table:
            faint = ~self.table["significant"].to_numpy()

        def draw(chosen: np.ndarray, colour: str) -> ErrorbarContainer:
            sides = np.stack([value - low, high - value])[:, chosen]
            look = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour, **style}
            return ax.errorbar(value[chosen], rows[chosen], xerr=np.nan_to_num(sides), **look)

        self.bars_ = draw(~faint, "C0")
        self.faint_bars_ = draw(faint, "0.6") if faint.any() else None
        ax.set_yticks(rows, labels=[*map(shown, self.table.index)])
        ax.set(xlabel=shown(self.label), ylim=(-0.6, len(rows) - 0.4))
        ax.tick_params(axis="y", labelsize="small")
        if self.title:
            ax.set_title(self.title, fontsize="medium", wrap=True)
