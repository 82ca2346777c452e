"""``skrank metrics``: the names of metrics, and the description of one."""

from __future__ import annotations

import argparse
import inspect
import re

from skrank._engine.names import columns
from skrank.cli._formulas import plain_text
from skrank.cli._parser import MetricNames
from skrank.metrics import Metric, registered

_SECTION = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-+\n)")
_OTHER = re.compile(r"(?<=See )`(\w+)`")
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
