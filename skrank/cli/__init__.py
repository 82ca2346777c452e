"""The command line: ``skrank evaluate``, ``compare``, ``fuse`` and ``metrics``.

Each command imports what it needs when it runs, so that ``skrank --help`` is quick.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import skrank
from skrank.cli._output import check_open, deliver, print_error
from skrank.cli._parser import Parser

__all__ = ["main"]

FAILED = 1  # a file cannot be read, measured or written; argparse exits with 2 for wrong usage
INTERRUPTED = 130

# the module with ``add_arguments(parser, name)``, and the line of the list of commands
COMMANDS = {
    "evaluate": ("skrank.cli._evaluate", "evaluate TREC runs against judgments"),
    "compare": ("skrank.cli._evaluate", "test the differences between runs"),
    "fuse": ("skrank.cli._fuse", "fuse runs into one, with trained weights or by a formula"),
    "metrics": ("skrank.cli._metrics", "list the names of metrics, or describe one"),
}


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
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = argparse.Namespace(words=words)
    try:
        _parser(next((word for word in words if word in COMMANDS), "")).parse_args(words, arguments)
        if getattr(arguments, "output", None) is None:
            check_open()  # before the command reads anything
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # files that an interrupt leaves open
            warnings.showwarning = lambda message, *_: print_error(f"skrank: warning: {message}")
            deliver(arguments.run(arguments), None)
    except BrokenPipeError:  # the reader, such as head, has stopped reading
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        where = error.filename or "standard output"
        return _fail(f"{where}: {error.strerror}" if error.strerror else str(error))
    except (ValueError, ImportError) as error:
        return _fail(str(error))
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


def _fail(message: str) -> int:
    print_error(f"skrank: error: {message}")
    return FAILED
