"""The program examples/active_evaluation.py runs on few queries."""

import runpy
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

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


def test_savings_are_read_off_the_curve():
    saved = runpy.run_path(str(STUDY))["saved"]
    budgets = np.array([25.0, 50.0, 100.0, 200.0])
    passive = 1 / np.sqrt(budgets)
    half = passive / np.sqrt(2)
    assert saved(budgets, half, passive, 2) == pytest.approx(0.5)
    assert saved(budgets, passive * np.sqrt(2), passive, 2) == pytest.approx(-1)
    assert saved(budgets, passive, passive, 2) == 0
