"""``skrank metrics``: the names of metrics, and what one of them is."""

from __future__ import annotations

import argparse
import inspect

from skrank._engine.names import columns
from skrank.metrics import registered


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
    names = [f"{name} is {one}" for name, one in found.items() if name != str(one)]
    text = inspect.getdoc(type(next(iter(found.values())))) or ""
    return "\n".join([*names, *[""] * bool(names), text])


def _summary(cls: type) -> str:
    return (cls.__doc__ or "").split("\n")[0]
