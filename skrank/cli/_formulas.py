r"""Docstrings as text for a terminal: formulas of LaTeX such as ``\frac1R \sum_n y_n`` in words."""

from __future__ import annotations

import re

_SIGNS = {
    "alpha": "alpha", "beta": "beta", "rho": "rho", "cdot": "*", "ge": ">=", "in": "in",
    "le": "<=", "max": "max", "min": "min", "prod": "prod", "quad": " ", "sum": "sum",
    "log": "log", "{": "{", "}": "}", ",": " ", "left": "", "right": "",
}  # fmt: skip
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\s+|[^\\{}^_\s]")


def readable(docstring: str) -> str:
    """A docstring whose formulas and names are plain text.

    Examples
    --------
    >>> from skrank.cli._formulas import readable
    >>> print(readable(r'''.. math:: P@k = \frac1k |\\{r \\le k : y_r \\ge rel\\}|'''))
        P@k = 1/k |{r <= k : y_r >= rel}|
    """
    blocks = re.sub(r"(?m)^\.\. math:: (.*(?:\n[ ]+.*)*)", _formula, docstring)
    return re.sub(r"``([^`]*)``", r"\1", blocks)


def _formula(found: re.Match[str]) -> str:
    text = re.sub(" +", " ", _Formula(found[1]).text())
    return "    " + re.sub(r"(?<=[(\[{]) | (?=[)\]},])", "", text).strip()


class _Formula:
    """Reads a formula from left to right."""

    def __init__(self, formula: str) -> None:
        self.tokens = _TOKEN.findall(re.sub(r"\s+", " ", formula))
        self.place = 0

    def text(self, end: str = "") -> str:
        """The text down to a token, or to the end."""
        parts: list[str] = []
        while self.place < len(self.tokens) and self.tokens[self.place] != end:
            parts.append(self.next())
        self.place += 1
        return "".join(parts)

    def next(self) -> str:
        """The text of the next token, with what belongs to it."""
        token = self.tokens[self.place]
        self.place += 1
        if token == "{":
            return self.text("}")
        if token in "^_":
            return token + _bracketed(self.argument(), "()" if token == "^" else "{}")
        if token == r"\frac":
            return f"{_bracketed(self.argument())}/{_bracketed(self.argument())}"
        if token == r"\text":
            return self.argument()
        return _SIGNS[token[1:]] if token.startswith("\\") else token

    def argument(self) -> str:
        """A group in braces, or one sign."""
        while self.tokens[self.place].isspace():
            self.place += 1
        return self.next()


def _bracketed(text: str, brackets: str = "()") -> str:
    """A text in brackets unless it is one word."""
    return text if re.fullmatch(r"[^\s/+<>=-]+", text) else f"{brackets[0]}{text}{brackets[1]}"
