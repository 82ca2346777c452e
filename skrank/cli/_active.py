"""``skrank active``: campaigns on the command line, for labelling in any tool."""

from __future__ import annotations

import argparse
import io
import math
import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np

from skrank import _validation as check
from skrank._engine.groups import show
from skrank._typing import Options
from skrank.active._campaign import Campaign
from skrank.active._estimate import Estimate
from skrank.active._evaluators import ActiveComparator, ActiveEvaluator
from skrank.active._files import locked
from skrank.active._means import ESTIMATORS
from skrank.cli import _output
from skrank.cli._output import print_error, source
from skrank.cli._parser import add_file
from skrank.trec._files import opened
from skrank.trec._records import csv_rows, json_lines
from skrank.trec._table import decimal

Row: TypeAlias = dict[str, object]

_RESERVED = ("query", "item", "label", "cost")  # columns that are not scores of a ranker
_IDS = ("query", "item")  # required in each row
_PROBABILITY = re.compile(r"p_([0-9]+(\.[0-9]*)?)")  # column of the probability of a grade
_FORMATS = ("csv", "jsonl")

_EXAMPLES = {
    "start": "  skrank active start campaign.npz pool.csv -m err@20 --max-grade 4 --budget 2000\n",
    "next": "  skrank active next campaign.npz -n 5 > to-label.csv\n",
    "tell": "  skrank active tell campaign.npz labelled.csv\n",
    "estimate": """\
  skrank active estimate campaign.npz
  skrank active estimate campaign.npz --decision --anytime
""",
}
_TABLES = """
Tables are CSV with a header, or JSON Lines; - is standard input. The pool has the columns query and
item and one column of scores per ranker, and may have label (labels that exist), cost, and p_0,
p_1, ... (the probability of each grade). Labels come back as query, item, label;
a query without any label is left for later.
"""


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the commands of a campaign."""
    parser.description = "Say which queries to label, take the labels, and estimate from them."
    parser.epilog = f"examples:\n{''.join(_EXAMPLES.values())}{_TABLES}"
    parts = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run, arguments, text in (
        ("start", _start, _start_arguments, "start a campaign on a pool of scored documents"),
        ("next", _next, _next_arguments, "print the items to label next"),
        ("tell", _tell, _tell_arguments, "record labels"),
        ("estimate", _estimate, _estimate_arguments, "estimate from the labels so far"),
    ):
        part = parts.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"examples:\n{_EXAMPLES[name]}{_TABLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        add_file(part, "campaign", metavar="CAMPAIGN", help="file of the campaign")
        arguments(part)
        part.set_defaults(run=run)


# start


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_file(parser, "pool", metavar="POOL", help="table: query, item, scores of rankers")
    add("-m", "--metric", required=True, metavar="METRIC", help="such as err@20 or gap")
    add("--max-grade", metavar="N", type=int, help="of 0 to N (default: from columns p_)")
    add("--budget", type=float, metavar="COST", help="most that all labels may cost")
    add(
        "--mixing",
        type=float,
        help="part of the draws that ignores probabilities (default: 0.3; 0.8 below 100 queries)",
    )
    add("--random-state", type=int, metavar="SEED", help="the same seed, the same campaign")
    add("--replace", action="store_true", help="replace an existing campaign")


def _start(arguments: argparse.Namespace) -> str:
    if Path(arguments.campaign).exists() and not arguments.replace:
        raise ValueError(f"{arguments.campaign} exists already: --replace starts a new campaign.")
    rows = _read(arguments.pool, ("query", "item"))
    columns = list(rows[0])
    grade_of = {one[0]: float(one[1]) for one in map(_PROBABILITY.fullmatch, columns) if one}
    rankers = [name for name in columns if name not in (*_RESERVED, *grade_of)]
    if not rankers:
        raise ValueError(f"{arguments.pool} has no column of scores beside {', '.join(columns)}.")
    grades = sorted(grade_of.values()) or None
    if check.check_max_grade(arguments.max_grade) is not None:
        grades = list(map(float, range(arguments.max_grade + 1)))
    scores = {name: _numbers(rows, name) for name in rankers}
    options: Options = {
        "groups": [str(row["query"]) for row in rows],
        "items": [str(row["item"]) for row in rows],
        "metric": arguments.metric,
        "label_model": _probabilities(rows, grade_of, grades or []) if grade_of else "uniform",
        "grades": grades,
        "labels": _numbers(rows, "label", missing=True) if "label" in columns else None,
        "costs": _numbers(rows, "cost") if "cost" in columns else "items",
        "budget": arguments.budget,
        "mixing": arguments.mixing,
        "random_state": arguments.random_state,
    }
    campaign: Campaign
    if len(rankers) == 1:
        campaign = ActiveEvaluator(scores[rankers[0]], **options)
    else:
        campaign = ActiveComparator(scores, **options)
    campaign.save(arguments.campaign)
    n = len(campaign.sampling)
    return f"{n} queries, {len(rankers)} rankers: {', '.join(rankers)}"


def _probabilities(rows: list[Row], grade_of: dict[str, float], grades: list[float]) -> np.ndarray:
    """Probability of each grade in each row; 0 for grades without a column.

    `grade_of` has the grade of each column of probabilities.
    """
    out = np.zeros((len(rows), len(grades)))
    for name, one in grade_of.items():
        if one not in grades:
            raise ValueError(
                f"column {name} has the probability of a grade that --max-grade excludes: remove "
                "the column, or change --max-grade."
            )
        out[:, grades.index(one)] = _numbers(rows, name)
    return out


# next and tell


def _next_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=int, default=1, metavar="N", help="queries (default: 1)")
    parser.add_argument("--format", choices=_FORMATS, default="csv", help="(default: csv)")


def _next(arguments: argparse.Namespace) -> str:
    with locked(arguments.campaign):
        campaign = Campaign.load(arguments.campaign)
        requests = campaign.ask(arguments.n)
        campaign.save(arguments.campaign)
    if not requests:
        print_error("skrank: nothing is left to label within the budget.")
    rows = [
        {"query": request.query, "item": item, "label": None}
        for request in requests
        for item in request.items.tolist()
    ]
    return _written(rows, arguments.format, ("query", "item", "label"))


def _tell_arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "labels", metavar="LABELS", help="table: query, item, label")
    parser.add_argument("--replace", action="store_true", help="labels that were told before")


def _tell(arguments: argparse.Namespace) -> str:
    rows = _read(arguments.labels, ("query", "item", "label"))
    with locked(arguments.campaign):
        campaign = Campaign.load(arguments.campaign)
        queries = {str(query): query for query in campaign.sampling.index}
        told = _by_query(rows)
        for name, labels in told.items():
            query = queries.get(name, name)
            items = {str(item): item for item in campaign.items_of(query)}  # ids may be numbers
            named = {items.get(item, item): label for item, label in labels.items()}
            campaign.tell(query, named, replace=arguments.replace)
        campaign.save(arguments.campaign)  # only if all labels are valid
    return f"{len(told)} queries told, {len(campaign.waiting)} wait for labels"


def _by_query(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Labels by query and item, of queries with a label."""
    found: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, start=1):
        query, item = str(row["query"]), str(row["item"])
        if row["label"] in (None, ""):
            continue
        labels = found.setdefault(query, {})
        if item in labels:
            raise ValueError(
                f"row {number}: item {show(item)} of query {show(query)} occurs twice."
            )
        labels[item] = _number(row["label"], number, "label")
    return found


# estimate


def _estimate_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--confidence", type=float, default=0.95, help="of intervals (default: 0.95)")
    add("--estimator", choices=ESTIMATORS, default="assisted", help="(default: assisted)")
    add("--anytime", action="store_true", help="intervals that are valid at any time")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--decision", action="store_true", help="which ranker is best")
    shown.add_argument("--progress", action="store_true", help="the estimate after each query")
    add("--format", choices=("table", *_FORMATS), default="table", help="(default: table)")


def _estimate(arguments: argparse.Namespace) -> str:
    campaign = Campaign.load(arguments.campaign)
    options: Options = {"estimator": arguments.estimator, "anytime": arguments.anytime}
    if arguments.progress:
        rows = campaign.progress(arguments.confidence, **options).to_dict("records")
    elif arguments.decision:
        if not isinstance(campaign, ActiveComparator):
            raise ValueError("the campaign has one ranker: there is nothing to decide.")
        choice = campaign.decision(arguments.confidence, **options)
        shown = {name: getattr(choice, name) for name in ("better", "leader", "confidence")}
        rows = [shown | {"candidates": " ".join(choice.candidates)}]
    else:
        found = _estimates(campaign, arguments.confidence, options)
        rows = [_row(name, one) for name, one in found]
    return _written(rows, arguments.format, tuple(rows[0]))


def _estimates(
    campaign: Campaign, confidence: float, options: Options
) -> Iterable[tuple[str, Estimate]]:
    """Means of rankers, and differences of all pairs of rankers."""
    if isinstance(campaign, ActiveEvaluator):
        yield "ranker", campaign.estimate(confidence, **options)
    elif isinstance(campaign, ActiveComparator):
        means = campaign.values(confidence, **options)
        yield from means.items()
        for pair in combinations(means, 2):
            yield " - ".join(pair), campaign.estimate(confidence, between=pair, **options)


def _row(name: str, found: Estimate) -> Row:
    low, high = found.interval
    first = {"of": name, "value": found.value, "standard_error": found.standard_error}
    rest = ("n_draws", "n_counted", "n_queries", "cost", "caution")
    return first | {"low": low, "high": high} | {one: getattr(found, one) for one in rest}


# tables


def _read(path: str, columns: tuple[str, ...]) -> list[Row]:
    """Rows of a CSV or JSON Lines file, all of them with these columns."""
    with opened(source(path)) as stream, check.about(path):
        rows = list(_rows(stream))
    if not rows:
        raise ValueError(f"{path} has no rows.")
    for number, row in enumerate(rows, start=1):
        lacking = [one for one in columns if one not in row or (one in _IDS and row[one] is None)]
        if lacking:
            raise ValueError(f"{path}, row {number} lacks {', '.join(lacking)}.")
    return rows


def _rows(stream: io.BufferedReader) -> Iterator[Row]:
    if stream.peek().lstrip().startswith(b"{"):
        for number, row in json_lines(stream):
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not an object of JSON.")
            yield row
    else:
        rows = csv_rows(stream)
        header = next(rows)
        for cells in rows:
            yield dict(zip(header, cells, strict=True))


def _numbers(rows: list[Row], column: str, *, missing: bool = False) -> np.ndarray:
    cells = enumerate((row.get(column) for row in rows), start=1)
    return np.array([_number(cell, row, column, missing=missing) for row, cell in cells])


def _number(value: object, row: int, column: str, *, missing: bool = False) -> float:
    """The number of a cell; NaN for an empty cell if values may be `missing`."""
    if missing and value in (None, ""):
        return math.nan
    found = decimal(value) if isinstance(value, str) else value
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise ValueError(f"row {row}: {column}={value!r} is not a number.")
    try:
        return float(found)
    except OverflowError:
        raise ValueError(f"row {row}: {column} is too large.") from None


def _written(rows: list[Row], format: str, columns: tuple[str, ...]) -> str:
    return _output.TABLES[format]({name: [row[name] for row in rows] for name in columns})
