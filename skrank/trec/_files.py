"""Files of judgments (qrels) and of runs: recognise the format, read the columns.

polars reads lines of TREC as CSV: directly if one space or one tab separates columns, else after
white space is replaced.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._files import Source, as_text, content_of, name_of
from skrank.trec import _polars as pl
from skrank.trec._columns import Columns, Reading, Where, columns_of, in_fields, of_queries

# fields of a line of TREC; further fields of a run are ignored
_FIELDS = {
    "qrels": ["qid", check.SKIPPED, "docid", "label"],
    "run": ["qid", check.SKIPPED, "docid", "rank", "score", "tag"],
}
_TAG = 5  # place of the tag in a line of a run
_BEST = ("label", "score", "distance")  # fields of numbers, but for ranks
_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")


def read(source: Source, kind: str, reading: Reading) -> tuple[Columns, Where, str | None]:
    """The columns of a file, the names of its rows in messages, and the tag of a run of TREC.

    `reading` says which fields a file without a header has. Otherwise the first line says what the
    file is: a line of TREC, or JSON, or the header of a table.
    """
    name = name_of(source)
    data = content_of(source)
    if data.startswith(b"PAR1"):
        try:
            table = pl.scan_parquet(io.BytesIO(data))
            columns = columns_of(table.collect_schema().names(), table, kind, reading, name)
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{name}: {error}") from None
        return columns, lambda row: f"{name}, row {row}", None
    text = as_text(data, name)
    if kind == "run" and b"<SYSDESC>" in text[:4096]:  # the description in runs of NTCIR
        described = re.compile(rb"<SYSDESC>.*?</SYSDESC>", re.DOTALL)
        text = described.sub(lambda found: b"\n" * found[0].count(b"\n"), text)
    start, row = _first_row(text, kind)
    if not row:
        raise ValueError(f"{name} is empty: a line of {kind} is {check.LINES[kind]}.")
    if row.startswith((b"{", b"[")):
        return *_json(text, row, kind, reading, name), None
    words, fields = row.decode().split(), reading.in_order(kind)
    of_trec = fields is None and _is_row(words, _FIELDS[kind])
    separator = None if of_trec else next((one for one in "\t,;" if one in row.decode()), None)
    if separator and len(words) != len(fields or ()):
        return *_table(text, start, separator, fields, kind, reading, name), None
    columns, where = _lines(text, fields or _FIELDS[kind], kind, name)
    return columns, where, words[_TAG] if of_trec and kind == "run" else None


def _first_row(text: bytes, kind: str) -> tuple[int, bytes]:
    """Place and content of the first line that is neither blank nor a comment.

    A line that begins with # is a row if it is a line of TREC, as ids may begin so.
    """
    for found in re.finditer(rb"[^\n]*\S[^\n]*", text):
        row = found[0].strip()
        if not row.startswith(b"#") or _is_row(row.split(), _FIELDS[kind]):
            return found.start(), row
    return 0, b""


def _is_row(words: Sequence[Any], fields: Sequence[str]) -> bool:
    """Whether a line has these fields, with a number or a label such as L2 in its place."""
    if _lacks(words, fields):
        return False
    number = words[next(place for place, field in enumerate(fields) if field in _BEST)]
    return _is_number(number[1:] if number[:1] in ("L", b"L") else number)


def _lacks(words: Sequence[Any], fields: Sequence[str]) -> bool:
    """Whether a line has fewer fields, or more than a run of TREC may have."""
    return len(words) < len(fields) or (len(words) > len(fields) and "tag" not in fields)


def _is_number(word: str | bytes) -> bool:
    with suppress(ValueError):
        float(word)
        return True
    return False


def _json(text: bytes, row: bytes, kind: str, reading: Reading, name: str) -> tuple[Columns, Where]:
    """Columns of a dict in JSON, or of JSON Lines, whose first line is a whole object."""
    whole = None
    with suppress(ValueError):
        whole = json.loads(row)
    suffixes = Path(name).suffixes
    several = isinstance(whole, dict) and b"\n" in text.strip()
    flat = isinstance(whole, dict) and not any(
        isinstance(value, (dict, list)) for value in whole.values()
    )
    if (
        not {".jsonl", ".ndjson"} & {*suffixes}
        and not several
        and (not flat or ".json" in suffixes)
    ):
        with check.about(name):
            content = json.loads(text, object_pairs_hook=_unique_keys)
            if not isinstance(content, dict):
                raise ValueError(f"{check.brief(content)} is not a dict from queries to documents.")
        return of_queries(content, kind, name)
    lines, records = [], []
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            with check.about(f"{name}, line {number}"):
                records.append(json.loads(line, object_pairs_hook=_unique_keys))
                if not isinstance(records[-1], dict):
                    raise ValueError(f"{check.brief(records[-1])} is not a record of a document.")
            lines.append(number)
    names = dict.fromkeys(key for record in records for key in record)
    table = {key: [record.get(key) for record in records] for key in names}
    return columns_of(names, table, kind, reading, name), lambda row: f"{name}, line {lines[row]}"


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {key!r} occurs {count} times in one object: keep one of them.")
    return found


# tables -------------------------------------------------------------------------------------------


def _table(
    text: bytes,
    start: int,
    separator: str,
    fields: list[str] | None,
    kind: str,
    reading: Reading,
    name: str,
) -> tuple[Columns, Where]:
    """Columns of CSV or TSV, whose first row begins at `start`; `fields` if it has no header."""
    text = b"\n" * text.count(b"\n", 0, start) + text[start:]
    rows = partial(_csv_rows, text, separator, name)
    line, head = next(rows())
    table = None
    if f'{separator} "'.encode() not in text:  # polars takes such a quotation mark for content
        table = _parsed(text, separator, '"', len(head))
    if table is None or any(column.null_count() for column in table):
        values = zip(*(row for _, row in rows()), strict=True)  # raises if a row is malformed
        table = pl.DataFrame([[value or None for value in column] for column in values])
    columns = [column.cast(pl.String).str.strip_chars_start(" ") for column in table]
    first = int(fields is None)

    def where(row: int) -> str:
        return f"{name}, line {next(islice(rows(), row + first, None))[0]}"

    if fields is not None:
        if len(fields) != len(head):
            raise check.malformed(head, kind, f"{name}, line {line}")
        return in_fields(dict(zip(fields, columns, strict=True))), where
    names = [word.strip() for word in head]
    if any(map(_is_number, names)) and not reading.by_name(kind):
        raise check.malformed(head, kind, f"{name}, line {line}")
    by_name = {one: column[1:] for one, column in zip(names, columns, strict=True)}
    return columns_of(names, by_name, kind, reading, name), where


def _csv_rows(text: bytes, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row; raises ValueError if a row is malformed."""
    lines = io.StringIO(text.decode(), newline="")
    found = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    width = 0
    try:
        for row in filter(None, found):
            width = width or len(row)
            if len(row) != width:
                raise csv.Error(f"{len(row)} columns instead of {width}")
            yield found.line_num, row
    except csv.Error as error:  # such as a quotation mark that is never closed
        raise ValueError(f"{name}, line {found.line_num}: {error}.") from None


def _parsed(
    text: bytes,
    separator: str,
    quote: str | None,
    width: int,
    chosen: list[int] | None = None,
    numbers: Sequence[int] = (),
) -> pl.DataFrame | None:
    """Columns of texts, without blank lines; None if a line has more than `width` columns.

    Fields that are missing are null. If columns are chosen, those beyond `width` are ignored. The
    columns `numbers` are read as numbers, and the result is None if a field is not a number.
    """
    text = text.lstrip(b"\n")
    n_columns = text.count(separator.encode(), 0, text.find(b"\n")) + 1 if chosen else 0
    places = range(max(width, n_columns))
    types = {str(place): pl.Float64 if place in numbers else pl.String for place in places}
    try:
        table = pl.read_csv(
            text, has_header=False, separator=separator, quote_char=quote, columns=chosen,
            schema=types, truncate_ragged_lines=chosen is not None,
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    if any(table[str(place)].is_nan().any() for place in numbers):
        return None
    blank = pl.all_horizontal(pl.all().is_null())
    return table.filter(~blank) if table[:, 0].null_count() else table


# lines of fields between white space --------------------------------------------------------------


def _lines(text: bytes, fields: list[str], kind: str, name: str) -> tuple[Columns, Where]:
    """The columns of lines with these fields."""
    table = _fields(text, fields) if _is_regular(text) else None
    if table is None:
        text = _tidied(text, fields)
        table = _fields(text, fields)
    for line, row in enumerate(text.split(b"\n") if table is None else (), 1):
        if row and _lacks(row.split(), fields):
            raise check.malformed(row.decode().split(), kind, f"{name}, line {line}")

    def where(row: int) -> str:
        lines = (n for n, line in enumerate(text.split(b"\n"), 1) if line)
        return f"{name}, line {next(islice(lines, row, None))}"

    assert table is not None  # else a line lacks fields
    columns = {
        field: table[str(place)] for place, field in enumerate(fields) if field != check.SKIPPED
    }
    return in_fields(columns), where


def _fields(text: bytes, fields: Sequence[str]) -> pl.DataFrame | None:
    """The fields of lines with one separator; None if a line lacks fields."""
    separator, longer = "\t" if b"\t" in text else " ", "tag" in fields
    chosen = [place for place, field in enumerate(fields) if field != check.SKIPPED]
    numbers = [place for place in chosen if fields[place] in (*_BEST, "rank")]
    for places in (numbers, ()):  # as numbers, or as texts such as L2
        table = _parsed(text, separator, None, len(fields), chosen if longer else None, places)
        if table is not None and not any(column.null_count() for column in table):
            return table
    return None


def _is_regular(text: bytes) -> bool:
    """Whether one space, or one tab, separates all columns, and no line can be a comment."""
    if text.startswith(b"#") or b"\r" in text or (b"#" in text and b"\n#" in text):
        return False
    separators = np.frombuffer(text, np.uint8) == ord("\t" if b"\t" in text else " ")
    mixed = b"\t" in text and b" " in text
    return not mixed and not (separators[1:] & separators[:-1]).any()


def _tidied(text: bytes, fields: Sequence[str]) -> bytes:
    """Lines with one space between columns and none around; comments are empty lines."""
    text = text.translate(_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    if text.startswith(b"#") or b"\n#" in text:
        comment = re.compile(rb"(?m)^#.*$")
        text = comment.sub(lambda line: line[0] if _is_row(line[0].split(), fields) else b"", text)
    return text
