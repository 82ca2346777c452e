"""``skrank evaluate``, ``skrank compare`` and ``skrank curve``: runs against judgments."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

import skrank
from skrank import trec
from skrank._engine.name_parser import terms
from skrank._engine.names import columns
from skrank._engine.peer_names import split_prefix
from skrank._engine.threads import plain_up_to
from skrank._typing import Options
from skrank.cli import Parser, _output
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

# options that are parameters of `trec.evaluate` with the same name and values
_PASSED_ON = (
    "max_grade", "rel", "depth", "judged_only", "pool_judged", "exclude_self", "progress",
)  # fmt: skip
# a process that evaluates once takes less time without numba up to so many rows of a run
_PLAIN_ROWS = 60_000
# the metrics of `skrank curve`
CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)


def add_arguments(parser: Parser, name: str) -> None:
    """Add the arguments of one of the commands."""
    parser.description = f"{str(parser.description).rstrip('.')}, in the order of trec_eval."
    parser.set_defaults(run=_run, alpha=0.05, view=None if name == "evaluate" else name, names=None)
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
        also = {"trec_eval": ", with or without -q"}.get(form, " and skrank compare")
        parser.error(f"--format {form} is for means{also}.")
    if arguments.sort is not None and form not in _output.TABLES:
        parser.error(f"--sort is for {', '.join(_output.TABLES)}, not for {form}.")
    more = [one for one in CURVE if form == "html" and one not in names]
    report = _report(arguments, runs, [*names, *more])
    shown = [name for name in report.metric_of if name not in more]
    notes = _empty_queries(report, shown)
    if notes and form != "html":
        _output.print_error(f"skrank: {notes}")
    _output.deliver(_text(report, arguments, form, shown, notes), arguments.output)
    return ""


def _names(arguments: argparse.Namespace) -> list[str]:
    """The names of the chosen metrics, with the prefix that --names says."""
    if arguments.view == "curve":
        return list(CURVE)
    peer, named = arguments.names, arguments.metric
    if named is None and not (peer or "").startswith("trec_eval"):
        return list(DEFAULT_METRICS)
    return [name if peer is None else _prefixed(name, peer) for name in named or ["official"]]


def _prefixed(text: str, peer: str) -> str:
    """A name, or a sum of names, in which names without a prefix get the prefix of a tool."""
    atoms = [
        (weight, atom if split_prefix(atom)[0] else f"{peer}:{atom}")
        for weight, atom in terms(text)
    ]
    return "+".join(atom if weight is None else f"{weight!r}*{atom}" for weight, atom in atoms)


def _report(arguments: argparse.Namespace, runs: list[str], names: list[str]) -> Report:
    trec_eval = (arguments.names or "").startswith("trec_eval")
    empty = arguments.empty
    with plain_up_to(_PLAIN_ROWS):
        report = trec.evaluate(
            _output.source(arguments.qrels),
            _output.named_sources(runs),
            names,
            missing=arguments.missing or ("skip" if trec_eval else "zero"),
            empty=int(empty) if empty in ("0", "1") else empty,
            **{option: getattr(arguments, option) for option in _PASSED_ON},
        )
    prefix = f"{arguments.names}:"  # is not shown
    report.metric_of = {name.removeprefix(prefix): one for name, one in report.metric_of.items()}
    report.empty = {name.removeprefix(prefix): count for name, count in report.empty.items()}
    return report


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
    report: Report, arguments: argparse.Namespace, form: str, shown: list[str], notes: str
) -> str:
    """The output in a format."""
    if form == "trec_eval":
        return trec.trec_eval_lines(report, per_query=arguments.view == "per_query")
    how: Options = {} if arguments.view == "curve" else {"alpha": arguments.alpha}
    if arguments.view == "compare":
        how |= {"test": arguments.test, "correction": arguments.correction}
        baseline = arguments.baseline or [None]
        how["baseline"] = baseline if len(baseline) > 1 else baseline[0]
    if form == "html":
        from skrank.cli._page import page

        made = f"Made by skrank {skrank.__version__}: {shlex.join(['skrank', *arguments.given])}"
        return page(report, shown, CURVE, how, notes, made)
    if form in ("latex", "markdown"):
        table = report.compare(**how) if arguments.view == "compare" else report
        return table.to_latex() if form == "latex" else table.to_markdown()
    return _output.TABLES[form](_sorted(_table(report, arguments.view, how), arguments.sort))


def _table(report: Report, view: str | None, how: Options) -> _output.Columns:
    """The columns to show."""
    if view == "compare":
        return report.compare(**how).to_frame().to_dict("list")
    if view == "intervals":
        frame = report.to_frame(confidence=1 - how["alpha"]).reset_index()
        return frame.rename(columns={"system": "run"}).to_dict("list")
    names, means = list(map(str, report.systems)), report.averages
    if view == "curve":
        if "recall" in names:
            raise ValueError(
                "a run is called 'recall', which is the name of the column of levels: rename it."
            )
        return {"recall": ELEVEN_LEVELS, **dict(zip(names, means.tolist(), strict=True))}
    shown = list(report.metric_of)
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
