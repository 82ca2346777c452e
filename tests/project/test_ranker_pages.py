"""The code on the pages about what to train, and from where, runs in the order of the page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["user_guide/starts.md", "what_to_train.md"])
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert names["ranker"].best_iteration_ > 0
    assert len(list(tmp_path.iterdir())) == (3 if "starts" in page else 0)
