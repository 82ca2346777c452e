"""The command line: ``skrank evaluate``, ``compare``, ``curve``, ``metrics``, ``active``, ...

What a command needs is imported when it runs: ``skrank --help`` answers at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module

from skrank.cli._parser import Parser, Version
from skrank.cli._streams import check_open, say, write
from skrank.cli._words import of_the_command

FAILED = 1  # files that cannot be read or measured; argparse exits with 2 when the usage is wrong
INTERRUPTED = 130

# module with ``add_arguments(parser, name)``, and what the list of commands says
COMMANDS = {
    "evaluate": ("skrank.cli._evaluate", "evaluate TREC runs against judgments"),
    "compare": ("skrank.cli._evaluate", "test the differences between runs"),
    "curve": ("skrank.cli._evaluate", "precision at eleven levels of recall"),
    "metrics": ("skrank.cli._metrics", "list the names of metrics, or describe one"),
    "completion": ("skrank.cli._completion", "print a script that completes commands in a shell"),
    "active": ("skrank.cli._active", "label the queries that tell most about rankers"),
}


def program() -> int:
    """`main`, as all that a process does.

    Returns
    -------
    int
        Exit status.
    """
    try:
        return main()
    finally:
        gc.freeze()  # at its end Python would look in vain for what it could free: a sixth of a run


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
    chosen = next((word for word in given if word in COMMANDS), "")
    try:
        arguments = _parser([chosen]).parse_args(given)
        if getattr(arguments, "output", None) is None:
            check_open()  # before the command changes anything
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of what an interrupt leaves open
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            text = arguments.run(arguments)
            if text:
                write(text)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        where = error.filename or "standard output"
        return _fail(f"{where}: {error.strerror}" if error.strerror else str(error))
    except ValueError as error:
        return _fail(str(error))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """The parser with the arguments of all commands."""
    return _parser(COMMANDS)


def _parser(chosen: Iterable[str]) -> argparse.ArgumentParser:
    """The parser; it knows the arguments of the chosen commands only."""
    parser = Parser(prog="skrank", description="Learning to rank with graded relevance.")
    parser.add_argument(
        "--version", action=Version, nargs=0, help="show program's version number and exit"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in chosen:
            command.description = f"{text.capitalize()}."
            import_module(module).add_arguments(command, name)
    return parser


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"skrank: warning: {of_the_command(str(message))}")


def _fail(message: str) -> int:
    say(f"skrank: error: {of_the_command(message)}")
    return FAILED
