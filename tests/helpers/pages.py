"""Run the code of documentation pages, and compare what it prints with the output on the page."""

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skrank.cli import main

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[\w, ]+) -->\n)?"
    r"```(?P<language>python|bash)\n(?P<code>.*?)^```\n"
    r"(?P<shown>(?:\n```text\n(?P<output>.*?)^```\n)?)",
    re.DOTALL | re.MULTILINE,
)
SAME = doctest.OutputChecker().check_output
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

    @property
    def missing(self) -> list[str]:
        """Names of what the block needs and this machine lacks."""
        return [name for name in self.needs if find_spec(name) is None]


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
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.language == "bash":
            for command in block.code.splitlines():
                run_command(command)
        else:
            code = "\n" * block.line + block.code  # so that a traceback has the line of the page
            exec(compile(code, str(path), "exec", dont_inherit=True), names)
    return out.getvalue()


def run_command(command: str) -> None:
    """Run `skrank ARGUMENTS` or `skrank ARGUMENTS > FILE` in this process, which is quicker."""
    arguments, _, file = command.removeprefix("skrank ").partition(" > ")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(shlex.split(arguments)) == 0, command
    if file:
        Path(file).write_text(out.getvalue())
    else:
        print(out.getvalue(), end="")


def log_as_a_new_process() -> None:
    """Let LightGBM log as in a new process: it keeps the `verbosity` of the last training."""
    if find_spec("lightgbm") is None:
        return
    import lightgbm

    with contextlib.redirect_stdout(io.StringIO()):
        data = lightgbm.Dataset(np.arange(40.0).reshape(-1, 1), np.arange(40.0))
        lightgbm.train({"verbosity": 1, "num_threads": 1}, data, 1)


def outputs(path: Path, names: dict[str, Any]) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page that lack nothing, and yield what each prints.

    `names` has the variables of the page.
    """
    log_as_a_new_process()
    for block in blocks(path):
        if not block.missing:
            yield block, executed(block, path, names)


def run(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Run a page, which must print what `same` accepts.

    Returns the names that it leaves, and what some blocks lacked.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, printed in outputs(path, names):
        assert same(block.output, printed, trained=block.trained), (
            f"{path}:{block.line + 1} shows\n{block.output}\nand prints\n{printed}"
        )
    return names, [name for block in blocks(path) for name in block.missing]
