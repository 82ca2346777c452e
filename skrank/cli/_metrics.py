"""``skrank metrics``: the names of metrics, and the docstring of one as plain text."""

from __future__ import annotations

import argparse
import inspect
import re

from skrank._engine.names import columns
from skrank.cli._parser import MetricNames
from skrank.metrics import Metric, registered

_SECTION = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-+\n)")
_OTHER = re.compile(r"(?<=See )`(\w+)`")  # the class of another metric
_LEFT_OUT = ("See Also", "Examples")  # sections about Python


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "name",
        metavar="METRIC",
        nargs="?",
        choices=MetricNames(),
        help="such as ndcg@10 or P_5",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        width = max(map(len, registered()))
        return "\n".join(
            f"{name:<{width}}  {_summary(cls)}" for name, cls in sorted(registered().items())
        )
    found = columns(arguments.name)
    kinds = {type(one) for one in found.values()}
    if len(kinds) > 1:  # a name for several metrics, such as official
        return "\n".join(f"{name} is {one}" for name, one in found.items())
    names = [f"{name} is {one}" for name, one in found.items() if name != str(one)]
    return "\n".join([*names, *[""] * bool(names), _described(kinds.pop())])


def _summary(cls: type) -> str:
    return plain_text(cls.__doc__ or "").split("\n")[0]


def _described(cls: type) -> str:
    """The docstring of a metric as plain text, with the parameters that all metrics share."""
    sections = [
        section
        for section in _SECTION.split(plain_text(inspect.getdoc(cls) or ""))
        if not section.startswith(_LEFT_OUT)
    ]
    text = _OTHER.sub(_name_of, "\n\n".join(sections))
    if "See `Metric`" not in text:
        return text
    shared = _SECTION.split(plain_text(inspect.getdoc(Metric) or ""))[1]
    title = "Parameters of all metrics"
    rest = shared.split("\n", 2)[2]
    return f"{text.replace('See `Metric`', 'See below')}\n\n{title}\n{'-' * len(title)}\n{rest}"


def _name_of(found: re.Match[str]) -> str:
    """The command that describes a metric, in place of the name of its class."""
    names = {cls.__name__: name for name, cls in registered().items()}
    return f"`skrank metrics {names[found[1]]}`" if found[1] in names else found[0]


# formulas -----------------------------------------------------------------------------------------

# commands of LaTeX as plain text
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
    >>> from skrank.cli._metrics import plain_text
    >>> print(plain_text(r".. math:: P@k = \frac1k |\{r \le k : y_r \ge rel\}|"))
        P@k = 1/k |{r <= k : y_r >= rel}|
    """
    blocks = re.sub(r"(?m)^\.\. math:: (.*(?:\n[ ]+.*)*)", _formula, docstring)
    return re.sub(r"``([^`]*)``", r"\1", blocks)


def _formula(found: re.Match[str]) -> str:
    text = re.sub(" +", " ", _Formula(found[1]).text())
    return "    " + re.sub(r"(?<=[(\[{]) | (?=[)\]},])", "", text).strip()


class _Formula:
    """A parser of one formula of LaTeX."""

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
