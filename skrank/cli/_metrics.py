"""``skrank metrics``: the names of metrics, and the docstring of one."""

from __future__ import annotations

import argparse
import inspect
import re

from skrank.extending import unique_metrics
from skrank.metrics import registered


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    help = "such as ndcg@10 or trec_eval:P_5"
    parser.add_argument("name", metavar="METRIC", nargs="?", help=help)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        classes = sorted(registered().values(), key=lambda cls: cls.names)
        names = [", ".join(cls.names) for cls in classes]
        heads = [(cls.__doc__ or "").split("\n")[0] for cls in classes]
        return "\n".join(
            f"{name:<{max(map(len, names))}}  {head}"
            for name, head in zip(names, heads, strict=True)
        )
    metrics = unique_metrics([arguments.name])
    lines = [f"{name} is {metric}" for name, metric in metrics.items() if name != str(metric)]
    if len(metrics) > 1:  # a name for several metrics, such as trec_eval:official
        return "\n".join(lines)
    (metric,) = metrics.values()
    text = re.split(r"\n\nExamples\n-", inspect.getdoc(type(metric)) or "")[0]
    return "\n\n".join([*lines, text])
