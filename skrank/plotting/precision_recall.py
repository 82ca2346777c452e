"""Graded precision against graded recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank import metrics
from skrank._typing import Axes, Options
from skrank.extending import require_groups
from skrank.metrics import Metric
from skrank.plotting._display import Display, plain_text

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

# parameters of GAP that its curve depends on
_PARAMETERS = ("thresholds", "max_grade", "fractional", "condensed", "ties")


class PrecisionRecallDisplay(Display):
    """Graded precision against graded recall, so that the area is GAP.

    `from_predictions` makes a display from scores. To compare systems, draw them on the same axes.
    The curve of a single query has steps at the relevant documents; that of several queries is a
    mean: see `skrank.metrics.graded_precision_recall_curve`.

    Parameters
    ----------
    recall, precision : array-like of shape (n_points,)
        Recall, ascending, and precision there.
    value : float, optional
        GAP, for the legend.
    n_queries, n_empty : int
        Numbers of queries with a relevant document, and of queries without, which are left out. The
        curve of one query is drawn in steps.
    name : str, optional
        Name of the system, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 3.2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.metrics import graded_precision_recall_curve
    >>> from skrank.plotting import PrecisionRecallDisplay
    >>> curve = graded_precision_recall_curve([2, 0, 1], [0.9, 0.5, 0.1])
    >>> display = PrecisionRecallDisplay(curve.recall, curve.precision, value=curve.gap)
    >>> display.plot().line_.get_label()
    'GAP = 0.889'
    >>> plt.close(display.figure_)
    """

    line_: Line2D

    def __init__(
        self,
        recall: ArrayLike,
        precision: ArrayLike,
        *,
        value: float | None = None,
        n_queries: int = 1,
        n_empty: int = 0,
        name: str | None = None,
    ) -> None:
        self.recall = check.as_numbers("recall", recall, "one per point")
        self.precision = check.as_numbers("precision", precision, "one per point")
        if self.recall.shape != self.precision.shape:
            raise ValueError("recall and precision must have one value each per point.")
        self.value, self.name = value, name
        self.n_queries, self.n_empty = n_queries, n_empty

    @classmethod
    def from_predictions(
        cls,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        metric: str | Metric = "gap",
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        relevance, scores : array-like of shape (n_rows,)
            Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
        groups : array-like of shape (n_rows,), optional
            Query of each row, in any order. Default: the index level "qid" of `relevance`.
        metric : "gap", or GAP with parameters
            With its thresholds, max_grade, fractional, condensed and ties. With
            ``ties="average"``, the curve is that of one random order with a fixed seed.
        name : str, optional
            Name of the system, for the legend.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        PrecisionRecallDisplay

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or no query has a relevant document.

        Examples
        --------
        Two systems on the same axes:

        >>> import matplotlib.pyplot as plt
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import PrecisionRecallDisplay
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> _, ax = plt.subplots()
        >>> for name in ("informative_0", "informative_1"):
        ...     scores = data.X[:, data.feature_names.index(name)]
        ...     display = PrecisionRecallDisplay.from_predictions(
        ...         data.relevance, scores, groups=data.qid, name=name, ax=ax
        ...     )
        >>> len(ax.lines), display.n_queries, display.n_empty
        (2, 48, 2)
        >>> plt.close(display.figure_)
        """
        chosen = metrics.metric(metric)
        fixed: Options = {name: getattr(chosen, name, None) for name in _PARAMETERS}
        if chosen != metrics.GAP(**fixed):
            raise ValueError(
                f"metric={str(chosen)!r} has no curve: choose gap, with {', '.join(_PARAMETERS)}."
            )
        check.check_same_index(relevance=relevance, scores=scores, groups=groups)
        ids = require_groups(groups, relevance, who=cls.__name__)
        curve = metrics.graded_precision_recall_curve(relevance, scores, groups=ids, **fixed)
        display = cls(
            curve.recall, curve.precision, value=curve.gap, n_queries=curve.n_queries,
            n_empty=curve.n_empty, name=name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Axes, style: Options) -> None:
        recall, precision, look = self.recall, self.precision, Options()
        if self.n_queries == 1:
            look = {"drawstyle": "steps-pre"}
            if recall.max(initial=0.0) < 1 - 1e-9:  # precision is 0 above the highest recall
                recall, precision = np.append(recall, 1.0), np.append(precision, 0.0)
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
        measured = None if self.value is None else f"GAP = {self.value:.3f}"
        note = f" ({measured})" if measured else ""
        label = measured if self.name is None else plain_text(self.name) + note
        (self.line_,) = ax.plot(recall, precision, **{"label": label, **look, **style})
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=np.linspace(0, 1, 11))
        if self.n_queries + self.n_empty > 1:
            title = "one query" if self.n_queries == 1 else f"mean of {self.n_queries} queries"
            if self.n_empty:
                title += f"; {self.n_empty} without relevant documents skipped"
            ax.set_title(title, fontsize="medium")
        ax.set(xlabel="Graded recall", ylabel="Graded precision")
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="best")
