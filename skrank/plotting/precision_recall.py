"""Precision against recall: graded, or at eleven points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank import metrics
from skrank._typing import Axes, Estimator, Options
from skrank.extending import predicted_scores, require_groups
from skrank.metrics import Metric
from skrank.plotting._display import Display, shown

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

# by whether precision is graded: names of the value in the legend, and of both axes
_NAMES = {
    True: ("GAP", "Graded recall", "Graded precision"),
    False: ("11-pt AP", "Recall", "Interpolated precision"),
}
# parameters of a metric that its curve depends on
_PARAMETERS: dict[type[Metric], tuple[str, ...]] = {
    metrics.GAP: ("thresholds", "max_grade", "fractional", "condensed", "ties"),
    metrics.InterpolatedPrecision: ("rel", "condensed", "ties"),
}


class PrecisionRecallDisplay(Display):
    """Precision against recall: graded, so that the area is GAP, or at TREC's eleven points.

    `from_predictions` and `from_estimator` make a display from scores. To compare systems, draw
    them on the same axes. The graded curve of a single query has steps at the relevant documents;
    that of several queries is a mean: see `skrank.metrics.graded_precision_recall_curve`.

    Parameters
    ----------
    recall, precision : array-like of shape (n_points,)
        Recall, ascending, and precision there.
    graded : bool
        Whether recall and precision are graded; else they are those of
        `skrank.metrics.eleven_point_curve`.
    value : float, optional
        GAP, or 11-point average precision, for the legend.
    n_queries, n_empty : int
        Numbers of queries with a relevant document, and of queries without, which are left out. The
        graded curve of one query is drawn in steps.
    name : str, optional
        Name of the system, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 3.2. ROMIP 2010, appendix A, 11-point matrix (TREC).

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
        graded: bool = True,
        value: float | None = None,
        n_queries: int = 1,
        n_empty: int = 0,
        name: str | None = None,
    ) -> None:
        self.recall = check.as_numbers("recall", recall, "one per point")
        self.precision = check.as_numbers("precision", precision, "one per point")
        if self.recall.shape != self.precision.shape:
            raise ValueError("recall and precision must have one value each per point.")
        self.graded, self.value = check.check_flag("graded", graded), value
        self.n_queries, self.n_empty, self.name = n_queries, n_empty, name

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
        metric : "gap", "iprec", or one of them with parameters
            "gap": graded precision and recall, with the thresholds, max_grade, fractional,
            condensed and ties of the metric. "iprec": the eleven points, with its rel, condensed
            and ties. With ``ties="average"``, the curve is that of one random order with a fixed
            seed.
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
        chosen = _curve_metric(metric)
        check.check_same_index(relevance=relevance, scores=scores, groups=groups)
        ids = require_groups(groups, relevance, who=cls.__name__)
        fixed = {key: getattr(chosen, key) for key in _PARAMETERS[type(chosen)]}
        if isinstance(chosen, metrics.GAP):
            curve = metrics.graded_precision_recall_curve(relevance, scores, groups=ids, **fixed)
            display = cls(
                curve.recall, curve.precision, value=curve.gap, n_queries=curve.n_queries,
                n_empty=curve.n_empty, name=name,
            )  # fmt: skip
            return display.plot(ax, **kwargs)
        values = replace(chosen, ties="stable").per_query(relevance, scores, groups=ids)
        n_queries = int(values.notna().sum())
        if n_queries == 0:
            raise ValueError(f"no query has a relevant document, so {chosen} is not defined.")
        points = metrics.eleven_point_curve(relevance, scores, groups=ids, **fixed)
        display = cls(
            np.arange(11) / 10, points, graded=False, value=float(np.mean(points)),
            n_queries=n_queries, n_empty=len(values) - n_queries, name=name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        metric: str | Metric = "gap",
        response_method: str = "auto",
        name: str | None = None,
        ax: Axes | None = None,
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
        metric
            As in `from_predictions`.
        response_method : {"auto", "predict", "predict_proba", "decision_function"}
            See `skrank.scorer`.
        name : str, optional
            Default: the class of the model.
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
        >>> import matplotlib.pyplot as plt
        >>> import skrank
        >>> from skrank.datasets import make_ranking
        >>> from skrank.plotting import PrecisionRecallDisplay
        >>> from sklearn.linear_model import Ridge
        >>> data = make_ranking(n_queries=50, random_state=0)
        >>> y = skrank.with_groups(data.relevance, data.qid)
        >>> model = Ridge().fit(data.X, y)
        >>> display = PrecisionRecallDisplay.from_estimator(model, data.X, y)
        >>> display.name, bool(display.value == skrank.scorer("gap")(model, data.X, y))
        ('Ridge', True)
        >>> plt.close(display.figure_)
        """
        ids = require_groups(groups, y, X, who=f"{cls.__name__}.from_estimator")
        kind = _curve_metric(metric)
        scores = predicted_scores(estimator, X, response_method)
        name = name or type(estimator).__name__
        return cls.from_predictions(y, scores, groups=ids, metric=kind, name=name, ax=ax, **kwargs)

    def _draw(self, ax: Axes, style: Options) -> None:
        measure, xlabel, ylabel = _NAMES[self.graded]
        recall, precision, look = self.recall, self.precision, Options()
        if not self.graded:
            look = {"marker": "o"}
        elif self.n_queries == 1:
            look = {"drawstyle": "steps-pre"}
            if recall.max(initial=0.0) < 1 - 1e-9:  # precision is 0 above the highest recall
                recall, precision = np.append(recall, 1.0), np.append(precision, 0.0)
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
        measured = None if self.value is None else f"{measure} = {self.value:.3f}"
        note = f" ({measured})" if measured else ""
        label = measured if self.name is None else shown(self.name) + note
        (self.line_,) = ax.plot(recall, precision, **{"label": label, **look, **style})
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=np.linspace(0, 1, 11))
        if self.n_queries + self.n_empty > 1:
            title = "one query" if self.n_queries == 1 else f"mean of {self.n_queries} queries"
            if self.n_empty:
                title += f"; {self.n_empty} without relevant documents skipped"
            ax.set_title(title, fontsize="medium")
        ax.set(xlabel=xlabel, ylabel=ylabel)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="best")


def _curve_metric(metric: str | Metric) -> Metric:
    """The metric of a curve, after a check that its curve depends on all of its parameters."""
    chosen = metrics.metric(metric)
    names = _PARAMETERS.get(type(chosen), ())
    if names and chosen == type(chosen)(**{key: getattr(chosen, key) for key in names}):
        return chosen
    curves = "; ".join(f"{kind.names[0]}, with {', '.join(of)}" for kind, of in _PARAMETERS.items())
    raise ValueError(f"metric={str(chosen)!r} has no curve: choose {curves}.")
