"""What commands print: tables, trec_eval's lines, or a page; whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skrank.cli._streams import BYTES
from skrank.trec._packed import SUFFIXES

if TYPE_CHECKING:
    from skrank.trec import TrecReport

Columns = Mapping[str, Sequence[object]]  # of a table: all as long as each other

_ESCAPED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})  # one line is one row


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
    """Rows as JSON can hold them: it has neither NaN nor infinity."""
    for row in zip(*columns.values(), strict=True):
        cells = (None if isinstance(x, float) and not math.isfinite(x) else x for x in row)
        yield dict(zip(columns, cells, strict=True))


def trec_eval(report: TrecReport, view: str | None) -> str:
    from skrank.trec import trec_eval_lines

    if view not in (None, "per_query"):
        raise ValueError(f"--format trec_eval shows values, with or without -q, and no {view}.")
    return trec_eval_lines(report, per_query=view == "per_query")


TABLES = {"table": _table, "csv": _csv, "json": _json, "jsonl": _json_lines}
PAGES = ("trec_eval", "html")
FORMATS = (*TABLES, *PAGES)
_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".html": "html",
    ".htm": "html",
}
_TEXT = ("", ".txt")  # suffixes that any format may have; without --format it is a table


def format_of(path: str | None, given: str | None) -> str:
    """The format of the output: what is given, else what the suffix of the file says.

    Raises
    ------
    ValueError
        If they contradict each other, or the suffix says nothing.
    """
    suffix = "" if path is None else Path(path).suffix.lower()
    said = _BY_SUFFIX.get(suffix)
    if suffix in SUFFIXES:
        raise ValueError(f"{path}: the output is not packed: leave {suffix} out.")
    if said and given and said != given:
        raise ValueError(f"{path}: {suffix} is {said}, and --format is {given}: change one.")
    if not said and not given and suffix not in _TEXT:
        known = ", ".join(_BY_SUFFIX)
        raise ValueError(
            f"{path}: {suffix} is the suffix of no format: use .txt, {known}, or add --format."
        )
    return given or said or "table"


def delivered(text: str, path: str | None) -> str:
    """The text, to be printed; or nothing, once it stands in a file, which is never half written.

    Raises
    ------
    OSError
        If the file cannot be written; one that was there stays as it was. Links are followed, and
        pipes and devices written to.
    """
    if path is None:
        return text
    target = Path(path).resolve()  # what a link points to
    if target.exists() and not target.is_file():  # a pipe or a device, or a folder, which refuses
        target.write_text(text + "\n", encoding="utf-8", errors=BYTES)
        return ""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors=BYTES) as file:
            file.write(text + "\n")
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return ""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
