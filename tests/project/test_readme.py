"""The snippets of the README run as they stand, in its order, and print little."""

from __future__ import annotations

import gzip
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def snippets(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python(capfd):
    blocks = snippets("python")
    assert len(blocks) > 6
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    shown = "".join(capfd.readouterr())
    assert shown.count("\n") < 20, shown
    assert 0.3 < names["search"].best_score_ < 1
    assert names["gap"](names["relevance"], names["scores"], groups=names["qid"]) > 0.4


def test_command(tmp_path):
    """Installing is what runs these tests; the other line is run on files of its names."""
    install, test, evaluate = (block.strip() for block in snippets("bash"))
    assert install.startswith("pip install ")
    assert test.startswith("pip install ")
    program, *arguments = shlex.split(evaluate)
    assert program == "skrank"
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 d{q % 3} 1\n" for q in range(9)))
    for name in (one for one in arguments if one.endswith(".gz")):
        lines = (
            f"{q} Q0 d{d} 0 {(d * q + len(name) + int(name[3])) % 3} {name[:4]}\n"
            for q in range(9)
            for d in range(3)
        )
        (tmp_path / name).write_bytes(gzip.compress("".join(lines).encode()))
    done = subprocess.run(
        [sys.executable, "-m", "skrank", *arguments], cwd=tmp_path, capture_output=True, text=True,
        check=False, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 3


def test_links_work_on_a_package_index_and_lead_to_files():
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 30
    for link in linked:
        place = re.match(r"https://[\w.]+/skrank/skrank/(?:blob/)?main/([^#]+)", link)
        assert place, f"{link} is relative, and dead on a package index"
        assert (ROOT / place[1]).exists(), link


def test_the_numbers_below_the_picture_are_those_of_equal_trees():
    found = runpy.run_path(str(ROOT / "docs" / "figures.py"))["table"]()
    ours, light, cat = (
        found[row]
        for row in ("LightGBM, GAP from linear", "LightGBM lambdarank", "CatBoost YetiRank")
    )
    text = README.partition("Means over the held-out queries")[2].partition("\n\n")[0]
    assert [float(number) for number in re.findall(r"\.\d{4}", text)] == [
        *ours[:2], *light[:2], *cat[:2], *ours[2:], *light[2:], *cat[2:],
    ]  # fmt: skip


def test_the_picture_is_that_of_the_contest():
    """That of the landing page, too; test_docs.py compares its numbers with the table."""
    assert "docs/_static/gain.png" in README
    assert "_static/gain.png" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
