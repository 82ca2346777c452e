"""``skrank fuse``: one run from several."""

from __future__ import annotations

import argparse

from skrank import trec
from skrank.cli import _output
from skrank.cli._output import source
from skrank.cli._parser import FILES, add_common, add_file, add_metric, check_files
from skrank.trec._fuse import METHODS, NORMS, load

_EPILOG = f"""examples:
  skrank fuse qrels.txt lexical.txt dense.txt -m ndcg@10 -o fused.run
  skrank fuse --method rrf lexical.txt dense.txt > fused.run
  skrank fuse --method weighted_sum --weights 0.3,0.7 lexical.txt dense.txt --depth 1000

With --method linear, the first file has judgments, the weights are trained on the metric, and each
query is scored with weights that are trained on other queries. With --output, the metric of each
run and its weight are printed. The other methods need no judgments: all files are runs.
{FILES}"""


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    parser.epilog = _EPILOG
    add = parser.add_argument
    add_file(parser, "files", metavar="FILE", nargs="+", help="[QRELS] RUN RUN ...")
    add("--method", choices=METHODS, default="linear", help="(default: linear)")
    add(
        "--norm",
        choices=("auto", *NORMS, "reciprocal_rank", "none"),
        default="auto",
        help="how scores are normalised (default: reciprocal_rank for linear, otherwise min_max)",
    )
    add("-k", type=float, default=60.0, metavar="K", help="rrf adds 1 / (K + rank) (default: 60)")
    add("--weights", metavar="W,W,...", help="of weighted_sum, in the order of the runs")
    add_metric(parser, default="ndcg@10", help="that linear maximises (default: ndcg@10)")
    add("--folds", type=int, default=5, metavar="N", help="of queries (default: 5)")
    add("--name", default="fused", metavar="NAME", help="of the run (default: fused)")
    add_common(parser, "write")
    parser.set_defaults(run=_run, parser=parser)


def _run(arguments: argparse.Namespace) -> str:
    check_files(arguments, arguments.files, [arguments.metric])
    trained = arguments.method == "linear"
    paths = arguments.files[1:] if trained else arguments.files
    if len(paths) < 2:
        arguments.parser.error(f"name {'judgments and ' * trained}at least two runs.")
    qrels = trec.read_qrels(source(arguments.files[0])) if trained else None
    runs = load([source(path) for path in paths])
    fused = trec.fuse(
        runs,
        arguments.method,
        norm=None if arguments.norm == "none" else arguments.norm,
        k=arguments.k,
        weights=None if arguments.weights is None else arguments.weights.split(","),
        qrels=qrels,
        metric=arguments.metric,
        n_splits=arguments.folds,
        name=arguments.name,
    )
    written = fused if arguments.depth is None else fused.top(arguments.depth)
    text = _output.delivered(trec.run_lines(written), arguments.output)
    if text or qrels is None or fused.weights is None:
        return text
    report = trec.evaluate(qrels, {**runs, fused.name: written}, arguments.metric)
    means = {name: report.mean[name].tolist() for name in report.metrics}
    weights = [*fused.weights.values(), float("nan")]
    return _output.TABLES["table"]({"run": report.names, **means, "weight": weights})
