"""What is left of a comparison of systems as judgments shrink."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from skrank import _validation as check
from skrank.metrics import metric
from skrank.plotting._display import Display, choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from skrank.incompleteness import Robustness

_AXES = {
    "tau_b": "tau_b with the ranking by all judgments",
    "tau_ap": "AP correlation with the ranking by all judgments",
    "power": "discriminative power at {alpha:g}",
    "required_difference": "required difference at {alpha:g}",
    "mean": "mean over systems",
}


class RobustnessDisplay(Display):
    """Correlation with the full ranking, or discriminative power, against the share of judgments.

    A metric on condensed lists has the colour of the metric itself and a dashed line. With several
    repeats the line is their mean, in a band from the least to the largest.

    Parameters
    ----------
    robustness : Robustness
        Of `skrank.incompleteness.robustness`.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The line of each metric.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007, figures 1 to 3.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import trec
    >>> from skrank.incompleteness import robustness
    >>> from skrank.plotting import RobustnessDisplay
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(20), 50), np.tile(np.arange(50), 20)
    >>> label = random.choice(3, p=[0.7, 0.2, 0.1], size=1000)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> runs = [
    ...     trec.Run.from_arrays(qid, docid, label + s * random.normal(size=1000), name=f"noise{s}")
    ...     for s in (1.0, 1.2, 1.4, 1.6)
    ... ]
    >>> found = robustness(qrels, runs, ["gap", "bpref"], n_resamples=200)
    >>> display = RobustnessDisplay(found).plot(column="power")
    >>> list(display.lines_)
    ['gap', 'bpref']
    >>> plt.close(display.figure_)
    """

    lines_: dict[str, Line2D]

    def __init__(self, robustness: Robustness) -> None:
        self.robustness = robustness

    def plot(
        self,
        ax: Axes | None = None,
        *,
        column: str = "tau_b",
        metrics: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw one column of the study.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        column : {"tau_b", "tau_ap", "power", "required_difference", "mean"}
            What is drawn, see `skrank.incompleteness.Robustness`.
        metrics : sequence of str, optional
            Default: all of the study.
        **kwargs
            Of `matplotlib.axes.Axes.plot`.

        Returns
        -------
        RobustnessDisplay
            The display itself.

        Raises
        ------
        ValueError
            If the study has no such column or metric.
        """
        check.check_choice("column", column, tuple(_AXES))
        table = self.robustness.table
        chosen = choose("metric", metrics, table["metric"].unique())
        ax = self._open(ax)
        raw = list(dict.fromkeys(_raw(name) for name in chosen))
        colours = {name: f"C{number % 10}" for number, name in enumerate(raw)}
        self.lines_ = {}
        for name in chosen:
            by = table[table["metric"] == name].groupby("percent")[column]
            mean, colour = by.mean(), colours[_raw(name)]
            look = {"linestyle": "-" if _raw(name) == name else "--", "color": colour}
            style = {"marker": "o", "label": name, **look, **kwargs}
            (self.lines_[name],) = ax.plot(mean.index, mean, **style)
            if table["repeat"].any():
                ax.fill_between(mean.index, by.min(), by.max(), color=colour, alpha=0.1)
        percents = sorted(table["percent"].unique())
        margin = 0.03 * (percents[-1] - percents[0]) + 0.5
        ax.set(xticks=percents, xlim=(percents[-1] + margin, percents[0] - margin))
        ax.set(
            xlabel="percent of the judgments", ylabel=_AXES[column].format(**vars(self.robustness))
        )
        ax.legend(loc="best")
        return self


def _raw(name: str) -> str:
    """The name of a metric on lists that are not condensed."""
    return str(dataclasses.replace(metric(name), condensed=False))
