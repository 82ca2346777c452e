"""The programs of the README run as they stand, in its order, and print what it shows."""

import re
import runpy
from pathlib import Path

import pytest

from tests.helpers.pages import blocks, run

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def snippets(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(blocks(ROOT / "README.md")) == 3
    assert all(block.output for block in blocks(ROOT / "README.md"))
    run(ROOT / "README.md", of_trees=True)


def test_commands():
    """Installing is what runs these tests."""
    install, test = (block.strip() for block in snippets("bash"))
    assert install.startswith("pip install ")
    assert test.startswith("pip install ")
    assert README.index(install) < README.index("## Contributing") < README.index(test)


def test_it_is_short():
    assert README.count("\n") <= 150


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
