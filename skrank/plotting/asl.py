"""Curves of achieved significance levels: pairs of systems that a metric distinguishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import PlainDisplay, choose
from skrank.stats import DiscriminativePower, discriminative_power

if TYPE_CHECKING:
    from skrank.trec import TrecReport


class ASLCurveDisplay(PlainDisplay):
    """Achieved significance levels of all pairs of systems in descending order, for some metrics.

    The lower the curve of a metric, the more pairs it distinguishes at the same level. The legend
    has the share of pairs below `alpha`, and the difference of means that is significant for every
    pair. Levels of 0, which no resample reached, are not drawn on the logarithmic axis.

    Parameters
    ----------
    powers : dict of str to DiscriminativePower
        Result of `skrank.stats.discriminative_power` for each metric.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The curve of each metric.
    line_ : matplotlib Line2D
        Horizontal line at `alpha`.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    T. Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import stats
    >>> from skrank.plotting import ASLCurveDisplay
    >>> noise = np.random.default_rng(0).random((50, 10))
    >>> powers = {
    ...     name: stats.discriminative_power(noise + weight * np.linspace(0, 1, 10))
    ...     for name, weight in (("sharp", 1.0), ("blunt", 0.2))
    ... }
    >>> display = ASLCurveDisplay(powers).plot()
    >>> list(display.lines_)
    ['sharp', 'blunt']
    >>> plt.close(display.figure_)
    """

    def __init__(self, powers: Mapping[str, DiscriminativePower]) -> None:
        if not isinstance(powers, Mapping) or not powers:
            raise ValueError("powers is empty: pass a dict of results of discriminative_power.")
        for name, power in powers.items():
            check.check_result(
                f"powers[{name!r}]", power, DiscriminativePower, "stats.discriminative_power"
            )
        if len({one.alpha for one in powers.values()}) > 1:
            raise ValueError("powers have different alpha: compute all with one alpha.")
        self.powers = dict(powers)

    @classmethod
    def from_report(
        cls,
        report: TrecReport,
        metrics: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        n_resamples: int = 1000,
        random_state: check.RandomState = 0,
        ax: Axes | None = None,
        **kwargs: object,
    ) -> Self:
        """Draw the curves of the metrics of a report.

        Parameters
        ----------
        report : TrecReport
            Of `skrank.trec.evaluate`, with at least two runs.
        metrics : sequence of str, optional
            Columns of the report. Default: all.
        alpha, n_resamples, random_state
            See `skrank.stats.discriminative_power`.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        **kwargs
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ASLCurveDisplay

        Raises
        ------
        ValueError
            If the report has no such column, or fewer than two runs.
        """
        how: Options = {"alpha": alpha, "n_resamples": n_resamples, "random_state": random_state}
        powers = {
            name: discriminative_power(report.per_query[name].unstack("run", sort=False), **how)
            for name in choose("metric", metrics, report.per_query.columns)
        }
        return cls(powers).plot(ax, **kwargs)

    def _draw(self, ax: Axes | None, style: Options) -> None:
        ax = self._open(ax)
        self.lines_ = {}
        alpha = next(iter(self.powers.values())).alpha
        least, most = alpha, 0
        for name, found in self.powers.items():
            levels = found.asl_curve
            label = f"{name} ({found.power:.1%}, difference {found.required_difference:.3f})"
            numbers = np.arange(1, len(levels) + 1)
            (self.lines_[name],) = ax.plot(numbers, levels, **{"label": label, **style})
            least, most = min([least, *levels[levels > 0]]), max(most, len(levels))
        label = f"significant at {alpha:g}"
        self.line_ = ax.axhline(alpha, color="black", linestyle="--", linewidth=1, label=label)
        ax.set(yscale="log", xlim=(0, most + 1), ylim=(least / 1.5, 1.5))
        ax.set(xlabel="pairs of systems, sorted", ylabel="achieved significance level")
        ax.legend(loc="best", fontsize="small")
