"""The parser of the command line, whose options stand in help.txt."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from skrank.cli._output import print_error

_T = TypeVar("_T")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and the command that prints the help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        print_error(f"{self.prog}: error: {message}\nusage: {self.prog} --help")
        raise SystemExit(2)

    def add_options(self, *sections: str) -> None:
        """Add the options of sections of help.txt: rows of names | kind | help.

        The kind is "flag", the metavar with a type or "append", choices between commas, or the
        parameter and the value that the option gives it. Lines with an indent go on.
        """
        rows = "\n".join(_text(section) for section in sections).replace("\n  ", " ")
        for row in rows.split("\n"):
            names, kind, text = (part.strip() for part in row.split(" | "))
            given: dict[str, Any] = {}
            dest, is_const, value = kind.partition("=")
            metavar, _, how = kind.partition(" ")
            if is_const:
                given = {"action": "store_const", "dest": dest, "const": value or False}
            elif kind == "flag":
                given = {"action": "store_true"}
            elif "," in kind:
                given = {"choices": kind.split(",")}
            elif how == "append":
                given = {"metavar": metavar, "action": "append"}
            else:
                given = {"metavar": metavar, "type": {"int": int, "float": float}.get(how, str)}
            self.add_argument(*names.split(), help=text, **given)

    def set_epilog(self, *sections: str) -> None:
        """Let the help end with sections of help.txt."""
        self.epilog = "\n\n".join(map(_text, sections))

    def checked(self, option: str, check: Callable[..., _T], *arguments: object) -> _T:
        """The result of a check; exits with status 2 if it raises ValueError."""
        try:
            return check(*arguments)
        except ValueError as error:
            self.error(f"argument {option}: {error}")

    def check_files(self, inputs: Sequence[str], output: str | None) -> None:
        """Exit with status 2 if an input is given twice, or is the output."""
        for place, path in enumerate(inputs):
            if path in inputs[:place]:
                what = "standard input" if path == "-" else path
                self.error(f"{what} is given twice: name each file once.")
        if output is not None and os.path.isfile(output):
            for path in filter(os.path.exists, inputs):
                if os.path.samefile(path, output):
                    self.error(f"argument -o/--output: {output} is an input: name another file.")


def _text(section: str) -> str:
    """A section of the file of help."""
    whole = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    return whole.partition(f"\n[{section}]\n")[2].partition("\n\n[")[0].strip("\n")
