"""The base class of displays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from skrank._typing import Axes, Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_ROW_HEIGHT, _TEXT_HEIGHT, _LEAST_HEIGHT = 0.24, 1.2, 2.5  # inches


def plain_text(name: object) -> str:
    """The text of a name, in which matplotlib would read dollars as formulas."""
    return str(name).replace("$", r"\$")


def new_axes(who: str, n_rows: int = 0, n_panels: int = 1) -> list[Axes]:
    """Axes of a new figure, one below the other, each high enough for its named rows."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{who} needs matplotlib, which cannot be imported: pip install skrank[plot]"
        ) from error
    figure, axes = plt.subplots(n_panels, layout="constrained", squeeze=False)
    if n_rows:
        figure.set_figheight(n_panels * max(_LEAST_HEIGHT, _ROW_HEIGHT * n_rows + _TEXT_HEIGHT))
    return list(axes[:, 0])


class Display(ABC):
    """A plot on matplotlib axes."""

    ax_: Axes
    figure_: Figure | SubFigure
    _n_rows = 0  # rows with a name, which a new figure has space for

    @abstractmethod
    def _draw(self, ax: Axes, style: Options) -> None:
        """Draw on `ax`; `style` overrides the default style."""

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all rows.
        **kwargs
            Passed to the method of `matplotlib.axes.Axes` that draws: ``plot`` for lines,
            ``errorbar`` for intervals.

        Returns
        -------
        The display itself
        """
        if ax is None:
            ax = new_axes(type(self).__name__, self._n_rows)[0]
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, kwargs)
        return self
