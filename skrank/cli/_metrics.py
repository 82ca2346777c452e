"""``skrank metrics``: the names of metrics, and what one of them is."""

from __future__ import annotations

import argparse
import inspect
import re

from skrank._engine.names import columns
from skrank.cli._formulas import readable
from skrank.metrics import Metric, registered

_SECTION = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-+\n)")
_OTHER = re.compile(r"(?<=See )`(\w+)`")
_LEFT_OUT = ("See Also", "Examples")  # which are for Python


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="METRIC", nargs="?", help="such as ndcg@10 or P_5")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        width = max(map(len, registered()))
        return "\n".join(
            f"{name:<{width}}  {_summary(cls)}" for name, cls in sorted(registered().items())
        )
    found = columns(arguments.name)
    kinds = {type(one) for one in found.values()}
    if len(kinds) > 1:  # a nickname
        return "\n".join(f"{name} is {one}" for name, one in found.items())
    names = [f"{name} is {one}" for name, one in found.items() if name != str(one)]
    return "\n".join([*names, *[""] * bool(names), _described(kinds.pop())])


def _summary(cls: type) -> str:
    return readable(cls.__doc__ or "").split("\n")[0]


def _described(cls: type) -> str:
    """The sections of a metric's docstring that say something here, and what all metrics share."""
    sections = [
        section
        for section in _SECTION.split(readable(inspect.getdoc(cls) or ""))
        if not section.startswith(_LEFT_OUT)
    ]
    text = _OTHER.sub(_name_of, "\n\n".join(sections))
    if "See `Metric`" not in text:
        return text
    shared = _SECTION.split(readable(inspect.getdoc(Metric) or ""))[1]
    title = "Parameters of all metrics"
    rest = shared.split("\n", 2)[2]
    return f"{text.replace('See `Metric`', 'See below')}\n\n{title}\n{'-' * len(title)}\n{rest}"


def _name_of(found: re.Match[str]) -> str:
    """The command that describes a metric, for the name of its class."""
    names = {cls.__name__: name for name, cls in registered().items()}
    return f"`skrank metrics {names[found[1]]}`" if found[1] in names else found[0]
