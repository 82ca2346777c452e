"""Text of TREC files, as bytes: padded for the kernels, tidied, decoded, and shown in messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skrank.trec._line_forms import FORMS, LineForm, is_comment, is_row

WORD, NEWLINE, _SPACE = 8, 10, 32
BOM = b"\xef\xbb\xbf"
BYTES = "surrogateescape"  # what Python calls the way to read and write bytes that are not UTF-8
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # no white space


@dataclass(frozen=True, eq=False)
class Text:
    """A file, or some lines of it, as the kernels read it.

    Attributes
    ----------
    array : uint8 ndarray
        Padded.
    name : str
        Of the file.
    before : int
        Lines of the file before these.
    gaps : tuple of (int, int)
        Lines of the file that are not among these, as they have no row: before which of these they
        stand, from 0 on, and how many they are.
    """

    array: np.ndarray
    name: str
    before: int = 0
    gaps: tuple[tuple[int, int], ...] = ()

    def line(self, place: int) -> tuple[int, bytes]:
        """Number and content of the line that holds a place of the array."""
        before = self.array[:place].tobytes()
        line = self.array[before.rfind(b"\n") + 1 :].tobytes().split(b"\n", 1)[0]
        number = before.count(b"\n")
        skipped = sum(lines for behind, lines in self.gaps if behind <= number)
        return self.before + skipped + number + 1, line.strip()


def padded(data: bytes | memoryview) -> np.ndarray:
    """Bytes as the kernels read them: newlines up to a whole word, and a word more."""
    text = np.empty(padded_size(len(data)), np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    text[len(data) :] = NEWLINE
    return text


def padded_size(size: int) -> int:
    return size + -size % WORD + WORD


def as_bytes(content: bytes | str) -> bytes:
    """What was read from a file object, which may be open as text."""
    return content.encode(errors=BYTES) if isinstance(content, str) else content


def decode(text: np.ndarray, start: np.ndarray, stop: np.ndarray) -> list[str]:
    """Slices of a text as strings; bytes that are not UTF-8 become half surrogates, as in Python.

    Different slices are different strings, none of which an id that is text can spell.
    """
    view = text.data
    return [
        str(view[a:b], "utf-8", BYTES) for a, b in zip(start.tolist(), stop.tolist(), strict=True)
    ]


def tidy(text: np.ndarray, form: LineForm) -> None:
    """Leave comments blank, and columns that may be passed over; all else keeps its place."""
    data = text.tobytes()
    for start, stop in _places_of_comments(data, form):
        text[start:stop] = _SPACE
    if form.more:
        column, gap = rb"\S+", rb"[^\S\n]+"
        columns = rb"[^\S\n]*" + gap.join([column] * len(form.columns))
        for line in re.finditer(rb"(?m)^" + columns + rb"(" + gap + rb"\S[^\n]*)", data):
            text[slice(*line.span(1))] = _SPACE


def _places_of_comments(data: bytes, form: LineForm) -> Iterator[tuple[int, int]]:
    """Where comments start and stop."""
    place = data.find(b"#")
    while place >= 0:
        start, stop = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
        if is_comment(data[start:stop], [form]):
            yield start, stop
        place = data.find(b"#", stop)


def malformed(text: Text, place: int, form: LineForm) -> ValueError:
    """The error for a line with too few or too many columns."""
    number, line = text.line(place)
    row = line.split()
    if len(row) == len(form.columns):  # more, where control characters stand between columns, too
        return control_character(text)
    others = [one for kind, forms in FORMS.items() if kind != form.kind for one in forms]
    swapped = any(is_row(row, one) for one in others)
    hint = f" It looks like a line of {others[0].kind}: qrels come first, then runs." * swapped
    return ValueError(
        f"{text.name}, line {number}: {len(row)} columns instead of {len(form.columns)} in "
        f"{_short(line)}: a line of {form.kind} is {form}.{hint}"
    )


def control_character(text: Text) -> ValueError:
    """The error for the first character that no id and no number can hold."""
    found = _CONTROL.search(text.array.tobytes())
    assert found is not None
    number, line = text.line(found.start())
    return ValueError(
        f"{text.name}, line {number}: control character {found[0].decode()!r} in {_short(line)}: "
        "the file must be text in UTF-8."
    )


def _short(line: bytes) -> str:
    shown = line.decode(errors="backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")
