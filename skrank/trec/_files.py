"""Files of judgments (qrels) and of runs: recognise the format, read the columns."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._files import Source, as_text, content_of, name_of
from skrank.trec import _polars as pl
from skrank.trec._columns import Fields, Where, fields_of, of_queries

# fields of a line of TREC; further fields of a run are ignored
_TREC = {
    "qrels": ["qid", check.SKIPPED, "docid", "label"],
    "run": ["qid", check.SKIPPED, "docid", "rank", "score", "tag"],
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LABEL = re.compile(rf"L\d+|{_NUMBER.pattern}", re.ASCII)  # L0, L1, ... of NTCIR
# values that lines are checked for; ranks may be anything
_VALUES = {"label": _LABEL, "score": _NUMBER, "distance": _NUMBER}


def read(source: Source, kind: str, reading: check.Reading) -> tuple[Fields, Where]:
    """The columns of a file by field, and a function that names a row in messages.

    The first bytes or the first line say what the file is: Parquet, JSON, a table, or lines, which
    have the fields of TREC or those of `reading`, as tables without a header have. Each branch
    sets `table`: a frame of polars with the names of the columns in the file; or, without names, a
    dict of columns by field. It sets `where`, which names a row, only if row n of a text is not
    line n, of the lines that are not blank.
    """
    name, data = name_of(source), content_of(source)
    where: Where | None = None
    try:
        if data.startswith(b"PAR1\x15"):  # a text may begin with PAR1; \x15 is the type of a field
            table = pl.scan_parquet(io.BytesIO(data))
        else:
            text = as_text(data, name)
            where = partial(_line_of, text, name)
            # the first line, without a copy of the rest
            line = io.BytesIO(text.lstrip()).readline().decode().rstrip("\n")
            if not line:
                raise ValueError(f"{name} is empty: a line of {kind} is {check.LINES[kind]}.")
            words, fields = _words(line), reading.fields(kind)
            separator = next((mark for mark in "\t,;" if mark in line), None)
            of_words = _is_row(words, fields or _TREC[kind])
            if fields and words[0][-1] == separator:  # "q1, d1, 2"
                of_words = False
            if line[0] in "{[" and not of_words:
                if _is_record(text, line):
                    table = fields_of(_json_lines(text, name), kind, reading, name)
                else:
                    table, where = of_queries(_object(text, name), kind, name)
            elif separator and not of_words:
                table, where = _table(text, separator, name, kind, reading)
            else:
                table = _lines(text, fields or _TREC[kind], kind, name)
        columns = table if isinstance(table, dict) else fields_of(table, kind, reading, name)
    except (OSError, pl.exceptions.PolarsError) as error:  # of polars, for damaged files
        raise ValueError(f"{name}: {error}") from None
    return columns, where or (lambda row: f"{name}, row {row}")


def _line_of(text: bytes, name: str, row: int) -> str:
    """The name of a line, by its place among the lines that are not blank."""
    lines = (number for number, line in enumerate(text.split(b"\n"), 1) if line.strip())
    return f"{name}, line {next(islice(lines, row, None))}"


def _words(line: str) -> list[str]:
    """The fields of a line; white space beyond ASCII is part of an id."""
    return re.findall(r"[^ \t\n]+", line)


def _is_row(words: list[str], fields: list[str]) -> bool:
    """Whether a line has these fields, perhaps more after a tag, with a number in its place."""
    if len(words) < len(fields) or (len(words) > len(fields) and "tag" not in fields):
        return False
    pairs = zip(fields, words, strict=False)
    return all(_VALUES[field].fullmatch(word) for field, word in pairs if field in _VALUES)


def _is_record(text: bytes, line: str) -> bool:
    """Whether the first line is a record, of JSON Lines; else the whole is a dict by query."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    # other values than records count as nested, and are refused by both readers
    first: object = next(iter(record.values()), {}) if isinstance(record, dict) else {}
    return not isinstance(first, (dict, list)) or b"\n" in text.strip()


def _json_lines(text: bytes, name: str) -> Fields:
    """The columns of JSON Lines, by their names; values of a column may differ in type."""
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    records = [_object(line, f"{name}, line {number}") for number, line in lines]
    names = dict.fromkeys(key for record in records for key in record)
    return {key: [record.get(key) for record in records] for key in names}


def _object(text: bytes, what: str) -> dict[str, Any]:
    """An object of JSON; raises ValueError if a key occurs twice in one."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                raise ValueError(f"key {key!r} occurs {count} times in one object.")
        return dict(pairs)

    with check.about(what):
        content = json.loads(text, object_pairs_hook=unique)
        if not isinstance(content, dict):
            raise ValueError(f"{check.brief(content)} is not an object with names.")
    return content


# fields between separators ------------------------------------------------------------------------


def _table(
    text: bytes, separator: str, name: str, kind: str, reading: check.Reading
) -> tuple[Any, Where]:
    """The table of CSV or TSV, which has no header if `reading` has fields; and what names rows."""
    fields, chosen = reading.fields(kind), reading.names(kind)  # chosen names may be numbers
    rows = partial(_csv_rows, text, separator, name)
    table = None
    if f'{separator} "'.encode() not in text:  # polars takes such a quotation mark for content
        with suppress(pl.exceptions.PolarsError):
            table = pl.read_csv(
                text.lstrip(b"\n"), has_header=False, infer_schema=False, separator=separator
            )
    if table is None or any(column.null_count() for column in table):  # perhaps a malformed row
        values = zip(*(row for _, row in rows()), strict=True)
        table = pl.DataFrame([[value or None for value in column] for column in values])
    first, (line, head) = int(not fields), next(rows())
    names = fields or [word.strip() for word in head]
    is_data = not fields and not chosen and any(map(_NUMBER.fullmatch, names))
    if len(names) != len(head) or is_data:
        raise check.malformed(head, kind, f"{name}, line {line}")
    if twice := [word for word in names if word and not fields and names.count(word) > 1]:
        raise ValueError(f"{name}, line {line}: several columns are called {twice[0]!r}.")
    texts = [column[first:].cast(pl.String).str.strip_chars(" ") for column in table]
    columns = dict(zip(names, texts, strict=True))

    def where(row: int) -> str:
        return f"{name}, line {next(islice(rows(), row + first, None))[0]}"

    return columns if fields else pl.DataFrame(columns), where


def _csv_rows(text: bytes, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row; raises ValueError if a row is malformed."""
    lines = io.StringIO(text.decode(), newline="")
    rows = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    width = 0
    try:
        for row in filter(None, rows):
            width = width or len(row)
            if len(row) != width:
                raise csv.Error(f"{len(row)} columns instead of {width}")
            yield rows.line_num, row
    except csv.Error as error:  # such as a quotation mark that is never closed
        raise ValueError(f"{name}, line {rows.line_num}: {error}.") from None


def _lines(text: bytes, fields: list[str], kind: str, name: str) -> Fields:
    """The columns of lines with these fields between white space."""
    tidied = _tidied(text)
    if "label" in fields and b"L" in tidied:  # labels of NTCIR, L0, L1, ...
        before = b"[^ \n]+ " * fields.index("label")
        tidied = re.sub(rb"(?m)^(" + before + rb")L(\d+)(?=[ \n]|\Z)", rb"\1\2", tidied)
    # with a selection of places, polars accepts lines that have more fields
    names, numbers, places = fields, (*_VALUES, "rank"), None
    if "tag" in fields:  # ignores further fields, such as those of the first line
        names = fields + _words(io.BytesIO(tidied).readline().decode())[len(fields) :]
        places = [place for place, field in enumerate(fields) if field != check.SKIPPED]
    types = {str(i): pl.Float64 if field in numbers else pl.String for i, field in enumerate(names)}
    table: Iterable[pl.Series] = ()
    with suppress(pl.exceptions.PolarsError):  # a line has too many or too few fields
        table = pl.read_csv(
            tidied, has_header=False, separator=" ", quote_char=None, columns=places,
            schema=types, ignore_errors=True, truncate_ragged_lines="tag" in fields,
        ).fill_nan(None)  # fmt: skip
    columns = {fields[int(column.name)]: column for column in table}
    if not columns or any(columns[field].null_count() for field in columns.keys() - {"rank"}):
        for number, line in enumerate(text.decode().split("\n"), 1):
            # no other value is null: polars reads all numbers that `_is_row` accepts
            if (words := _words(line)) and not _is_row(words, fields):
                raise check.malformed(words, kind, f"{name}, line {number}")
    return columns


def _tidied(text: bytes) -> bytes:
    """Lines with one space between fields and none around, without blank lines."""
    text = text.replace(b"\t", b" ").lstrip().rstrip(b" ")  # without a copy of tidy text
    blank = np.frombuffer(text, np.uint8) <= ord(" ")
    if (blank[1:] & blank[:-1]).any():
        for several, single in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
            while several in text:
                text = text.replace(several, single)
    return text
