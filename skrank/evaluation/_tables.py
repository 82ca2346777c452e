"""Tables of reports in LaTeX and Markdown, and how reports are drawn."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check

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
    best : bool ndarray of shape (n_rows, n_columns)
        Values that are shown in bold.
    better_than : list of (int, int, int)
        Row and column of a value, and the row whose value it is significantly better than.
    """

    values: pd.DataFrame
    caption: str
    best: np.ndarray
    better_than: list[tuple[int, int, int]] | None = None

    @property
    def letters(self) -> list[str]:
        """What rows are called in superscripts: letters, or numbers where these are too few."""
        n_rows = len(self.values)
        if n_rows <= len(ascii_lowercase):
            return list(ascii_lowercase[:n_rows])
        return [str(number) for number in range(1, n_rows + 1)]

    def marks(self, row: int, column: int) -> str:
        """The superscript of a value."""
        others = sorted(other for i, j, other in self.better_than or () if (i, j) == (row, column))
        between = "" if len(self.values) <= len(ascii_lowercase) else ","
        return between.join(self.letters[other] for other in others)

    def texts(self, digits: int) -> list[list[str]]:
        """The values as texts."""
        check.check_count("digits", digits, "the number of decimals", least=0)
        return [
            [f"{one:.{digits}f}" if isinstance(one, float) else str(one) for one in row]
            for row in self.values.astype(object).to_numpy().tolist()
        ]


class Tabular(ABC):
    """A report that is a table: in LaTeX, in Markdown, and drawn."""

    @abstractmethod
    def _marked(self) -> MarkedTable:
        """The table that is shown."""

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

        def cell(text: str, row: int, column: int) -> str:
            text = rf"\textbf{{{text}}}" if table.best[row, column] else text
            mark = table.marks(row, column)
            return f"{text}$^{{{mark}}}$" if mark else text

        head, *rows = _rows(table, digits, cell, _escaped_latex)
        aligned = "l" * (len(head) - table.values.shape[1]) + "r" * table.values.shape[1]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escaped_latex(table.caption)}}}",
                rf"\begin{{tabular}}{{{aligned}}}",
                r"\toprule",
                " & ".join(head) + r" \\",
                r"\midrule",
                *(" & ".join(row) + r" \\" for row in rows),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def to_markdown(self, digits: int = 3) -> str:
        """A table for Markdown, as GitHub and notebooks show it.

        Parameters
        ----------
        digits : int
            Decimals of the values.

        Returns
        -------
        str
            With the marks of `to_latex`.

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

        def cell(text: str, row: int, column: int) -> str:
            text = f"**{text}**" if table.best[row, column] else text
            mark = table.marks(row, column)
            return f"{text}<sup>{mark}</sup>" if mark else text

        head, *rows = _rows(table, digits, cell, _escaped_markdown)
        aligned = [":--"] * (len(head) - table.values.shape[1]) + ["--:"] * table.values.shape[1]
        lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
        lines.insert(1, f"|{'|'.join(aligned)}|")
        return "\n".join([*lines, "", table.caption])


def _rows(
    table: MarkedTable,
    digits: int,
    cell: Callable[[str, int, int], str],
    escaped: Callable[[str], str],
) -> list[list[str]]:
    """The head and the rows of a table, with a column of letters if superscripts name rows."""
    lettered = table.better_than is not None
    values = table.values
    head = [escaped(str(name)) for name in (values.index.name or "", *values.columns)]
    rows = [[escaped("#")] * lettered + head]
    for i, (name, row) in enumerate(zip(values.index, table.texts(digits), strict=True)):
        cells = [cell(text, i, j) for j, text in enumerate(row)]
        rows.append([table.letters[i]] * lettered + [escaped(str(name)), *cells])
    return rows


def _escaped_latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _LATEX.get(found[0], f"\\{found[0]}"), text)


def _escaped_markdown(text: str) -> str:
    return re.sub(r"[|*_<]", r"\\\g<0>", text)


def best_of(values: np.ndarray, greater_is_better: list[bool]) -> np.ndarray:
    """The best values of each column."""
    directed = np.where(greater_is_better, values, -values)
    return directed == np.nanmax(directed, axis=0, initial=-np.inf)


def interval_display() -> Any:
    """`skrank.plotting.IntervalDisplay`, imported by name: plots import reports, as types."""
    return import_module("skrank.plotting").IntervalDisplay
