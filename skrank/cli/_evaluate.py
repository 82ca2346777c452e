"""``skrank evaluate``, ``skrank compare`` and ``skrank curve``: runs against judgments."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

import skrank
from skrank import trec
from skrank._engine.names import columns
from skrank._engine.peer_names import PEERS, split_prefix
from skrank._typing import Options
from skrank.cli import Parser, _output
from skrank.evaluation import Report
from skrank.evaluation._evaluate import DEFAULT_METRICS
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

# options that are parameters of `trec.evaluate` with the same name and values
_PASSED_ON = (
    "max_grade", "rel", "depth", "judged_only", "pool_judged", "exclude_self", "chunksize",
    "progress",
)  # fmt: skip
_EXAMPLES = {
    "evaluate": """\
  skrank evaluate qrels.txt run.txt
  skrank evaluate qrels.txt runs/*.gz -m ap -m "ndcg(gain=linear)@10" --format csv
  skrank evaluate qrels.txt run.txt -m gap --max-grade 3 --per-query --format json
  skrank evaluate qrels.txt BM25=a/run.txt dense=b/run.txt --output table.tex
  skrank evaluate qrels.txt run.txt --names trec_eval -m official -m ndcg_cut.10 --format trec_eval
  skrank evaluate qrels.txt new.txt old.txt --output report.html
""",
    "compare": """\
  skrank compare qrels.txt new.txt old.txt -m gap -m err@20
  skrank compare qrels.txt runs/*.gz -m ap --baseline bm25 --sort difference
  skrank compare qrels.txt new.txt old.txt --alpha 0.01 --output report.html
""",
    "curve": """\
  skrank curve qrels.txt run.txt
  skrank curve qrels.txt new.txt old.txt --rel 2 --output curve.csv
""",
}
# the metrics of `skrank curve`
CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)
_METRICS = """
Write metrics as name, name@k or name(parameter=value)@k: gap, ap, ndcg@10, err@20, precision@5, ...
or as a weighted sum of such: "0.7*gap+0.3*ndcg@10".
Names of other tools have a prefix, trec_eval:map or ir_measures:nDCG@10, or all have the prefix of
--names. `skrank metrics` lists skrank's own.
"""
FILES = """
Files are TREC's, JSON, JSON Lines, CSV, TSV or Parquet, plain or compressed with gzip, bzip2, xz or
Zstandard; - is standard input. Exit status: 0 done, 1 a file cannot be read or measured, 2 wrong
usage.
"""


def add_arguments(parser: Parser, name: str) -> None:
    """Add the arguments of one of the commands."""
    parser.description = f"{str(parser.description).rstrip('.')}, in the order of trec_eval."
    parser.epilog = f"examples:\n{_EXAMPLES[name]}{'' if name == 'curve' else _METRICS}{FILES}"
    parser.set_defaults(run=_run, view=None if name == "evaluate" else name, names=None)
    line = "FILE or NAME=FILE: query, Q0, document, rank, score, tag"
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="judgments: query, iteration, document, label")
    if name == "compare":
        add("first", metavar="RUN", help=line)
    add("runs", metavar="RUN", nargs="+", help="at least one more" if name == "compare" else line)
    if name != "curve":
        add(
            "-m", "--metric", metavar="METRIC", dest="metrics", action="append",
            help=f"may be repeated (default: {', '.join(DEFAULT_METRICS)})",
        )  # fmt: skip
        add(
            "--names", choices=tuple(PEERS),
            help="prefix of metrics without one; with those of trec_eval, official and all_trec "
            "are known, and queries that a run lacks are skipped without -c",
        )  # fmt: skip
        add(
            "--alpha", type=float, default=0.05,
            help="level of significance, and 1 minus the level of intervals (default: 0.05)",
        )  # fmt: skip
    if name == "compare":
        add(
            "--baseline", metavar="NAME", action="append",
            help="compare the other runs with this one only; may be repeated",
        )  # fmt: skip
        add(
            "--test", choices=("resampled-t", "t", "randomisation", "anytime"),
            help="whose p-values are corrected (default: resampled-t)",
        )  # fmt: skip
        add(
            "--correction", choices=("max-t", "holm", "none"),
            help="for the number of comparisons (default: max-t with resampled-t, else holm)",
        )  # fmt: skip
    _add_conventions(parser)
    if name == "evaluate":
        views = parser.add_mutually_exclusive_group()
        views.add_argument(
            "-q", "--per-query", dest="view", action="store_const", const="per_query",
            help="show one row per run and query, not per run",
        )  # fmt: skip
        views.add_argument(
            "--intervals", dest="view", action="store_const", const="intervals",
            help="show one row per run and metric: the mean with its interval, which holds by "
            "itself however many metrics and runs there are",
        )  # fmt: skip
    add(
        "--chunksize", metavar="N", type=int,
        help="read runs some N rows at a time, for files larger than memory, sorted by query",
    )  # fmt: skip
    add(
        "--no-progress", action="store_const", const=False, dest="progress",
        help="no bar on standard error, even if that is a terminal",
    )  # fmt: skip
    add(
        "--format", choices=_output.FORMATS,
        help="of the output (default: what the suffix of --output says, else table); html is one "
        "page for a browser, without network",
    )  # fmt: skip
    add("--sort", metavar="COLUMN", help="sort the rows by a column, the highest first")
    add("-o", "--output", metavar="FILE", help="write here, whole or not at all")


def _add_conventions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--missing", choices=("zero", "skip", "raise"),
        help="queries that a run lacks count as nothing retrieved, are skipped, or are an error "
        "(default: zero)",
    )  # fmt: skip
    add(
        "-c", "--complete", action="store_const", const="zero", dest="missing",
        help="the same as --missing zero, as trec_eval has it",
    )  # fmt: skip
    add(
        "--empty", choices=("skip", "0", "1", "nan", "raise"),
        help="value of queries without a relevant document (default: as the metric says: skip)",
    )  # fmt: skip
    add("--max-grade", metavar="N", type=int, help="highest grade of the collection")
    add("-l", "--rel", metavar="LABEL", type=float, help="lowest label of a relevant document")
    add("-M", "--depth", metavar="N", type=int, help="evaluate the first N documents of a query")
    add("-J", "--judged-only", action="store_true", help="remove documents that were not judged")
    add(
        "--pool-judged", action="store_true",
        help="documents with labels below 0 are judged not relevant, as for the web tracks",
    )  # fmt: skip
    add(
        "--exclude-self", action="store_true",
        help="remove the document whose id is that of the query, as BEIR does",
    )  # fmt: skip


def _run(arguments: argparse.Namespace) -> str:
    parser: Parser = arguments.parser
    runs = [*([arguments.first] if "first" in arguments else []), *arguments.runs]
    paths = [_output.split_name(run)[1] for run in runs]
    parser.check_files([arguments.qrels, *paths], arguments.output)
    names = _names(arguments)
    for name in names:
        try:
            columns(name)
        except ValueError as error:
            parser.error(f"argument -m/--metric: {error}")
    try:
        form = _output.format_of(arguments.output, arguments.format)
    except ValueError as error:
        parser.error(f"argument -o/--output: {error}")
    allowed = {"trec_eval": (None, "per_query"), "latex": (None, "compare")}
    allowed["markdown"] = allowed["latex"]
    if arguments.view not in allowed.get(form, (arguments.view,)):
        shown = "means" + {"trec_eval": ", with or without -q"}.get(form, " and skrank compare")
        parser.error(f"--format {form} is for {shown}.")
    if arguments.sort is not None and form not in _output.TABLES:
        parser.error(f"--sort is for {', '.join(_output.TABLES)}, not for {form}.")
    more = [one for one in CURVE if form == "html" and one not in names]
    report = _report(arguments, runs, [*names, *more])
    notes = _empty_queries(report, [column for name in names for column in columns(name)])
    if notes and form != "html":
        _output.print_error(f"skrank: {notes}")
    _output.deliver(_text(report, arguments, form, names, notes), arguments.output)
    return ""


def _names(arguments: argparse.Namespace) -> list[str]:
    """The names of the chosen metrics, with the prefix that --names says."""
    if arguments.view == "curve":
        return list(CURVE)
    peer, named = arguments.names, arguments.metrics
    if named is None and not (peer or "").startswith("trec_eval"):
        return list(DEFAULT_METRICS)
    return [
        name if peer is None or split_prefix(name)[0] else f"{peer}:{name}"
        for name in named or ["official"]
    ]


def _report(arguments: argparse.Namespace, runs: list[str], names: list[str]) -> Report:
    trec_eval = (arguments.names or "").startswith("trec_eval")
    empty = arguments.empty
    return trec.evaluate(
        _output.source(arguments.qrels),
        _output.named_sources(runs),
        names,
        missing=arguments.missing or ("skip" if trec_eval else "zero"),
        empty=int(empty) if empty in ("0", "1") else empty,
        precision="double" if arguments.names == "trec_eval10" else "single",
        **{option: getattr(arguments, option) for option in _PASSED_ON},
    )


def _empty_queries(report: Report, names: Sequence[str]) -> str:
    """How many queries have no relevant document, and how the metrics count them; "" if none."""
    found: dict[tuple[int, str], list[str]] = {}
    for name in names:
        n_empty = report.empty[name]
        value = report.metric_of[name].empty
        how = "left out of the mean of" if value in ("skip", "nan") else f"counted as {value} in"
        if n_empty:
            found.setdefault((n_empty, how), []).append(name)
    all_ = len(names) > 1 and [*found.values()] == [[*names]]
    return " ".join(
        f"{n_empty} of {len(report.queries)} queries without a relevant document: {how} "
        f"{'all metrics' if all_ else ', '.join(those)}."
        for (n_empty, how), those in found.items()
    )


def _text(
    report: Report, arguments: argparse.Namespace, form: str, names: list[str], notes: str
) -> str:
    """The output in a format."""
    if form == "trec_eval":
        return trec.trec_eval_lines(report, per_query=arguments.view == "per_query")
    short = {name: name.removeprefix(f"{arguments.names}:") for name in report.metric_of}
    how: Options = {"alpha": arguments.alpha} if "alpha" in arguments else {}
    if arguments.view == "compare":
        how |= {"test": arguments.test, "correction": arguments.correction}
        baseline = arguments.baseline or [None]
        how["baseline"] = baseline if len(baseline) > 1 else baseline[0]
    if form == "html":
        from skrank.cli._page import page

        shown = [column for name in names for column in columns(name)]
        made = f"Made by skrank {skrank.__version__}: {shlex.join(['skrank', *arguments.given])}"
        return page(report, shown, CURVE, short, how, notes, made)
    if form in ("latex", "markdown"):
        table = report.compare(**how) if arguments.view == "compare" else report
        return table.to_latex() if form == "latex" else table.to_markdown()
    return _output.TABLES[form](_sorted(_table(report, arguments.view, short, how), arguments.sort))


def _table(
    report: Report, view: str | None, short: dict[str, str], how: Options
) -> _output.Columns:
    """The columns to show."""
    if view == "compare":
        return report.compare(**how).to_frame().replace({"metric": short}).to_dict("list")
    if view == "intervals":
        frame = report.to_frame(confidence=1 - how["alpha"]).reset_index()
        frame = frame.rename(columns={"system": "run"})
        return frame.replace({"metric": short}).to_dict("list")
    names, means = list(map(str, report.systems)), report.averages
    if view == "curve":
        if "recall" in names:
            raise ValueError(
                "a run is called 'recall', which is the name of the column of levels: rename it."
            )
        return {"recall": ELEVEN_LEVELS, **dict(zip(names, means.tolist(), strict=True))}
    shown = [short[name] for name in report.metric_of]
    if view == "per_query":
        queries = report.queries.tolist()
        values = report.values.reshape(-1, len(shown)).T.tolist()
        cells = {"run": [run for run in names for _ in queries], "qid": queries * len(names)}
        return cells | dict(zip(shown, values, strict=True))
    return {"run": names, **dict(zip(shown, means.T.tolist(), strict=True)), **report.counts}


def _sorted(columns: _output.Columns, name: str | None) -> _output.Columns:
    """The rows in descending order of a column; rows with NaN come last."""
    if name is None:
        return columns
    if name not in columns:
        raise ValueError(f"--sort {name}: the columns are {', '.join(columns)}.")
    key: Sequence[Any] = columns[name]
    rows = sorted(range(len(key)), key=lambda row: (key[row] == key[row], key[row]), reverse=True)
    return {name: [column[row] for row in rows] for name, column in columns.items()}
