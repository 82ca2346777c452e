"""The parser of arguments: errors of one line, and types with messages in plain words."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

import skrank
from skrank.cli._streams import say, write
from skrank.cli._words import of_the_command


class Parser(argparse.ArgumentParser):
    """Says what is wrong in a line, and where the help is."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        say(f"{self.prog}: error: {of_the_command(message)}\nusage: {self.prog} --help")
        raise SystemExit(2)

    def print_help(self, file: Any = None) -> None:
        """Print the help; raises OSError if standard output cannot be written."""
        if file is None:
            write(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)


class Version(argparse.Action):
    """``--version``: raises OSError if standard output cannot be written."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        write(f"skrank {skrank.__version__}")
        parser.exit()


def whole(text: str) -> int:
    """A whole number in ASCII digits."""
    if not re.fullmatch("[+-]?[0-9]{1,20}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.")
    return int(text)


def real(text: str) -> float:
    """A number as it is written in ASCII."""
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
