"""The program examples/active_evaluation.py runs on few queries."""

import runpy
import sys
from functools import partial
from pathlib import Path

from skrank import datasets

STUDY = Path(__file__).resolve().parents[2] / "examples" / "active_evaluation.py"


def test_the_study_reports_savings(tmp_path, monkeypatch, capsys):
    small = partial(datasets.make_ranking, 100, n_docs=6, random_state=0)
    monkeypatch.setattr(datasets, "make_ranking", lambda *_, **__: small())
    arguments = ["study", "--campaigns", "5", "--folds", "1", "--plot", str(tmp_path / "plot.png")]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(STUDY), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count("active, lure") == 12 + 8  # errors, and selection errors
    assert printed.count("selection error") == 8
    assert "the label model predicted to save" in printed
    assert (tmp_path / "plot.png").stat().st_size > 0
