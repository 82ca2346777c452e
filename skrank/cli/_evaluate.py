"""``skrank evaluate``, ``skrank compare`` and ``skrank curve``: runs against judgments."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

import skrank
from skrank import trec
from skrank._typing import Options
from skrank.cli import _output
from skrank.cli._page import CURVE, page
from skrank.cli._parser import Parser
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.extending import Metric, plain_up_to, unique_metrics
from skrank.metrics.iprec import ELEVEN_LEVELS

# options that are parameters of `trec.evaluate` with the same name and values
_PASSED_ON = (
    "max_grade", "rel", "k", "judged_only", "pool_judged", "exclude_self", "progress",
)  # fmt: skip
# a process that evaluates once takes less time without numba up to so many rows of a run
_PLAIN_ROWS = 60_000


def add_arguments(parser: Parser, name: str) -> None:
    """Add the arguments of one of the commands."""
    parser.description = f"{str(parser.description).rstrip('.')}, in the order of trec_eval."
    parser.set_defaults(
        run=_run, confidence=0.95, view=None if name == "evaluate" else name, names=None
    )
    line = "FILE or NAME=FILE: query, Q0, document, rank, score, tag"
    parser.add_argument("qrels", metavar="QRELS", help="query, iteration, document, label")
    if name == "compare":
        parser.add_argument("first", metavar="RUN", help=line)
        line = "at least one more"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=line)
    sections = {"evaluate": ["measures", "views"], "compare": ["measures", "tests"], "curve": []}
    parser.add_options(*sections[name], "conventions", "output")
    parser.set_epilog(name, *["names"] * (name != "curve"), "files")


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser
    runs = [*([arguments.first] if "first" in arguments else []), *arguments.runs]
    paths = [_output.split_name(run)[1] for run in runs]
    parser.check_files([arguments.qrels, *paths], arguments.output)
    chosen = parser.checked("-m/--metric", _metrics, arguments)
    form = parser.checked("-o/--output", _output.format_of, arguments.output, arguments.format)
    allowed = {"trec_eval": (None, "per_query"), "latex": (None, "intervals", "compare")}
    allowed["markdown"] = allowed["latex"]
    if arguments.view not in allowed.get(form, (arguments.view,)):
        also = ", with or without " + ("-q" if form == "trec_eval" else "--intervals")
        parser.error(f"--format {form} is for means{also}.")
    if form in allowed and arguments.view == "intervals" and arguments.confidence != 0.95:
        parser.error(f"--format {form} has intervals of 95 %: drop --confidence.")
    if arguments.label is not None and form != "latex":
        parser.error("argument --label: only LaTeX has labels: add --format latex.")
    more = unique_metrics(CURVE) if form == "html" else {}
    report = _report(arguments, runs, {**chosen, **more})
    _, *grades = report.caption.replace("max_grade=", "--max-grade").split("\n")
    notes = " ".join(filter(None, [_empty_queries(report, list(chosen)), *grades]))
    if notes and form != "html":
        _output.print_error(f"skrank: {notes}")
    _output.deliver(_text(report, arguments, form, list(chosen), notes), arguments.output)
    return ""


def _metrics(arguments: argparse.Namespace) -> dict[str, Metric]:
    """The chosen metrics, by the names without the prefix that --names says."""
    if arguments.view == "curve":
        return unique_metrics(CURVE)
    peer, named = arguments.names, arguments.metric
    if named is None:
        trec_eval = peer is not None and peer.startswith("trec_eval")
        named, peer = (["official"], peer) if trec_eval else (DEFAULT_METRICS, None)
    # commas outside of brackets separate names, but not numbers, as in trec_eval's P.5,10
    named = [name for text in named for name in re.split(r",(?=[^\W\d])(?![^(]*\))", text)]
    return unique_metrics(named, prefix=peer)


def _report(arguments: argparse.Namespace, runs: list[str], metrics: dict[str, Metric]) -> Report:
    trec_eval = (arguments.names or "").startswith("trec_eval")
    with plain_up_to(_PLAIN_ROWS):
        return trec.evaluate(
            _output.source(arguments.qrels),
            _output.named_sources(runs),
            metrics,
            missing=arguments.missing or ("skip" if trec_eval else "zero"),
            empty={"0": 0, "1": 1}.get(arguments.empty, arguments.empty),
            **{option: getattr(arguments, option) for option in _PASSED_ON},
        )


def _empty_queries(report: Report, names: Sequence[str]) -> str:
    """How many queries have no relevant document, and how the metrics count them; "" if none."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in filter(report.empty.get, names):
        value = report.metric_of[name].empty
        how = "left out of the mean of" if value in ("skip", "nan") else f"counted as {value} in"
        text = f"{report.empty[name]} of {len(report.queries)} queries"
        found[f"{text} without a relevant document: {how}"].append(name)
    all_ = len(names) > 1 and [*found.values()] == [[*names]]
    return " ".join(
        f"{text} {'all metrics' if all_ else ', '.join(those)}." for text, those in found.items()
    )


def _text(
    report: Report, arguments: argparse.Namespace, form: str, shown: list[str], notes: str
) -> str:
    """The output in a format."""
    if form == "trec_eval":
        return trec_eval_lines(report, per_query=arguments.view == "per_query")
    how: Options = {} if arguments.view == "curve" else {"confidence": arguments.confidence}
    if arguments.view == "compare":
        how["test"] = arguments.test or "max-t"
        how["baseline"] = arguments.baseline
    if form == "html":
        made = f"skrank {skrank.__version__}: {shlex.join(['skrank', *arguments.given])}"
        return page(report, shown, how, notes, made)
    if form in ("latex", "markdown"):
        table = report.compare(**how) if arguments.view == "compare" else report
        if form == "latex":
            return table.to_latex(label=arguments.label, intervals=arguments.view == "intervals")
        return table.to_markdown(intervals=arguments.view == "intervals")
    return _output.TABLES[form](_table(report, arguments.view, how))


def _table(report: Report, view: str | None, how: Options) -> _output.Columns:
    """The columns to show."""
    if view == "compare":
        return report.compare(**how).to_frame().to_dict("list")
    if view == "intervals":
        frame = report.to_frame(confidence=how["confidence"]).reset_index()
        return frame.rename(columns={"system": "run"}).to_dict("list")
    names, means = list(map(str, report.systems)), report.averages
    if view == "curve":
        if "recall" in names:
            raise ValueError("a run is called 'recall', as the column of levels: rename it.")
        return {"recall": ELEVEN_LEVELS, **dict(zip(names, means.tolist(), strict=True))}
    shown = list(report.metric_of)
    if view == "per_query":
        queries = report.queries.tolist()
        values = report.values.reshape(-1, len(shown)).T.tolist()
        cells = {"run": [run for run in names for _ in queries], "qid": queries * len(names)}
        return cells | dict(zip(shown, values, strict=True))
    return {"run": names, **dict(zip(shown, means.T.tolist(), strict=True)), **report.counts}


def trec_eval_lines(report: Report, *, per_query: bool) -> str:
    """The lines that trec_eval prints: name, query or "all", and value of each measure.

    If `per_query`, the values of each query stand before those of all queries, as with ``-q``, but
    for geometric means and numbers of queries. The lines of all queries begin with the name of the
    run, if there are several runs, or if the number of queries is printed.
    """
    names = [re.sub(r"^[^\W\d]\w*:", "", name) for name in report.metric_of]
    counts = [one.average == "sum" for one in report.metric_of.values()]
    of_queries = [i for i, one in enumerate(names) if not one.startswith(("gm_", "num_q"))]
    lines = []

    def add(query: str, values: np.ndarray, columns: Iterable[int]) -> None:
        for i in columns:
            number = f"{values[i]:.0f}" if counts[i] else f"{values[i]:6.4f}"
            lines.append(f"{names[i]:<22}\t{query}\t{number}")

    for run, values, weights, means in zip(
        report.systems, report.values, report.weights, report.averages, strict=True
    ):
        counted = np.flatnonzero(weights.any(axis=1) & per_query)
        for row in sorted(counted, key=lambda row: str(report.queries[row])):
            add(report.queries[row], values[row], of_queries)
        if len(report.systems) > 1 or "num_q" in names:
            lines.append(f"{'runid':<22}\tall\t{run}")
        add("all", means, range(len(names)))
    return "\n".join(lines)
