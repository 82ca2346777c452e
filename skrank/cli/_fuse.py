"""``skrank fuse``: one run from several."""

from __future__ import annotations

import argparse

from skrank import trec
from skrank._engine.names import columns
from skrank.cli import Parser, _output
from skrank.cli._evaluate import FILES
from skrank.trec._fuse import METHODS, NORMS, load

_EPILOG = f"""examples:
  skrank fuse qrels.txt lexical.txt dense.txt -m ndcg@10 -o fused.run
  skrank fuse --method rrf lexical.txt dense.txt > fused.run
  skrank fuse --method weighted_sum --weights 0.3,0.7 lexical.txt dense.txt --depth 1000

With --method linear, the first file has judgments, the weights are trained on the metric, and each
query is scored with weights that are trained on other queries. With --output, the metric of each
run and its weight are printed. The other methods need no judgments: all files are runs.
{FILES}"""


def add_arguments(parser: Parser, _: str) -> None:
    """Add the arguments of the command."""
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="[QRELS] RUN RUN ..., a run also as NAME=FILE")
    add("--method", choices=METHODS, default="linear", help="(default: linear)")
    add(
        "--norm", choices=("auto", *NORMS, "reciprocal_rank", "none"), default="auto",
        help="how scores are normalised (default: reciprocal_rank for linear, otherwise min_max)",
    )  # fmt: skip
    add("-k", type=float, default=60.0, metavar="K", help="rrf adds 1 / (K + rank) (default: 60)")
    add("--weights", metavar="W,W,...", help="of weighted_sum, in the order of the runs")
    add("-m", "--metric", default="ndcg@10", help="that linear maximises (default: ndcg@10)")
    add(
        "--folds", "--n-splits", type=int, default=5, metavar="N", dest="n_splits",
        help="of queries (default: 5)",
    )  # fmt: skip
    add("--name", default="fused", metavar="NAME", help="of the run (default: fused)")
    add("-M", "--depth", metavar="N", type=int, help="write the first N documents of a query")
    add("-o", "--output", metavar="FILE", help="write here, whole or not at all")
    parser.set_defaults(run=_run)


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
