"""A repeated call enters few files and functions of skrank, so that a reader can follow it."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.datasets import make_ranking

PACKAGE = str(Path(skrank.__file__).parent)


def entered(call):
    """Files, and functions with their files, that the second of two calls enters."""
    found = set()

    def note(frame, event, _):
        code = frame.f_code
        named = not code.co_name.startswith("<")  # not lambdas and comprehensions
        if event == "call" and named and code.co_filename.startswith(PACKAGE):
            found.add((code.co_filename, code.co_qualname))

    call()
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return {file for file, _ in found}, found


def search(folder):
    data = make_ranking(60, n_docs=(5, 20), random_state=0)
    y = skrank.with_groups(data.relevance, data.qid)
    model = LGBMRanker(n_estimators=3, n_jobs=1, verbosity=-1)
    ranker = skrank.GroupedRanker(model, objective="gap")
    options = {"scoring": skrank.scorer("gap"), "cv": skrank.QueryKFold(3)}
    grid = {"estimator__num_leaves": [7, 15]}
    return lambda: GridSearchCV(ranker, grid, **options).fit(data.X, y)


def files(folder):
    qrels, run = folder / "qrels", folder / "run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n")
    run.write_text("q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\nq2 Q0 d3 1 3 x\n")
    return lambda: skrank.trec.evaluate(qrels, run, ["ap"])


def loss(folder):
    torch = pytest.importorskip("torch")
    pytest.importorskip("skorch")
    ranking_loss = skrank.torch.RankingLoss("gap")
    labels, offsets = np.array([0, 2, 1, 0, 1]), np.array([0, 3, 5])

    def call():
        scores = torch.tensor([0.3, 0.2, 0.1, 0.5, 0.4], requires_grad=True)
        ranking_loss(scores, labels, offsets).backward()

    return call


@pytest.mark.parametrize(
    ("make", "most_files", "most_functions"), [(search, 40, 220), (files, 22, 100), (loss, 20, 70)]
)
def test_a_repeated_call_enters_few_functions(make, most_files, most_functions, tmp_path):
    in_files, functions = entered(make(tmp_path))
    assert len(in_files) <= most_files
    assert len(functions) <= most_functions
