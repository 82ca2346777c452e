"""How results are printed, as text and in notebooks: a caption, and tables below it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

P_VALUES = ("p_corrected", "p_uncorrected")  # columns; names of metrics may begin with "p_", too
_MOST_ROWS = 60  # tables of more rows are cut in the middle, as by pandas


class Printed(ABC):
    """A result with a text for terminals and one for notebooks."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """What the values are, in one line or several."""

    def _printed(self) -> dict[str, pd.DataFrame]:
        """The tables to print, by title."""
        return {}

    def __repr__(self) -> str:
        parts = [self.caption]
        for title, table in self._printed().items():
            text = table.to_string(**_style(table))
            parts.append(f"{title}\n{text}" if title else text)
        return printable(("\n" if len(parts) == 2 else "\n\n").join(parts))

    def _repr_html_(self) -> str:
        parts = [_paragraph(self.caption)]
        for title, table in self._printed().items():
            parts += [_paragraph(title), table.to_html(**_style(table))]
        return "".join(parts)


def printable(text: str) -> str:
    r"""The text with escapes, such as ``\x1b``, of control characters, which terminals obey."""
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text, quote=False)}</p>".replace("\n", "<br>") if text else ""


def _style(table: pd.DataFrame) -> dict[str, Any]:
    """Arguments of `to_string` and `to_html`; the index is shown unless it only counts the rows."""
    has_names = not hasattr(table.index, "start")  # that of a RangeIndex
    return {
        "float_format": "{:.4f}".format, "max_rows": _MOST_ROWS, "index": has_names,
        "formatters": {name: "{:.2g}".format for name in table if name in P_VALUES},
    }  # fmt: skip
