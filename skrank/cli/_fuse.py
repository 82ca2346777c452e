"""``skrank fuse``: one run from several."""

from __future__ import annotations

import argparse

from skrank import trec
from skrank._engine.names import columns
from skrank.cli import Parser, _output
from skrank.trec._fuse import load


def add_arguments(parser: Parser, _: str) -> None:
    """Add the arguments of the command."""
    text = "[QRELS] RUN RUN ..., a run also as NAME=FILE"
    parser.add_argument("files", metavar="FILE", nargs="+", help=text)
    parser.add_options("fusion")
    parser.set_defaults(
        run=_run, method="linear", norm="auto", k=60.0, metric="ndcg@10", n_splits=5, name="fused"
    )
    parser.set_epilog("fuse", "files")


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser
    trained = arguments.method == "linear"
    files = arguments.files[1:] if trained else arguments.files
    judgments = arguments.files[:1] if trained else []
    paths = [_output.split_name(run)[1] for run in files]
    parser.check_files([*judgments, *paths], arguments.output)
    try:
        columns(arguments.metric)
    except ValueError as error:
        parser.error(f"argument -m/--metric: {error}")
    if len(paths) < 2:
        parser.error(f"name {'judgments and ' * trained}at least two runs.")
    qrels = trec.read_qrels(_output.source(judgments[0])) if trained else None
    runs = load(_output.named_sources(files))
    fused = trec.fuse(
        runs,
        arguments.method,
        norm=None if arguments.norm == "none" else arguments.norm,
        k=arguments.k,
        weights=None if arguments.weights is None else arguments.weights.split(","),
        qrels=qrels,
        metric=arguments.metric,
        n_splits=arguments.n_splits,
        name=arguments.name,
    )
    written = fused if arguments.depth is None else fused.top(arguments.depth)
    _output.deliver(trec.run_lines(written), arguments.output)
    if arguments.output is None or qrels is None or fused.weights is None:
        return ""
    report = trec.evaluate(qrels, {**runs, fused.name: written}, arguments.metric)
    means = dict(zip(report.metric_of, report.averages.T.tolist(), strict=True))
    weights = [*fused.weights.values(), float("nan")]
    return _output.TABLES["table"]({"run": report.systems, **means, "weight": weights})
