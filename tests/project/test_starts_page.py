"""The code on the page about boosting from a start runs, in the order of the page."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "starts.md"


def test_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["ranker"].best_iteration_ > 0
    assert (tmp_path / "trees.txt").exists()
