"""Standard input, output and error, which may be closed, full, or limited to ASCII."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import BinaryIO

BYTES = "surrogateescape"  # the error handler that writes bytes that are not UTF-8 as they were


def check_open() -> None:
    """Raise OSError if standard output was closed before Python started."""
    if sys.stdout is None:
        raise OSError("standard output is closed.")


def print_text(text: str) -> None:
    """Print to standard output; characters that its encoding lacks are escaped.

    Raises
    ------
    OSError
        If standard output is closed or full.
    """
    check_open()
    out = sys.stdout
    try:
        out.write(f"{text}\n")
    except UnicodeEncodeError:
        out.flush()
        out.buffer.write(_encoded(f"{text}\n", out.encoding))
    out.flush()


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding, BYTES)
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace")


def print_error(message: str) -> None:
    """Print to standard error, unless it is closed or full."""
    if sys.stderr is not None:  # print(file=None) would write to standard output
        with suppress(OSError):
            print(message, file=sys.stderr, flush=True)


def standard_input() -> BinaryIO:
    """Bytes of standard input.

    Raises
    ------
    OSError
        If it is closed.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed: name a file in place of -.")
    return sys.stdin.buffer


def source(argument: str) -> BinaryIO | str:
    """The path of a file, or standard input for "-"."""
    return standard_input() if argument == "-" else argument
