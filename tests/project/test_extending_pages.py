"""The pages on extending include shipped code as it is, and their snippets run."""

import runpy
from pathlib import Path

import pytest

from skrank.metrics import registered
from tests.helpers.pages import blocks, run

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("extending_metrics.md", "extending_objectives.md")


@pytest.mark.skipif(
    not (DOCS.parent / "skrank").exists(),
    reason="the tests of an installed package lack the repository",
)
def test_included_code_is_current():
    pages = runpy.run_path(str(DOCS / "includes.py"))["pages"]()
    assert {path.name for path in pages} >= set(PAGES)
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/includes.py"


def test_other_code_would_be_noticed():
    filled = runpy.run_path(str(DOCS / "includes.py"))["filled"]
    marker = "<!-- included from examples/own_metric.py: definition -->\n```python\n"
    assert "def definition(ranked" in filled(f"{marker}x = 1\n```")
    with pytest.raises(KeyError):
        filled(f"{marker.replace('definition', 'nothing')}```")


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run_in_their_order(page):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    before = registered()
    assert len(blocks(DOCS / page)) >= 3
    run(DOCS / page)
    assert registered() == before
