"""Base class of displays of precision over recall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import judge
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._fitted import predicted_scores
from skrank._typing import Axes, Estimator, Options
from skrank.metrics import Metric
from skrank.plotting._display import Display


@dataclass(eq=False, repr=False, kw_only=True)
class CurveDisplay(Display, ABC):
    """A curve of precision over recall, with a summary value in the legend."""

    n_queries: int = 1
    n_empty: int = 0
    name: str | None = None

    _measure: ClassVar[str]  # name of the value in the legend
    _axes: ClassVar[tuple[str, str]]  # names of recall and precision on the axes

    @abstractmethod
    def _curve(self) -> tuple[np.ndarray, np.ndarray, float | None, Options]:
        """Recall, precision, the value in the legend, and the style of the line."""

    @classmethod
    def _trained(
        cls, estimator: Estimator, y: ArrayLike, ids: np.ndarray, given: Options
    ) -> Options:
        """The `given` parameters of `from_predictions`, with defaults from a fitted model."""
        return given

    @classmethod
    def _ranked(
        cls, metric: Metric, relevance: ArrayLike, scores: ArrayLike, groups: ArrayLike | None
    ) -> tuple[Plan, Ranking, Ranking, dict[str, int]]:
        """The labels of the metric, the ranking, the ranking to draw, and numbers of queries.

        The rankings differ for ``ties="average"``: a curve cannot average over orders of ties, so
        ties in the ranking to draw are broken at random, with a fixed seed.
        """
        check.check_same_index(relevance=relevance, scores=scores, groups=groups)
        ids = require_groups(groups, relevance, who=cls.__name__)
        plan = metric.bind(judge(relevance, ids))
        ranking = Ranking(plan.judgments, scores)
        n_queries = int(np.count_nonzero(plan.relevant))
        if n_queries == 0:
            raise ValueError(
                "no query has a relevant document, so recall is not defined: check the labels, and "
                "the lowest relevant label."
            )
        drawn = ranking
        if metric.ties == "average" and ranking.tied.any():
            order = np.random.default_rng(0).permutation(len(ids))
            shuffled = judge(np.asarray(relevance)[order], ids[order])
            drawn = Ranking(shuffled, np.asarray(scores)[order])
        counts = {"n_queries": n_queries, "n_empty": len(plan.relevant) - n_queries}
        return plan, ranking, drawn, counts

    @classmethod
    @abstractmethod
    def from_predictions(cls, relevance: ArrayLike, scores: ArrayLike, **kwargs: Any) -> Self:
        """Draw the curve of scores."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
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
            Passed to `from_predictions`.

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
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        The display itself
        """
        recall, precision, value, style = self._curve()
        label = _legend_entry(self.name if name is None else name, self._measure, value)
        ax = self._open(ax)
        (self.line_,) = ax.plot(recall, precision, **{"label": label, **style, **kwargs})
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=np.linspace(0, 1, 11))
        ax.set(xlabel=self._recall_label(self._axes[0]), ylabel=self._axes[1])
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="best")
        return self

    def _recall_label(self, name: str) -> str:
        """Label of the recall axis, with the number of queries of the curve."""
        if self.n_queries + self.n_empty == 1:
            return name
        text = "one query" if self.n_queries == 1 else f"mean of {self.n_queries} queries"
        skipped = f"; {self.n_empty} without relevant documents skipped" if self.n_empty else ""
        return f"{name}\n{text}{skipped}"


def _legend_entry(name: str | None, measure: str, value: float | None) -> str | None:
    """Name and value for the legend; either may be missing."""
    if value is None:
        return name
    text = f"{measure} = {value:.3f}"
    return text if name is None else f"{name} ({text})"
