"""LambdaLoss: precision, trainings, and errors."""

from __future__ import annotations

import math

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import LambdaLoss
from tests.helpers.engine import judge
from tests.helpers.lambdaloss_cases import (
    OPTIONS,
    STABLE,
    Data,
    close,
    finite,
    gradient,
    literal_query,
)

# ---------------------------------------------------------------------- precision and range


def single(objective, data, dtype=np.float32):
    """Gradients as boosters compute them, for contiguous queries."""
    judgments = judge(data.relevance, data.groups)
    assert judgments.queries.order is None
    grad, hess = np.full((2, len(data.groups)), np.nan, dtype)
    objective.bind(judgments).gradient(data.scores, grad, hess)
    return grad, hess


WIDE = {
    "tiny": lambda rng, n: rng.integers(-9, 9, n) * 1e-30,
    "tied": lambda rng, n: np.zeros(n),
    "moderate": lambda rng, n: rng.normal(size=n) * 30,
    "beyond single": lambda rng, n: rng.integers(-100, 100, n) * 1.0,
    "just safe": lambda rng, n: np.r_[0, 1399.5, rng.random(n - 2) * 1399],
    "just unsafe": lambda rng, n: np.r_[0, 1400.5, rng.random(n - 2) * 1400],
    "clusters": lambda rng, n: np.where(rng.random(n) < 0.5, 0, 5000) + rng.integers(0, 9, n),
    "huge": lambda rng, n: rng.integers(-1000, 1000, n) * 1e3,
}


@pytest.mark.parametrize("spread", WIDE)
@pytest.mark.parametrize("norm", [True, False])
def test_scores_of_any_range(spread, norm):
    rng = np.random.default_rng(12)
    n = 14
    labels = rng.choice([0, 0, 1, 2, 3], n).astype(float)
    labels[1] = 3
    scores = WIDE[spread](rng, n)
    with np.errstate(over="ignore"):
        expected = overflowing(literal_query, "ndcg@3", labels, scores, norm=norm)
    objective = LambdaLoss("ndcg@3", norm=norm, **STABLE)
    close(objective(labels, scores), expected)
    grad, hess = np.empty((2, n), np.float32)
    objective.bind(judge(labels)).gradient(scores, grad, hess)
    for part, wanted in zip((grad, hess), expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=3e-5 * np.abs(wanted).max() + 1e-35)


def overflowing(function, *args, **kwargs):
    """The literal loop, with an exponential clipped to the largest number."""
    real = math.exp
    math.exp = lambda x: real(min(x, 700))
    try:
        return function(*args, **kwargs)
    finally:
        math.exp = real


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 511, 512, 513, 529, 1300])
def test_lengths_around_a_tile(n):
    rng = np.random.default_rng(n)
    labels, scores = rng.choice([0.0, 1, 2, 3], n), rng.normal(size=n).round(2)
    labels[0] = 1
    sample = {} if n < 600 else {"truncation_level": 20}
    expected = literal_query("ndcg@3", labels, scores, **sample)
    objective = LambdaLoss("ndcg@3", **STABLE, **sample)
    close(objective(labels, scores), expected)
    grad, hess = np.empty((2, n), np.float32)
    objective.bind(judge(labels)).gradient(scores, grad, hess)
    for part, wanted in zip((grad, hess), expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max() + 1e-35)


def test_form_of_the_input_changes_nothing():
    data = finite(5, scattered=False, special=False)
    objective = LambdaLoss("ndcg@3", **STABLE)
    expected = gradient("ndcg@3", data)
    rows = np.random.default_rng(0).permutation(len(data.groups))
    found = objective(data.relevance[rows], data.scores[rows], groups=data.groups[rows])
    close(found, [part[rows] for part in expected], 1e-14)
    for form in (list, lambda a: a.astype(np.float32), lambda a: np.repeat(a, 2)[::2]):
        labels = form(np.nan_to_num(data.relevance))
        close(objective(labels, data.scores, groups=data.groups), expected, 1e-14)
    weight = np.array([1.0 + len(str(query)) % 3 for query in data.groups])
    weighted = gradient("ndcg@3", data, sample_weight=weight)
    close(weighted, [weight * part for part in expected], 1e-14)


def test_gradients_sum_to_zero_and_curvature_is_positive():
    data = finite(3, levels=6, n_queries=30, longest=20)
    for options in OPTIONS:
        grad, hess = gradient("ndcg@3", data, **options)
        for query in data.ids:
            rows = data.groups == query
            assert abs(grad[rows].sum()) <= 1e-12 * max(1, np.abs(grad[rows]).sum())
        assert (hess >= 0).all()


def test_perturbed_orders_of_no_noise_are_the_order():
    data = finite(3, n_queries=20, longest=20, special=False)
    data.scores[:] = np.random.default_rng(0).permutation(len(data.scores)) / 10  # without ties
    for options in ({}, {"sum_norm": True}, {"score_norm": True}):
        noisy = gradient("ndcg@3", data, perturbations=3, temperature=1e-9, **options)
        close(noisy, gradient("ndcg@3", data, **options))


@pytest.fixture(scope="module")
def data():
    return Data(0), Data(1)


@pytest.mark.parametrize("weights", ["ndcg_loss2++", "ndcg_loss2"])
def test_boosters_train_on_it(data, weights):
    train, valid = data
    objective = LambdaLoss("ndcg@5", weights=weights)
    random = valid.score(np.random.default_rng(0).normal(size=len(valid.y)))
    params = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "metric": "None"}
    booster = lgb.train(
        params | {"objective": skrank.lightgbm.objective(objective)},
        lgb.Dataset(train.X, train.y, group=train.sizes),
        20,
    )
    assert valid.score(booster.predict(valid.X)) > random + 0.15
    booster = xgb.train(
        {"disable_default_eval_metric": 1, "nthread": 1},
        xgb.DMatrix(train.X, train.y, qid=train.qid, nthread=1),
        20,
        obj=skrank.xgboost.objective(objective),
    )
    found = booster.predict(xgb.DMatrix(valid.X, nthread=1))
    assert valid.score(found) > random + 0.15


def test_grouped_ranker_trains_on_it(data):
    train, valid = data
    ranker = skrank.GroupedRanker(
        lgb.LGBMRanker(n_estimators=10, n_jobs=1, min_child_samples=5, verbosity=-1),
        objective=LambdaLoss("ndcg@5"),
    )
    ranker.fit(train.X, skrank.with_groups(train.y, train.qid))
    assert valid.score(ranker.predict(valid.X)) > 0.6


# ---------------------------------------------------------------------- objects and errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": -1}, r"mu=-1 must be a number in \[0"),
        ({"mu": float("nan")}, "mu=nan"),
        ({"mu": "10"}, "mu='10'"),
        ({"weights": "ndcg_loss1"}, r"weights='ndcg_loss1' .*'ndcg_loss2\+\+', 'ndcg_loss2'"),
        ({"sigmoid": 0}, "sigmoid=0"),
        ({"truncation_level": 0}, "truncation_level=0 must be at least 1"),
        ({"pairs": "adjacent"}, "pairs='adjacent'"),
        ({"tie_order": "rows"}, "tie_order='rows'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        LambdaLoss("ndcg", **options)


@pytest.mark.parametrize("name", ["gap", "err", "ap", "rbp", "precision@3"])
def test_metrics_without_such_weights(name):
    with pytest.raises(ValueError, match=r"LambdaLoss has weights for ndcg and dcg, not for"):
        LambdaLoss(name)
