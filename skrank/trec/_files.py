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
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from skrank import _validation as check
from skrank.trec._columns import (
    DOCUMENT,
    NUMBER,
    PLACES,
    QUERY,
    RANK,
    RUN,
    SHAPES,
    Columns,
    Known,
    Source,
    Where,
    check_names,
    checked,
    columns_of,
    is_file,
    is_record,
    of_fields,
    of_names,
    of_records,
    rows_of_memory,
    shapes,
    table_of,
)

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


class Rows(NamedTuple):
    """Columns "qid", "docid", "number" and perhaps "rank"; names of the file and of the run."""

    table: pl.DataFrame
    where: Where
    name: str | None = None
    tag: str | None = None


def rows_of(source: object, kind: str, known: Known | None = None, *, ranks: bool = False) -> Rows:
    """The rows of a path, a file object, or an object in memory; errors name the line or row.

    `kind` is "qrels" or "run". If `ranks`, lines of TREC are read with their ranks.
    """
    if is_file(source):
        return _read(source, kind, known, ranks=ranks)
    columns = source if isinstance(source, Columns) else columns_of(source, kind, known)
    if columns is None:
        raise shapes(kind, source)
    where = rows_of_memory(kind)
    table = table_of(columns, kind, where)
    return Rows(table, where, tag=_one_tag(table, f"the {kind}"))


def _one_tag(table: pl.DataFrame, name: str) -> str | None:
    tags = table["run"].unique(maintain_order=True).to_list() if "run" in table.columns else []
    if len(tags) > 1:
        raise ValueError(
            f"{name} holds {len(tags)} runs ({', '.join(tags[:3])}, ...): select the rows of one."
        )
    return tags[0] if tags else None


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
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            data = file.read()
    else:
        given = source.read()
        data = given.encode(errors="surrogateescape") if isinstance(given, str) else given
    name = name_of(source)
    for magic, decompress in _DECOMPRESS.items():
        if data.startswith(magic):
            try:
                data = decompress(data)
            except Exception as error:  # each library has its own class
                text = str(error).rstrip(".")
                raise ValueError(f"{name} cannot be decompressed: {text}.") from None
            break
    for magic, what in _UNREAD.items():
        if data.startswith(magic):
            raise ValueError(f"{name} is {what}.")
    return data


def _text(data: bytes, name: str) -> bytes:
    """A text in UTF-8 without byte order mark, whose lines end with newlines."""
    if data.startswith(BOM):
        data = data[len(BOM) :]
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(
            f"{name}, line {line}: the character NUL: the file must be text in UTF-8; if it is in "
            "another encoding, convert it, for example by iconv -f UTF-16LE -t UTF-8."
        )
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ValueError(
                f"{name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8: convert the "
                "file, for example by iconv -f LATIN1 -t UTF-8."
            ) from None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
    return data


# formats ------------------------------------------------------------------------------------------


def _read(source: Source, kind: str, known: Known | None, *, ranks: bool) -> Rows:
    data, name = content(source), name_of(source)
    if data.startswith(b"PAR1"):
        columns, where = _parquet(data, name, kind, known)
    else:
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
    table = table_of(columns, kind, where)
    return Rows(table, where, name, _one_tag(table, name))


def _first_row(text: bytes, kind: str) -> tuple[int, bytes]:
    """Place and content of the first line that is neither blank nor a comment.

    A line that begins with # may be a comment or a row, as ids may begin so. It is the first row
    only if all lines begin with #, and if it has as many columns as the longest form of a row.
    """
    start, hashed = 0, (len(text), b"")
    while start < len(text):
        stop = text.find(b"\n", start)
        stop = len(text) if stop < 0 else stop
        line = text[start:stop].strip()
        if line and not line.startswith(b"#"):
            return start, line
        if line and not hashed[1] and _is_row(line, kind, max(PLACES[kind])):
            hashed = start, line
        start = stop + 1
    return hashed


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
        named = not names.isdisjoint(QUERY) and not names.isdisjoint(DOCUMENT)
        alone = len(row.split()) == (len(words) if separator == b"\t" else 1)
        unnamed = len(words) in PLACES[kind] and separator != b"\t"
        words_only = len(words) > 2 and not any(map(_is_number, words))
        if named or (alone and (unnamed or words_only)):
            return separator.decode()
    return None


def _is_number(word: bytes) -> bool:
    return _decimal(word) is not None or re.fullmatch(rb"L\d+", word) is not None


def _parquet(data: bytes, name: str, kind: str, known: Known | None) -> tuple[Columns, Where]:
    wanted = {*QUERY, *DOCUMENT, *NUMBER[kind], *RUN}
    try:
        file = pl.scan_parquet(io.BytesIO(data))
        names = [one for one in file.collect_schema().names() if one.lower() in wanted]
        found = file.select(names).collect().to_dict()
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name}: {error}") from None
    with check.about(name):
        return of_names(found, kind, known), lambda row: f"{name}, row {row}"


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
    if thing is not None and not is_record(thing, kind):
        with check.about(name):
            columns = columns_of(thing, kind, known)
            if columns is None:
                raise ValueError(f"the file holds no {kind}: {SHAPES}.")
        return columns, lambda row: f"{name}, row {row}"
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    records = []
    for number, line in lines:
        with check.about(f"{name}, line {number}"):
            records.append(json.loads(line, object_pairs_hook=_unique_keys))

    def where(row: int) -> str:
        return f"{name}, line {lines[row][0]}"

    if not is_record(records[0], kind):
        raise ValueError(f"{where(0)}: no record with qid, docid and {NUMBER[kind][0]}.")
    return of_records(records, kind, known, where), where


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
    above = text.count(b"\n", 0, start)

    def lines() -> list[tuple[int, list[str]]]:
        """Number and fields of each row, for messages; raises ValueError if a row is malformed."""
        rows = csv.reader(
            io.StringIO(text[start:].decode(), newline=""), delimiter=separator, strict=True
        )
        found: list[tuple[int, list[str]]] = []
        try:
            for row in rows:
                if row and found and len(row) != len(found[0][1]):
                    columns = f"{len(row)} columns instead of {len(found[0][1])}"
                    raise ValueError(f"{name}, line {above + rows.line_num}: {columns}.")
                if row:
                    found.append((above + rows.line_num, row))
        except csv.Error as error:  # such as a quotation mark that is never closed
            raise ValueError(f"{name}, line {above + rows.line_num}: {error}.") from None
        return found

    head, _, rest = text[start:].partition(b"\n")
    names = [one.strip() for one in next(csv.reader([head.decode()], delimiter=separator))]
    headed = not any(_is_number(one.encode()) for one in names)
    body = rest.lstrip(b"\n") if headed else text[start:]
    if not body.strip():
        raise ValueError(f"{name} holds no document.")
    try:
        table = pl.read_csv(
            body, separator=separator, has_header=False,
            schema={str(place): pl.String for place in range(len(names))},
        )  # fmt: skip
    except pl.exceptions.PolarsError as error:
        lines()
        raise ValueError(f"{name}: {str(error).splitlines()[0]}.") from None
    table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    if table.null_count().sum_horizontal().item():
        lines()

    def where(row: int) -> str:
        return f"{name}, line {lines()[row + headed][0]}"

    columns = table.get_columns()
    with check.about(name):
        if not headed:
            return of_fields(columns, kind), where
        check_names(names)
        return of_names(dict(zip(names, columns, strict=True)), kind, known), where


# lines of TREC ------------------------------------------------------------------------------------


def _lines(text: bytes, name: str, kind: str, row: bytes, *, ranks: bool) -> Rows:
    """The rows of lines of TREC, of which `row` is the first."""
    words = row.split()
    width = min(len(words), max(PLACES[kind]))
    if width not in PLACES[kind] or (kind == "qrels" and len(words) > width):
        width = max(PLACES[kind])
        raise _malformed(_tidied(text, kind, width), name, kind, width)
    places = PLACES[kind][width]
    ranked = ranks and width > RANK and kind == "run"
    table = _regular(text.lstrip(b"\n"), places, ranked=ranked)
    if table is None:
        text = _tidied(text, kind, width)
        table = _tidy(text.lstrip(b"\n"), kind, width, ranked=ranked)
    if table is None or not table["number"].is_finite().all():
        raise _malformed(_tidied(text, kind, width), name, kind, width)

    def where(row: int) -> str:
        tidied = _tidied(text, kind, width)
        numbers = [n for n, line in enumerate(tidied.split(b"\n"), 1) if line]
        return f"{name}, line {numbers[row]}"

    guess = None if kind == "run" and width == 3 else False
    tag = words[_TAG].decode() if kind == "run" and width > _TAG else None
    return Rows(checked(table, kind, where, guess), where, name, tag)


def _regular(text: bytes, places: tuple[int, int, int], *, ranked: bool) -> pl.DataFrame | None:
    """The rows if one space, or one tab, stands between all columns; else None."""
    tabs = b"\t" in text
    separator = b"\t" if tabs else b" "
    if separator * 2 in text or (tabs and b" " in text) or b"\r" in text:
        return None
    if b"#" in text and (text.startswith(b"#") or b"\n#" in text):
        return None  # there may be comments
    table = _parse(text, places, separator, ranked=ranked)
    n_columns = text.count(separator, 0, text.find(b"\n") if b"\n" in text else len(text))
    return None if table is None or text.count(separator) != n_columns * len(table) else table


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


def _tidy(text: bytes, kind: str, width: int, *, ranked: bool) -> pl.DataFrame | None:
    """The rows of tidied lines, of which those of a run may have further columns; else None."""
    table = _parse(text, PLACES[kind][width], b" ", ranked=ranked, width=width)
    if table is None:
        return None
    number = pl.col("number")
    if kind == "qrels":  # NTCIR has labels such as L2
        number = number.str.replace(r"^L(\d+)$", "$1")
    table = table.with_columns(number.cast(pl.Float64, strict=False))
    return None if table["number"].null_count() else table


def _parse(
    text: bytes, places: tuple[int, int, int], separator: bytes, *, ranked: bool, width: int = 0
) -> pl.DataFrame | None:
    """Query, document, number and, if wanted, rank of lines; None if a line lacks one of them.

    With a `width`, this is the number of columns that no line may lack, and the number is a text;
    lines of runs may have more.
    """
    stop = text.find(b"\n")
    n_columns = text.count(separator, 0, stop if stop >= 0 else len(text)) + 1
    wanted = dict(zip(map(str, places), ("qid", "docid", "number"), strict=True))
    if ranked:
        wanted[str(RANK)] = "rank"
    types = {str(place): pl.String for place in range(n_columns)}
    if not width:
        types[str(places[2])] = pl.Float64
    needed = range(width) if width else sorted(map(int, wanted))
    try:
        table = pl.read_csv(
            text, has_header=False, separator=separator.decode(), quote_char=None, schema=types,
            columns=list(needed), truncate_ragged_lines=width == max(PLACES["run"]),
        )  # fmt: skip
        if ranked:
            table = table.with_columns(pl.col(str(RANK)).cast(pl.Float64))
    except pl.exceptions.PolarsError:
        return None
    if table.null_count().sum_horizontal().item():
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
        if table.null_count().sum_horizontal().item():
            return None
    return table.select(pl.col(name).alias(alias) for name, alias in wanted.items())


def _malformed(text: bytes, name: str, kind: str, width: int) -> ValueError:
    """The error for the first line of tidied lines that is not a row."""
    place = PLACES[kind][width][2]
    for line, row in enumerate(text.split(b"\n"), 1):
        words = row.split()
        if not words:
            continue
        shown = row.decode() if len(row) <= 60 else row[:57].decode(errors="replace") + "..."
        if len(words) < width or (kind == "qrels" and len(words) > width):
            other = "run" if kind == "qrels" else "qrels"
            swapped = _is_row(row, other, max(PLACES[other]))
            hint = f" It looks like a line of {other}: qrels come first, then runs." * swapped
            return ValueError(
                f"{name}, line {line}: {len(words)} columns instead of {width} in {shown!r}: a "
                f"line of {kind} is {_LINES[kind]}.{hint}"
            )
        word = words[place].decode()
        number = _decimal(re.sub(r"^L(?=\d+$)", "", word) if kind == "qrels" else word)
        if number is None or not math.isfinite(number):
            what = NUMBER[kind][0]
            return ValueError(f"{name}, line {line}: {what} {word!r} is not a finite number.")
    return ValueError(f"{name} has lines that are not of {kind}: a line is {_LINES[kind]}.")
