"""Tables of reports in LaTeX and Markdown, in which names are text and never markup."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from html import escape
from string import ascii_lowercase
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skrank import _validation as check

if TYPE_CHECKING:
    import pandas as pd

# By row and column of a value, the rows whose values in the column are significantly worse.
Worse: TypeAlias = Mapping[tuple[int, int], Sequence[int]]

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}",
}  # fmt: skip  # \\[ and \\* have a meaning at the begin of a row
_LIGATURES = r"(?<=[-`',])(?=[-`',])|(?<=[?!])(?=`)"  # places inside, such as of -- or ?`


class Tabular(ABC):
    """A report that is a table of values."""

    _most_rows: int | None = None  # printed tables of more rows are cut in the middle

    @abstractmethod
    def _caption(self) -> str:
        """What was measured, in a sentence without a full stop."""

    @abstractmethod
    def _printed(self) -> list[tuple[pd.DataFrame, bool]]:
        """The tables of the text, and whether they show their index."""

    @abstractmethod
    def _shown(self) -> tuple[pd.DataFrame, str, Sequence[bool], Worse | None]:
        """The values, the caption, and what is marked.

        The booleans say by column whether greater values are better; the best values are bold. If
        there are none, no value is bold.
        """

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
        \caption{2 queries, 4 documents, 100.0\% judged, 100.0\% retrieved}
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
        rows, n_names, caption = self._cells(digits, r"\textbf{%s}", r"$^{%s}$", _escaped_latex)
        head, *lines = (" & ".join(row) + r" \\" for row in rows)
        aligned = "l" * n_names + "r" * (len(rows[0]) - n_names)
        begin = [r"\begin{table}", r"\centering", rf"\caption{{{_escaped_latex(caption)}}}"]
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
        2 queries, 4 documents, 100.0% judged, 100.0% retrieved
        """
        rows, n_names, caption = self._cells(digits, "**%s**", "<sup>%s</sup>", _escaped_markdown)
        head, *lines = (f"| {' | '.join(row)} |" for row in rows)
        aligned = "|:--" * n_names + "|--:" * (len(rows[0]) - n_names) + "|"
        return "\n".join([head, aligned, *lines, "", _escaped_markdown(caption)])

    def __repr__(self) -> str:
        style = {"float_format": "{:.4f}".format, "max_rows": self._most_rows}
        tables = [table.to_string(index=index, **style) for table, index in self._printed()]
        return ("\n" * len(tables)).join([self._caption(), *tables])

    def _repr_html_(self) -> str:
        style = {"float_format": "{:.4f}".format, "max_rows": self._most_rows}
        tables = [table.to_html(index=index, **style) for table, index in self._printed()]
        return f"<p>{escape(self._caption(), quote=False)}</p>{''.join(tables)}"

    def _cells(
        self, digits: int, bold: str, raised: str, escaped: Callable[[str], str]
    ) -> tuple[list[list[str]], int, str]:
        """Texts of the head and the rows, the number of columns of names, and the caption.

        `bold` and `raised` are %-formats of marks.
        """
        check.check_count("digits", digits, "the number of decimals", least=0)
        values, caption, rises, worse = self._shown()
        few = len(values) <= len(ascii_lowercase)
        names = [*ascii_lowercase] if few else [str(i + 1) for i in range(len(values))]
        numbered = worse is not None
        head = [escaped(str(one)) for one in (values.index.name, *values.columns)]
        rows = [[escaped("#")] * numbered + head]
        best = _best(values, rises)
        for i, (name, *row) in enumerate(values.astype(object).itertuples()):
            cells = [names[i]] * numbered + [escaped(str(name))]
            for j, value in enumerate(row):
                text = f"{value:.{digits}f}" if isinstance(value, float) else str(value)
                marks = [names[other] for other in sorted((worse or {}).get((i, j), ()))]
                text = bold % text if best[i, j] else text
                cells.append(text + (raised % ("" if few else ",").join(marks) if marks else ""))
            rows.append(cells)
        return rows, 1 + numbered, caption


def _best(table: pd.DataFrame, rises: Sequence[bool]) -> np.ndarray:
    if not rises:
        return np.zeros(table.shape, dtype=bool)
    values = table.to_numpy()
    directed = np.where(rises, values, -values)
    return directed == np.nanmax(directed, axis=0, initial=-np.inf)


def _one_line(text: str) -> str:
    """The text with a space in place of line breaks and other characters that are not printed."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _escaped_latex(text: str) -> str:
    apart = re.sub(_LIGATURES, "\0", _one_line(text))
    escaped = re.sub(
        r"[\\~^<>|\[*&%$#_{}]", lambda found: _LATEX.get(found[0], f"\\{found[0]}"), apart
    )
    return escaped.replace("\0", "{}")


def _escaped_markdown(text: str) -> str:
    # a colon before //, an @ before a host, and www. make links
    special = r"[\\`|*_\[\]<>~&$]|:(?=//)|@(?=[\w-]+\.)|(?<=www)\."
    return re.sub(special, r"\\\g<0>", _one_line(text))
