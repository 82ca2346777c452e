"""Write what the code of all pages prints into them, or of some pages.

python docs/write_pages.py [PAGE ...]
"""

import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.pages import HOW, SAME, Block, blocks, outputs, write_collection  # noqa: E402


def show(path: Path, printed: dict[Block, str]) -> None:
    """Write into a page what its blocks print, where it shows something else."""
    text = path.read_text(encoding="utf-8")
    for block, output in reversed(printed.items()):
        if not SAME(block.output, output, HOW):
            start, end = block.shown
            lines = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
            text = text[:start] + (f"\n```text\n{lines}```\n" if output else "") + text[end:]
    path.write_text(text, encoding="utf-8")


def show_quickstart(path: Path) -> None:
    """Write the means that examples/quickstart.py prints into the table of README."""
    example = runpy.run_path(str(ROOT / "examples" / "quickstart.py"))
    values = example["compare"](n_queries=100, noise=1.5, n_collections=4)
    means = values.groupby("ranker", sort=False)[example["METRICS"]].mean()
    head, rule, table = path.read_text(encoding="utf-8").partition("|---|---|---|---|\n")
    rows, end, rest = table.partition("\n\n")
    lines = []
    for row, (_, cells) in zip(rows.splitlines(), means.iterrows(), strict=True):
        best = cells.to_numpy() == means.max().to_numpy()
        shown = [f"{cell:.3f}".removeprefix("0") for cell in cells]
        shown = [f"**{cell}**" if bold else cell for cell, bold in zip(shown, best, strict=True)]
        lines.append(f"| {row.split('|')[1].strip()} | {' | '.join(shown)} |")
    path.write_text(head + rule + "\n".join(lines) + end + rest, encoding="utf-8")


def write_page(path: Path) -> None:
    """Run a page in a new process and folder, and write what it prints into it."""
    print(path, flush=True)
    settings = {"PYTHONPATH": str(ROOT), "SKRANK_QUIET": "1", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder))
        command = [
            sys.executable,
            "-W",
            "ignore",
            str(Path(__file__).resolve()),
            "--here",
            str(path),
        ]
        subprocess.run(command, cwd=folder, env=os.environ | settings, check=True)


def main() -> None:
    readme = ROOT / "README.md"
    if sys.argv[1:2] == ["--here"]:
        page = Path(sys.argv[2])
        show(page, dict(outputs(page, {"__name__": "__main__"})))
        return
    pages = [Path(page).resolve() for page in sys.argv[1:]]
    for page in pages or [readme, *sorted((ROOT / "docs").rglob("*.md"))]:
        if blocks(page):
            write_page(page)
        if page == readme:
            show_quickstart(page)


if __name__ == "__main__":
    main()
