"""Base classes of displays, and names beside points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank._typing import Axes, Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

# Offsets of a name from its point; the first offset at which the name overlaps nothing is used.
_OFFSETS = ((4, 0), (-4, 0), (0, 4), (0, -4), (3, 3), (3, -3), (-3, 3), (-3, -3))
_INCHES_PER_ROW, _FEWEST_INCHES = 0.24, 2.5


class Display:
    """A plot on matplotlib axes."""

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    lines_: dict[Hashable, Line2D]

    def _open(self, ax: Axes | None, n_rows: int = 0) -> Axes:
        """The axes to draw on: `ax`, or the axes of a new figure, high enough for `n_rows`."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    f"{type(self).__name__} needs matplotlib, which cannot be imported: "
                    "pip install skrank[plot]"
                ) from error
            figure, ax = plt.subplots(layout="constrained")
            if n_rows:
                figure.set_figheight(max(_FEWEST_INCHES, _INCHES_PER_ROW * n_rows + 1.2))
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class PlainDisplay(Display, ABC):
    """A display whose `plot` has no parameters besides the style."""

    @abstractmethod
    def _draw(self, ax: Axes | None, style: Options) -> None:
        """Draw on `ax`; `style` overrides the default style."""

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all rows.
        **kwargs
            Passed to the method of `matplotlib.axes.Axes` that draws: ``plot`` for lines,
            ``imshow`` for a matrix, ``errorbar`` for intervals.

        Returns
        -------
        The display itself
        """
        self._draw(ax, kwargs)
        return self


def name_points(ax: Axes, x: np.ndarray, y: np.ndarray, names: Sequence[str]) -> list[Annotation]:
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
