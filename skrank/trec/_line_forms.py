"""What a line of TREC looks like, and what is a comment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check


@dataclass(frozen=True, eq=False)
class LineForm:
    """What a line looks like.

    Attributes
    ----------
    kind : str
    columns : tuple of str
    number : int
        The column that holds a number.
    most : float
        The largest number that is taken.
    more : bool
        Whether further columns are passed over, as by trec_eval.
    """

    kind: str
    columns: tuple[str, ...]
    number: int
    most: float
    more: bool = False

    def __str__(self) -> str:
        return " ".join(f"<{column}>" for column in self.columns)


RUN = LineForm("run", ("query", "Q0", "document", "rank", "score", "tag"), 4, np.inf, more=True)
QRELS = LineForm("qrels", ("query", "iteration", "document", "label"), 3, check.MOST_LABEL)
SHORT_QRELS = LineForm("qrels", ("query", "document", "label"), 2, check.MOST_LABEL)
FORMS = {"run": (RUN,), "qrels": (QRELS, SHORT_QRELS)}  # by what the rows are


def is_comment(line: bytes, forms: Sequence[LineForm]) -> bool:
    """Whether a line begins with # and cannot be a row of any of the forms."""
    row = line.split()
    if not row or not row[0].startswith(b"#"):
        return False
    return not any(is_row(row, form) for form in forms)


def is_row(row: list[bytes], form: LineForm) -> bool:
    """Whether these columns are as many as those of a row, with a number where one must be."""
    enough = len(row) >= len(form.columns) if form.more else len(row) == len(form.columns)
    return enough and decimal(row[form.number]) is not None


def decimal(word: bytes | str) -> float | None:
    """The number that a word spells, in ASCII and without underscores; None if it is none.

    "inf" and "nan" are numbers here, which are refused where they are not allowed.
    """
    text = word if isinstance(word, str) else word.decode("latin-1")
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
