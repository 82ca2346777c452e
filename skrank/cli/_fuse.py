"""``skrank fuse``: one run from several."""

from __future__ import annotations

import argparse

from skrank import _validation as check
from skrank import trec
from skrank.cli import _output
from skrank.cli._parser import Parser
from skrank.metrics import metric

_METRIC, _N_SPLITS = "ndcg@10", 5  # defaults for linear
_NORMS = ("auto", "min_max", "zscore", "reciprocal_rank", "none")


def add_arguments(parser: Parser, _command: str) -> None:
    """
    examples:
      skrank fuse qrels.txt lexical.txt dense.txt -m ndcg@10 -o fused.run
      skrank fuse --method rrf lexical.txt dense.txt > fused.run
      skrank fuse --method weighted_sum --weights 0.3,0.7 lexical.txt dense.txt --k 1000

    With --method linear, the first file has judgments, the weights are trained on the metric, and
    each query is scored with weights that are trained on other queries. With --output, the metric
    of each run and its weight are printed. The other methods need no judgments: all files are runs.
    """
    parser.set_defaults(run=_run)
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="[QRELS] RUN RUN ..., a run also as NAME=FILE")
    methods = ("rrf", "combsum", "combmnz", "weighted_sum", "linear")
    add("--method", choices=methods, default="linear", help="(default: linear)")
    text = "how scores are normalised (default: reciprocal_rank for linear, otherwise min_max)"
    add("--norm", choices=_NORMS, default="auto", help=text)
    add("--rrf-k", metavar="K", type=float, default=60.0, help="rrf adds 1 / (K + rank) (60)")
    add("--weights", metavar="NUMBERS", help="W,W,... of weighted_sum or rrf, in the order of runs")
    add("-m", "--metric", metavar="METRIC", default=_METRIC, help="that linear maximises")
    add("--n-splits", "--folds", metavar="N", type=int, default=_N_SPLITS, help="folds of queries")
    add("--name", metavar="NAME", default="fused", help="of the run (default: fused)")
    add("-M", "--k", metavar="N", type=int, help="write the first N documents of a query")
    parser.add_reading(add_arguments.__doc__, trec.__doc__)


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser  # of the command, not of skrank: see `skrank.cli`
    trained = arguments.method == "linear"
    judgments, files = arguments.files[:trained], arguments.files[trained:]
    paths = [_output.split_name(run)[1] for run in files]
    parser.check_files([*judgments, *paths], arguments.output)
    parser.checked("-m/--metric", metric, arguments.metric)
    if not trained and (arguments.metric, arguments.n_splits) != (_METRIC, _N_SPLITS):
        parser.error("arguments --metric and --n-splits: only --method linear has them.")
    if trained and arguments.weights is not None:
        parser.error("argument --weights: linear trains them: choose --method rrf.")
    with check.words_of_the_command():
        check.check_count("k", 1 if arguments.k is None else arguments.k, "documents of a query")
        return _fused(arguments, judgments, files)


def _fused(arguments: argparse.Namespace, judgments: list[str], files: list[str]) -> str:
    """Write the fused run, and return the table of its value and weights, if there is one."""
    qrels, method = None, arguments.method
    # texts, whose numbers `trec.fuse` reads and checks
    weights = None if arguments.weights is None else arguments.weights.split(",")
    with check.reading_of(arguments.columns, arguments.duplicates) as reading:
        if judgments:
            from skrank.rankers import LinearRanker

            weights, method = LinearRanker(arguments.metric, positive=True), "weighted_sum"
            what = "the first file has judgments with --method linear, none with --method rrf"
            with check.about(what):
                qrels = trec.read_qrels(_output.source(judgments[0]), columns=reading)
        runs = trec.read_runs(_output.named_sources(files, reading), columns=reading)
    fused = trec.fuse(
        runs, method, norm=None if arguments.norm == "none" else arguments.norm, qrels=qrels,
        rrf_k=arguments.rrf_k, weights=weights, n_splits=arguments.n_splits, name=arguments.name,
    )  # fmt: skip
    written = fused.top(arguments.k)
    _output.deliver(trec.run_lines(written).rstrip(), arguments.output)
    if arguments.output in (None, "-") or qrels is None or fused.weights is None:
        return ""  # the run is the output, or no weights were trained
    report = trec.evaluate(qrels, {**runs, fused.name: written}, arguments.metric)
    means = dict(zip(report.metric_of, report.averages.T.tolist(), strict=True))
    column = [*fused.weights.values(), float("nan")]  # in the order of the runs, then "fused"
    return _output.table({"run": report.systems, **means, "weight": column})
