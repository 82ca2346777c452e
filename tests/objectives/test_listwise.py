"""Squared error centred by query, and softmax cross-entropy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from skrank import Softmax, SquaredError
from tests.helpers.engine import judge

RNG = np.random.default_rng(0)
QID = np.sort(RNG.integers(0, 7, 50))
LABELS = RNG.integers(0, 4, 50).astype(float)
LABELS[QID == 2] = 0  # a query whose gains are all 0
SCORES = RNG.normal(size=50)
WEIGHTS = RNG.uniform(0.5, 2, 7)


def bound_to(objective, weights=WEIGHTS):
    return objective.bind(judge(LABELS, QID), weights)


def gradient(bound, scores=SCORES, dtype=np.float64):
    grad, hess = np.empty(50, dtype), np.empty(50, dtype)
    bound.gradient(scores, grad, hess)
    return grad, hess


def per_query(function):
    return np.concatenate([function(np.equal(QID, query)) for query in range(7)])


def test_centred_squared_error_by_hand():
    target = (2**LABELS - 1) / 7

    def centred(query):
        rest = (SCORES - target)[query]
        return WEIGHTS[QID[query][0]] * (rest - rest.mean())

    grad, hess = gradient(bound_to(SquaredError(centered=True)))
    assert_allclose(grad, per_query(centred), atol=1e-12)
    sizes = np.bincount(QID)[QID]
    assert_allclose(hess, WEIGHTS[QID] * (1 - 1 / sizes), atol=1e-12)


def test_the_squared_error_of_a_query_of_weight_0_is_0():
    judgments = judge(np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1]))
    bound = SquaredError().bind(judgments, np.array([0.0, 1.0]))
    losses = bound.losses(np.array([1e200, 0, 1, 0]), *np.empty((2, 4)))
    assert losses.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_softmax_by_hand(gain):
    worth = LABELS if gain == "linear" else 2**LABELS - 1

    def by_hand(query):
        if not worth[query].any():
            return np.zeros(query.sum())
        shares = worth[query] / worth[query].sum()
        return WEIGHTS[QID[query][0]] * (softmax(SCORES[query]) - shares)

    bound = bound_to(Softmax(gain))
    grad, hess = gradient(bound)
    assert_allclose(grad, per_query(by_hand), atol=1e-12)
    query = QID == 0
    chances = softmax(SCORES[query])
    assert_allclose(hess[query], WEIGHTS[0] * chances * (1 - chances), atol=1e-12)
    loss = -(worth[query] / worth[query].sum()) @ log_softmax(SCORES[query])
    found = bound.losses(SCORES, np.empty(50), np.empty(50))
    assert found[0] == pytest.approx(WEIGHTS[0] * loss)
    assert found[2] == 0


def test_documents_that_were_not_judged_have_the_gain_of_label_0():
    for loss in (Softmax(), SquaredError(centered=True)):
        unknown = loss([np.nan, 2, 1], [0.1, 0.2, 0.3])
        assert_allclose(unknown, loss([0, 2, 1], [0.1, 0.2, 0.3]))


def targets(bound):
    """Gain of each document / sum of gains of its query."""
    chances = per_query(lambda query: softmax(SCORES[query]))
    return chances - gradient(bound)[0]


def test_random_gains_are_uniform():
    chosen = [Softmax(random_gains=True, random_state=seed) for seed in range(400)]
    assert not chosen[0].is_function
    draws = np.array([targets(bound_to(one, None)) for one in chosen])
    for query in range(7):
        rows = np.equal(QID, query)
        gains = (2 ** LABELS[rows] - 1).sum()
        if gains:
            assert np.all((draws[:, rows] > 0) & (draws[:, rows].sum(1, keepdims=True) < 1 + 1e-9))
            expected = (2 ** LABELS[rows] - 0.5) / (gains + 0.5 * rows.sum())
            assert_allclose(draws[:, rows].mean(0), expected, rtol=0.1)
    assert_array_equal(draws[0][QID == 2] != 0, True)  # chances: its gradient is 0
    assert_array_equal(gradient(bound_to(chosen[0]))[0][QID == 2], 0)
