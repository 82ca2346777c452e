"""How well graded average precision tells a ranking, by its thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank.metrics import metric
from skrank.metrics.gap import GAP
from skrank.plotting._display import Display, choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from skrank.informativeness import Study

_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


class InformativenessDisplay(Display):
    """Mean error of inferred precision-recall curves against the thresholds of GAP.

    A line per lowest relevant label for the GAP metrics of a study, and a level line in the same
    colour for each of its other metrics. With two grades the axis is g_1; with more, the thresholds
    stand side by side.

    Parameters
    ----------
    study : Study
        Of `skrank.informativeness.study` or ``select_thresholds(...).study``, with at least two
        GAP metrics that have thresholds.

    Attributes
    ----------
    thresholds : float64 ndarray of shape (n_candidates, n_grades)
        Of the GAP metrics, in ascending order.
    lines_ : dict of (str, float) to matplotlib Line2D
        The line of "gap" or of the name of another metric, by lowest relevant label.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Raises
    ------
    ValueError
        If the study has fewer than two such metrics, or their numbers of grades differ.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, figure 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import informativeness, trec
    >>> from skrank.plotting import InformativenessDisplay
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(10), 60), np.tile(np.arange(60), 10)
    >>> label = random.choice(3, p=[0.6, 0.2, 0.2], size=600)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> run = trec.Run.from_arrays(qid, docid, label + random.normal(size=600))
    >>> names = ["gap(thresholds=[0.2,0.8])", "gap(thresholds=[0.8,0.2])", "ndcg"]
    >>> study = informativeness.study(qrels, run, names)
    >>> display = InformativenessDisplay(study).plot()
    >>> list(display.lines_)
    [('gap', 1.0), ('gap', 2.0), ('ndcg', 1.0), ('ndcg', 2.0)]
    >>> plt.close(display.figure_)
    """

    lines_: dict[tuple[str, float], Line2D]

    def __init__(self, study: Study) -> None:
        self.study = study
        candidates = {
            name: one.thresholds
            for name in study.metrics
            if isinstance(one := metric(name), GAP) and one.thresholds is not None
        }
        widths = {len(g) for g in candidates.values()}
        if len(candidates) < 2 or len(widths) > 1:
            raise ValueError(
                f"the study has {len(candidates)} metrics gap(thresholds=[...]) of "
                f"{sorted(widths)} grades: a line takes at least 2, of one number of grades."
            )
        self._names = sorted(candidates, key=lambda name: tuple(candidates[name]))
        self.thresholds = np.array([candidates[name] for name in self._names])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        rel: Sequence[float] | None = None,
        metrics: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        rel : sequence of float, optional
            Lowest relevant labels. Default: all of the study.
        metrics : sequence of str, optional
            Those to draw besides GAP. Default: all others of the study.
        **kwargs
            Of `matplotlib.axes.Axes.plot`.

        Returns
        -------
        InformativenessDisplay
            The display itself.

        Raises
        ------
        ValueError
            If the study has no such label or metric.
        """
        mean = self.study.mean
        chosen = self._levels(rel)
        others = choose("metric", metrics, [m for m in self.study.metrics if m not in self._names])
        ax = self._open(ax)
        two = self.thresholds.shape[1] == 2
        places = self.thresholds[:, 0] if two else np.arange(len(self._names))
        self.lines_ = {}
        for colour, level in enumerate(chosen):
            label = f"gap, label {level:g} and above"
            style = {"marker": "o", "color": f"C{colour % 10}", "label": label, **kwargs}
            (self.lines_["gap", level],) = ax.plot(places, mean.loc[self._names, level], **style)
        for number, name in enumerate(others):
            for colour, level in enumerate(chosen):
                style = {
                    "color": f"C{colour % 10}",
                    "linestyle": _DASHES[number % len(_DASHES)],
                    "label": f"{name}, label {level:g} and above",
                    **kwargs,
                }
                self.lines_[name, level] = ax.axhline(mean.loc[name, level], **style)
        if two:
            ax.set(xlabel="g_1 (g_2 = 1 - g_1)")
        else:
            names = [", ".join(f"{g:g}" for g in one) for one in self.thresholds]
            ax.set_xticks(places, labels=names, rotation=90)
            ax.set(xlabel="thresholds g_1, g_2, ...")
        ax.set(ylabel=f"RMS error of precision\nmean of {len(self.study.lists)} lists")
        ax.set_ylim(bottom=0)
        ax.legend(loc="best", fontsize="small")
        return self

    def _levels(self, rel: Sequence[float] | None) -> list[float]:
        known = self.study.rel.tolist()
        for level in rel or []:
            if level not in known:
                raise ValueError(f"rel={level:g} is not in the study, which has {known}.")
        return known if rel is None else [float(level) for level in rel]
