"""Estimates and their uncertainty: intervals and posterior probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from skrank import _validation as check
from skrank._typing import Axes, Options
from skrank.plotting._display import Display, shown
from skrank.stats import BayesianComparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.container import ErrorbarContainer

_COLOURS = {"worse": "C3", "equivalent": "0.7", "better": "C0"}


class IntervalDisplay(Display):
    """Intervals of means or differences of systems, one row each, the highest value on top.

    The `plot` of a report shows means of systems, and that of a comparison their differences.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, 3)
        Columns "value", "low" and "high", indexed by the names of the rows.
    label : str
        Name of the values.
    title : str, optional
        Title of the plot.
    reference : float, optional
        Value at which a line is drawn, such as 0 for differences.

    Attributes
    ----------
    bars_ : matplotlib ErrorbarContainer
        Intervals that exclude the reference; without a reference, all intervals.
    faint_bars_ : matplotlib ErrorbarContainer or None
        Intervals that contain the reference.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from skrank.plotting import IntervalDisplay
    >>> bounds = {"value": [0.1, 0.3], "low": [-0.1, 0.2], "high": [0.3, 0.4]}
    >>> table = pd.DataFrame(bounds, index=["new", "old"])
    >>> display = IntervalDisplay(table, label="difference", reference=0).plot()
    >>> display.ax_.get_xlabel()
    'difference'
    >>> plt.close(display.figure_)
    """

    bars_: ErrorbarContainer
    faint_bars_: ErrorbarContainer | None

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        label: str = "value",
        title: str | None = None,
        reference: float | None = None,
    ) -> None:
        check.check_table("table", table, ("value", "low", "high"))
        if reference is not None:
            check.check_number("reference", reference, -1e300, 1e300)
        self.table = table.sort_values("value", kind="stable")
        self.label, self.title, self.reference = label, title, reference
        self._n_rows = len(table)

    def _draw(self, ax: Axes, style: Options) -> None:
        rows = np.arange(len(self.table))
        value, low, high = (self.table[name].to_numpy() for name in ("value", "low", "high"))
        ends = np.concatenate([value, low, high])
        if np.isinf(ends).any():  # such intervals are drawn to the edges of the axes
            inside = ends[np.isfinite(ends)] if np.isfinite(value).any() else np.zeros(1)
            margin = 0.05 * np.ptp(inside) or 1.0
            edges = inside.min() - margin, inside.max() + margin
            low, high = np.clip(low, *edges), np.clip(high, *edges)
            ax.set_xlim(*edges)
        contains = np.zeros(len(rows), dtype=bool)
        if self.reference is not None:
            ax.axvline(self.reference, color="black", linewidth=0.8)
            contains = (low <= self.reference) & (self.reference <= high)

        def draw(chosen: np.ndarray, colour: str) -> ErrorbarContainer:
            sides = np.stack([value - low, high - value])[:, chosen]
            look = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour, **style}
            return ax.errorbar(value[chosen], rows[chosen], xerr=np.nan_to_num(sides), **look)

        self.bars_ = draw(~contains, "C0")
        self.faint_bars_ = draw(contains, "0.6") if contains.any() else None
        ax.set_yticks(rows, labels=[*map(shown, self.table.index)])
        ax.set(xlabel=shown(self.label), ylim=(-0.6, len(rows) - 0.4))
        ax.tick_params(axis="y", labelsize="small")
        if self.title:
            ax.set_title(self.title, fontsize="medium")


class PosteriorDisplay(Display):
    """Posterior probabilities of pairs of systems, or the posterior density of one pair.

    Parameters
    ----------
    found : BayesianComparison
        Result of `skrank.stats.bayesian_comparison`.
    names : sequence of str, optional
        Names of the systems. Default: their numbers.
    pair : int, optional
        Number of the pair whose density is drawn, for method "t". Default: a bar of three parts for
        each pair.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

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
    >>> display = PosteriorDisplay(found, pair=0).plot()
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        found: BayesianComparison,
        *,
        names: Sequence[str] | None = None,
        pair: int | None = None,
    ) -> None:
        check.check_result("found", found, BayesianComparison, "stats.bayesian_comparison")
        n_systems = int(found.pairs.max()) + 1
        if names is not None and np.ndim(names) != 1:
            raise ValueError(f"names={names!r} must be a sequence with a name for each system.")
        names = list(map(str, range(n_systems) if names is None else names))
        if len(names) < n_systems:
            raise ValueError(f"names has {len(names)} entries for {n_systems} systems.")
        if pair is not None:
            pair = check.check_count("pair", pair, "the number of a pair", 0)
            if pair >= len(found.pairs):
                raise ValueError(f"pair={pair} is not one of the {len(found.pairs)} pairs.")
            if found.method != "t" or found.error[pair] == 0:
                raise ValueError(
                    f'the posterior of pair {pair} has no density, which needs method "t" and '
                    "differences that vary. Leave `pair` out to draw its probabilities."
                )
        self.found, self.names, self.pair = found, names, pair
        self._n_rows = len(found.pairs) if pair is None else 0

    def _draw(self, ax: Axes, style: Options) -> None:
        if self.pair is None:
            self._bars(ax, style)
        else:
            self._density(ax, self.pair, style)

    def _title(self, pair: int) -> str:
        first, second = self.found.pairs[pair]
        return f"{shown(self.names[first])} against {shown(self.names[second])}"

    def _bars(self, ax: Axes, style: Options) -> None:
        n_pairs = len(self.found.pairs)
        rows, left = np.arange(n_pairs)[::-1], np.zeros(n_pairs)
        for name, colour in _COLOURS.items():
            share = getattr(self.found, name)
            ax.barh(rows, share, left=left, **{"color": colour, "label": name, **style})
            left = left + share
        ax.set_yticks(rows[::-1], labels=[self._title(pair) for pair in rows])
        low, high = self.found.rope
        ax.set(xlim=(0, 1), xlabel=f"probability; equivalent: from {low:g} to {high:g}")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)

    def _density(self, ax: Axes, pair: int, style: Options) -> None:
        found = self.found
        posterior = scipy.stats.t(found.freedom[pair], found.difference[pair], found.error[pair])
        low, high = found.rope
        ends = min(posterior.ppf(0.001), 1.5 * low), max(posterior.ppf(0.999), 1.5 * high)
        x = np.linspace(*ends, 500)
        density = posterior.pdf(x)
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
