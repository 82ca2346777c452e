"""Comparison of two systems query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank import metrics
from skrank._engine.groups import require_groups
from skrank._engine.judgments import judge
from skrank._engine.ranking import Ranking
from skrank._typing import Axes, Options
from skrank.metrics import Metric
from skrank.plotting._display import Display

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.collections import PathCollection, PolyCollection

_MOST_NAMES = 50  # number of queries up to which ids are drawn below the bars


class QueryComparisonDisplay(Display):
    """Difference of two systems on each query, under one metric.

    `from_predictions` makes a display from scores. Queries without a value of the metric, such as
    queries without a relevant document, are left out, and `n_empty` is their number.

    Parameters
    ----------
    values_a, values_b : Series or array-like of shape (n_queries,)
        Value of each query, of the same queries in the same order; NaN = not defined.
    metric : str or Metric
        Metric of the values.
    names : (str, str)
        Names of the systems.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The mean difference; in a scatter plot, the diagonal.
    bars_ : (PolyCollection, PolyCollection) or None
        Queries on which the first system is better, and those on which the second one is.
    scatter_ : PathCollection or None
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
    >>> plt.close(display.plot(kind="scatter").figure_)
    """

    bars_: tuple[PolyCollection, PolyCollection] | None
    scatter_: PathCollection | None

    def __init__(
        self,
        values_a: ArrayLike,
        values_b: ArrayLike,
        *,
        metric: str | Metric = "gap",
        names: Sequence[str] = ("a", "b"),
    ) -> None:
        self.values_a, self.values_b = _series("values_a", values_a), _series("values_b", values_b)
        if not self.values_a.index.equals(self.values_b.index):
            raise ValueError(
                f"values_a is of {len(self.values_a)} queries and values_b of "
                f"{len(self.values_b)}: both must be of the same queries in the same order."
            )
        self.metric = metrics.metric(metric)
        self.names = _check_names(names)

    @classmethod
    def from_predictions(
        cls,
        relevance: ArrayLike,
        scores_a: ArrayLike,
        scores_b: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        metric: str | Metric = "gap",
        names: Sequence[str] = ("a", "b"),
        max_grade: int | None = None,
        kind: str = "bars",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the comparison of two systems that rank the same documents.

        Parameters
        ----------
        relevance : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        scores_a, scores_b : array-like of shape (n_rows,)
            Scores of each system; -inf = not retrieved.
        groups : array-like of shape (n_rows,), optional
            Query of each row, in any order. Default: the index level "qid" of `relevance`.
        metric : str or Metric
        names : (str, str)
            Names of the systems.
        max_grade : int, optional
            Highest grade of the collection, for a metric that depends on it. Default: the highest
            label.
        kind : {"bars", "scatter"}
            See `plot`.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        QueryComparisonDisplay

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or the metric is defined on no query.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import QueryComparisonDisplay
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> names = ("informative_0", "informative_1")
        >>> systems = [data.X[:, data.feature_names.index(name)] for name in names]
        >>> display = QueryComparisonDisplay.from_predictions(
        ...     data.relevance, *systems, groups=data.qid, metric="ndcg@10", names=names
        ... )
        >>> len(display.difference), display.n_empty
        (48, 2)
        >>> plt.close(display.figure_)
        """
        import pandas as pd

        one = metrics.metric(metric)
        check.check_same_index(
            relevance=relevance, scores_a=scores_a, scores_b=scores_b, groups=groups
        )
        ids = require_groups(groups, relevance, who=cls.__name__)
        plan = one.bind(judge(relevance, ids), max_grade=check.check_max_grade(max_grade))
        a, b = _check_names(names)
        values = []
        for name, scores in ((a, scores_a), (b, scores_b)):
            with check.about(f"system {name!r}"):
                ranking = Ranking(plan.judgments, scores)
            index = pd.Index(plan.judgments.queries.ids, name="qid")
            values.append(pd.Series(plan.values(ranking), index))
        return cls(*values, metric=one, names=(a, b)).plot(ax, kind=kind, **kwargs)

    @property
    def difference(self) -> pd.Series:
        """Value of the first system minus that of the second, by query; without undefined ones."""
        return (self.values_a - self.values_b).dropna()

    @property
    def n_empty(self) -> int:
        """Number of queries on which the metric is not defined."""
        return len(self.values_a) - len(self.difference)

    @property
    def wins(self) -> int:
        """Number of queries on which the first system is better."""
        return int(np.sum(self._advantage > 0))

    @property
    def ties(self) -> int:
        """Number of queries on which the systems are equal."""
        return int(np.sum(self._advantage == 0))

    @property
    def losses(self) -> int:
        """Number of queries on which the second system is better."""
        return int(np.sum(self._advantage < 0))

    @property
    def _advantage(self) -> np.ndarray:
        """The difference, above 0 where the first system is better."""
        difference = self.difference.to_numpy()
        return difference if self.metric.greater_is_better else -difference

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = "bars",
        names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        kind : {"bars", "scatter"}
            "bars": the difference on each query, sorted. "scatter": a point per query, with the
            value of the first system on the y axis and that of the second on the x axis.
        names : (str, str), optional
            Names of the systems. Default: those of the display.
        **kwargs
            Passed to `matplotlib.axes.Axes.fill_between`, or of `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        The display itself
        """
        check.check_choice("kind", kind, ("bars", "scatter"))
        if not len(self.difference):
            raise ValueError(f"{self.metric} is defined on no query: there is nothing to compare.")
        a, b = self.names if names is None else _check_names(names)
        self.bars_ = self.scatter_ = None
        ax = self._open(ax)
        draw = self._plot_bars if kind == "bars" else self._plot_scatter
        draw(ax, a, b, kwargs)
        ax.set_title(
            f"{self.metric}: {a} against {b}\n"
            f"{self.wins} wins, {self.ties} ties, {self.losses} losses"
        )
        ax.legend(loc="best")
        return self

    def _plot_bars(self, ax: Axes, a: str, b: str, style: Options) -> None:
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
        xlabel = self._count("queries, sorted by difference")
        ax.set(xlabel=xlabel, ylabel=f"{self.metric}: {a} − {b}", xlim=(0.5, len(heights) + 0.5))
        if len(heights) <= _MOST_NAMES:
            ax.set_xticks(edges[:-1] + 0.5, labels=difference.index.astype(str), rotation=90)

    def _plot_scatter(self, ax: Axes, a: str, b: str, style: Options) -> None:
        defined = (self.values_a - self.values_b).notna()
        x, y = self.values_b[defined], self.values_a[defined]
        style = {"s": 16, "alpha": 0.6, "label": self._count("queries"), **style}
        self.scatter_ = ax.scatter(x, y, **style)
        low, high = min(0.0, x.min(), y.min()), max(1.0, x.max(), y.max())
        (self.line_,) = ax.plot([low, high], [low, high], "k--", linewidth=1, label="equal")
        margin = 0.01 * (high - low)
        ax.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
        ax.set(xlabel=f"{self.metric} of {b}", ylabel=f"{self.metric} of {a}", aspect="equal")

    def _count(self, what: str) -> str:
        text = f"{len(self.difference)} {what}"
        return f"{text}; not defined on {self.n_empty} more" if self.n_empty else text


def _series(name: str, values: ArrayLike) -> pd.Series:
    """Values with the index of the caller."""
    import pandas as pd

    if isinstance(values, pd.Series):
        return pd.Series(check.as_numbers(name, values, "one per query"), values.index)
    return pd.Series(check.as_vector(name, values))


def _check_names(names: Sequence[str]) -> tuple[str, str]:
    pair = isinstance(names, Sequence) and not isinstance(names, str) and len(names) == 2
    if not pair or str(names[0]) == str(names[1]):
        raise ValueError(f"names={names!r} must be two different names, one per system.")
    return str(names[0]), str(names[1])
