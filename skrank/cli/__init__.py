"""The command line: ``skrank evaluate``, ``compare``, ``curve``, ``fuse``, ...

Each command imports what it needs when it runs, so that ``skrank --help`` is quick.
"""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module

import skrank
from skrank.cli._output import check_open, print_error, print_text
from skrank.cli._parser import Parser, with_options

FAILED = 1  # a file cannot be read, measured or written; argparse exits with 2 for wrong usage
INTERRUPTED = 130

# the module with ``add_arguments(parser, name)``, and the line of the list of commands
COMMANDS = {
    "evaluate": ("skrank.cli._evaluate", "evaluate TREC runs against judgments"),
    "compare": ("skrank.cli._evaluate", "test the differences between runs"),
    "curve": ("skrank.cli._evaluate", "precision at eleven levels of recall"),
    "fuse": ("skrank.cli._fuse", "fuse runs into one, with trained weights or by a formula"),
    "metrics": ("skrank.cli._metrics", "list the names of metrics, or describe one"),
    "completion": ("skrank.cli._completion", "print a script that completes commands in a shell"),
    "active": ("skrank.cli._active", "label the queries that are most informative about rankers"),
}


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
    chosen = next((word for word in given if word in COMMANDS), "")
    try:
        arguments = _parser([chosen]).parse_args(given)
        if getattr(arguments, "output", None) is None:
            check_open()  # before the command changes anything
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # files that an interrupt leaves open
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            text = arguments.run(arguments)
            if text:
                print_text(text)
    except BrokenPipeError:  # the reader, such as head, has stopped reading
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
    """The parser, with the arguments of the chosen commands only."""
    parser = Parser(prog="skrank", description="Learning to rank with graded relevance.")
    parser.add_argument("--version", action="version", version=f"skrank {skrank.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in chosen:
            command.description = f"{text[0].upper()}{text[1:]}."
            import_module(module).add_arguments(command, name)
    return parser


def _show_warning(message: Warning | str, *_: object) -> None:
    print_error(f"skrank: warning: {with_options(str(message))}")


def _fail(message: str) -> int:
    print_error(f"skrank: error: {with_options(message)}")
    return FAILED
