"""Comparisons of systems with fewer and fewer judgments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self

from skrank import _validation as check
from skrank._typing import Axes
from skrank.incompleteness import Robustness
from skrank.plotting._display import Display, choose

_AXES = {
    "tau_b": "tau_b with the ranking by all judgments",
    "tau_ap": "AP correlation with the ranking by all judgments",
    "power": "discriminative power at {alpha:g}",
    "required_difference": "required difference at {alpha:g}",
    "mean": "mean over systems",
}


class RobustnessDisplay(Display):
    """Correlation with the full ranking, or discriminative power, against the share of judgments.

    A metric on condensed lists has a dashed line in the colour of the metric on full lists. With
    several repeats, the line is their mean, in a band from the smallest to the largest value.

    Parameters
    ----------
    robustness : Robustness
        Result of `skrank.incompleteness.robustness`.

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

    def __init__(self, robustness: Robustness) -> None:
        self.robustness = check.check_result(
            "robustness", robustness, Robustness, "incompleteness.robustness"
        )

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
            Column of `skrank.incompleteness.Robustness` to draw.
        metrics : sequence of str, optional
            Default: all of the study.
        **kwargs
            Passed to `matplotlib.axes.Axes.plot`.

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
        self.lines_ = {}
        full = list(dict.fromkeys(_on_full_lists(name) for name in chosen))
        colours = {name: f"C{number}" for number, name in enumerate(full)}
        for name in chosen:
            values = table[table["metric"] == name].groupby("percent")[column]
            mean, colour = values.mean(), colours[_on_full_lists(name)]
            dashes = "-" if _on_full_lists(name) == name else "--"
            look = {"marker": "o", "label": name, "linestyle": dashes, "color": colour}
            (self.lines_[name],) = ax.plot(mean.index, mean, **(look | kwargs))
            if table["repeat"].any():
                ax.fill_between(mean.index, values.min(), values.max(), color=colour, alpha=0.1)
        percents = sorted(table["percent"].unique())
        margin = 0.03 * (percents[-1] - percents[0]) + 0.5
        ax.set(xticks=percents, xlim=(percents[-1] + margin, percents[0] - margin))
        ylabel = _AXES[column].format(**vars(self.robustness))
        ax.set(xlabel="percent of the judgments", ylabel=ylabel)
        ax.legend(loc="best", fontsize="small")
        return self


def _on_full_lists(name: str) -> str:
    """The name of a metric without condensed=True."""
    return re.sub(r"\(condensed=True\)|condensed=True,|,condensed=True", "", name)
