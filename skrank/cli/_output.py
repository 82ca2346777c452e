"""Input and output of commands: tables in several formats, whole files, and standard streams."""

from __future__ import annotations

import math
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

BYTES = "surrogateescape"  # the error handler that writes bytes that are not UTF-8 as they were
Columns = Mapping[str, Sequence[object]]  # columns of a table, by name, of equal length

# control characters, which could command a terminal, and those that reorder text
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _escaped(text: str) -> str:
    """The text with its control characters escaped."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def table(columns: Columns) -> str:
    """Rows with aligned columns, each of which is one line."""
    cells = [[_escaped(name), *map(_cell, column)] for name, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else f"{cell:.4f}"
    return _escaped(str(cell))


def data(columns: Columns, form: str) -> str:
    """Columns as CSV, as JSON, a list of rows, or as JSON Lines; NaN is empty, or null."""
    import polars as pl

    series = {name: pl.Series(column, strict=False) for name, column in columns.items()}
    frame = pl.DataFrame(series).fill_nan(None)
    write = {"csv": frame.write_csv, "json": frame.write_json, "jsonl": frame.write_ndjson}[form]
    return write().rstrip("\n")


_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_BY_SUFFIX = {
    ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".html": "html",
    ".htm": "html", ".tex": "latex", ".md": "markdown",
}  # fmt: skip


def format_of(path: str | None, chosen: str | None) -> str:
    """The format of the output: the chosen one, else that of the suffix of the file, else "table".

    Raises
    ------
    ValueError
        If the format and the suffix differ, or the suffix is unknown and no format is chosen.
    """
    if path in (None, "-"):
        return chosen or "table"
    suffix = Path(path).suffix.lower()
    said = _BY_SUFFIX.get(suffix)
    if said and chosen and said != chosen:
        raise ValueError(f"{path}: {suffix} is {said}, and --format is {chosen}: change one.")
    if not said and suffix not in ("", ".txt") and (not chosen or suffix in _COMPRESSED):
        known = ", ".join(_BY_SUFFIX)
        raise ValueError(f"{path}: {suffix} is not the suffix of a format: use .txt or {known}.")
    return chosen or said or "table"


def deliver(text: str, path: str | None) -> None:
    """Write the text to a file, whole or not at all, or print it if there is no path, or it is -.

    Raises
    ------
    OSError
        If the text cannot be written; an existing file remains unchanged then.
    """
    if path in (None, "-"):
        if text:
            _print(text)
        return
    from skrank._files import write_atomically

    data = f"{text}\n".encode(errors=BYTES)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # an interrupt removes unfinished files
        signal.signal(signal.SIGINT, signal.default_int_handler)
    write_atomically(path, data)


# standard streams, which can be closed, full, or limited to ASCII ---------------------------------


def check_open() -> None:
    """Raise OSError if standard output was closed before Python started."""
    if sys.stdout is None:
        raise OSError("standard output is closed.")


def _print(text: str) -> None:
    """Print to standard output; characters that its encoding lacks are escaped.

    On a terminal, control characters are escaped, too.
    """
    check_open()
    if sys.stdout.isatty():
        text = "\n".join(map(_escaped, text.replace("\t", " " * 8).split("\n")))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    with _discarding(sys.stdout):
        print(text, flush=True)


@contextmanager
def _discarding(stream: TextIO) -> Iterator[None]:
    """After an error, discard what the stream has buffered.

    Python would otherwise try to write it again at exit, and exit with status 120.
    """
    try:
        yield
    except OSError:
        with suppress(OSError):  # of a stream without a file descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


def print_error(message: str) -> None:
    """Print to standard error, unless it is closed or full."""
    if sys.stderr is not None:  # print(file=None) would write to standard output
        with suppress(OSError), _discarding(sys.stderr):
            print("\n".join(map(_escaped, message.split("\n"))), file=sys.stderr, flush=True)


def source(argument: str) -> BinaryIO | Path:
    """The path of a file, or standard input for "-".

    Raises
    ------
    OSError
        If standard input is closed.
    """
    if argument != "-":
        return Path(argument)
    if sys.stdin is None:
        raise OSError("standard input is closed: name a file in place of -.")
    return sys.stdin.buffer


def named_sources(arguments: Sequence[str], reading: Any) -> list[Any] | dict[str, Any]:
    """Sources of runs; by name if one of the runs is written as NAME=FILE.

    Runs with a name beside runs without one are read here, as `reading` says.

    Raises
    ------
    ValueError
        If two runs have the same name.
    """
    pairs = [split_name(argument) for argument in arguments]
    named = {name: source(path) for name, path in pairs if name}
    if len(named) < sum(name != "" for name, _ in pairs):
        raise ValueError("two runs have the same name: write NAME=FILE with a name for each.")
    if not named or len(named) == len(pairs):
        return named or [source(path) for _, path in pairs]
    from skrank.trec import read_runs

    loaded = read_runs(named, columns=reading)
    return [loaded[name] if name else source(path) for name, path in pairs]


def split_name(argument: str) -> tuple[str, str]:
    """The name and the path of NAME=FILE; the name is "" for the path of a file."""
    name, sign, path = argument.partition("=")
    return (name, path) if sign and not os.path.exists(argument) else ("", argument)
