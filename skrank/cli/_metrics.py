"""``skrank metrics``: the names of metrics, and the docstring of one."""

from __future__ import annotations

import argparse
import inspect
import re

from skrank.extending import unique_metrics
from skrank.metrics import registered


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    text = "such as ndcg@10 or trec_eval:P_5"
    parser.add_argument("name", metavar="METRIC", nargs="?", help=text)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        classes = set(registered().values())
        heads = {", ".join(cls.names): (cls.__doc__ or "").split("\n")[0] for cls in classes}
        width = max(map(len, heads))
        return "\n".join(f"{names:<{width}}  {head}" for names, head in sorted(heads.items()))
    metrics = unique_metrics([arguments.name])
    lines = [f"{name} is {metric}" for name, metric in metrics.items() if name != str(metric)]
    if len(metrics) > 1:  # a name for several metrics, such as trec_eval:official
        return "\n".join(lines)
    (metric,) = metrics.values()
    text = re.split(r"\n\nExamples\n-", inspect.getdoc(type(metric)) or "")[0]
    return "\n\n".join([*lines, text])
