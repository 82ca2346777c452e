"""Put shipped code into the pages that explain it: a test keeps them current.

A line ``<!-- included from PATH -->`` stands above a block of code and names what the block is: a
file; or, as ``PATH: NAME``, its part from below a line ``# NAME`` up to the next such line.

    python docs/includes.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKER = re.compile(
    r"(<!-- included from (\S+?)(?:: (\w+))? -->\n\n?```py(?:thon)?\n)(.*?)(```)", re.DOTALL
)
PART = re.compile(r"^# (\w+)\n", re.MULTILINE)


def part(path: str, name: str | None) -> str:
    """The text of a file, or of one of its parts."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if name is None:
        return text
    pieces = PART.split(text)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))[name].strip() + "\n"


def filled(page: str) -> str:
    """A page with the code that its markers name."""
    return MARKER.sub(lambda found: found[1] + part(found[2], found[3]) + found[5], page)


def pages() -> dict[Path, str]:
    """Pages that include code, as they should be."""
    texts = {path: path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.md")}
    return {path: filled(text) for path, text in texts.items() if MARKER.search(text)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
