"""The program examples/active_evaluation.py runs on few queries."""

import functools
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from skrank.datasets import make_ranking

STUDY = Path(__file__).resolve().parents[2] / "examples" / "active_evaluation.py"


@pytest.fixture
def study():
    spec = importlib.util.spec_from_file_location("active_evaluation", STUDY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small_forest(study, seed):
    trees = study.RandomForestClassifier(3, max_depth=3, random_state=seed)
    return study.GradeClassifier(trees)


def test_the_study_reports_savings(study, tmp_path, monkeypatch, capsys):
    small = functools.partial(make_ranking, 100, n_docs=6, random_state=0)
    monkeypatch.setattr(study, "make_ranking", lambda *_, **__: small())
    monkeypatch.setattr(study, "forest", functools.partial(small_forest, study))
    arguments = ["study", "--campaigns", "5", "--folds", "1", "--plot", str(tmp_path / "plot.png")]
    monkeypatch.setattr(sys, "argv", arguments)
    study.main()
    printed = capsys.readouterr().out
    assert printed.count("active, importance") == 12 + 8  # errors, and selection errors
    assert printed.count("selection error") == 8
    assert "the label model predicted to save" in printed
    assert (tmp_path / "plot.png").stat().st_size > 0


def test_savings_are_read_off_the_curve(study):
    budgets = np.array([25.0, 50.0, 100.0, 200.0])
    passive = 1 / np.sqrt(budgets)
    half = passive / np.sqrt(2)
    assert study.saved(budgets, half, passive, 2) == pytest.approx(0.5)
    assert study.saved(budgets, passive * np.sqrt(2), passive, 2) == pytest.approx(-1)
    assert study.saved(budgets, passive, passive, 2) == 0
