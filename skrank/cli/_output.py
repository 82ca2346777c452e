"""Input and output of commands: tables in several formats, whole files, and standard streams."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from skrank.trec import TrecReport

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


def trec_eval(report: TrecReport, view: str | None) -> str:
    """The lines of trec_eval: of each run, or of each query, too, with the view "per_query"."""
    from skrank.trec import trec_eval_lines

    if view not in (None, "per_query"):
        raise ValueError(
            f"--format trec_eval prints values, with or without -q: leave --{view} out."
        )
    return trec_eval_lines(report, per_query=view == "per_query")


TABLES = {"table": _table, "csv": _csv, "json": _json, "jsonl": _json_lines}
FORMATS = (*TABLES, "trec_eval", "html")
_BY_SUFFIX = {
    ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".html": "html", ".htm": "html",
}  # fmt: skip
_TEXT = ("", ".txt")  # suffixes that any format may have


def format_of(path: str | None, given: str | None) -> str:
    """The format of the output: the given one, else that of the suffix of the file, else "table".

    Raises
    ------
    ValueError
        If the format and the suffix differ, or the suffix is unknown and no format is given.
    """
    from skrank.trec._files import SUFFIXES

    suffix = "" if path is None else Path(path).suffix.lower()
    said = _BY_SUFFIX.get(suffix)
    if suffix in SUFFIXES:
        raise ValueError(f"{path}: the output is not compressed: leave {suffix} out.")
    if said and given and said != given:
        raise ValueError(f"{path}: {suffix} is {said}, and --format is {given}: change one.")
    if not said and not given and suffix not in _TEXT:
        known = ", ".join(_BY_SUFFIX)
        raise ValueError(
            f"{path}: {suffix} is not the suffix of a format: use .txt, {known}, or add --format."
        )
    return given or said or "table"


def delivered(text: str, path: str | None) -> str:
    """Write the text to a file, or return it for printing if there is no path.

    A file is replaced as a whole, and keeps its mode. Links are followed; pipes and devices are
    written to.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file remains unchanged then.
    """
    if path is None:
        return text
    target = Path(path).resolve()  # the target of a link
    if target.exists() and not target.is_file():  # a pipe, a device, or a folder (an error)
        target.write_text(text + "\n", encoding="utf-8", errors=BYTES)
        return ""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors=BYTES) as file:
            file.write(text + "\n")
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return ""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# standard streams, which can be closed, full, or limited to ASCII ---------------------------------


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
