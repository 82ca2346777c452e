"""Tables of reports in LaTeX and Markdown, in which names are text and never markup."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from skrank import _validation as check
from skrank._printed import P_VALUES, Printed

if TYPE_CHECKING:
    import pandas as pd

# By row and column of a value, the rows whose values in the column are significantly worse.
Worse: TypeAlias = Mapping[tuple[int, int], Sequence[int]]

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}",
}  # fmt: skip  # \\[ and \\* have a meaning at the begin of a row
_LIGATURES = r"(?<=[-`',])(?=[-`',])|(?<=[?!])(?=`)"  # places inside, such as of -- or ?`


class PaperTable(NamedTuple):
    """A table of values, and what is marked in it."""

    values: pd.DataFrame
    caption: str
    rises: Sequence[bool] = ()  # by column: greater values are better; empty: no value is bold
    worse: Worse | None = None
    bounds: tuple[np.ndarray, np.ndarray] | None = None  # ends of the intervals of the values


class Tabular(Printed):
    """A report that is a table of values."""

    @abstractmethod
    def _paper_table(self, *, intervals: bool) -> PaperTable:
        """The table for papers."""

    def to_latex(
        self, digits: int = 3, *, caption: str | None = None, label: str | None = None,
        intervals: bool = False,
    ) -> str:  # fmt: skip
        r"""A table for LaTeX with the package booktabs.

        Parameters
        ----------
        digits : int
            Decimals of the values.
        caption : str, optional
            In LaTeX. Default: what was measured, and what is marked.
        label : str, optional
            Name for ``\ref``.
        intervals : bool
            Show intervals: 95 % intervals of the means of several systems; of a `Comparison`, the
            differences instead of the means, with their intervals and p-values.

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
        \caption{Means over 2 queries. 4 documents, 100.0\% judged, 100.0\% retrieved}
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
        rows, sides, caption = self._cells(
            digits, intervals, caption, r"\textbf{%s}", r"$^{%s}$", _escaped_latex
        )
        head, *lines = (" & ".join(row) + r" \\" for row in rows)
        begin = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
        if label is not None:
            begin.append(rf"\label{{{check.check_text('label', label, 'for references')}}}")
        inside = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *lines]
        return "\n".join([*begin, *inside, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    def to_markdown(
        self, digits: int = 3, *, caption: str | None = None, intervals: bool = False
    ) -> str:
        """A table for Markdown, as GitHub and notebooks show it, with the marks of `to_latex`.

        Parameters
        ----------
        digits, caption, intervals
            As in `to_latex`; the caption is in Markdown.

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
        Means over 2 queries. 4 documents, 100.0% judged, 100.0% retrieved
        """
        rows, sides, caption = self._cells(
            digits, intervals, caption, "**%s**", "<sup>%s</sup>", _escaped_markdown
        )
        head, *lines = (f"| {' | '.join(row)} |" for row in rows)
        aligned = "".join({"l": "|:--", "r": "|--:"}[side] for side in sides) + "|"
        return "\n".join([head, aligned, *lines, "", caption])

    def _cells(
        self, digits: int, intervals: bool, caption: str | None, bold: str, raised: str,
        escaped: Callable[[str], str],
    ) -> tuple[list[list[str]], str, str]:  # fmt: skip
        """Texts of the head and the rows, "l" or "r" for each column, and the caption.

        `bold` and `raised` are %-formats of marks.
        """
        check.check_count("digits", digits, "the number of decimals", least=0)
        table = self._paper_table(intervals=check.check_flag("intervals", intervals))
        values, worse = table.values, table.worse
        few = len(values) <= len(ascii_lowercase)
        names = [*ascii_lowercase] if few else [str(i + 1) for i in range(len(values))]
        numbered = worse is not None
        head = [escaped(str(label)) for label in (values.index.name, *values.columns)]
        rows = [[escaped("#"), *head] if numbered else head]
        best = np.zeros(values.shape, dtype=bool)
        if table.rises:
            directed = np.where(table.rises, values, -values)
            best = directed == np.nanmax(directed, axis=0, initial=-np.inf)
        for i, (name, *row) in enumerate(values.astype(object).itertuples()):
            cells = [names[i], escaped(str(name))] if numbered else [escaped(str(name))]
            for j, value in enumerate(row):
                text = f"{value:.{digits}f}" if isinstance(value, float) else str(value)
                if values.columns[j] in P_VALUES and value < (least := 10.0**-digits):
                    text = f"<{least:.{digits}f}"
                text = escaped(text)
                marks = [names[other] for other in sorted((worse or {}).get((i, j), ()))]
                text = bold % text if best[i, j] else text
                if table.bounds is not None:
                    low, high = (f"{ends[i, j]:.{digits}f}" for ends in table.bounds)
                    text += f" [{low}, {high}]"
                cells.append(text + (raised % ("" if few else ",").join(marks) if marks else ""))
            rows.append(cells)
        left = "ll" if numbered else "l"
        sides = left + "".join("r" if dtype.kind in "fi" else "l" for dtype in values.dtypes)
        if caption is None:
            caption = escaped(table.caption.replace("\n", ". "))
        return rows, sides, check.check_text("caption", caption, "as the table shows it")


def spanned(numbers: Any) -> str:
    """The least and the greatest of some numbers, such as "43 to 50"; one if they are equal."""
    return " to ".join(map(str, sorted({numbers.min(), numbers.max()})))


def _one_line(text: str) -> str:
    """The text with a space in place of line breaks and other characters that are not printed."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _escaped_latex(text: str) -> str:
    apart = re.sub(_LIGATURES, "\0", _one_line(text))
    escaped = re.sub(
        r"[\\~^<>|\[*&%$#_{}]", lambda match: _LATEX.get(match[0], f"\\{match[0]}"), apart
    )
    return escaped.replace("\0", "{}")


def _escaped_markdown(text: str) -> str:
    # a colon before //, an @ before a host, and www. make links
    special = r"[\\`|*_\[\]<>~&$]|:(?=//)|@(?=[\w-]+\.)|(?<=www)\."
    return re.sub(special, r"\\\g<0>", _one_line(text))
