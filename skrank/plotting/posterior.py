"""Posterior probabilities that a system is better than, worse than or equivalent to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import scipy.stats

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display
from skrank.stats import BayesianComparison

_COLOURS = {"worse": "C3", "equivalent": "0.7", "better": "C0"}


class PosteriorDisplay(Display):
    """Posterior probabilities of pairs of systems, or the posterior density of one pair.

    Parameters
    ----------
    found : BayesianComparison
        Result of `skrank.stats.bayesian_comparison`.
    names : sequence of str, optional
        Names of the systems. Default: their numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skrank import stats
    >>> from skrank.plotting import PosteriorDisplay
    >>> scores = np.random.default_rng(0).random((50, 3)) + [0.1, 0, 0]
    >>> found = stats.bayesian_comparison(scores, rope=0.05)
    >>> display = PosteriorDisplay(found, names=["new", "old", "older"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['old against older', 'new against older', 'new against old']
    >>> plt.close(display.figure_)
    >>> display = PosteriorDisplay(found).plot(pair=0)
    >>> plt.close(display.figure_)
    """

    def __init__(self, found: BayesianComparison, *, names: Sequence[str] | None = None) -> None:
        check.check_result("found", found, BayesianComparison, "stats.bayesian_comparison")
        n_systems = int(found.pairs.max()) + 1
        if names is not None and np.ndim(names) != 1:
            raise ValueError(f"names={names!r} must be a sequence with a name for each system.")
        names = list(map(str, range(n_systems) if names is None else names))
        if len(names) < n_systems:
            raise ValueError(f"names has {len(names)} entries for {n_systems} systems.")
        self.found = found
        self.names = names

    def plot(self, ax: Axes | None = None, *, pair: int | None = None, **kwargs: object) -> Self:
        """Draw a bar of three parts for each pair, or the density of one pair.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, high enough for all bars.
        pair : int, optional
            Number of the pair whose density is drawn, for method "t". Default: bars of all pairs.
        **kwargs
            Passed to `matplotlib.axes.Axes.barh`, or of `matplotlib.axes.Axes.plot`.

        Returns
        -------
        PosteriorDisplay
            The display itself.

        Raises
        ------
        ValueError
            If there is no such pair, or its posterior has no density.
        """
        if pair is None:
            return self._bars(ax, kwargs)
        pair = check.check_count("pair", pair, "the number of a pair", 0)
        if pair >= len(self.found.pairs):
            raise ValueError(f"pair={pair} is not one of the {len(self.found.pairs)} pairs.")
        if self.found.method != "t" or self.found.error[pair] == 0:
            raise ValueError(
                f'the posterior of pair {pair} has no density, which needs method "t" and '
                "differences that vary. Leave `pair` out to draw its probabilities."
            )
        return self._density(ax, pair, kwargs)

    def _title(self, pair: int) -> str:
        first, second = self.found.pairs[pair]
        return f"{self.names[first]} against {self.names[second]}"

    def _bars(self, ax: Axes | None, style: Options) -> Self:
        n_pairs = len(self.found.pairs)
        ax = self._open(ax, n_pairs)
        rows, left = np.arange(n_pairs)[::-1], np.zeros(n_pairs)
        for name, colour in _COLOURS.items():
            share = getattr(self.found, name)
            ax.barh(rows, share, left=left, **{"color": colour, "label": name, **style})
            left = left + share
        ax.set_yticks(rows[::-1], labels=[self._title(pair) for pair in rows])
        low, high = self.found.rope
        ax.set(xlim=(0, 1), xlabel=f"probability; equivalent: from {low:g} to {high:g}")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
        return self

    def _density(self, ax: Axes | None, pair: int, style: Options) -> Self:
        found = self.found
        posterior = scipy.stats.t(found.freedom[pair], found.difference[pair], found.error[pair])
        low, high = found.rope
        ends = min(posterior.ppf(0.001), 1.5 * low), max(posterior.ppf(0.999), 1.5 * high)
        x = np.linspace(*ends, 500)
        density = posterior.pdf(x)
        ax = self._open(ax)
        ax.plot(x, density, **{"color": "black", "linewidth": 1, **style})
        inside = (x >= low) & (x <= high)
        for name, part in (("worse", x <= low), ("equivalent", inside), ("better", x >= high)):
            label = f"{name}: {getattr(found, name)[pair]:.3f}"
            ax.fill_between(x, density, where=part, color=_COLOURS[name], alpha=0.6, label=label)
        for bound in (low, high):
            ax.axvline(bound, color="black", linestyle="--", linewidth=0.8)
        ax.set(xlabel="mean difference", ylabel="posterior density", title=self._title(pair))
        ax.set_ylim(bottom=0)
        ax.legend(loc="best")
        return self
