"""Random draws of a round depend on the number of the round, not on the scores."""

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from xgboost import DMatrix

import skrank
import skrank.lightgbm
from skrank import LambdaRank, UnbiasedLambdaRank, xgboost
from tests.helpers.engine import judge

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
    """Regression: it changed perturbed gradients by a third."""
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


@pytest.mark.parametrize("row", [1, 999, 1001, 5003, 9999])
def test_a_training_begins_with_scores_that_tie_inside_queries(row):
    sizes = np.full(500, 20)
    labels = np.arange(10_000) % 3
    call = xgboost.objective(LambdaRank("gap", perturbations=2))
    data = DMatrix(np.zeros((10_000, 1)), labels, group=sizes)
    start = np.repeat(np.arange(500.0), 20)
    first = call(start, data)
    assert_array_equal(call(start, data), first)
    moved = start.copy()
    moved[row] = np.nextafter(moved[row], np.inf)
    second = call(moved, data)
    assert not np.array_equal(call(moved, data), second)  # the third round draws other orders
    assert_array_equal(call(start, data), first)


def test_a_callable_counts_the_rounds_of_each_training():
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
    call = skrank.lightgbm.objective(objective)
    for _ in range(2):  # the second training restarts
        found = [np.array(call(one, rows)) for one in (start, scores, scores)]
        assert_array_equal(found, expected)


def test_an_interrupted_round_leaves_nothing_behind(monkeypatch):
    def interrupt(first, last, indptr, tied, seed, n_before, order):
        order[:] = 0
        raise KeyboardInterrupt

    labels, scores = data()
    bound = LambdaRank("gap").bind(judge(labels, GROUPS))
    first = gradient(bound, scores)
    with monkeypatch.context() as patch:
        patch.setattr("skrank._kernels.ranking.shuffle_ties", interrupt)
        with pytest.raises(KeyboardInterrupt):
            gradient(bound, scores)
    bound.round = 0
    assert_array_equal(gradient(bound, scores), first)
