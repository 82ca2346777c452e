"""The command line: ``skrank evaluate QRELS RUN...`` and ``skrank active COMMAND``."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import skrank
from skrank import trec
from skrank.active._commands import add_commands
from skrank.evaluation._evaluate import DEFAULT_METRICS
from skrank.metrics import Metric, metric
from skrank.trec._measure import MISSING_CHOICES

if TYPE_CHECKING:
    import pandas as pd

FAILED = 1  # files that cannot be read or measured; argparse exits with 2 when the usage is wrong
INTERRUPTED = 130

_EXAMPLES = """\
examples:
  skrank evaluate qrels.txt run.txt
  skrank evaluate qrels.txt runs/*.gz -m ap -m "ndcg(gain=linear)@10" --format csv
  skrank evaluate qrels.txt run.txt -m gap --max-grade 3 --per-query --format json
  skrank evaluate qrels.txt new.txt old.txt -m gap -m err@20 --compare

Write metrics as name, name@k or name(parameter=value)@k: gap, ap, ndcg@10, err@20, precision@5, ...
or as a weighted sum of such: "0.7*gap+0.3*ndcg@10".
trec_eval's map, ndcg_cut_10, P_5 and recip_rank are ap, ndcg(gain=linear)@10, precision@5 and rr,
all with --empty 0, and with --missing skip where trec_eval runs without -c.

Files are plain, gzip or xz; - is standard input. Exit status: 0 done, 1 a file cannot be read or
measured, 2 wrong usage.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the name of the program. Default: those of the process.

    Returns
    -------
    int
        Exit status: 0, or 1 when a file cannot be read or measured; the reason is on standard
        error.

    Raises
    ------
    SystemExit
        With status 2 if the arguments are wrong; with 0 after ``--help`` or ``--version``.

    Examples
    --------
    >>> from skrank.cli import main
    >>> main(["evaluate", "no-such-qrels.txt", "run.txt"])
    1
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.run is _evaluate and arguments.compare and len(arguments.runs) < 2:
        parser.error("--compare needs at least two runs.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            text = arguments.run(arguments)
            print(text, end="\n" if text else "", flush=True)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        return _fail(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="skrank", description="Learning to rank with graded relevance."
    )
    parser.add_argument("--version", action="version", version=f"skrank {skrank.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    evaluate = commands.add_parser(
        "evaluate",
        help="evaluate TREC runs against judgments",
        description="Evaluate TREC runs against judgments, in the order of trec_eval.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(evaluate)
    evaluate.set_defaults(run=_evaluate)
    add_commands(commands)
    return parser


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="judgments: query, iteration, document, label")
    add("runs", metavar="RUN", nargs="+", help="query, Q0, document, rank, score, tag")
    add(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        type=_metric,
        help=f"may be repeated (default: {', '.join(DEFAULT_METRICS)})",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--per-query", action="store_true", help="show one row per run and query, not per run"
    )
    shown.add_argument(
        "--intervals",
        action="store_true",
        help="show one row per run and metric: the mean with its 95%% interval",
    )
    shown.add_argument(
        "--compare",
        action="store_true",
        help="show one row per metric and pair of runs: difference with its 95%% interval, "
        "p-values (p_holm: of the paired t-test, corrected for all rows), effect size, wins",
    )
    add("--format", choices=_FORMATS, default="table", help="of the output (default: table)")
    add(
        "--missing",
        choices=MISSING_CHOICES,
        default="zero",
        help="queries that a run lacks count as nothing retrieved, are skipped, or are an error "
        "(default: zero)",
    )
    add(
        "--empty",
        choices=("skip", "0", "1", "nan", "raise"),
        help="value of queries without a relevant document (default: as the metric says: skip)",
    )
    add("--max-grade", metavar="N", type=_grade, help="highest grade of the collection")


def _metric(text: str) -> Metric:
    try:
        return metric(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _grade(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000.")
    return int(text)


def _evaluate(arguments: argparse.Namespace) -> str:
    empty = arguments.empty
    report = trec.evaluate(
        _source(arguments.qrels),
        [_source(run) for run in arguments.runs],
        arguments.metrics or DEFAULT_METRICS,
        missing=arguments.missing,
        empty=int(empty) if empty in ("0", "1") else empty,
        max_grade=arguments.max_grade,
    )
    if arguments.compare:
        frame = report.compare().to_frame()
    elif arguments.intervals:
        frame = report.intervals().reset_index()
    else:
        frame = (report.per_query if arguments.per_query else report.to_frame()).reset_index()
    return _FORMATS[arguments.format](frame)


def _source(argument: str) -> Any:
    return sys.stdin.buffer if argument == "-" else argument


def _table(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, float_format="{:.4f}".format)


def _csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False).rstrip("\n")


def _json(frame: pd.DataFrame) -> str:
    """A list of rows; NaN, which JSON does not have, becomes null."""
    rows = [
        {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in row.items()}
        for row in frame.to_dict("records")
    ]
    return json.dumps(rows, indent=1)


_FORMATS = {"table": _table, "csv": _csv, "json": _json}


def _show_warning(message: Warning | str, *_: Any) -> None:
    print(f"skrank: warning: {message}", file=sys.stderr)


def _fail(message: str) -> int:
    print(f"skrank: error: {message}", file=sys.stderr)
    return FAILED
