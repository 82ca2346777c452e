"""``skrank evaluate`` and ``skrank compare``: runs against judgments."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np

import skrank
from skrank import _validation as check
from skrank import trec
from skrank._typing import Options
from skrank.cli import _output
from skrank.cli._page import CURVE, page
from skrank.cli._parser import Parser
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.extending import Metric, plain_up_to, unique_metrics

# options that are parameters of `trec.evaluate` with the same name and values
_PASSED_ON = ("max_grade", "rel", "k", "judged_only", "pool_judged", "exclude_self", "progress")
# up to so many rows of a run, a process that evaluates once is faster without numba
_PLAIN_ROWS = 60_000
_FORMATS = ("table", "csv", "json", "jsonl", "latex", "markdown", "trec_eval", "html")
_VIEWS = {  # the views that a format has, for formats that do not have all
    "trec_eval": ("evaluate", "per_query"),
    "latex": ("evaluate", "intervals", "compare"),
    "markdown": ("evaluate", "intervals", "compare"),
}
_TOOLS = ("trec_eval", "ir_measures", "lightgbm", "xgboost", "catboost")


def add_arguments(parser: Parser, name: str) -> None:
    """Add the arguments of one of the commands."""
    parser.description = f"{str(parser.description).rstrip('.')}, files in the order of trec_eval."
    parser.set_defaults(run=_run, view=name, progress=None, test="max-t", baseline=None)
    text = "FILE or NAME=FILE: query, Q0, document, rank, score, tag"
    parser.add_argument("qrels", metavar="QRELS", help="query, iteration, document, label")
    if name == "compare":
        parser.add_argument("runs", metavar="RUN", nargs=1, action="extend", help=text)
        text = "at least one more"
    parser.add_argument("runs", metavar="RUN", nargs="+", action="extend", help=text)
    add = {"evaluate": _add_evaluate, "compare": _add_compare}[name]
    add(parser)
    _add_conventions(parser)
    text = "no bar on standard error, even if that is a terminal"
    parser.add_argument("--no-progress", action="store_false", dest="progress", help=text)
    text = "default: by the suffix of --output, else table; html is one page for a browser"
    parser.add_argument("--format", choices=_FORMATS, help=text)
    parser.add_argument("--label", metavar="NAME", help="label by which LaTeX refers to the table")
    parser.add_reading(add.__doc__, trec.__doc__)


def _add_evaluate(parser: Parser) -> None:
    """
    examples:
      skrank evaluate qrels.txt run.txt
      skrank evaluate qrels.txt runs/*.gz -m ap -m "ndcg(gain=linear)@10" --format csv
      skrank evaluate qrels.txt run.txt -m gap --max-grade 3 --per-query --format json
      skrank evaluate qrels.txt BM25=a/run.txt dense=b/run.txt --output table.tex
      skrank evaluate qrels.txt run.txt --names trec_eval -m official --format trec_eval
      skrank evaluate ratings.csv knn.csv --columns qid=user,docid=item,label=rating,distance=l2
      skrank evaluate qrels.txt new.txt old.txt --output report.html

    Write metrics as name, name@k or name(parameter=value)@k: gap, ap, ndcg@10, precision@5, ...
    Names of other tools have a prefix, trec_eval:map or ir_measures:nDCG@10, or all have the prefix
    of --names. `skrank metrics` lists skrank's own.
    """
    _add_metrics(parser)
    one_of = parser.add_mutually_exclusive_group()
    add = partial(one_of.add_argument, action="store_const", dest="view")
    add("-q", "--per-query", const="per_query", help="show one row per run and query, not per run")
    text = "show one row per run and metric: the mean and its interval, which is not simultaneous"
    add("--intervals", const="intervals", help=text)


def _add_compare(parser: Parser) -> None:
    """
    examples:
      skrank compare qrels.txt new.txt old.txt -m gap -m err@20
      skrank compare qrels.txt runs/*.gz -m ap --baseline bm25
      skrank compare qrels.txt new.txt old.txt --confidence 0.99 --output report.html

    Metrics are written as for `skrank evaluate`.
    """
    _add_metrics(parser)
    text = "compare the other runs with this one only; may be repeated"
    parser.add_argument("--baseline", metavar="NAME", action="append", help=text)
    text = "test of differences (default: max-t); Holm's method corrects t and randomisation"
    parser.add_argument("--test", choices=("max-t", "t", "randomisation"), help=text)


def _add_metrics(parser: Parser) -> None:
    text = "may be repeated, or names with commas (default: gap,ndcg@10,ap)"
    parser.add_argument("-m", "--metric", metavar="METRIC", action="append", help=text)
    text = "prefix of metrics without one; trec_eval also skips missing queries, unless -c is given"
    parser.add_argument("--names", choices=_TOOLS, help=text)
    text = "confidence of intervals and of significant differences (default: 0.95)"
    parser.add_argument("--confidence", metavar="LEVEL", type=float, default=0.95, help=text)


def _add_conventions(parser: Parser) -> None:
    add = parser.add_argument
    add("--missing", choices=("zero", "skip", "raise"), help="queries that a run lacks (zero)")
    text = "the same as --missing zero"
    add("-c", "--complete", action="store_const", dest="missing", const="zero", help=text)
    text = "value of queries without a relevant document (default: that of the metric, else skip)"
    add("--empty", choices=("skip", "0", "1", "nan", "raise"), help=text)
    add("--max-grade", metavar="N", type=int, help="highest grade of the collection")
    add("-l", "--rel", metavar="LABEL", type=float, help="lowest label of a relevant document")
    add("-M", "--k", metavar="N", type=int, help="evaluate the first N documents of a query")
    add("-J", "--judged-only", action="store_true", help="remove documents that were not judged")
    add("--pool-judged", action="store_true", help="count labels below 0 as judged not relevant")
    add("--exclude-self", action="store_true", help="remove documents with the id of their query")


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser
    paths = [_output.split_name(run)[1] for run in arguments.runs]
    parser.check_files([arguments.qrels, *paths], arguments.output)
    chosen = parser.checked("-m/--metric", _metrics, arguments)
    form = parser.checked("-o/--output", _output.format_of, arguments.output, arguments.format)
    views = _VIEWS.get(form, (arguments.view,))
    if arguments.view not in views:
        option = "-q" if "per_query" in views else "--intervals"
        parser.error(f"--format {form} is for means, with or without {option}.")
    has_level = arguments.view == "intervals" and form not in _VIEWS
    has_level |= arguments.view == "compare" or form == "html"
    if arguments.confidence != 0.95 and not has_level:
        parser.error("argument --confidence: only html and --intervals as a table or data use it.")
    if arguments.label is not None and form != "latex":
        parser.error("argument --label: only LaTeX has labels: add --format latex.")
    with check.words_of_the_command():
        report = _report(arguments, chosen | (unique_metrics(CURVE) if form == "html" else {}))
        # the first line of the caption counts queries, the others are notes on values
        notes = [*_empty_queries(report, list(chosen)), *report.caption.split("\n")[1:]]
        if notes and form != "html":
            _output.print_error(f"skrank: {' '.join(notes)}")
        text = _text(report, arguments, form, list(chosen), notes)
    _output.deliver(text, arguments.output)
    return ""


def _metrics(arguments: argparse.Namespace) -> dict[str, Metric]:
    """The chosen metrics by name, which lacks the prefix that --names adds."""
    default = ["official"] if arguments.names == "trec_eval" else DEFAULT_METRICS
    texts = arguments.metric or default
    # split at commas, but not inside brackets or before a number, as in trec_eval's P.5,10
    names = [name for text in texts for name in re.split(r",(?=[^\W\d])(?![^(]*\))", text)]
    return unique_metrics(names, prefix=arguments.names)


def _report(arguments: argparse.Namespace, metrics: dict[str, Metric]) -> Report:
    reading_of = check.reading_of(arguments.columns, arguments.duplicates)
    with plain_up_to(_PLAIN_ROWS), reading_of as reading:
        runs = _output.named_sources(arguments.runs, reading)
        return trec.evaluate(
            _output.source(arguments.qrels), runs, metrics,
            missing=arguments.missing or ("skip" if arguments.names == "trec_eval" else "zero"),
            empty={"0": 0, "1": 1}.get(arguments.empty, arguments.empty), columns=reading,
            **{option: getattr(arguments, option) for option in _PASSED_ON},
        )  # fmt: skip


def _empty_queries(report: Report, names: Sequence[str]) -> list[str]:
    """How many queries have no relevant document, and how the metrics count them."""
    texts: dict[str, list[str]] = defaultdict(list)
    for name in filter(report.empty.get, names):
        value = report.metric_of[name].empty
        how = "left out of" if value in ("skip", "nan") else f"counted as {value} in"
        count = f"{report.empty[name]} of {len(report.queries)} queries"
        texts[f"{count} without a relevant document: {how}"].append(name)
    return [f"{text} {', '.join(counted)}." for text, counted in texts.items()]


def _text(
    report: Report, arguments: argparse.Namespace, form: str, names: list[str], notes: list[str]
) -> str:
    """The text to write, in the format `form`."""
    view = arguments.view
    options = {option: getattr(arguments, option) for option in ("baseline", "confidence", "test")}
    if form == "trec_eval":
        return trec_eval_lines(report, per_query=view == "per_query")
    if form == "html":
        command = f"skrank {skrank.__version__}: {shlex.join(['skrank', *arguments.words])}"
        title = "Comparison of runs" if view == "compare" else "Evaluation of runs"
        return page(report, names, options, notes, command, title)
    if form in ("latex", "markdown"):
        table = report.compare(**options) if view == "compare" else report
        if form == "latex":
            return table.to_latex(label=arguments.label, intervals=view == "intervals")
        return table.to_markdown(intervals=view == "intervals")
    columns = _columns(report, view, options)
    return _output.table(columns) if form == "table" else _output.data(columns, form)


def _columns(report: Report, view: str, options: Options) -> _output.Columns:
    """The columns of a view, by name."""
    if view == "compare":
        return report.compare(**options).to_frame().to_dict("list")
    if view in ("intervals", "per_query"):
        frame = report.per_query if view == "per_query" else report.to_frame(options["confidence"])
        return frame.reset_index().rename(columns={"system": "run"}).to_dict("list")
    # without pandas, which takes long to import
    by_metric = dict(zip(report.metric_of, report.averages.T.tolist(), strict=True))
    # by_metric again, since a metric may be called as a count, such as judged
    return {"run": list(map(str, report.systems)), **by_metric, **report.counts, **by_metric}


def trec_eval_lines(report: Report, *, per_query: bool) -> str:
    """The lines that trec_eval prints: name, query or "all", and value of each measure.

    If `per_query`, the values of each query come first, as with ``-q``, except those of geometric
    means and of the number of queries. The lines of all queries begin with the name of the
    run, if there are several runs, or if the number of queries is printed.
    """
    names = [re.sub(r"^[^\W\d]\w*:", "", name) for name in report.metric_of]
    digits = [0 if metric.average == "sum" else 4 for metric in report.metric_of.values()]
    lines = []

    def add(query: str, values: np.ndarray, left_out: tuple[str, ...] = ()) -> None:
        for name, value, places in zip(names, values, digits, strict=True):
            if not name.startswith(left_out):
                lines.append(f"{name:<22}\t{query}\t{value:.{places}f}")

    for run, values, weights, means in zip(
        report.systems, report.values, report.weights, report.averages, strict=True
    ):
        counted = np.flatnonzero(weights.any(axis=1)) if per_query else ()
        for row in sorted(counted, key=lambda row: str(report.queries[row])):
            add(report.queries[row], values[row], left_out=("gm_", "num_q"))
        if len(report.systems) > 1 or "num_q" in names:
            lines.append(f"{'runid':<22}\tall\t{run}")
        add("all", means)
    return "\n".join(lines)
