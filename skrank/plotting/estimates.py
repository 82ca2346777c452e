"""Intervals of estimates."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display, new_axes, plain_text

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
    caption : str, optional
        A line below the figure, such as the test.
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
        caption: str | None = None,
        reference: float | None = None,
    ) -> None:
        check.check_table("table", table, ("value", "low", "high"))
        if reference is not None:
            check.check_number("reference", reference, -1e300, 1e300)
        self.table = table.sort_values("value", kind="stable")
        self.label, self.title, self.caption, self.reference = label, title, caption, reference
        self._n_rows = len(table)

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, pd.DataFrame],
        *,
        title: str | None = None,
        caption: str | None = None,
        reference: float | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a panel for each table, one below the other.

        Parameters
        ----------
        tables : mapping of label to DataFrame
            As `table` of the class, at least one.
        title, caption, reference : optional
            As in the class, for each panel; the caption stands below the last.
        ax, **kwargs
            See `plot`; only the first table is drawn on a given `ax`.

        Returns
        -------
        IntervalDisplay
            Of the first panel; its `figure_` has all panels.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> import pandas as pd
        >>> from skrank.plotting import IntervalDisplay
        >>> table = pd.DataFrame({"value": [0.1], "low": [0.0], "high": [0.3]}, index=["new"])
        >>> display = IntervalDisplay.from_tables({"mean gap": table, "mean ndcg": 2 * table})
        >>> [ax.get_xlabel() for ax in display.figure_.axes]
        ['mean gap', 'mean ndcg']
        >>> plt.close(display.figure_)
        """
        displays = [
            cls(table, label=label, title=title, caption=caption, reference=reference)
            for label, table in tables.items()
        ]
        n_rows = max(len(table) for table in tables.values())
        panels = new_axes(cls.__name__, n_rows, len(tables)) if ax is None else [ax]
        for display, panel in zip(displays, panels, strict=False):
            display.plot(panel, **kwargs)
        return displays[0]

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
            faint = ~self.table["significant"].to_numpy(dtype=bool)

        def draw(chosen: np.ndarray, colour: str) -> ErrorbarContainer:
            sides = np.stack([value - low, high - value])[:, chosen]
            look = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour, **style}
            return ax.errorbar(value[chosen], rows[chosen], xerr=sides, **look)

        self.bars_ = draw(~faint, "C0")
        self.faint_bars_ = draw(faint, "0.6") if faint.any() else None
        ax.set_yticks(rows, labels=[*map(plain_text, self.table.index)])
        ax.set(xlabel=plain_text(self.label), ylim=(-0.6, len(rows) - 0.4))
        ax.tick_params(axis="y", labelsize="small")
        if self.title:
            ax.set_title(plain_text(self.title), fontsize="medium", wrap=True)
        if self.caption:
            ax.figure.supxlabel(fill(plain_text(self.caption), 80), fontsize="small")
