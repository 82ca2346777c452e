"""Curves of precision over recall: TREC's 11-point curve, and the graded one, whose area is GAP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import judge
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._fitted import predicted_scores, trained_grade
from skrank._typing import Axes, Estimator, Options
from skrank.metrics import Metric
from skrank.metrics._curves import eleven_points, graded_points
from skrank.metrics.gap import GAP
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision
from skrank.plotting._display import Display

_ROUNDING = 1e-9  # tolerance in comparisons of recall with a level


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
        name = self.name if name is None else name
        measured = None if value is None else f"{self._measure} = {value:.3f}"
        label = f"{name} ({measured})" if name is not None and measured else name or measured
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


@dataclass(eq=False, repr=False)
class ElevenPointDisplay(CurveDisplay):
    """Interpolated precision at recall 0, 0.1, ..., 1, mean over queries (TREC).

    `from_predictions` and `from_estimator` make a display from scores. To compare systems, draw
    them on the same axes. The legend shows 11-point average precision, the mean of the points.

    Parameters
    ----------
    precision : ndarray of shape (11,)
        Interpolated precision at recall 0, 0.1, ..., 1.
    n_queries, n_empty : int
        Numbers of queries with a relevant document, and of queries without, which are left out.
    name : str, optional
        Name of the system, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank.metrics.eleven_point_curve : the points.

    References
    ----------
    ROMIP 2010, appendix A, 11-point matrix (TREC).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.metrics import eleven_point_curve
    >>> from skrank.plotting import ElevenPointDisplay
    >>> display = ElevenPointDisplay(eleven_point_curve([1, 0, 1], [3, 2, 1]), name="bm25")
    >>> display.plot().line_.get_label()
    'bm25 (11-pt AP = 0.848)'
    >>> plt.close(display.figure_)
    """

    _measure = "11-pt AP"
    _axes = ("Recall", "Interpolated precision")

    precision: np.ndarray

    @classmethod
    def from_predictions(
        cls,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        rel: float = 1.0,
        condensed: bool = False,
        ties: str = "average",
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
        rel, condensed
            See `skrank.metrics.InterpolatedPrecision`.
        ties : {"average", "stable", "worst", "best"}
            How documents of equal score are ordered. "average": in one random order with a fixed
            seed, since interpolated precision has no closed form for the mean over all orders.
        name : str, optional
            Name of the system, for the legend.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        ElevenPointDisplay

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or no query has a relevant document.

        Examples
        --------
        Two systems on the same axes:

        >>> import matplotlib.pyplot as plt
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import ElevenPointDisplay
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> _, ax = plt.subplots()
        >>> for name in ("informative_0", "informative_1"):
        ...     scores = data.X[:, data.feature_names.index(name)]
        ...     display = ElevenPointDisplay.from_predictions(
        ...         data.relevance, scores, groups=data.qid, name=name, ax=ax
        ...     )
        >>> len(ax.lines)
        2
        >>> plt.close(display.figure_)
        """
        metric = InterpolatedPrecision(rel=rel, condensed=condensed, ties=ties)
        _, _, ranking, counts = cls._ranked(metric, relevance, scores, groups)
        drawn = replace(metric, ties="stable") if ties == "average" else metric
        return cls(eleven_points(drawn, ranking), name=name, **counts).plot(ax, **kwargs)

    @property
    def average_precision(self) -> float:
        """Mean of the eleven points."""
        return float(np.mean(self.precision))

    def _curve(self) -> tuple[np.ndarray, np.ndarray, float | None, Options]:
        return np.array(ELEVEN_LEVELS), self.precision, self.average_precision, {"marker": "o"}


@dataclass(eq=False, repr=False)
class GradedPrecisionRecallDisplay(CurveDisplay):
    """Graded precision against graded recall.

    `from_predictions` and `from_estimator` make a display from scores. For a single query, the
    curve has steps at the relevant documents, and the area under the curve is GAP. For several
    queries, the curve is the mean over queries with a relevant document, interpolated as in TREC:
    at each of `n_levels` levels of recall, evenly from 0 to 1, a query has its highest graded
    precision at any rank with at least this graded recall, or 0 if there is no such rank. The area
    under an interpolated curve is larger than GAP. In `from_estimator`, without `thresholds` and
    `max_grade`, the highest grade is the highest label of the model's training or of `y`.

    Parameters
    ----------
    recall, precision : ndarray of shape (n_points,)
        Graded recall, ascending, and graded precision there.
    gap : float, optional
        GAP, for the legend.
    n_queries : int
        Number of queries with a relevant document. The curve of a single query is drawn in steps.
    n_empty : int
        Number of queries without a relevant document, which are left out.
    name : str, optional
        Name of the system, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank.metrics.graded_precision_recall_curve : the points of one query.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 3.2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.metrics import graded_precision_recall_curve
    >>> from skrank.plotting import GradedPrecisionRecallDisplay
    >>> curve = graded_precision_recall_curve([2, 0, 1], [0.9, 0.5, 0.1])
    >>> display = GradedPrecisionRecallDisplay(curve.recall, curve.precision, gap=curve.gap)
    >>> display.plot().line_.get_label()
    'GAP = 0.889'
    >>> plt.close(display.figure_)
    """

    _measure = "GAP"
    _axes = ("Graded recall", "Graded precision")

    recall: np.ndarray
    precision: np.ndarray
    _: KW_ONLY
    gap: float | None = None

    @classmethod
    def from_predictions(
        cls,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        thresholds: Sequence[float] | None = None,
        max_grade: int | None = None,
        labels: str | None = None,
        condensed: bool = False,
        ties: str = "average",
        n_levels: int = 101,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        relevance, scores, groups, name
            As in `ElevenPointDisplay.from_predictions`.
        thresholds, max_grade, labels, condensed
            See `skrank.metrics.GAP`.
        ties : {"average", "stable", "worst", "best"}
            How documents of equal score are ordered. "average": GAP is the exact mean over all
            orders; the curve is that of one random order with a fixed seed.
        n_levels : int
            Number of levels of recall, evenly from 0 to 1, for the mean of several queries.
        ax, **kwargs
            See `plot`.

        Returns
        -------
        GradedPrecisionRecallDisplay

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or no query has a relevant document.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import GradedPrecisionRecallDisplay
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> scores = data.X[:, data.feature_names.index("informative_0")]
        >>> display = GradedPrecisionRecallDisplay.from_predictions(
        ...     data.relevance, scores, groups=data.qid, name="one feature"
        ... )
        >>> display.n_queries, display.n_empty
        (48, 2)
        >>> plt.close(display.figure_)
        """
        check.check_repeats("n_levels", n_levels, "the levels of recall from 0 to 1")
        grading: Options = {"thresholds": thresholds, "max_grade": max_grade, "labels": labels}
        metric = GAP(**grading, condensed=condensed, ties=ties)
        plan, ranking, drawn, counts = cls._ranked(metric, relevance, scores, groups)
        gap = plan.mean(ranking, plan.values(ranking))
        plan = metric.bind(drawn.judgments)  # its queries may have another order
        worth = metric.worth(plan.scale)
        ranked = drawn.codes(ties, condensed)
        query, _, recall, precision = graded_points(ranked, worth, plan.scale.totals(worth))
        if counts["n_queries"] > 1:
            best = _interpolate(query, recall, precision, len(plan.relevant), n_levels)
            precision = best[~plan.empty].mean(axis=0)
            recall = np.linspace(0, 1, n_levels)
        return cls(recall, precision, gap=gap, name=name, **counts).plot(ax, **kwargs)

    @classmethod
    def _trained(
        cls, estimator: Estimator, y: ArrayLike, ids: np.ndarray, given: Options
    ) -> Options:
        if given.get("thresholds") is not None or given.get("max_grade") is not None:
            return given
        return given | {"max_grade": max(trained_grade(estimator) or 1, judge(y, ids).max_grade)}

    def _curve(self) -> tuple[np.ndarray, np.ndarray, float | None, Options]:
        if self.n_queries > 1:
            return self.recall, self.precision, self.gap, {}
        return *_steps(self.recall, self.precision), self.gap, {"drawstyle": "steps-pre"}


def _interpolate(
    query: np.ndarray, recall: np.ndarray, precision: np.ndarray, n_queries: int, n_levels: int
) -> np.ndarray:
    """Highest precision at each level of recall or above, of shape (n_queries, n_levels)."""
    reached = np.floor(recall * (n_levels - 1) + _ROUNDING).astype(np.int64)
    best = np.zeros(n_queries * n_levels)
    np.maximum.at(best, query * n_levels + reached, precision)
    falling_levels = best.reshape(n_queries, n_levels)[:, ::-1]
    return np.maximum.accumulate(falling_levels, axis=1)[:, ::-1]


def _steps(recall: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of steps from recall 0 to 1; precision is 0 above the highest recall."""
    if recall.max(initial=0.0) < 1 - _ROUNDING:
        recall, precision = np.append(recall, 1.0), np.append(precision, 0.0)
    return np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
