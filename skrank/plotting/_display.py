"""What displays have in common: axes, legends, counts of queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._fitted import predicted_scores

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


class CurveDisplay(Display, ABC):
    """A curve over recall: from 0 to 1 on both axes, its value in the legend."""

    name: str | None
    n_queries: int
    n_empty: int
    _measure: ClassVar[str]  # of the value in the legend
    _axes: ClassVar[tuple[str, str]]  # names of recall and precision

    @abstractmethod
    def _curve(self) -> tuple[np.ndarray, np.ndarray, float | None, dict[str, Any]]:
        """Recall, precision, the value in the legend, and how the line looks."""

    @classmethod
    def _trained(
        cls, estimator: Any, y: Any, ids: np.ndarray, given: dict[str, Any]
    ) -> dict[str, Any]:
        """Parameters of `from_predictions`: the given ones, and what a fitted model knows."""
        return given

    @classmethod
    @abstractmethod
    def from_predictions(
        cls,
        relevance: Any,
        scores: Any,
        *,
        groups: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        response_method: str = "auto",
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted model.

        Parameters
        ----------
        estimator : fitted model
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        groups : array-like of shape (n_rows,), optional
            Query of each row, in any order. Default: the index level "qid" of `y` or of `X`.
        response_method : {"auto", "predict", "predict_proba", "decision_function"}
            See `skrank.scorer`.
        name : str, optional
            Default: the class of the model.
        **kwargs
            Of `from_predictions`.

        Returns
        -------
        The display

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or no query has a relevant document.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> import skrank
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import ElevenPointDisplay, GradedPrecisionRecallDisplay
        >>> from sklearn.linear_model import Ridge
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> y = skrank.with_groups(data.relevance, data.qid)
        >>> model = Ridge().fit(data.X, y)
        >>> display = ElevenPointDisplay.from_estimator(model, data.X, y)
        >>> display.name
        'Ridge'
        >>> plt.close(display.figure_)
        >>> display = GradedPrecisionRecallDisplay.from_estimator(model, data.X, y)
        >>> bool(display.gap == skrank.scorer("gap")(model, data.X, y))
        True
        >>> plt.close(display.figure_)
        """
        ids = require_groups(groups, y, X, who=f"{cls.__name__}.from_estimator")
        scores = predicted_scores(estimator, X, response_method)
        options = cls._trained(estimator, y, ids, kwargs)
        name = name or type(estimator).__name__
        return cls.from_predictions(y, scores, groups=ids, name=name, **options)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        name : str, optional
            Name of the system, for the legend. Default: that of the display.
        **kwargs
            Of `matplotlib.axes.Axes.plot`.

        Returns
        -------
        The display itself
        """
        recall, precision, value, style = self._curve()
        label = legend_entry(self.name if name is None else name, self._measure, value)
        ax = self._open(ax)
        (self.line_,) = ax.plot(recall, precision, **{"label": label, **style, **kwargs})
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=np.linspace(0, 1, 11))
        ax.set(xlabel=self._recall(self._axes[0]), ylabel=self._axes[1])
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="best")
        return self

    def _recall(self, name: str) -> str:
        """The label of the axis of recall, with the number of queries behind the curve."""
        if self.n_queries + self.n_empty == 1:
            return name
        text = "one query" if self.n_queries == 1 else f"mean of {self.n_queries} queries"
        skipped = f"; {self.n_empty} without relevant documents skipped" if self.n_empty else ""
        return f"{name}\n{text}{skipped}"


def choose(parameter: str, wanted: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """The wanted names, each of which must be known; all known ones for None."""
    names = list(known)
    if wanted is None:
        return names
    for name in wanted:
        if name not in names:
            raise check.unknown_name(parameter, name, names)
    return list(wanted)


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
