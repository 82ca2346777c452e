"""The command line: ``skrank evaluate``, ``compare``, ``curve``, ``fuse`` and ``metrics``.

Each command imports what it needs when it runs, so that ``skrank --help`` is quick.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Container, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import skrank
from skrank.cli._output import check_open, deliver, print_error

_T = TypeVar("_T")

FAILED = 1  # a file cannot be read, measured or written; argparse exits with 2 for wrong usage
INTERRUPTED = 130

# the module with ``add_arguments(parser, name)``, and the line of the list of commands
COMMANDS = {
    "evaluate": ("skrank.cli._evaluate", "evaluate TREC runs against judgments"),
    "compare": ("skrank.cli._evaluate", "test the differences between runs"),
    "curve": ("skrank.cli._evaluate", "precision at eleven levels of recall"),
    "fuse": ("skrank.cli._fuse", "fuse runs into one, with trained weights or by a formula"),
    "metrics": ("skrank.cli._metrics", "list the names of metrics, or describe one"),
}


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


def program() -> int:
    """Run `main` as the only task of this process.

    Returns
    -------
    int
        Exit status.
    """
    gc.set_threshold(100_000)  # imports create many objects that remain
    try:
        return main()
    finally:
        gc.freeze()  # spares a last garbage collection, which takes a sixth of a short process


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the name of the program. Default: those of the process.

    Returns
    -------
    int
        Exit status: 0, or 1 when a file cannot be read or measured, or the output cannot be
        written; the reason is on standard error.

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
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = argparse.Namespace(given=given)
    try:
        _parser(next((word for word in given if word in COMMANDS), "")).parse_args(given, arguments)
        if getattr(arguments, "output", None) is None:
            check_open()  # before the command reads anything
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # files that an interrupt leaves open
            warnings.showwarning = lambda message, *_: print_error(
                f"skrank: warning: {_with_options(str(message), vars(arguments))}"
            )
            deliver(arguments.run(arguments), None)
    except BrokenPipeError:  # the reader, such as head, has stopped reading
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        where = error.filename or "standard output"
        return _fail(f"{where}: {error.strerror}" if error.strerror else str(error))
    except (ValueError, ImportError) as error:
        return _fail(_with_options(str(error), vars(arguments)))
    return 0


def _parser(chosen: str) -> Parser:
    """The parser, with the arguments of the chosen command only."""
    parser = Parser(prog="skrank", description="Learning to rank with graded relevance.")
    parser.add_argument("--version", action="version", version=f"skrank {skrank.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == chosen:
            command.description = f"{text[0].upper()}{text[1:]}."
            command.set_defaults(parser=command)
            import_module(module).add_arguments(command, name)
    return parser


def _with_options(message: str, options: Container[str]) -> str:
    """A message in which parameters of Python that are options of the command are written so."""

    def option(found: re.Match[str]) -> str:
        name = found[1]
        if name not in options or name in ("given", "parser", "run", "view"):
            return found[0]
        sign = "-" if len(name) == 1 else "--"
        return sign + name.replace("_", "-") + ("" if found[2] else "=")

    # a parameter in the brackets of a metric, such as gap(max_grade=4), is not an option
    return re.sub(r"(?<![(,\w-])([a-z]\w*)=(True\b)?", option, message)


def _fail(message: str) -> int:
    print_error(f"skrank: error: {message}")
    return FAILED
