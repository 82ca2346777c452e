"""``skrank completion``: scripts for shells that complete commands, options and values."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
_HOW = """\
Put into the file that your shell reads when it starts:
  bash   eval "$(skrank completion bash)"
  zsh    eval "$(skrank completion zsh)"   (after compinit)
  fish   skrank completion fish | source
"""


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    parser.epilog = _HOW
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    import shtab  # before the parser is built, see `add_file`

    from skrank.cli import whole_parser

    return str(shtab.complete(whole_parser(), arguments.shell))
