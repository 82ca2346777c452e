"""Objectives on blocks of queries: the same gradients, in the memory of one block."""

import gc
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from skrank.objectives import _bound
from skrank.objectives._bound import BoundBlocks
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import many

DATA = many(90, longest=120)
JUDGMENTS = judge(DATA.relevance, DATA.groups)
OTHERS = [
    LambdaLoss("ndcg@10"),
    SoftRank("gap"),
    SoftRank("ndcg", relative=True),
    Softmax(random_gains=True),
    SquaredError(centered=True),
    0.5 * LambdaRank("err") + 0.3 * Softmax(random_gains=True) + SquaredError(),
]


@pytest.fixture
def small(monkeypatch):
    """Blocks of about 2,000 rows."""
    monkeypatch.setattr(_bound, "_BLOCK", 2000)
    monkeypatch.setattr(_bound, "_BLOCK_OF_A_THREAD", 1)


def rounds(bound, scores, dtype=np.float64):
    """Gradients and curvatures of three rounds, whose scores change."""
    found = np.empty((3, 2, len(scores)), dtype)
    for number, out in enumerate(found):
        bound.gradient(np.round(scores * (1 + number), 1), *out)
    return found


def in_blocks(objective, judgments=JUDGMENTS, weights=None):
    parts = objective.bind_blocks(judgments, weights, None)
    assert len(parts) > 2
    return BoundBlocks(parts)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "objective",
    [
        *(LambdaRank(name) for name in ("gap", "ap@2", "ndcg", "q", "err@2", "rbp", "cg@2")),
        *OTHERS,
    ],
    ids=str,
)
def test_blocks_change_no_bit(objective):
    assert objective.by_query
    weights = np.random.default_rng(0).uniform(0.5, 2, len(JUDGMENTS.queries))
    for dtype in (np.float32, np.float64):
        whole = rounds(objective.bind(JUDGMENTS, weights), DATA.scores, dtype)
        parts = rounds(in_blocks(objective, weights=weights), DATA.scores, dtype)
        assert_array_equal(parts, whole)


@pytest.mark.parametrize("shuffled", [False, True])
def test_errors_name_rows_of_the_caller(small, shuffled):
    groups = np.repeat(np.arange(60), 100)
    groups = np.random.default_rng(0).permutation(groups) if shuffled else groups
    judgments = judge(np.arange(6000) % 3 * 1.0, groups)
    scores = np.zeros(6000)
    row = int(np.flatnonzero(groups == groups.max())[7])
    scores[row] = np.nan
    with pytest.raises(ValueError, match=f"row {row}"):
        rounds(in_blocks(LambdaRank("gap"), judgments), judgments.queries.gather(scores))


def test_objectives_that_may_depend_on_all_queries_are_bound_whole(small):
    class Own(skrank.Objective):
        def bind(self, judgments, weights=None, *, max_grade=None):
            return SquaredError().bind(judgments, weights)

    both = Own() + SquaredError()
    assert not both.by_query
    assert len(both.bind_blocks(JUDGMENTS, None, None)) == 1


TRAINED = [
    *(LambdaRank(name) for name in ("gap", "q", "err")),
    *OTHERS[:-1],
    0.5 * LambdaRank("gap") + 0.5 * LambdaRank("ndcg"),
]


@pytest.mark.parametrize("objective", TRAINED, ids=str)
def test_memory_of_a_round(objective, monkeypatch):
    """Memory of the bound data set, of gradients, and of the workspace."""
    lightgbm = pytest.importorskip("lightgbm")
    monkeypatch.setattr(_bound, "_BLOCK", 20_000)
    monkeypatch.setattr(_bound, "_BLOCK_OF_A_THREAD", 1)
    rows, documents = 300_000, 200
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, rows).astype(np.float32), rng.normal(size=rows)
    sizes = np.full(rows // documents, documents)
    data = lightgbm.Dataset(np.zeros((rows, 1)), labels, group=sizes, params={"verbosity": -1})
    data.construct()
    skrank.lightgbm.objective(objective)(scores, data)  # compiles
    tracemalloc.start()
    try:
        called = skrank.lightgbm.objective(objective)
        called(scores, data)
        peaks = []
        for _ in range(3):  # other threads of the test process may allocate memory meanwhile
            gc.collect()
            tracemalloc.reset_peak()
            called(scores, data)
            peaks.append(tracemalloc.get_traced_memory()[1])
        peak = min(peaks)
    finally:
        tracemalloc.stop()
    assert peak / rows < 24
