"""Objectives on blocks of queries: the same gradients, in the memory of one block."""

import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import (
    AdditivePositionBias,
    LambdaLoss,
    LambdaRank,
    Softmax,
    SoftRank,
    SquaredError,
    UnbiasedLambdaRank,
)
from skrank.extending import Judgments, Queries
from skrank.objectives import _blocks
from skrank.objectives._blocks import BoundBlocks, blocks
from tests.helpers.catalogue import every_objective
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import many

PERTURBED = {"perturbations": 2, "temperature": 0.5}
ROUNDS = 3


@pytest.fixture
def small(monkeypatch):
    """Blocks of about 2,000 rows."""
    monkeypatch.setattr(_blocks, "_ROWS", 2000)
    monkeypatch.setattr(_blocks, "_ROWS_OF_A_THREAD", 1)


def rounds(bound, scores, dtype=np.float64):
    """Gradient and curvature of several rounds, whose scores change."""
    found = []
    for number in range(ROUNDS):
        grad, hess = np.empty((2, len(scores)), dtype)
        bound.gradient(np.round(scores * (1 + number), 1), grad, hess)
        found += [grad, hess]
    return found


def both(objective, dtype=np.float64):
    """The objective bound to all queries and to blocks of them, with weights."""
    data = many(90, longest=120)
    judgments = judge(data.relevance, data.groups)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(judgments.queries))
    parts = BoundBlocks(objective, judgments, weights, None)
    assert len(parts.parts) > 2
    return (
        rounds(objective.bind(judgments, weights), data.scores, dtype),
        rounds(parts, data.scores, dtype),
    )


@pytest.mark.usefixtures("small")
@every_objective
def test_blocks_change_no_bit(point):
    for options in ({}, PERTURBED):
        for one, other in zip(*both(LambdaRank(point.metric, **options)), strict=True):
            assert_array_equal(one, other)


OTHERS = [
    LambdaRank("gap", pairs="adjacent", **PERTURBED),
    LambdaLoss("ndcg@10", **PERTURBED),
    SoftRank("gap"),
    SoftRank("ndcg", relative=True),
    Softmax(random_gains=True),
    SquaredError(centered=True),
    0.5 * LambdaRank("err") + 0.3 * Softmax(random_gains=True) + SquaredError(),
]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("objective", OTHERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_other_objectives(objective, dtype):
    assert objective.by_query
    for one, other in zip(*both(objective, dtype), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize(
    "objective",
    [
        UnbiasedLambdaRank("ndcg", **PERTURBED),
        UnbiasedLambdaRank("gap", max_position=20),
        AdditivePositionBias(LambdaRank("err", **PERTURBED), regularization=0.1),
        AdditivePositionBias(0.5 * LambdaRank("gap") + SquaredError()),
    ],
    ids=str,
)
def test_positions_are_learned_from_all_blocks(objective, request):
    data = many(90, longest=120)
    judgments = judge(data.relevance, data.groups)
    whole = objective.bind(judgments)
    expected = rounds(whole, data.scores)
    request.getfixturevalue("small")
    parts = objective.bind(judgments)
    for one, other in zip(expected, rounds(parts, data.scores), strict=True):
        assert_allclose(other, one, rtol=0, atol=1e-9)
    for name, learned in whole.position_bias.estimates.items():
        assert np.ptp(learned) > 0
        assert_allclose(parts.position_bias.estimates[name], learned, rtol=1e-9)


def test_blocks_are_whole_queries(small):
    judgments = judge([0.0] * 9000, np.repeat([3, 1, 2], [1500, 5000, 2500]))
    found = list(blocks(judgments))
    assert [(rows.start, rows.stop) for _, rows, _ in found] == [(0, 6500), (6500, 9000)]
    assert [list(block.queries.ids) for _, _, block in found] == [[3, 1], [2]]


def test_the_highest_grade_is_that_of_all(small):
    """ERR has no max_grade, and takes it from the data."""
    labels = np.r_[np.full(3000, 1.0), np.full(3000, 4.0)]
    labels[::2] = 0
    judgments = Judgments(labels, Queries.from_sizes(np.full(60, 100)))
    scores = np.random.default_rng(0).normal(size=6000)
    parts = BoundBlocks(LambdaRank("err"), judgments, None, None)
    for one, other in zip(
        rounds(LambdaRank("err").bind(judgments), scores), rounds(parts, scores), strict=True
    ):
        assert_array_equal(one, other)


@pytest.mark.parametrize("shuffled", [False, True])
def test_errors_name_rows_of_the_caller(small, shuffled):
    groups = np.repeat(np.arange(60), 100)
    place = np.random.default_rng(0).permutation(6000) if shuffled else np.arange(6000)
    groups = groups[place]
    judgments = judge(np.random.default_rng(0).integers(0, 3, 6000) * 1.0, groups)
    scores = np.zeros(6000)
    row = int(np.flatnonzero(groups == groups.max())[7])
    scores[row] = np.nan
    parts = BoundBlocks(LambdaRank("gap", **PERTURBED), judgments, None, None)
    with pytest.raises(ValueError, match=f"row {row}"):
        rounds(parts, judgments.queries.gather(scores))


def test_a_round_that_was_interrupted_is_begun_anew(small):
    data = many(90, longest=120)
    judgments = judge(data.relevance, data.groups)
    objective = LambdaRank("gap", **PERTURBED)
    parts, fresh = (BoundBlocks(objective, judgments, None, None) for _ in range(2))
    bad = data.scores.copy()
    bad[-1] = np.nan  # the last block raises an error
    with pytest.raises(ValueError, match="is nan"):
        rounds(parts, bad)
    for one, other in zip(rounds(parts, data.scores), rounds(fresh, data.scores), strict=True):
        assert_array_equal(one, other)


def test_objectives_of_ones_own_are_bound_whole(small):
    """Their gradients may depend on all queries."""

    @dataclasses.dataclass(frozen=True)
    class Own(skrank.Objective):
        def bind(self, judgments, weights=None, *, max_grade=None):
            self.seen.append(len(judgments.queries))
            return SquaredError().bind(judgments, weights)

    Own.seen = []
    data = many(90, longest=120)
    both_at_once = Own() + SquaredError()
    assert not both_at_once.by_query
    BoundBlocks(both_at_once, judge(data.relevance, data.groups), None, None)
    assert Own.seen == [90]


# Memory

BOUND = {UnbiasedLambdaRank: 40}  # bytes per row at the peak of a round; 24 for other objectives
TRAINED = [
    *(LambdaRank(name) for name in ("gap", "ndcg@10", "ap", "q", "err", "0.7*gap+0.3*err")),
    LambdaRank("gap", pairs="adjacent"),
    *OTHERS[:-1],
    0.5 * LambdaRank("gap") + 0.5 * LambdaRank("ndcg"),
    AdditivePositionBias(LambdaRank("gap", **PERTURBED)),
    AdditivePositionBias(0.5 * LambdaRank("gap") + 0.5 * SquaredError()),
    UnbiasedLambdaRank("ndcg"),
    UnbiasedLambdaRank("ndcg", **PERTURBED),
]


@pytest.mark.parametrize("objective", TRAINED, ids=str)
def test_room_of_a_round(objective, monkeypatch):
    """Memory of the bound data set, of gradients, and of the workspace."""
    lightgbm = pytest.importorskip("lightgbm")
    monkeypatch.setattr(_blocks, "_ROWS", 20_000)
    monkeypatch.setattr(_blocks, "_ROWS_OF_A_THREAD", 1)
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
        gc.collect()
        tracemalloc.reset_peak()
        called(scores, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / rows < BOUND.get(type(objective), 24)


@pytest.mark.parametrize("first", [[0, 2, 1], [0, 0.5, 1], [0, 300, 1]])
@pytest.mark.parametrize("second", [[0, 2, 2], [0, 2, 1.5], [0, 2, 257], [0, 44, 1]])
def test_labels_that_change_in_place_are_read_again(first, second):
    """Also if labels are equal modulo 256, as uint8."""
    called, fresh = (skrank.lightgbm.objective("dcg(gain=linear)") for _ in range(2))
    labels, scores, sizes = np.array(first, np.float32), np.array([0.3, 0.2, 0.1]), np.array([3])
    called(labels, scores, None, sizes)
    labels[:] = second
    found = called(labels, scores, None, sizes)
    np.testing.assert_array_equal(found, fresh(labels.copy(), scores, None, sizes))
