"""The standard streams of a command, any of which may be closed, full, or in ASCII."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import BinaryIO

BYTES = "surrogateescape"  # ids that are not UTF-8 are written as they were read


def check_open() -> None:
    """Raise OSError if standard output was closed before Python started."""
    if sys.stdout is None:
        raise OSError("standard output is closed.")


def write(text: str) -> None:
    """Print to standard output; what its encoding has no character for is escaped.

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


def say(message: str) -> None:
    """Print to standard error, if anybody can read it."""
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
