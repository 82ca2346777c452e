"""The parser of the command line, with the options that several commands have."""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

from skrank.cli._output import print_error

if TYPE_CHECKING:
    from skrank._validation import Fields

_T = TypeVar("_T")
_ENDING = """The file - is standard input.
Exit status: 0 done, 1 a file cannot be read or measured, 2 wrong usage."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and the command that prints the help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        print_error(f"{self.prog}: error: {message}\nusage: {self.prog} --help")
        raise SystemExit(2)

    def add_reading(self, *texts: str | None) -> None:
        """Add the options that say how files are read and written; the help ends with `texts`."""
        self.epilog = "\n\n".join(map(inspect.cleandoc, filter(None, [*texts, _ENDING])))
        self.add_argument(
            "--columns", metavar="FIELD=COLUMN,...", type=_columns,
            help="of tables, such as qid=user,docid=item,label=rating; or all, without a header",
        )  # fmt: skip
        self.add_argument(
            "--duplicates", choices=("error", "first", "max"), default="error",
            help="of a document in a query: an error, the first, or the best",
        )  # fmt: skip
        text = "write here, whole or not at all; - is standard output (default)"
        self.add_argument("-o", "--output", metavar="FILE", help=text)

    def checked(self, option: str, function: Callable[..., _T], *arguments: object) -> _T:
        """The result of a check; exits with status 2 if it raises ValueError."""
        try:
            return function(*arguments)
        except ValueError as error:
            self.error(f"argument {option}: {error}")

    def check_files(self, inputs: Sequence[str], output: str | None) -> None:
        """Exit with status 2 if an input is given twice, or is the output."""
        if output == "":
            self.error("argument -o/--output: the name of the file is empty.")
        twice = [path for place, path in enumerate(inputs) if path in inputs[:place]]
        if twice:
            what = "standard input" if twice[0] == "-" else twice[0]
            self.error(f"{what} is given twice: name each file once.")
        files = filter(os.path.exists, inputs if output and os.path.isfile(output) else ())
        if any(os.path.samefile(path, str(output)) for path in files):
            self.error(f"argument -o/--output: {output} is an input: name another file.")


def _columns(text: str) -> Fields:
    """Names of columns by field, or a list of fields."""
    from skrank import _validation as check  # imports NumPy

    columns: Fields = text.split(",")
    if "=" in text:
        pairs = [part.partition("=") for part in columns]
        columns = {field: name for field, _, name in pairs}
        if len(columns) < len(pairs) or not all(columns.values()):
            raise argparse.ArgumentTypeError(f"{text!r} must name the column of each field once.")
    try:
        check.check_columns(columns)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return columns
