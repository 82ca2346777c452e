"""Files of judgments (qrels) and of runs: decompress, recognise the format by the content, read.

polars reads lines of TREC as CSV: directly if one space or one tab separates columns, else after
white space is replaced.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skrank import _validation as check
from skrank.trec import _columns
from skrank.trec._columns import NUMBER, PLACES, RANK, Columns, Known, Source, Where

if TYPE_CHECKING:
    import polars as pl
else:
    from skrank.trec import _polars as pl

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
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


def rows_of(
    source: object, kind: str, known: Known | None = None, *, ranks: bool = False
) -> Entries:
    """The rows of a path, a file object, or an object in memory; errors name the line or row.

    `kind` is "qrels" or "run". If `ranks`, lines of TREC are read with their ranks.
    """
    if _columns.is_file(source):
        return _read(source, kind, known, ranks=ranks)
    columns = source if isinstance(source, Columns) else _columns.columns_of(source, kind, known)
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


# by the first bytes of the content
_DECOMPRESS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"BZh": bz2.decompress,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
_UNREAD = {
    b"\x04\x22\x4d\x18": "compressed with LZ4: decompress it, for example by lz4 -d",
    b"PK\x03\x04": "a ZIP archive: unpack it",
    b"\xff\xfe": "in UTF-16: convert it to UTF-8, for example by iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "in UTF-16: convert it to UTF-8, for example by iconv -f UTF-16 -t UTF-8",
}


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def content(source: Source) -> bytes:
    """The decompressed bytes of a path or a file object; errors name the file."""
    given = Path(source).read_bytes() if isinstance(source, (str, os.PathLike)) else source.read()
    data = given.encode(errors="surrogateescape") if isinstance(given, str) else given
    for magic, decompress in _DECOMPRESS.items():
        if data.startswith(magic):
            try:
                data = decompress(data)
            except Exception as error:  # each library has its own class
                text = f"{name_of(source)} cannot be decompressed: {error}".rstrip(".")
                raise ValueError(f"{text}.") from None
            break
    for magic, what in _UNREAD.items():
        if data.startswith(magic):
            raise ValueError(f"{name_of(source)} is {what}.")
    return data


def _text(data: bytes, name: str) -> bytes:
    """A text in UTF-8 without byte order mark, whose lines end with newlines."""
    data = data[len(BOM) :] if data.startswith(BOM) else data
    bad = data.find(b"\0")
    try:
        data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = data.count(b"\n", 0, bad) + 1
        raise ValueError(
            f"{name}, line {line}: the byte 0x{data[bad]:02x} is not text in UTF-8: convert the "
            "file, for example by iconv -f LATIN1 -t UTF-8, or -f UTF-16LE if every other byte is "
            "0x00."
        )
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
    return data


# formats ------------------------------------------------------------------------------------------


def _read(source: Source, kind: str, known: Known | None, *, ranks: bool) -> Entries:
    data, name = content(source), name_of(source)
    if data.startswith(b"PAR1"):
        columns = _parquet(data, name, kind, known)
        return _rows(columns, kind, lambda row: f"{name}, row {row}", name)
    text = _text(data, name)
    del data
    if kind == "run" and b"<SYSDESC>" in text[:4096]:  # the description in runs of NTCIR
        described = re.compile(rb"<SYSDESC>.*?</SYSDESC>", re.DOTALL)
        text = described.sub(lambda found: b"\n" * found[0].count(b"\n"), text)
    start, row = _first_row(text, kind)
    if not row:
        raise ValueError(f"{name} is empty: a line of {kind} is {_LINES[kind]}.")
    separator = _separator(row, kind)
    if row.startswith((b"{", b"[")):
        columns, where = _json(text, name, kind, known)
    elif separator:
        columns, where = _csv(text, start, separator, name, kind, known)
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
    """Whether a line has the columns of a row, and a number in place."""
    words = line.split()
    enough = len(words) >= width if width > 4 else len(words) == width
    return enough and _decimal(words[PLACES[kind][width][2]]) is not None


def _decimal(word: bytes | str) -> float | None:
    """The number that a word spells, in ASCII and without underscores; None if it is not one."""
    text = word if isinstance(word, str) else word.decode("latin-1")
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _separator(row: bytes, kind: str) -> str | None:
    """What separates the columns of a table, by its first row; None for lines of TREC.

    The first row of a table has names: those of queries and documents, or at least no number. Rows
    without white space and with as many commas as a row of numbers are a table without names.
    """
    for separator in (b"\t", b",", b";"):
        words = [word.strip(b' "') for word in row.split(separator)]
        names = {word.decode().lower() for word in words}
        named = not names.isdisjoint(_columns.QUERY) and not names.isdisjoint(_columns.DOCUMENT)
        alone = len(row.split()) == (len(words) if separator == b"\t" else 1)
        unnamed = len(words) in PLACES[kind] and separator != b"\t"
        words_only = len(words) > 2 and not any(map(_is_number, words))
        if named or (alone and (unnamed or words_only)):
            return separator.decode()
    return None


def _is_number(word: bytes) -> bool:
    return _decimal(word) is not None or re.fullmatch(rb"L\d+", word) is not None


def _parquet(data: bytes, name: str, kind: str, known: Known | None) -> Columns:
    wanted = {*_columns.QUERY, *_columns.DOCUMENT, *NUMBER[kind], *_columns.RUN}
    try:
        file = pl.scan_parquet(io.BytesIO(data))
        names = [one for one in file.collect_schema().names() if one.lower() in wanted]
        found = file.select(names).collect().to_dict()
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name}: {error}") from None
    with check.about(name):
        return _columns.of_names(found, kind, known)


def _json(text: bytes, name: str, kind: str, known: Known | None) -> tuple[Columns, Where]:
    """Columns of one JSON value, or of JSON Lines."""
    thing = None
    try:
        thing = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise ValueError(f"{name}, line {error.lineno}: no JSON: {error.msg}.") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if thing is not None and not _columns.is_record(thing, kind):
        with check.about(name):
            columns = _columns.columns_of(thing, kind, known)
            if columns is None:
                raise ValueError(f"the file holds no {kind}: {_columns.SHAPES}.")
        return columns, lambda row: f"{name}, row {row}"
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    records = []
    for number, line in lines:
        with check.about(f"{name}, line {number}"):
            records.append(json.loads(line, object_pairs_hook=_unique_keys))
    with check.about(name):
        if not _columns.is_record(records[0], kind):
            raise ValueError(f"no record with qid, docid and {NUMBER[kind][0]} in line 1.")
        columns = _columns.of_records(records, kind, known, lambda row: f"line {lines[row][0]}")
    return columns, lambda row: f"{name}, line {lines[row][0]}"


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {key!r} occurs {count} times in one object: keep one of them.")
    return found


def _csv(
    text: bytes, start: int, separator: str, name: str, kind: str, known: Known | None
) -> tuple[Columns, Where]:
    """Columns of a table of CSV, whose first row, with or without names, begins at `start`."""
    text = b"\n" * text.count(b"\n", 0, start) + text[start:]

    def rows() -> Iterator[tuple[int, list[str]]]:
        """Line and fields of each row; raises ValueError if a row is malformed."""
        found = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator, strict=True)
        first: list[str] = []
        try:
            for row in filter(None, found):
                first = first or row
                if len(row) != len(first):
                    raise csv.Error(f"{len(row)} columns instead of {len(first)}")
                yield found.line_num, row
        except csv.Error as error:  # such as a quotation mark that is never closed
            raise ValueError(f"{name}, line {found.line_num}: {error}.") from None

    names = [one.strip() for one in next(rows())[1]]
    headed = not any(_is_number(one.encode()) for one in names)
    types = {str(place): pl.String for place in range(len(names))}
    try:
        table = pl.read_csv(
            text.lstrip(b"\n"), separator=separator, has_header=False, schema=types
        ).filter(~pl.all_horizontal(pl.all().is_null()))
    except pl.exceptions.PolarsError as error:
        list(rows())
        raise ValueError(f"{name}: {str(error).splitlines()[0]}.") from None
    if table.null_count().sum_horizontal().item():
        list(rows())
    columns = table[headed:].get_columns()

    def where(row: int) -> str:
        return f"{name}, line {next(islice(rows(), row + headed, None))[0]}"

    with check.about(name):
        if not headed:
            return _columns.of_fields(columns, kind), where
        _columns.check_names(names)
        return _columns.of_names(dict(zip(names, columns, strict=True)), kind, known), where


# lines of TREC ------------------------------------------------------------------------------------


def _lines(text: bytes, name: str, kind: str, row: bytes, *, ranks: bool) -> Entries:
    """The rows of lines of TREC, of which `row` is the first."""
    words, widths = row.split(), PLACES[kind]
    width = len(words) if len(words) in widths else max(widths)
    ranks = ranks and width > RANK and kind == "run"
    table = _parse(text, kind, width, ranks=ranks, whole=False) if _is_regular(text) else None
    if table is None:
        text = _tidied(text, kind, width)
        table = _parse(text, kind, width, ranks=ranks, whole=True)
    if table is None:
        raise _malformed(text, name, kind, width)

    def where(row: int) -> str:
        lines = (n for n, line in enumerate(text.split(b"\n"), 1) if line)
        return f"{name}, line {next(islice(lines, row, None))}"

    guess = None if kind == "run" and width == 3 else False
    tag = words[_TAG].decode() if kind == "run" and width > _TAG else None
    return Entries(_columns.checked(table, kind, where, guess), name, tag)


def _is_regular(text: bytes) -> bool:
    """Whether one space, or one tab, may separate all columns, and no line can be a comment."""
    separator, other = (b"\t", b" ") if b"\t" in text else (b" ", b"\t")
    if any(one in text for one in (other, b"\r", separator * 2, separator + b"\n")):
        return False
    hashed = b"#" in text and (text.startswith(b"#") or b"\n#" in text)
    return not hashed and not text.endswith(separator)


def _tidied(text: bytes, kind: str, width: int) -> bytes:
    """Lines with one space between columns and none around; comments are empty lines."""
    text = text.translate(_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    if kind == "qrels":  # NTCIR has labels such as L2
        text = re.sub(rb"(?m) L(\d+)$", rb" \1", text)
    if text.startswith(b"#") or b"\n#" in text:
        text = re.sub(
            rb"(?m)^#.*$", lambda line: line[0] if _is_row(line[0], kind, width) else b"", text
        )
    return text


def _parse(text: bytes, kind: str, width: int, *, ranks: bool, whole: bool) -> pl.DataFrame | None:
    """Query, document, number and, if wanted, rank of lines; None if a line is malformed.

    If `whole`, lines of runs may have more columns than the first; else a line that lacks columns
    is found by the number of separators.
    """
    text = text.lstrip(b"\n")
    separator = b"\t" if b"\t" in text else b" "
    n_columns = text.count(separator, 0, text.find(b"\n") % (len(text) + 1)) + 1
    if n_columns < width or (n_columns > width and kind == "qrels"):
        return None
    wanted = dict(zip(PLACES[kind][width], ("qid", "docid", "number"), strict=True))
    wanted |= {RANK: "rank"} if ranks else {}
    types = {
        str(place): pl.Float64 if wanted.get(place) in ("number", "rank") else pl.String
        for place in range(n_columns)
    }
    try:
        table = pl.read_csv(
            text, has_header=False, separator=separator.decode(), quote_char=None, schema=types,
            columns=list(range(width)) if whole else sorted(wanted),
            truncate_ragged_lines=whole and width == max(PLACES["run"]),
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
    if whole:
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    complete = whole or text.count(separator) == (n_columns - 1) * len(table)
    if table.null_count().sum_horizontal().item() or not complete:
        return None
    table = table.select(pl.col(str(place)).alias(name) for place, name in wanted.items())
    return table if table["number"].is_finite().all() else None


def _malformed(text: bytes, name: str, kind: str, width: int) -> ValueError:
    """The error for the first line of tidied lines that is not a row."""
    for line, row in enumerate(text.split(b"\n"), 1):
        words = row.decode().split(" ")
        number = _decimal(words[PLACES[kind][width][2]]) if len(words) >= width else None
        if row and (len(words) < width or (kind == "qrels" and len(words) > width)):
            other = "run" if kind == "qrels" else "qrels"
            swapped = _is_row(row, other, max(PLACES[other]))
            return ValueError(
                f"{name}, line {line}: {len(words)} columns instead of {width} in "
                f"{row.decode()[:60]!r}: a line of {kind} is {_LINES[kind]}."
                + f" It looks like a line of {other}: qrels come first, then runs."
                * swapped
            )
        if row and (number is None or not math.isfinite(number)):
            word = words[PLACES[kind][width][2]]
            return ValueError(
                f"{name}, line {line}: {NUMBER[kind][0]} {word!r} is not a finite number."
            )
    return ValueError(f"{name} has lines that are not of {kind}: a line is {_LINES[kind]}.")
