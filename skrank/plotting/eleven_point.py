"""TREC's 11-point curve of interpolated precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank._typing import Axes, Options
from skrank.metrics._curves import eleven_points
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision
from skrank.plotting._display import CurveDisplay


@dataclass(eq=False, repr=False)
class ElevenPointDisplay(CurveDisplay):
    """Interpolated precision at recall 0, 0.1, ..., 1, mean over queries (TREC).

    `from_predictions` and `from_estimator` make one. To compare systems, draw them on the same
    axes. The legend shows the mean of the eleven points, 11-point average precision.

    Parameters
    ----------
    precision : ndarray of shape (11,)
        Interpolated precision at recall 0, 0.1, ..., 1.
    n_queries, n_empty : int
        Queries with a relevant document, and those without, which are left out.
    name : str, optional
        Name of the system, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
            How documents of equal score are ordered. "average": in one random order, the same in
            every call, for interpolated precision has no closed form for the mean over all orders.
        name : str, optional
            Name of the system, for the legend.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        **kwargs
            Of `matplotlib.axes.Axes.plot`.

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
        _, (_, ranking), counts = cls._ranked(metric, relevance, scores, groups)
        drawn = replace(metric, ties="stable") if ties == "average" else metric
        return cls(eleven_points(drawn, ranking), name=name, **counts).plot(ax, **kwargs)

    @property
    def average_precision(self) -> float:
        """Mean of the eleven points."""
        return float(np.mean(self.precision))

    def _curve(self) -> tuple[np.ndarray, np.ndarray, float | None, Options]:
        return np.array(ELEVEN_LEVELS), self.precision, self.average_precision, {"marker": "o"}
