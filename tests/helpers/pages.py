"""Run the code of documentation pages, and compare what it prints with the output on the page.

To write what the code of all pages prints into the pages, or of some pages:

    python -m tests.helpers.pages [PAGE ...]
"""

import contextlib
import doctest
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[\w, ]+) -->\n)?"
    r"```(?P<language>python|bash)\n(?P<code>.*?)^```\n"
    r"(?P<shown>(?:\n```text\n(?P<output>.*?)^```\n)?)",
    re.DOTALL | re.MULTILINE,
)
SAME = doctest.OutputChecker().check_output
ROOT = Path(__file__).resolve().parents[2]
HOW = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
DECIMAL = re.compile(r"-?\d*\.\d+")
TRAINS = re.compile(r"\b(?:fit|train|cv|tune)\(")


class Block(NamedTuple):
    """Code of a page, the packages that it needs beyond those of the tests, and what it prints."""

    language: str
    code: str
    needs: tuple[str, ...]
    output: str
    line: int
    shown: tuple[int, int]  # where the output is, with its fences, in the text of the page
    trained: bool  # the page has trained a ranker: this block, or one before


def blocks(path: Path) -> list[Block]:
    """The blocks of a page that run, in its order: Python, and commands of skrank for a shell.

    Blocks that install something, or that run a program on data of the reader, do not run.
    """
    text = path.read_text(encoding="utf-8")
    found = [
        Block(
            match["language"],
            match["code"],
            tuple(name.strip() for name in (match["needs"] or "").split(",") if name.strip()),
            match["output"] or "",
            text.count("\n", 0, match.start("code")),
            match.span("shown"),
            TRAINS.search(text, 0, match.end("code")) is not None,
        )
        for match in BLOCK.finditer(text)
    ]
    return [one for one in found if one.language == "python" or one.code.startswith("skrank ")]


def write_collection(folder: Path) -> None:
    """Judgments in `qrels.txt` and five runs in `runs/`, which pages on files begin with."""
    rng = np.random.default_rng(0)
    names = [(f"q{query}", f"d{number}") for query in range(8) for number in range(40)]
    labels = rng.choice(3, p=[0.5, 0.3, 0.2], size=len(names))
    lines = [f"{q} 0 {d} {label}\n" for (q, d), label in zip(names, labels, strict=True)]
    (folder / "qrels.txt").write_text("".join(lines))
    (folder / "runs").mkdir()
    for spread in range(1, 6):
        scores = labels + spread * rng.normal(size=len(names)) / 2
        lines = [f"{q} Q0 {d} 0 {x} r{spread}\n" for (q, d), x in zip(names, scores, strict=True)]
        (folder / "runs" / f"run{spread}.txt").write_text("".join(lines))


def same(shown: str, printed: str, *, trained: bool) -> bool:
    """True if the output on a page equals the printed output.

    Decimals of trained rankers may differ by .03: other versions of boosters grow other trees.
    """
    if SAME(shown, printed, HOW):
        return True
    texts = [DECIMAL.sub("#", text) for text in (shown, printed)]
    if not (trained and SAME(*texts, HOW)):
        return False
    values = (np.array(DECIMAL.findall(text), float) for text in (shown, printed))
    return bool(np.allclose(*values, rtol=0, atol=0.03 + 1e-9))


def executed(block: Block, path: Path, names: dict[str, Any]) -> str:
    """Run a block. Returns what it prints to standard output."""
    if block.language == "bash":
        skrank = f'skrank() {{ "{sys.executable}" -m skrank "$@"; }}\n'
        done = subprocess.run(
            ["bash", "-euc", skrank + block.code], capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT), "SKRANK_QUIET": "1"},
        )  # fmt: skip
        assert done.returncode == 0, f"{path}:{block.line + 1}: {done.stderr}"
        return done.stdout
    out = io.StringIO()
    code = "\n" * block.line + block.code  # so that a traceback has the line of the page
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(path), "exec", dont_inherit=True), names)
    return out.getvalue()


def log_as_a_new_process() -> None:
    """Let LightGBM log as in a new process: it keeps the `verbosity` of the last training."""
    if find_spec("lightgbm") is None:
        return
    import lightgbm

    with contextlib.redirect_stdout(io.StringIO()):
        data = lightgbm.Dataset(np.arange(40.0).reshape(-1, 1), np.arange(40.0))
        lightgbm.train({"verbosity": 1, "num_threads": 1}, data, 1)


def run(path: Path, *, write: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Run a page. Returns the names that it leaves, and the packages that some block lacked.

    A block prints what `same` accepts; else the page is changed if `write`. The first block takes
    at most 10 s of processor time, which does not depend on other processes; if loops were compiled
    in the first try, the second try counts.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    seconds = None
    missing: list[str] = []
    outputs = {}
    log_as_a_new_process()
    for block in blocks(path):
        lacks = [name for name in block.needs if find_spec(name) is None]
        if block.language == "bash" and shutil.which("bash") is None:
            lacks.append("bash")
        missing += lacks
        if lacks:
            continue
        start = time.process_time()
        printed = executed(block, path, names)
        if seconds is None and (seconds := time.process_time() - start) > 10 and not write:
            start = time.process_time()
            executed(block, path, {"__name__": "__main__"})
            assert time.process_time() - start <= 10, f"{path}:{block.line + 1} is slow"
        if write:
            outputs[block] = printed
            continue
        assert same(block.output, printed, trained=block.trained), (
            f"{path}:{block.line + 1} shows\n{block.output}\nand prints\n{printed}"
        )
    show(path, outputs)
    return names, missing


def show(path: Path, outputs: dict[Block, str]) -> None:
    """Write into a page what its blocks print, where it shows something else."""
    text = path.read_text(encoding="utf-8")
    for block, printed in reversed(outputs.items()):
        if not SAME(block.output, printed, HOW):
            start, end = block.shown
            lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
            output = f"\n```text\n{lines}```\n" if printed else ""
            text = text[:start] + output + text[end:]
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
    work = f"from tests.helpers.pages import *; run(Path({str(path)!r}), write=True)"
    settings = {"PYTHONPATH": str(ROOT), "SKRANK_QUIET": "1", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder))
        command = [sys.executable, "-W", "ignore", "-c", work]
        subprocess.run(command, cwd=folder, env=os.environ | settings, check=True)


def main() -> None:
    readme = ROOT / "README.md"
    pages = [Path(page).resolve() for page in sys.argv[1:]]
    for page in pages or [readme, *sorted((ROOT / "docs").rglob("*.md"))]:
        if blocks(page):
            write_page(page)
        if page == readme:
            show_quickstart(page)


if __name__ == "__main__":
    main()
