"""The examples run, and those of the gallery draw something."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from skrank.datasets import make_ranking

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GALLERY = EXAMPLES / "gallery"
DRAWINGS = sorted(GALLERY.glob("*/plot_*.py"))


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*is non-interactive:UserWarning")
def test_examples_of_the_gallery_draw(path, monkeypatch):
    pytest.importorskip("lightgbm")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plt.close("all")
    try:
        runpy.run_path(str(path), run_name="__main__")
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        assert drawn
        for figure in drawn:
            figure.canvas.draw()
            assert any(axes.has_data() for axes in figure.axes)
    finally:
        plt.close("all")


@pytest.fixture
def example(monkeypatch, capsys):
    """A function that runs an example with arguments, and returns its output."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_texts_are_reranked(example):
    pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")
    out = example("rerank_texts.py", "--epochs", 4, "--queries", 200)
    values = [float(value) for value in re.findall(r"'gap': ([\d.]+)", out)]
    assert len(values) == 5
    assert values[-1] > values[0]
    assert out.count("grade") == 5


@pytest.fixture
def files(tmp_path):
    """A file of judgments and a folder of runs."""
    random = np.random.default_rng(0)
    (tmp_path / "runs").mkdir()
    labels = {
        f"{q} 0 d{d}": random.choice(3, p=[0.6, 0.3, 0.1]) for q in range(9) for d in range(40)
    }
    (tmp_path / "qrels").write_text("".join(f"{key} {x}\n" for key, x in labels.items()))
    for r in range(4):
        scores = {key: x + (1 + r) * random.normal() for key, x in labels.items()}
        lines = (f"{key} 1 {x:.1f} run{r}\n" for key, x in scores.items())
        (tmp_path / "runs" / f"run{r}").write_text("".join(lines))
    return tmp_path / "qrels", tmp_path / "runs"


@pytest.mark.parametrize(
    ("program", "options", "shown"),
    [
        ("discriminative_power.py", "-m gap -m err@5", "4 systems, 9 queries, 6 pairs"),
        ("incompleteness.py", "-m gap -m bpref --percents 100 50 --repeats 2 --resamples 50",
         "4 runs, 9 queries"),
    ],
)  # fmt: skip
def test_studies_of_runs(program, options, shown, example, files, tmp_path):
    plot = tmp_path / "plot.png"
    assert shown in example(program, *files, *options.split(), "--plot", plot)
    assert plot.stat().st_size > 0


def test_worst_case(example, files, tmp_path):
    data = make_ranking(n_queries=30, n_docs=(4, 9), n_features=8, random_state=0)
    X = data.X.round(1)
    for number in range(5):
        rows, file = data.qid % 5 == number, str(tmp_path / f"S{number + 1}.txt")
        part = X[rows], data.relevance[rows]
        dump_svmlight_file(*part, file, zero_based=False, query_id=data.qid[rows])
    out = example("worst_case.py", "--letor", tmp_path, "--runs", *files)
    assert "names, as trec_eval" in out


def test_the_study_of_active_evaluation_reports_savings(example, tmp_path, monkeypatch):
    small = make_ranking(60, n_docs=6, random_state=0)
    monkeypatch.setattr("skrank.datasets.make_ranking", lambda *_, **__: small)
    plot = tmp_path / "plot.png"
    out = example("active_evaluation.py", "--campaigns", 2, "--folds", 1, "--plot", plot)
    assert out.count("active, lure") == 12 + 8  # errors, and selection errors
    assert "the label model predicted to save" in out
    assert plot.stat().st_size > 0
