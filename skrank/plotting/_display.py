"""What displays have in common: axes, legends, counts of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._queries import require_groups
from skrank.scoring import predicted_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D


class Display:
    """Something that is drawn on axes."""

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D

    def _open(self, ax: Axes | None) -> Axes:
        """The axes to draw on: the given ones, or those of a new figure."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    f"{type(self).__name__} needs matplotlib, which cannot be imported: "
                    "pip install skrank[plot]"
                ) from error
            _, ax = plt.subplots(layout="constrained")
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class CurveDisplay(Display):
    """A curve over recall: from 0 to 1 on both axes, its value in the legend."""

    name: str | None
    n_queries: int
    n_empty: int

    @classmethod
    def _predict(
        cls, estimator: Any, X: Any, y: Any, groups: Any, response_method: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Groups of the rows of X, and the scores that a fitted model gives them."""
        ids = require_groups(groups, y, X, who=f"{cls.__name__}.from_estimator")
        return ids, predicted_scores(estimator, X, response_method)

    def _draw(
        self, ax: Axes | None, recall: np.ndarray, precision: np.ndarray, style: dict[str, Any]
    ) -> Axes:
        ax = self._open(ax)
        (self.line_,) = ax.plot(recall, precision, **style)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="best")
        return ax

    def _recall(self, name: str) -> str:
        """The label of the axis of recall, with the number of queries behind the curve."""
        if self.n_queries + self.n_empty == 1:
            return name
        text = "one query" if self.n_queries == 1 else f"mean of {self.n_queries} queries"
        skipped = f"; {self.n_empty} without relevant documents skipped" if self.n_empty else ""
        return f"{name}\n{text}{skipped}"


def legend_entry(name: str | None, measure: str, value: float | None) -> str | None:
    """A name, a value, or both; None if there is neither."""
    if value is None:
        return name
    text = f"{measure} = {value:.3f}"
    return text if name is None else f"{name} ({text})"


def count_queries(relevant: np.ndarray) -> tuple[int, int]:
    """Numbers of queries with and without relevant documents; there must be one with."""
    n_queries = int(np.count_nonzero(relevant))
    if n_queries == 0:
        raise ValueError(
            "no query has a relevant document, so there is nothing to recall: check the labels, "
            "and the lowest one that counts as relevant."
        )
    return n_queries, len(relevant) - n_queries


def draw_lots(relevance: Any, scores: Any, ids: np.ndarray) -> tuple[np.ndarray, ...]:
    """The rows in a random order, the same in every call: a stable sort then orders ties by lot."""
    order = np.random.default_rng(0).permutation(len(ids))
    return np.asarray(relevance)[order], np.asarray(scores)[order], ids[order]
