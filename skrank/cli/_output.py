"""What commands print: tables, trec_eval's lines, or a page; whole or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from skrank.trec import TrecReport


def _table(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, float_format="{:.4f}".format)


def _csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False).rstrip("\n")


def _json(frame: pd.DataFrame) -> str:
    """A list of rows; NaN, which JSON does not have, becomes null."""
    rows = [
        {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in row.items()}
        for row in frame.to_dict("records")
    ]
    return json.dumps(rows, indent=1)


def trec_eval(report: TrecReport, view: str | None) -> str:
    from skrank.trec import trec_eval_lines

    if view not in (None, "per_query"):
        raise ValueError(f"--format trec_eval shows values, with or without -q, and no {view}.")
    return trec_eval_lines(report, per_query=view == "per_query")


TABLES = {"table": _table, "csv": _csv, "json": _json}
PAGES = ("trec_eval", "html")
FORMATS = (*TABLES, *PAGES)


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
        target.write_text(text + "\n", encoding="utf-8")
        return ""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
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
