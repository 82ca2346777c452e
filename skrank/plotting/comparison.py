"""Comparison of two systems query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank import metrics
from skrank._typing import Axes, Options
from skrank.metrics import Metric
from skrank.plotting._display import Display, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

_MOST_NAMES = 50  # number of queries up to which ids are drawn below the bars


class QueryComparisonDisplay(Display):
    """Difference of two systems on each query, under one metric.

    Parameters
    ----------
    values_a, values_b : Series or array-like of shape (n_queries,)
        Value of each query, of the same queries in the same order, such as the results of
        `Metric.per_query`, or columns of `per_query` of a comparison. NaN = not defined.
    metric : str or Metric
        Metric of the values.
    names : (str, str)
        Names of the systems.

    Attributes
    ----------
    difference : Series
        Value of the first system minus that of the second, by query; without undefined ones.
    wins, ties, losses : int
        Queries on which the first system is better, equal and worse.
    n_empty : int
        Queries on which the metric is not defined, such as those without a relevant document.
    line_ : matplotlib Line2D
        The mean difference.
    bars_ : (PolyCollection, PolyCollection)
        Queries on which the first system is better, and those on which the second one is.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank.compare : tests and intervals.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.plotting import QueryComparisonDisplay
    >>> display = QueryComparisonDisplay([0.5, 0.2, 0.4], [0.3, 0.2, 0.1], names=("new", "old"))
    >>> display.wins, display.ties, display.losses
    (2, 1, 0)
    >>> plt.close(display.plot().figure_)
    """

    line_: Line2D
    bars_: tuple[PolyCollection, PolyCollection]

    def __init__(
        self,
        values_a: ArrayLike,
        values_b: ArrayLike,
        *,
        metric: str | Metric = "gap",
        names: Sequence[str] = ("a", "b"),
    ) -> None:
        first, second = _series("values_a", values_a), _series("values_b", values_b)
        if not first.index.equals(second.index):
            raise ValueError(
                f"values_a is of {len(first)} queries and values_b of {len(second)}: both must be "
                "of the same queries in the same order."
            )
        self.metric = metrics.metric(metric)
        pair = isinstance(names, Sequence) and not isinstance(names, str) and len(names) == 2
        if not pair or str(names[0]) == str(names[1]):
            raise ValueError(
                f"names={check.brief(names)} must be two different names, one per system."
            )
        self.names = str(names[0]), str(names[1])
        difference = first - second
        self.difference = difference.dropna()
        self.n_empty = len(difference) - len(self.difference)
        ahead = self.difference * (1 if self.metric.greater_is_better else -1)
        self.wins, self.ties, self.losses = (
            int(n) for n in ((ahead > 0).sum(), (ahead == 0).sum(), (ahead < 0).sum())
        )
        if not len(self.difference):
            raise ValueError(f"{self.metric} is defined on no query: there is nothing to compare.")

    def _draw(self, ax: Axes, style: Options) -> None:
        a, b = map(shown, self.names)
        difference = self.difference.sort_values(ascending=False, kind="stable")
        heights, edges = difference.to_numpy(), np.arange(len(difference) + 1) + 0.5
        up, down = (a, b) if self.metric.greater_is_better else (b, a)
        # one polygon for all bars of a colour: one polygon per bar is slow for 30,000 queries
        corners = np.append(heights, 0.0)
        look: Options = {"step": "post", "linewidth": 0}
        above, below = (look | {"label": f"{name} better"} | style for name in (up, down))
        self.bars_ = (
            ax.fill_between(edges, corners.clip(min=0), **above),
            ax.fill_between(edges, corners.clip(max=0), **below),
        )
        mean = heights.mean()
        label = f"mean difference = {mean:+.3f}"
        self.line_ = ax.axhline(mean, color="black", linestyle="--", linewidth=1, label=label)
        ax.axhline(0, color="gray", linewidth=0.8)
        ax.grid(visible=False, axis="x")
        empty = f"; not defined on {self.n_empty} more" if self.n_empty else ""
        xlabel = f"{len(heights)} queries, sorted by difference{empty}"
        ax.set(xlabel=xlabel, ylabel=f"{self.metric}: {a} − {b}", xlim=(0.5, len(heights) + 0.5))
        if len(heights) <= _MOST_NAMES:
            ax.set_xticks(edges[:-1] + 0.5, labels=[*map(shown, difference.index)], rotation=90)
        ax.set_title(
            f"{self.metric}: {a} against {b}\n"
            f"{self.wins} wins, {self.ties} ties, {self.losses} losses"
        )
        ax.legend(loc="best")


def _series(name: str, values: ArrayLike) -> pd.Series:
    """Values with the index of the caller."""
    import pandas as pd

    if isinstance(values, pd.Series):
        return pd.Series(check.as_numbers(name, values, "one per query"), values.index)
    return pd.Series(check.as_vector(name, values))
