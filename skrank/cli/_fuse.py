"""``skrank fuse``: one run from several."""

from __future__ import annotations

import argparse

from skrank import _validation as check
from skrank import trec
from skrank.cli import _output
from skrank.cli._parser import Parser
from skrank.extending import unique_metrics


def add_arguments(parser: Parser, _: str) -> None:
    """Add the arguments of the command."""
    text = "[QRELS] RUN RUN ..., a run also as NAME=FILE"
    parser.add_argument("files", metavar="FILE", nargs="+", help=text)
    parser.add_options("fusion")
    parser.set_defaults(
        run=_run, method="linear", norm="auto", rrf_k=60.0, metric="ndcg@10", n_splits=5,
        name="fused", ranks="score",
    )  # fmt: skip
    parser.set_epilog("fuse", "files")


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser
    trained = arguments.method == "linear"
    judgments, files = arguments.files[:trained], arguments.files[trained:]
    paths = [_output.split_name(run)[1] for run in files]
    parser.check_files([*judgments, *paths], arguments.output)
    parser.checked("-m/--metric", unique_metrics, arguments.metric)
    with check.about("the first file has judgments with --method linear, none with --method rrf"):
        qrels = trec.read_qrels(_output.source(judgments[0])) if trained else None
    ranks = arguments.ranks == "file"
    runs = trec.read_runs(_output.named_sources(files, ranks=ranks), ranks=ranks)
    weights = None if arguments.weights is None else arguments.weights.split(",")
    if trained:
        from skrank.rankers import LinearRanker

        if weights is not None:
            parser.error("argument --weights: add --method weighted_sum, as linear trains them.")
        weights = LinearRanker(arguments.metric, positive=True)
    fused = trec.fuse(
        runs,
        "weighted_sum" if trained else arguments.method,
        norm=None if arguments.norm == "none" else arguments.norm,
        rrf_k=arguments.rrf_k,
        ranks=arguments.ranks,
        weights=weights,
        qrels=qrels,
        n_splits=arguments.n_splits,
        name=arguments.name,
    )
    written = fused.top(arguments.k)
    _output.deliver(trec.run_lines(written).rstrip(), arguments.output)
    if arguments.output is None or qrels is None or fused.weights is None:
        return ""
    report = trec.evaluate(qrels, {**runs, fused.name: written}, arguments.metric)
    means = dict(zip(report.metric_of, report.averages.T.tolist(), strict=True))
    column = [*fused.weights.values(), float("nan")]
    return _output.TABLES["table"]({"run": report.systems, **means, "weight": column})
