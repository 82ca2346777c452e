"""The example that trains on texts runs."""

import re
import runpy
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

ROOT = Path(__file__).resolve().parents[2]


def test_texts_are_reranked(monkeypatch, capsys):
    arguments = ["rerank_texts.py", "--epochs", "4", "--queries", "200"]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(ROOT / "examples" / "rerank_texts.py"), run_name="__main__")
    out = capsys.readouterr().out
    values = [float(value) for value in re.findall(r"'gap': ([\d.]+)", out)]
    assert len(values) == 5
    assert values[-1] > values[0]
    assert out.count("grade") == 5
