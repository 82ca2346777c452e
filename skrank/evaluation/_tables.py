"""Tables of reports in LaTeX and Markdown, and how reports are drawn."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes

if TYPE_CHECKING:
    import pandas as pd

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True, eq=False)
class MarkedTable:
    """A table of values, some of them marked.

    Attributes
    ----------
    values : DataFrame of shape (n_rows, n_columns)
    caption : str
    greater_is_better : list of bool
        True for columns whose largest value is the best, which is bold; empty: no bold values.
    better_than : dict of (int, int) to list of int, or None
        By row and column of a value, the rows whose value in the column is significantly worse.
    """

    values: pd.DataFrame
    caption: str
    greater_is_better: list[bool] = field(default_factory=list)
    better_than: dict[tuple[int, int], list[int]] | None = None

    def rows(
        self, digits: int, bold: str, raised: str, escaped: Callable[[str], str]
    ) -> list[list[str]]:
        """The head and the rows as texts; `bold` and `raised` are %-formats of marks."""
        check.check_count("digits", digits, "the number of decimals", least=0)
        few = len(self.values) <= len(ascii_lowercase)
        names = [*ascii_lowercase] if few else [str(i + 1) for i in range(len(self.values))]
        lettered = self.better_than is not None
        head = [escaped(str(one)) for one in (self.values.index.name, *self.values.columns)]
        rows = [[escaped("#")] * lettered + head]
        best = self._best()
        for i, (name, *row) in enumerate(self.values.astype(object).itertuples()):
            cells = [names[i]] * lettered + [escaped(str(name))]
            for j, value in enumerate(row):
                text = f"{value:.{digits}f}" if isinstance(value, float) else str(value)
                marks = [names[other] for other in sorted((self.better_than or {}).get((i, j), ()))]
                text = bold % text if best[i, j] else text
                cells.append(text + (raised % ("" if few else ",").join(marks) if marks else ""))
            rows.append(cells)
        return rows

    def _best(self) -> np.ndarray:
        if not self.greater_is_better:
            return np.zeros(self.values.shape, dtype=bool)
        values = self.values.to_numpy()
        directed = np.where(self.greater_is_better, values, -values)
        return directed == np.nanmax(directed, axis=0, initial=-np.inf)


class Tabular(ABC):
    """A report that is a table: in LaTeX, in Markdown, and drawn."""

    @abstractmethod
    def _marked(self) -> MarkedTable:
        """The table that is shown."""

    @abstractmethod
    def _drawn(self, display: Any, metric: str | None, ax: Axes | None, **kwargs: Any) -> Any:
        """The display that `plot` returns, made by the class `IntervalDisplay`."""

    def plot(self, metric: str | None = None, ax: Axes | None = None, **kwargs: Any) -> Any:
        """Draw intervals: of means, or of the differences of a comparison.

        Parameters
        ----------
        metric : str, optional
            Which metric, where there are several systems. Default: the first.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        **kwargs
            Of `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        skrank.plotting.IntervalDisplay
        """
        # imported by name, as skrank.plotting imports reports: the import graph has no circle
        return self._drawn(import_module("skrank.plotting").IntervalDisplay, metric, ax, **kwargs)

    def to_latex(self, digits: int = 3) -> str:
        r"""A table for LaTeX with the package booktabs.

        Parameters
        ----------
        digits : int
            Decimals of the values.

        Returns
        -------
        str
            With several systems, the best value of a metric is bold. In a `Comparison`, letters in
            a superscript name the systems that a value is significantly better than.

        Examples
        --------
        >>> import skrank
        >>> y = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
        >>> print(skrank.evaluate(y, [4, 3, 2, 1], metrics=["gap", "p@1"]).to_latex(digits=2))
        \begin{table}
        \centering
        \caption{2 queries, 4 documents: 100.0\% judged, 100.0\% retrieved}
        \begin{tabular}{lrrrr}
        \toprule
        metric & mean & low & high & queries \\
        \midrule
        gap & 0.75 & 0.00 & 1.00 & 2 \\
        precision@1 & 0.50 & 0.00 & 1.00 & 2 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        table = self._marked()
        rows = table.rows(digits, r"\textbf{%s}", r"$^{%s}$", _escaped_latex)
        head, *lines = (" & ".join(row) + r" \\" for row in rows)
        n_values = table.values.shape[1]
        aligned = "l" * (len(rows[0]) - n_values) + "r" * n_values
        begin = [r"\begin{table}", r"\centering", rf"\caption{{{_escaped_latex(table.caption)}}}"]
        inside = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", head, r"\midrule", *lines]
        return "\n".join([*begin, *inside, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    def to_markdown(self, digits: int = 3) -> str:
        """A table for Markdown, as GitHub and notebooks show it, with the marks of `to_latex`.

        Parameters
        ----------
        digits : int
            Decimals of the values.

        Returns
        -------
        str

        Examples
        --------
        >>> import skrank
        >>> y = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
        >>> print(skrank.evaluate(y, [4, 3, 2, 1], metrics=["gap", "p@1"]).to_markdown(digits=2))
        | metric | mean | low | high | queries |
        |:--|--:|--:|--:|--:|
        | gap | 0.75 | 0.00 | 1.00 | 2 |
        | precision@1 | 0.50 | 0.00 | 1.00 | 2 |
        <BLANKLINE>
        2 queries, 4 documents: 100.0% judged, 100.0% retrieved
        """
        table = self._marked()
        rows = table.rows(digits, "**%s**", "<sup>%s</sup>", _escaped_markdown)
        head, *lines = (f"| {' | '.join(row)} |" for row in rows)
        n_values = table.values.shape[1]
        aligned = "|:--" * (len(rows[0]) - n_values) + "|--:" * n_values + "|"
        return "\n".join([head, aligned, *lines, "", table.caption])


def _escaped_latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _LATEX.get(found[0], f"\\{found[0]}"), text)


def _escaped_markdown(text: str) -> str:
    return re.sub(r"[|*_<]", r"\\\g<0>", text)
