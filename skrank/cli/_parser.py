"""The parser of arguments, and types of arguments."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import skrank
from skrank.cli._streams import print_error, print_text
from skrank.cli._words import with_options


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and the command that prints the help."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        print_error(f"{self.prog}: error: {with_options(message)}\nusage: {self.prog} --help")
        raise SystemExit(2)

    def print_help(self, file: Any = None) -> None:
        """Print the help; raises OSError if standard output cannot be written."""
        if file is None:
            print_text(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)


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


class Version(argparse.Action):
    """``--version``: raises OSError if standard output cannot be written."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print_text(f"skrank {skrank.__version__}")
        parser.exit()


def whole(text: str) -> int:
    """A whole number in ASCII digits."""
    if not re.fullmatch("[+-]?[0-9]{1,20}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.")
    return int(text)


def real(text: str) -> float:
    """A number in ASCII, without underscores."""
    try:
        if text.isascii() and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number.")


def grade(text: str) -> int:
    """The highest grade of a collection."""
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000.")
    return int(text)
