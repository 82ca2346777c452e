"""Input and output of commands: tables in several formats, whole files, and standard streams."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

BYTES = "surrogateescape"  # the error handler that writes bytes that are not UTF-8 as they were
Columns = Mapping[str, Sequence[object]]  # columns of a table, by name, of equal length

_ESCAPED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})  # so that each row is one line


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


def _table(columns: Columns) -> str:
    cells = [[name, *map(_cell, column)] for name, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)


def _cell(cell: object) -> str:
    if _is_nan(cell):
        return "NaN"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell).translate(_ESCAPED)


def _csv(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if _is_nan(cell) else cell for cell in row)
    return text.getvalue().rstrip("\n")


def _json(columns: Columns) -> str:
    """A list of rows."""
    return json.dumps(list(_rows(columns)), indent=1)


def _json_lines(columns: Columns) -> str:
    return "\n".join(map(json.dumps, _rows(columns)))


def _rows(columns: Columns) -> Iterator[dict[str, object]]:
    """Rows in which NaN and infinity, which JSON lacks, are None."""
    for row in zip(*columns.values(), strict=True):
        cells = (None if isinstance(x, float) and not math.isfinite(x) else x for x in row)
        yield dict(zip(columns, cells, strict=True))


TABLES = {"table": _table, "csv": _csv, "json": _json, "jsonl": _json_lines}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_BY_SUFFIX = {
    ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".html": "html",
    ".htm": "html", ".tex": "latex", ".md": "markdown",
}  # fmt: skip


def format_of(path: str | None, given: str | None) -> str:
    """The format of the output: the given one, else that of the suffix of the file, else "table".

    Raises
    ------
    ValueError
        If the format and the suffix differ, or the suffix is unknown and no format is given.
    """
    if path is None or path.startswith("/dev/"):
        return given or "table"
    suffix = Path(path).suffix.lower()
    said = _BY_SUFFIX.get(suffix)
    if said and given and said != given:
        raise ValueError(f"{path}: {suffix} is {said}, and --format is {given}: change one.")
    if not said and suffix not in ("", ".txt") and (not given or suffix in _COMPRESSED):
        known = ", ".join(_BY_SUFFIX)
        raise ValueError(f"{path}: {suffix} is not the suffix of a format: use .txt or {known}.")
    return given or said or "table"


def deliver(text: str, path: str | None) -> None:
    """Write the text to a file, whole or not at all, or print the text if there is no path.

    Raises
    ------
    OSError
        If the text cannot be written; an existing file remains unchanged then.
    """
    if path is None:
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
    """Print to standard output; characters that its encoding lacks are escaped."""
    check_open()
    out = sys.stdout
    with _discarding(out):
        try:
            out.write(f"{text}\n")
        except UnicodeEncodeError:
            out.flush()
            out.buffer.write(_encoded(f"{text}\n", out.encoding))
        out.flush()


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


def _encoded(text: str, encoding: str) -> bytes:
    """The text, with bytes of files as they were, or else with all other characters escaped."""
    try:
        return text.encode(encoding, BYTES)
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace")


def print_error(message: str) -> None:
    """Print to standard error, unless it is closed or full."""
    if sys.stderr is not None:  # print(file=None) would write to standard output
        with suppress(OSError), _discarding(sys.stderr):
            print(message, file=sys.stderr, flush=True)


def source(argument: str) -> BinaryIO | str:
    """The path of a file, or standard input for "-".

    Raises
    ------
    OSError
        If standard input is closed.
    """
    if argument != "-":
        return argument
    if sys.stdin is None:
        raise OSError("standard input is closed: name a file in place of -.")
    return sys.stdin.buffer


def named_sources(
    arguments: Sequence[str], *, ranks: bool = False
) -> list[BinaryIO | str] | dict[str, object]:
    """Sources of runs; by name if one of the runs is written as NAME=FILE.

    Then the other runs are read with `ranks`, as by `skrank.trec.read_runs`, for their names.

    Raises
    ------
    ValueError
        If two runs have the same name.
    """
    pairs = [split_name(one) for one in arguments]
    unnamed = [source(path) for name, path in pairs if not name]
    if len(unnamed) == len(pairs):
        return unnamed
    from skrank.trec import read_runs

    rest = iter((read_runs(unnamed, ranks=ranks) if unnamed else {}).items())
    named = dict[str, object]((name, source(path)) if name else next(rest) for name, path in pairs)
    if len(named) < len(pairs):
        raise ValueError("two runs have the same name: write NAME=FILE with a name for each.")
    return named


def split_name(argument: str) -> tuple[str, str]:
    """The name and the path of NAME=FILE; the name is "" for the path of a file."""
    name, sign, path = argument.partition("=")
    return (name, path) if sign and not os.path.exists(argument) else ("", argument)
