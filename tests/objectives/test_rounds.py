"""What is drawn anew each round follows from the number of the round, not from the scores."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import LambdaRank, UnbiasedLambdaRank
from skrank._engine.judgments import judge
from skrank._engine.queries import Queries
from skrank.objectives._training import Training

SIZES = np.full(40, 15)
GROUPS = np.repeat(np.arange(40), 15)


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, len(GROUPS)) * 1.0, rng.normal(size=len(GROUPS))


def gradient(bound, scores):
    out = np.empty((2, len(scores)))
    bound.gradient(scores, *out)
    return out


@pytest.mark.parametrize("form", [LambdaRank, UnbiasedLambdaRank])
def test_a_last_place_of_one_score_changes_as_little(form):
    """It once changed perturbed gradients by a third."""
    labels, scores = data()
    objective = form("ndcg", perturbations=4, norm=False)
    moved = scores.copy()
    moved[7] = np.nextafter(moved[7], np.inf)
    first, second = (gradient(objective.bind(judge(labels, GROUPS)), s) for s in (scores, moved))
    assert_allclose(second, first, rtol=0, atol=1e-12)


def test_rounds_differ_and_a_setting_repeats_them():
    labels, scores = data()
    bound = LambdaRank("gap", perturbations=2).bind(judge(labels, GROUPS))
    first, second = gradient(bound, scores), gradient(bound, scores)
    assert not np.array_equal(first, second)
    bound.round = 0
    assert_array_equal(gradient(bound, scores), first)
    other = LambdaRank("gap", perturbations=2, random_state=1).bind(judge(labels, GROUPS))
    assert not np.array_equal(gradient(other, scores), first)


def test_where_a_training_begins():
    _, scores = data()
    training = Training(Queries.from_sizes(SIZES))
    assert training.begins(scores)  # whatever they are, for the first time
    assert training.begins(scores)
    assert not training.begins(scores + 1)
    assert training.begins(np.zeros(len(scores)))
    assert training.begins(np.repeat(np.arange(40.0), 15))  # tied inside each query
    last = np.zeros(len(scores))
    last[-1] = 1e-300
    assert not training.begins(last)
    assert not training.begins(scores)  # of a training before the last


def test_beginnings_in_many_rows():
    """A glance at some rows mostly tells; the others decide when it does not."""
    queries = Queries.from_sizes(np.full(500, 20))
    training = Training(queries)
    start = np.repeat(np.arange(500.0), 20)
    assert training.begins(start)
    for row in (1, 999, 1001, 5003, 9999):
        moved = start.copy()
        moved[row] += 0.5
        assert not training.begins(moved)
    assert training.begins(start)


def test_a_callable_counts_the_rounds_of_each_training():
    lightgbm = pytest.importorskip("lightgbm")
    import skrank.lightgbm as adapter

    labels, scores = data()
    objective = LambdaRank("gap", perturbations=2)
    rows = lightgbm.Dataset(
        np.zeros((len(labels), 1)), labels, group=SIZES, params={"verbose": -1}
    ).construct()
    bound = objective.bind(judge(labels, GROUPS))
    start = np.zeros(len(scores))
    expected = []
    for one in (start, scores, scores):
        out = np.empty((2, len(scores)), np.float32)
        bound.gradient(one, *out)
        expected.append(out)
    call = adapter.objective(objective)
    for _ in range(2):  # the second training begins anew
        found = [np.array(call(one, rows)) for one in (start, scores, scores)]
        assert_array_equal(found, expected)


def test_the_first_round_of_a_call_is_that_of_training():
    labels, scores = data()
    objective = skrank.LambdaRank("gap", perturbations=3)
    assert_array_equal(
        objective(labels, scores, groups=GROUPS),
        gradient(objective.bind(judge(labels, GROUPS)), scores),
    )


def test_an_interrupted_round_leaves_nothing_behind():
    labels, scores = data()
    bound = LambdaRank("gap").bind(judge(labels, GROUPS))
    first = gradient(bound, scores)
    order = bound.order
    bound.busy = True  # as an interrupt leaves it
    order[:] = -1
    bound.round = 0
    assert_array_equal(gradient(bound, scores), first)
    assert bound.order is not order  # which a thread might still write to
