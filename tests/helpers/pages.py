"""Pages of the documentation as programs: their code in order, and the outputs that they show."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[\w, ]+) -->\n)?"
    r"```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
SAME = doctest.OutputChecker().check_output
HOW = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """Code of a page, the packages that it needs beyond those of the tests, and what it prints."""

    code: str
    needs: tuple[str, ...]
    output: str | None
    line: int


def blocks(path: Path) -> list[Block]:
    """The code of a page, in its order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            found["code"],
            tuple(name.strip() for name in (found["needs"] or "").split(",") if name.strip()),
            found["output"],
            text.count("\n", 0, found.start("code")),
        )
        for found in BLOCK.finditer(text)
    ]


def run(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Run a page. Returns the names that it leaves, and the packages that some block lacked.

    A block whose output is shown prints just that; one without prints nothing.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    missing: list[str] = []
    for block in blocks(path):
        lacks = [name for name in block.needs if find_spec(name) is None]
        missing += lacks
        if lacks:
            continue
        out = io.StringIO()
        code = "\n" * block.line + block.code  # so that a traceback has the line of the page
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(path), "exec"), names)
        shown = block.output or ""
        assert SAME(shown, out.getvalue(), HOW), (
            f"{path}:{block.line + 1} shows\n{shown}\nand prints\n{out.getvalue()}"
        )
    return names, missing
