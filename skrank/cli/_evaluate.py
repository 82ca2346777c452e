"""``skrank evaluate``, ``skrank compare`` and ``skrank curve``: runs against judgments."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from skrank import trec
from skrank._engine.names import columns
from skrank._engine.peer_names import PEERS, split_prefix
from skrank.cli import _output
from skrank.cli._output import source
from skrank.cli._parser import FILES, add_common, add_file, add_metric, check_files
from skrank.evaluation._evaluate import DEFAULT_METRICS
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision
from skrank.trec._join import MISSING_CHOICES

# options that are parameters of `trec.evaluate` with the same name and values
_PASSED_ON = ("max_grade", "rel", "depth", "judged_only", "pool_judged", "chunksize", "progress")
_EXAMPLES = {
    "evaluate": """\
  skrank evaluate qrels.txt run.txt
  skrank evaluate qrels.txt runs/*.gz -m ap -m "ndcg(gain=linear)@10" --format csv
  skrank evaluate qrels.txt run.txt -m gap --max-grade 3 --per-query --format json
  skrank evaluate qrels.txt run.txt --names trec_eval -m official -m ndcg_cut.10 --format trec_eval
  skrank evaluate qrels.txt new.txt old.txt --output report.html
  skrank evaluate qrels.txt huge.parquet --chunksize 1000000
""",
    "compare": """\
  skrank compare qrels.txt new.txt old.txt -m gap -m err@20
  skrank compare qrels.txt runs/*.gz -m ap --sort difference
  skrank compare qrels.txt new.txt old.txt --output report.html
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
Names of trec_eval, ir_measures and ranx are read with their meaning: ndcg_cut_10, trec_eval:map,
ir_measures:nDCG@10, or all names of a call with --names. `skrank metrics` lists skrank's own.
"""


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of one of the commands."""
    parser.description = f"{str(parser.description).rstrip('.')}, in the order of trec_eval."
    about = ("" if name == "curve" else _METRICS) + f"\n{FILES}"
    parser.epilog = f"examples:\n{_EXAMPLES[name]}{about}"
    parser.set_defaults(run=_run, view=None if name == "evaluate" else name, parser=parser)
    several = name == "compare"
    line = "query, Q0, document, rank, score, tag"
    add_file(parser, "qrels", metavar="QRELS", help="judgments: query, iteration, document, label")
    if several:
        add_file(parser, "first", metavar="RUN", help=line)
    help_of_more = "at least one more" if several else line
    add_file(parser, "runs", metavar="RUN", nargs="+", help=help_of_more)
    if name != "curve":
        _add_metrics(parser)
    _add_conventions(parser)
    if name == "evaluate":
        _add_views(parser)
    add = parser.add_argument
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
    add_common(parser, "evaluate")


def _add_metrics(parser: argparse.ArgumentParser) -> None:
    text = f"may be repeated (default: {', '.join(DEFAULT_METRICS)})"
    add_metric(parser, dest="metrics", action="append", help=text)
    parser.add_argument(
        "--names", choices=tuple(PEERS),
        help="whose names the metrics have, unless a prefix says it; with those of trec_eval, "
        "official and all_trec are known, and queries that a run lacks are skipped without -c",
    )  # fmt: skip


def _add_conventions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--missing", choices=MISSING_CHOICES,
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
    add("-J", "--judged-only", action="store_true", help="remove documents that were not judged")
    add(
        "--pool-judged", action="store_true",
        help="documents with labels below 0 are judged not relevant, as for the web tracks",
    )  # fmt: skip


def _add_views(parser: argparse.ArgumentParser) -> None:
    add = functools.partial(
        parser.add_mutually_exclusive_group().add_argument, dest="view", action="store_const"
    )
    add("-q", "--per-query", const="per_query", help="show one row per run and query, not per run")
    add(
        "--intervals", const="intervals",
        help="show one row per run and metric: the mean with its 95%% interval, which holds by "
        "itself however many metrics and runs there are",
    )  # fmt: skip
    add(
        "--compare", const="compare",
        help="show one row per metric and pair of runs: difference with its 95%% interval, "
        "p-values (p_max_t: by resampling, corrected for all rows), effect size, wins; all "
        "intervals hold together, so that low and high change with the number of metrics and runs",
    )  # fmt: skip


def _names(arguments: argparse.Namespace) -> list[str]:
    """The names of the chosen metrics, with the prefix that --names says."""
    if arguments.view == "curve":
        return list(CURVE)
    peer = arguments.names
    named = arguments.metrics
    if named is None and not (peer or "").startswith("trec_eval"):
        return list(DEFAULT_METRICS)
    return [
        name if peer is None or split_prefix(name)[0] else f"{peer}:{name}"
        for name in named or ["official"]
    ]


def _run(arguments: argparse.Namespace) -> str:
    runs = [*([arguments.first] if "first" in arguments else []), *arguments.runs]
    arguments.names = getattr(arguments, "names", None)
    names = _names(arguments)
    check_files(arguments, [arguments.qrels, *runs], names)
    if arguments.view == "compare" and len(runs) < 2:
        arguments.parser.error("--compare needs at least two runs.")
    try:
        arguments.format = _output.format_of(arguments.output, arguments.format)
    except ValueError as error:
        arguments.parser.error(f"argument -o/--output: {error}")
    if arguments.format == "html":
        from skrank.cli._page import page

        shown = [column for name in names for column in columns(name)]
        report = _report(arguments, runs, [*names, *(one for one in CURVE if one not in shown)])
        text = page(report, shown, CURVE, _short(shown, arguments.names))
    else:
        report = _report(arguments, runs, names)
        if arguments.format == "trec_eval":
            text = _output.trec_eval(report, arguments.view)
        else:
            table = _sorted(_table(report, arguments), arguments.sort)
            text = _output.TABLES[arguments.format](table)
    return _output.delivered(text, arguments.output)


def _report(arguments: argparse.Namespace, runs: list[str], names: list[str]) -> trec.TrecReport:
    trec_eval = (arguments.names or "").startswith("trec_eval")
    empty = arguments.empty
    return trec.evaluate(
        source(arguments.qrels),
        [source(run) for run in runs],
        names,
        missing=arguments.missing or ("skip" if trec_eval else "zero"),
        empty=int(empty) if empty in ("0", "1") else empty,
        precision="double" if arguments.names == "trec_eval10" else "single",
        **{option: getattr(arguments, option) for option in _PASSED_ON},
    )


def _short(names: Iterable[str], peer: str | None) -> dict[str, str]:
    """What to show in place of names that have the prefix of --names."""
    return {name: name.removeprefix(f"{peer}:") for name in names} if peer else {}


def _table(report: trec.TrecReport, arguments: argparse.Namespace) -> _output.Columns:
    """The columns to show: those of the command, or of -q, --intervals or --compare."""
    short = _short(report.metrics, arguments.names)
    if arguments.view in ("compare", "intervals"):
        tests = arguments.view == "compare"
        frame = report.compare().to_frame() if tests else report.intervals().reset_index()
        return frame.replace({"metric": short}).to_dict("list")
    names, found = report.names, report.found
    if arguments.view == "curve":
        if "recall" in names:
            raise ValueError(
                "a run is called 'recall', which is the name of the column of levels: rename it."
            )
        return {"recall": ELEVEN_LEVELS, **dict(zip(names, found.mean.tolist(), strict=True))}
    shown = [short.get(name, name) for name in report.metrics]
    if arguments.view == "per_query":
        queries = report.queries.tolist()
        values = found.values.reshape(-1, len(shown)).T.tolist()
        cells = {"run": [run for run in names for _ in queries], "qid": queries * len(names)}
        return cells | dict(zip(shown, values, strict=True))
    facts = {name: [one[name] for one in report.facts] for name in report.facts[0]}
    return {"run": names, **dict(zip(shown, found.mean.T.tolist(), strict=True)), **facts}


def _sorted(columns: _output.Columns, name: str | None) -> _output.Columns:
    """The rows in descending order of a column; rows with NaN come last."""
    if name is None:
        return columns
    if name not in columns:
        raise ValueError(f"--sort {name}: the columns are {', '.join(columns)}.")
    key: Sequence[Any] = columns[name]
    rows = sorted(range(len(key)), key=lambda row: (key[row] == key[row], key[row]), reverse=True)
    return {name: [column[row] for row in rows] for name, column in columns.items()}
