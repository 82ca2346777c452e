"""Boosters call objectives on blocks of queries: the same gradients, in the memory of a block."""

import gc
import tracemalloc

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
import skrank.lightgbm
from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from skrank.objectives import _bound
from tests.helpers.engine import judge

N_QUERIES, DOCUMENTS = 1500, 200
GROUPS = np.repeat(np.arange(N_QUERIES), DOCUMENTS)
OBJECTIVES = [
    *(LambdaRank(name) for name in ("gap", "q", "err")),
    LambdaLoss("ndcg@10"),
    SoftRank("ndcg", relative=True),
    Softmax(random_gains=True),
    SquaredError(centered=True),
    0.5 * LambdaRank("gap") + 0.5 * Softmax(random_gains=True),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 20,000 rows, as data sets of four blocks of the usual size take seconds."""
    monkeypatch.setattr(_bound, "_BLOCK", 20_000)
    monkeypatch.setattr(_bound, "_BLOCK_OF_A_THREAD", 1)


@pytest.fixture(scope="module")
def data():
    """A data set of LightGBM, its labels, and scores."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, len(GROUPS)).astype(np.float32)
    sizes, params = np.full(N_QUERIES, DOCUMENTS), {"verbosity": -1}
    dataset = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, params=params)
    return dataset.construct(), labels, rng.normal(size=len(labels)).round(1)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_bits_and_memory_of_a_round(objective, data):
    """Memory of the bound data set, of gradients, and of the workspace of a block."""
    dataset, labels, scores = data
    skrank.lightgbm.objective(objective)(scores, dataset)  # compiles
    tracemalloc.start()
    try:
        called = skrank.lightgbm.objective(objective)
        called(scores, dataset)
        peaks = []
        for _ in range(3):  # other threads of the test process may allocate memory meanwhile
            gc.collect()
            tracemalloc.reset_peak()
            found = called(scores, dataset)
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert min(peaks) / len(scores) < 24
    whole = np.empty((2, len(scores)), np.float32)
    objective.bind(judge(labels, GROUPS)).gradient(scores, *whole)
    assert_array_equal(found, whole)


def test_errors_name_rows_of_the_caller(data):
    dataset, _, scores = data
    wrong = scores.copy()
    wrong[250_007] = np.nan
    with pytest.raises(ValueError, match="row 250007"):
        skrank.lightgbm.objective("gap")(wrong, dataset)


def test_objectives_that_may_depend_on_all_queries_are_bound_whole(data):
    class Own(skrank.Objective):
        """An objective that counts the queries which it is bound to."""

        def bind(self, judgments, weights=None, *, max_grade=None):
            bound.append(len(judgments.queries))
            return SquaredError().bind(judgments, weights, max_grade=max_grade)

    bound: list[int] = []
    skrank.lightgbm.objective(Own() + SquaredError())(data[2], data[0])
    assert bound == [N_QUERIES]
