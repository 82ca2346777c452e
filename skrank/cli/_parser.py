"""The parser of arguments: types of arguments, and messages in the words of the command."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from skrank.cli._output import print_error

FILES = """\
Files are TREC's, JSON, JSON Lines, CSV, TSV or Parquet, plain or compressed with gzip, bzip2, xz or
Zstandard; - is standard input. Exit status: 0 done, 1 a file cannot be read or measured, 2 wrong
usage.
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and the command that prints the help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        print_error(f"{self.prog}: error: {with_options(message)}\nusage: {self.prog} --help")
        raise SystemExit(2)


def add_file(parser: argparse.ArgumentParser, *names: str, **options: Any) -> None:
    """Add an argument that is the path of a file, which shells complete."""
    action = parser.add_argument(*names, **options)
    shtab = sys.modules.get("shtab")  # imported by `skrank completion` only
    if shtab is not None:
        action.complete = shtab.FILE  # type: ignore[attr-defined]


class MetricNames:
    """Names of metrics that shells complete; names with parameters are valid choices, too."""

    def __contains__(self, _: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        from skrank.metrics import registered

        return iter(sorted(name for cls in registered().values() for name in cls.names))


def add_metric(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add the option of metrics."""
    parser.add_argument("-m", "--metric", metavar="METRIC", choices=MetricNames(), **options)


def add_common(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the options of the first documents of queries, and of the file of the output."""
    text = f"{verb} the first N documents of a query"
    parser.add_argument("-M", "--depth", metavar="N", type=int, help=text)
    add_file(parser, "-o", "--output", metavar="FILE", help="write here, whole or not at all")


def check_files(arguments: argparse.Namespace, files: list[str], metrics: list[str]) -> None:
    """Exit with status 2 if two files are standard input, or a metric is not known."""
    from skrank._engine.names import columns

    if files.count("-") > 1:
        arguments.parser.error("- is standard input, which is read once: name other files.")
    for name in metrics:
        try:
            columns(name)
        except ValueError as error:
            arguments.parser.error(f"argument -m/--metric: {error}")


# messages of the library, with options of the command in place of parameters of Python ---------

# a pattern of words for Python, and the words for the command
_PHRASES = (
    (r"pass a dict from names to runs", "name each file once"),
    (r"choose missing='zero' or 'skip'", "choose --missing zero or --missing skip"),
    (r"missing='skip' leaves", "--missing skip leaves"),
    (r'choose empty="skip", 0 or 1', "choose --empty skip, --empty 0 or --empty 1"),
    (r"without chunksize", "without --chunksize"),
    (r", for example with numpy\.\w+", ""),
    (r"such as grades=range\(5\)", "such as --max-grade 4, or columns p_0 to p_4"),
    (r"is above max_grade=(\d+) of", r"is above \1, the highest grade of"),
    (r"as max_grade\b", "with --max-grade"),
    (r"with its empty=0", "with --empty 0"),
    (r"\bk=(\S+) (must be a number)", r"-k \1 \2"),
    (r"\bname=(\S+) is the name", r"--name \1 is the name"),
    (r"n_splits=(\S+): there must", r"--folds \1: there must"),
    (r"QueryKFold\(n_splits=(\d+)\) needs", r"--folds \1 needs"),
    (r"\bn=(\S+) (must|is beyond)", r"-n \1 \2"),
    (r"replace them with tell\(\.\.\., replace=True\)", "replace them with --replace"),
    (
        r"pass the name to skrank\.evaluate or skrank\.trec\.evaluate, which compute",
        "give the name to skrank evaluate, which computes",
    ),
    (r"skrank\.evaluate measures", "skrank evaluate measures"),
    (r", or divide and pass floats", ", or write it with a decimal point"),
    # parameters of a metric are in the brackets of its name
    (r'choose (labels|ties|condensed)="(\w+)"', r"write \1=\2 in the brackets of the metric"),
    (r'\b(labels|ties|condensed|average)=["\'](\w+)["\']', r"\1=\2"),
)
_OPTIONS = (
    "anytime", "budget", "chunksize", "confidence", "depth", "empty", "estimator", "judged_only",
    "max_grade", "method", "missing", "mixing", "norm", "pool_judged", "random_state", "rel",
    "replace", "weights",
)  # fmt: skip
# outside of the brackets of a metric, such as gap(max_grade=4)
_OPTION = re.compile(rf"(?<![(,\w-])({'|'.join(_OPTIONS)})=(True\b)?")


def with_options(message: str) -> str:
    """A message that names options in place of parameters.

    Examples
    --------
    >>> from skrank.cli._parser import with_options
    >>> with_options("max_grade=0 must be at least 1")
    '--max-grade=0 must be at least 1'
    """
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    return _OPTION.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    name = "--" + found[1].replace("_", "-")
    return name if found[2] else f"{name}="
