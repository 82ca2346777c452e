"""Files of judgments (qrels) and of runs: decompress, recognise the format by the content, read.

polars reads lines of TREC as CSV: directly if one space or one tab separates columns, else after
white space is replaced.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from skrank import _validation as check
from skrank.trec import _columns
from skrank.trec import _polars as pl
from skrank.trec._columns import PLACES, RANK, Columns, Source, Where

_LINES = {
    "qrels": "<query> <iteration> <document> <label>",
    "run": "<query> <Q0> <document> <rank> <score> <tag>",
}
_TAG = 5  # place of the name of the run in a line
_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")


class Entries(NamedTuple):
    """Columns "qid", "docid", "number" and perhaps "rank"; names of the file and of the run."""

    table: pl.DataFrame
    name: str | None = None
    tag: str | None = None


def rows_of(source: object, kind: str, *, ranks: bool = False) -> Entries:
    """The rows of a path, a file object, or an object in memory; errors name the line or row.

    `kind` is "qrels" or "run". If `ranks`, lines of TREC are read with their ranks.
    """
    if _columns.is_file(source):
        return _read(source, kind, ranks=ranks)
    columns = source if isinstance(source, Columns) else _columns.columns_of(source, kind)
    if columns is None:
        what = f"{kind} of type {type(source).__name__}"
        hint = "; judgments come first, then runs" * (kind == "qrels")
        raise ValueError(f"{what} cannot be read: {_columns.SHAPES}{hint}.")
    return _rows(columns, kind, _columns.rows_of_memory(kind), None)


def _rows(columns: Columns, kind: str, where: Where, name: str | None) -> Entries:
    """The rows of columns, which must be of one run."""
    if not len(columns.number):
        raise ValueError(f"{name or kind} holds no document.")
    table = _columns.table_of(columns, kind, where)
    tags = table["run"].unique(maintain_order=True).to_list() if "run" in table.columns else []
    if len(tags) > 1:
        raise ValueError(
            f"{name or 'the run'} holds {len(tags)} runs ({', '.join(tags[:3])}, ...): select the "
            "rows of one."
        )
    return Entries(table, name, tags[0] if tags else None)


# bytes --------------------------------------------------------------------------------------------


def _zstandard(data: bytes) -> bytes:
    import zstandard

    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise ValueError("the last frame is cut")
        data = frame.unused_data
    return b"".join(parts)


# modules with a function `decompress`, by the first bytes of the content
_MODULES = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "lzma", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": ""}


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def _content(source: Source, name: str) -> bytes:
    """The decompressed bytes of a path or a file object."""
    if isinstance(source, (str, os.PathLike)):
        if Path(source).is_dir():
            raise ValueError(f"{name!r} is a folder: name a file.")
        given: bytes | str = Path(source).read_bytes()
    else:
        given = source.read()
    data = given.encode(errors="surrogateescape") if isinstance(given, str) else given
    for magic, module in _MODULES.items():
        if data.startswith(magic):
            try:
                data = import_module(module).decompress(data) if module else _zstandard(data)
            except Exception as error:  # each library has its own class
                raise ValueError(f"{name} cannot be decompressed: {error}") from None
            break
    return data


def _text(data: bytes, name: str) -> bytes:
    """A text in UTF-8 without byte order mark, whose lines end with newlines."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    bad = data.find(b"\0")
    try:
        data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = data.count(b"\n", 0, bad) + 1
        raise ValueError(
            f"{name}, line {line}: the byte 0x{data[bad]:02x} is not text in UTF-8: unpack an "
            "archive, or convert the text, for example by iconv -f LATIN1 -t UTF-8; -f UTF-16 if "
            "it begins with 0xff or 0xfe, and -f UTF-16LE if every other byte is 0x00."
        )
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
    return data


# formats ------------------------------------------------------------------------------------------


def _read(source: Source, kind: str, *, ranks: bool) -> Entries:
    name = name_of(source)
    data = _content(source, name)
    if data.startswith(b"PAR1"):
        with check.about(name):
            try:
                return rows_of(pl.scan_parquet(io.BytesIO(data)), kind)._replace(name=name)
            except pl.exceptions.PolarsError as error:
                raise ValueError(error) from None
    text = _text(data, name)
    del data
    if kind == "run" and b"<SYSDESC>" in text[:4096]:  # the description in runs of NTCIR
        described = re.compile(rb"<SYSDESC>.*?</SYSDESC>", re.DOTALL)
        text = described.sub(lambda found: b"\n" * found[0].count(b"\n"), text)
    start, row = _first_row(text, kind)
    if not row:
        raise ValueError(f"{name} is empty: a line of {kind} is {_LINES[kind]}.")
    separator = _separator(row)
    if row.startswith((b"{", b"[")):
        columns, where = _json(text, row, name, kind)
    elif separator:
        columns, where = _csv(text, start, separator, name, kind)
    else:
        return _lines(text, name, kind, row, ranks=ranks)
    return _rows(columns, kind, where, name)


def _first_row(text: bytes, kind: str) -> tuple[int, bytes]:
    """Place and content of the first line that is neither blank nor a comment.

    A line that begins with # may be a comment or a row, as ids may begin so. It is the first row
    only if all lines begin with #, and if it has as many columns as the longest form of a row.
    """
    found = re.search(rb"^[^\S\n]*([^#\s][^\n]*)", text, re.MULTILINE)
    if found is not None:
        return found.start(), found[1].rstrip()
    rows = (line for line in text.split(b"\n") if _is_row(line, kind, max(PLACES[kind])))
    return 0, next(rows, b"").strip()


def _is_row(line: bytes, kind: str, width: int) -> bool:
    """Whether a line has the columns of a row, and a number or a label such as L2 in place."""
    words = line.split()
    if len(words) < width or (len(words) > width and width <= _TAG):
        return False
    with suppress(ValueError):
        float(words[PLACES[kind][width][2]].removeprefix(b"L"))
        return True
    return False


def _separator(row: bytes) -> str | None:
    """What separates the names of columns in the first row of a table; None for lines of TREC."""
    for separator in ("\t", ",", ";"):
        names = {name.strip(' "').lower() for name in row.decode().split(separator)}
        known = [not names.isdisjoint(ids) for ids in (_columns.QUERY, _columns.DOCUMENT)]
        if all(known) or (any(known) and len(names) > 1 and not any(map(str.isdigit, names))):
            return separator
    return None


def _json(text: bytes, row: bytes, name: str, kind: str) -> tuple[Columns, Where]:
    """Columns of one JSON value, or of JSON Lines, if the first line is a record."""
    record = None
    with suppress(ValueError):
        record = json.loads(row)
    several = isinstance(record, dict) and b"\n" in text.strip()
    if not several and not _columns.is_record(record, kind):
        with check.about(name):
            thing = json.loads(text, object_pairs_hook=_unique_keys)
            columns = _columns.columns_of(thing, kind)
            if columns is None:
                raise ValueError(f"the file holds no {kind}: {_columns.SHAPES}.")
        return columns, lambda row: f"{name}, row {row}"
    lines = [n for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    records = []
    for number, line in zip(lines, filter(bytes.strip, text.split(b"\n")), strict=True):
        with check.about(f"{name}, line {number}"):
            records.append(json.loads(line, object_pairs_hook=_unique_keys))

    def where(row: int) -> str:
        return f"{name}, line {lines[row]}"

    return _columns.of_records(records, kind, where), where


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {key!r} occurs {count} times in one object: keep one of them.")
    return found


def _csv(text: bytes, start: int, separator: str, name: str, kind: str) -> tuple[Columns, Where]:
    """Columns of a table of CSV, whose row of names begins at `start`."""
    text = b"\n" * text.count(b"\n", 0, start) + text[start:]

    def rows() -> Iterator[tuple[int, list[str]]]:
        """Line and fields of each row; raises ValueError if a row is malformed."""
        found = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator, strict=True)
        width = 0
        try:
            for row in filter(None, found):
                width = width or len(row)
                if len(row) != width:
                    raise csv.Error(f"{len(row)} columns instead of {width}")
                yield found.line_num, row
        except csv.Error as error:  # such as a quotation mark that is never closed
            raise ValueError(f"{name}, line {found.line_num}: {error}.") from None

    names = [one.strip() for one in next(rows())[1]]
    table = _parsed(text, separator, '"', len(names))
    if table is None or any(column.null_count() for column in table):
        list(rows())
    if table is None:
        raise ValueError(f"{name} is not a table of CSV.")
    with check.about(name):
        columns = _columns.of_names(names, table[1:].get_columns(), kind)
    return columns, lambda row: f"{name}, line {next(islice(rows(), row + 1, None))[0]}"


def _parsed(
    text: bytes,
    separator: str,
    quote: str | None,
    width: int,
    chosen: list[int] | None = None,
    number: int | None = None,
) -> pl.DataFrame | None:
    """Columns of texts, without blank lines; None if a line has more than `width` columns.

    Fields that are missing are null. If columns are chosen, those beyond `width` are ignored. The
    column `number` is read as numbers, and the result is None if a field is not a number.
    """
    text = text.lstrip(b"\n")
    n_columns = text.count(separator.encode(), 0, text.find(b"\n")) + 1 if chosen else 0
    places = range(max(width, n_columns))
    types = {str(place): pl.Float64 if place == number else pl.String for place in places}
    try:
        table = pl.read_csv(
            text, has_header=False, separator=separator, quote_char=quote, columns=chosen,
            schema=types, truncate_ragged_lines=chosen is not None,
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    if number is not None and table[str(number)].is_nan().any():
        return None
    blank = pl.all_horizontal(pl.all().is_null())
    return table.filter(~blank) if table[:, 0].null_count() else table


# lines of TREC ------------------------------------------------------------------------------------


def _lines(text: bytes, name: str, kind: str, row: bytes, *, ranks: bool) -> Entries:
    """The rows of lines of TREC, of which `row` is the first."""
    words, widths = row.split(), PLACES[kind]
    width = len(words) if len(words) in widths else max(widths)
    tagged = kind == "run" and width > _TAG
    chosen = [*widths[width], *[RANK] * ranks, _TAG] if tagged else None

    def parsed() -> pl.DataFrame | None:
        separator = "\t" if b"\t" in text else " "
        for place in (widths[width][2], None):  # as numbers, or as texts such as L2
            table = _parsed(text, separator, None, width, chosen, place)
            if table is not None and not any(one.null_count() for one in table):
                return table
        return None

    table = parsed() if _is_regular(text) else None
    if table is None:
        text = _tidied(text, kind, width)
        table = parsed()
    if table is None:
        raise _malformed(text, name, kind, width)

    def where(row: int) -> str:
        lines = (n for n, line in enumerate(text.split(b"\n"), 1) if line)
        return f"{name}, line {next(islice(lines, row, None))}"

    query, document, number = (table[str(place)] for place in widths[width])
    rank = table[str(RANK)] if ranks and tagged else None
    guess = None if kind == "run" and not tagged else False
    entries = _rows(Columns(query, document, number, None, rank, guess), kind, where, name)
    return entries._replace(tag=words[_TAG].decode()) if tagged else entries


def _is_regular(text: bytes) -> bool:
    """Whether one space, or one tab, separates all columns, and no line can be a comment."""
    if text.startswith(b"#") or b"\r" in text or (b"#" in text and b"\n#" in text):
        return False
    separators = np.frombuffer(text, np.uint8) == ord("\t" if b"\t" in text else " ")
    mixed = b"\t" in text and b" " in text
    return not mixed and not (separators[1:] & separators[:-1]).any()


def _tidied(text: bytes, kind: str, width: int) -> bytes:
    """Lines with one space between columns and none around; comments are empty lines."""
    text = text.translate(_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    if text.startswith(b"#") or b"\n#" in text:
        text = re.sub(
            rb"(?m)^#.*$", lambda line: line[0] if _is_row(line[0], kind, width) else b"", text
        )
    return text


def _malformed(text: bytes, name: str, kind: str, width: int) -> ValueError:
    """The error for the first line that lacks columns, or has too many."""
    for line, row in enumerate(text.split(b"\n"), 1):
        words = row.split()
        if words and (len(words) < width or (len(words) > width and width < max(PLACES["run"]))):
            return ValueError(
                f"{name}, line {line}: {len(words)} columns instead of {width} in "
                f"{row.decode()[:60]!r}: a line of {kind} is {_LINES[kind]}; a table of CSV begins "
                "with a row of names, such as qid,docid,score."
            )
    return ValueError(f"{name} has lines that are not of {kind}: a line is {_LINES[kind]}.")
