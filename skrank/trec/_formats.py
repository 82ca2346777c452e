"""Files in other formats than TREC's: JSON, JSON Lines, CSV, TSV, Parquet, three-column qrels."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from skrank.trec import _arrow
from skrank.trec._columns import DOCUMENT, QRELS, QUERY, Columns, Form, columns_of, of_table
from skrank.trec._files import Source, source_name
from skrank.trec._line_forms import FORMS, is_comment
from skrank.trec._packed import SUFFIXES, is_packed, unpacked
from skrank.trec._text import BOM, as_bytes

HEAD = 65536  # bytes that tell the format
_LINES = 2  # of them that do
_PARQUET = b"PAR1"
_KINDS = {
    ".json": "json",
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def opened(source: Source, form: Form) -> Source | Columns:
    """A source that holds TREC's lines, or the columns of one that holds another format.

    Parameters
    ----------
    source : path or file object
    form : Form

    Raises
    ------
    ValueError
        With the name of the file, if it cannot be read.
    """
    if not (isinstance(source, (str, os.PathLike)) or hasattr(source, "read")):
        raise TypeError(
            f"{form.kind} of type {type(source).__name__} cannot be read: pass a path, a file "
            "object, or a mapping or table of them in memory."
        )
    name = source_name(source)
    data: bytes | None = None
    if isinstance(source, (str, os.PathLike)):
        if not os.path.isfile(source):  # a pipe is read once, and what is missing told of later
            return source
        with open(source, "rb") as file:
            head = file.read(HEAD)
        if is_packed(head):
            data = unpacked(Path(source).read_bytes(), name)
            head = data[:HEAD]
    else:
        data = unpacked(as_bytes(source.read()), name)
        head = data[:HEAD]
    kind = kind_of(name if isinstance(source, (str, os.PathLike)) else "", head, form)
    if kind == "trec":
        return source if data is None else _named(data, name)
    if data is None:
        data = Path(os.fspath(source)).read_bytes()  # type: ignore[arg-type]
    if kind == "three":
        return _named(_four_columns(data), name)
    return _columns(data, kind, form, name)


def _named(data: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file


def _first_lines(head: bytes, form: Form) -> list[bytes]:
    """Some lines that are neither blank nor comments, or one empty line."""
    lines = (line.strip() for line in head.removeprefix(BOM).splitlines())
    rows = (one for one in lines if one and not is_comment(one, FORMS[form.kind]))
    return list(islice(rows, _LINES)) or [b""]


def kind_of(path: str, head: bytes, form: Form) -> str:
    """The format of a file of that path, or none, which begins so: what its suffix says, or it."""
    suffixes = [one.lower() for one in Path(path).suffixes if one.lower() not in SUFFIXES]
    if suffixes and suffixes[-1] in _KINDS:
        return _KINDS[suffixes[-1]]
    if head.startswith(_PARQUET):
        return "parquet"
    lines = _first_lines(head, form)
    line = lines[0]
    if line.startswith((b"{", b"[")):
        one_a_line = line.startswith(b"{") and line.endswith(b"}") and b"\n" in head.strip()
        return "lines" if one_a_line else "json"
    names = {word.strip(b' "').lower().decode(errors="replace") for word in _split(line)}
    if names & set(QUERY) and names & set(DOCUMENT):
        return "csv"
    if form is QRELS and all(len(one.split()) == 3 for one in lines):
        return "three"
    return "trec"


def _split(line: bytes) -> list[bytes]:
    return line.split(b"\t" if b"\t" in line else b",")


def _four_columns(data: bytes) -> bytes:
    """Qrels with the iteration that their lines leave out."""

    def widened(line: re.Match[bytes]) -> bytes:
        row = line[0].split()
        return b" ".join((row[0], b"0", *row[1:])) if len(row) == 3 else line[0]

    lines = data.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return re.sub(rb"[^\n]+", widened, lines)


def _columns(data: bytes, kind: str, form: Form, name: str) -> Columns:
    try:
        content = _READ[kind](data)
        found = of_table(content, form) if kind == "csv" else columns_of(content, form)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if found is None:
        raise ValueError(
            f"{name} holds no {form.kind}: expected queries that map to documents and numbers, or "
            f"records with the fields {form.example()}."
        )
    return found


def _json(data: bytes) -> Any:
    try:
        return json.loads(data, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: no JSON: {error.msg}.") from None
    except RecursionError:
        raise ValueError("no JSON of queries and documents: it is nested too deeply.") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, each key of which must occur once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {name!r} occurs {count} times in one object: keep one of them.")
    return found


def json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """Number and content of each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line, object_pairs_hook=unique_keys)
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number}: no JSON: {error.msg}.") from None
            except ValueError as error:  # a key twice, or bytes that are not UTF-8
                raise ValueError(f"line {number}: {error}") from None
            except RecursionError:
                raise ValueError(f"line {number}: no record: it is nested too deeply.") from None
            yield number, row


def _lines(data: bytes) -> list[Any]:
    return [row for _, row in json_lines(io.BytesIO(data))]


def _csv(data: bytes) -> dict[str, list[Any]]:
    """Columns of a table with a header, as texts but for numbers that are asked for as such."""
    header, *rows = csv_rows(io.StringIO(data.decode("utf-8-sig"), newline=""), data[:HEAD])
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def csv_rows(text: Iterable[str], head: bytes) -> Iterator[list[str]]:
    """The header of a table whose bytes begin so, and its rows, of which none is blank.

    Raises
    ------
    ValueError
        With the number of the line, if it has another number of columns or cannot be read.
    """
    first = head.removeprefix(BOM).partition(b"\n")[0]
    rows = csv.reader(text, delimiter="\t" if b"\t" in first else ",")
    try:
        header = [name.strip() for name in next(rows, [])]
        _check_different(header)
        yield header
        for row in filter(None, rows):
            if len(row) != len(header):
                columns = f"{len(row)} columns instead of {len(header)}"
                raise ValueError(f"line {rows.line_num}: {columns}.")
            yield row
    except csv.Error as error:  # such as a quotation mark that is never closed
        raise ValueError(f"line {rows.line_num}: {error}.") from None


def _check_different(header: list[str]) -> None:
    """Refuse columns of one name; those without a name are never looked for."""
    for name, count in Counter(name.lower() for name in header if name).items():
        if count > 1:
            raise ValueError(f"{count} columns are called {name!r}: rename all but one.")


def _parquet(data: bytes) -> Any:
    _, parquet = _arrow.imported()
    return parquet.read_table(io.BytesIO(data))


_READ = {"json": _json, "lines": _lines, "csv": _csv, "parquet": _parquet}
