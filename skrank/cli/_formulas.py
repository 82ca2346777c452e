r"""Docstrings as plain text: formulas such as ``\frac1R \sum_n y_n`` become 1/R sum_n y_n."""

from __future__ import annotations

import re

_SIGNS = {
    "alpha": "alpha", "beta": "beta", "rho": "rho", "cdot": "*", "ge": ">=", "in": "in",
    "le": "<=", "max": "max", "min": "min", "prod": "prod", "quad": " ", "sum": "sum",
    "cap": "&", "log": "log", "{": "{", "}": "}", ",": " ", "left": "", "right": "",
}  # fmt: skip
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\s+|[^\\{}^_\s]")


def plain_text(docstring: str) -> str:
    r"""A docstring whose formulas and names are plain text.

    Examples
    --------
    >>> from skrank.cli._formulas import plain_text
    >>> print(plain_text(r".. math:: P@k = \frac1k |\{r \le k : y_r \ge rel\}|"))
        P@k = 1/k |{r <= k : y_r >= rel}|
    """
    blocks = re.sub(r"(?m)^\.\. math:: (.*(?:\n[ ]+.*)*)", _formula, docstring)
    return re.sub(r"``([^`]*)``", r"\1", blocks)


def _formula(found: re.Match[str]) -> str:
    text = re.sub(" +", " ", _Formula(found[1]).text())
    return "    " + re.sub(r"(?<=[(\[{]) | (?=[)\]},])", "", text).strip()


class _Formula:
    """A parser of one formula."""

    def __init__(self, formula: str) -> None:
        self.tokens = _TOKEN.findall(re.sub(r"\s+", " ", formula))
        self.place = 0

    def text(self, end: str = "") -> str:
        """The text before the token `end`, or before the end of the formula."""
        parts: list[str] = []
        while self.place < len(self.tokens) and self.tokens[self.place] != end:
            parts.append(self.next())
        self.place += 1
        return "".join(parts)

    def next(self) -> str:
        """The text of the next token and of its arguments."""
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
        """The text of a group in braces, or of one token."""
        while self.tokens[self.place].isspace():
            self.place += 1
        return self.next()


def _bracketed(text: str, brackets: str = "()") -> str:
    """The text in brackets, or without brackets if it is one word."""
    return text if re.fullmatch(r"[^\s/+<>=-]+", text) else f"{brackets[0]}{text}{brackets[1]}"
