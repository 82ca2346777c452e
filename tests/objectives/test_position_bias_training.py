"""Position bias: trainings, precision, and errors."""

import copy
import dataclasses
import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import AdditivePositionBias, LambdaRank, UnbiasedLambdaRank
from tests.helpers.engine import judge
from tests.helpers.position_bias_cases import (
    BOOSTERS,
    QUIET,
    STABLE,
    Clicks,
    Literal,
    both,
    train_lightgbm,
)

# ---------------------------------------------------------------------- trainings


@both
@pytest.mark.parametrize("booster", BOOSTERS)
def test_trainings_do_not_know_of_each_other(objective, booster):
    data = Clicks(7, 60)
    make, fit = BOOSTERS[booster]
    called = make(objective)
    expected = fit(called, data, 6)(data.X)
    bias = called.position_bias_
    assert_array_equal(fit(called, data, 6)(data.X), expected)
    assert_array_equal(called.position_bias_, bias)
    for copied in (copy.deepcopy(called), pickle.loads(pickle.dumps(called))):
        assert_array_equal(fit(copied, data, 6)(data.X), expected)


@both
def test_the_same_data_set_again(objective):
    """The Dataset is the same, and so is the objective that is bound to it."""
    data = Clicks(7, 60)
    dataset, called = data.dataset().construct(), skrank.lightgbm.objective(objective)

    def train():
        booster = lgb.Booster(QUIET, dataset)
        for _ in range(6):
            booster.update(fobj=called)
        return booster.predict(data.X)

    expected = train()
    assert len(called._bound) == 1
    assert_array_equal(train(), expected)


@both
def test_when_a_training_begins(objective):
    data = Clicks(7, 60)
    judgments = judge(data.y, data.qid)
    rng = np.random.default_rng(0)
    start, other, third = rng.normal(size=(3, len(data.y)))
    per_query = np.repeat(rng.normal(size=60), 10)

    def learned(*rounds):
        bound = objective.bind(judgments)
        for scores in rounds:
            bound.round = 0
            bound.gradient(scores, *np.empty((2, len(scores))))
        return bound.position_bias.frame().to_numpy()

    assert not np.array_equal(learned(start, other), learned(start))
    assert not np.array_equal(learned(start, other, start), learned(start))  # continues
    assert_array_equal(learned(start, other, per_query), learned(per_query))  # restarts
    assert_array_equal(learned(start, per_query, other, per_query), learned(per_query))
    assert not np.array_equal(learned(start, other, third), learned(third))


def test_what_was_learned_is_shared_with_deep_copies_only():
    data = Clicks(7, 30)
    called = skrank.lightgbm.objective(UnbiasedLambdaRank("ndcg"))
    with pytest.raises(AttributeError, match="nothing was learned about positions: train with"):
        called.position_bias_  # noqa: B018
    deep, pickled = copy.deepcopy(called), pickle.loads(pickle.dumps(called))
    fit = train_lightgbm
    fit(deep, data, 2)
    assert called.position_bias_.shape == (10, 2)
    assert not hasattr(pickled, "position_bias_")
    assert not hasattr(skrank.lightgbm.objective("ndcg"), "position_bias_")


@both
@pytest.mark.parametrize("ranker", ["lightgbm", "xgboost"])
def test_grouped_ranker(objective, ranker):
    data = Clicks(1, 200)
    estimator = {
        "lightgbm": lgb.LGBMRanker(n_estimators=15, n_jobs=1, verbosity=-1),
        "xgboost": xgb.XGBRanker(n_estimators=15, n_jobs=1, max_depth=3),
    }[ranker]
    grouped = skrank.GroupedRanker(
        estimator, objective=objective, eval_metric="ndcg@5", validation_fraction=0.2
    )
    grouped.fit(data.X, skrank.with_groups(data.y, data.qid), position=data.rank)
    assert np.ptp(grouped.predict(data.X)) > 0
    if ranker == "lightgbm":
        assert len(grouped.estimator_.objective.position_bias_) == 10
    unlabelled = data.y.copy()
    unlabelled[13] = np.nan
    grouped.set_params(unjudged="drop")
    with pytest.raises(ValueError, match=r"row 13 has no label .* unjudged=\"zero\""):
        grouped.fit(data.X, skrank.with_groups(unlabelled, data.qid))


def test_any_objective_can_be_wrapped():
    data = Clicks(1, 200)
    for inner in (
        skrank.SoftRank("ndcg"),
        skrank.LambdaLoss("ndcg@5"),
        LambdaRank("err"),
        "rr",
        0.5 * LambdaRank("gap") + 0.5 * LambdaRank("ndcg"),
    ):
        additive = AdditivePositionBias(inner)
        bias = additive.position_bias(data.y, data.log_odds, groups=data.qid, rounds=50)["bias"]
        assert bias.iloc[:2].mean() > bias.iloc[-3:].mean() + 0.5
        assert additive.metric in ("err", "rr") or str(additive.metric)
    assert AdditivePositionBias("ndcg@5").metric == skrank.metric("ndcg@5")
    assert not hasattr(AdditivePositionBias(skrank.SquaredError()), "metric")


# ---------------------------------------------------------------------- precision and threads


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 30.0, 200.0, 1e4])
@pytest.mark.parametrize("norm", [True, False])
def test_single_precision_and_scores_of_any_range(spread, norm):
    data = Clicks(8, 60, n=5)
    scores = np.random.default_rng(0).normal(size=len(data.y)) * spread
    unbiased = UnbiasedLambdaRank("ndcg@3", norm=norm, sigmoid=0.7, bias_norm=1, **STABLE)
    literal = Literal("ndcg@3", data, norm=norm, sigmoid=0.7, bias_norm=1)
    double, single = (unbiased.bind(judge(data.y, data.qid)) for _ in range(2))
    for shift in (0, 0.3):
        now = scores + shift * np.sin(np.arange(len(scores)))
        expected = np.array(literal.step(now))
        for bound, kind, tolerance in ((double, np.float64, 1e-9), (single, np.float32, 1e-4)):
            found = np.full((2, len(now)), np.nan, kind)
            bound.step(now, *found)
            sizes = np.abs(expected).max(axis=1, keepdims=True)
            assert (np.abs(found - expected) <= tolerance * sizes + 1e-30).all()
            ratios = bound.position_bias.estimates
            assert_allclose(ratios["clicked"], list(literal.plus.values()), rtol=tolerance)
            assert_allclose(ratios["skipped"], list(literal.minus.values()), rtol=tolerance)


@both
def test_perturbed_orders_of_no_noise_are_the_order(objective):
    data = Clicks(8, 60)
    scores = np.random.default_rng(0).normal(size=len(data.y))
    noisy = {"perturbations": 3, "temperature": 1e-9}
    if isinstance(objective, AdditivePositionBias):
        noisy = {"objective": LambdaRank("ndcg", **noisy)}
    found = []
    for one in (objective, dataclasses.replace(objective, **noisy)):
        bound = one.bind(judge(data.y, data.qid))
        for _ in range(3):
            grad, hess = np.empty((2, len(scores)))
            bound.step(scores, grad, hess)
        found.append((grad, hess, bound.position_bias.frame()))
    for a, b in zip(*found, strict=True):
        assert_allclose(a, b, atol=1e-10)


def test_queries_longer_than_a_tile():
    rng = np.random.default_rng(0)
    for n in (511, 512, 513, 1100):
        clicks, scores = rng.random(n) < 0.3, rng.normal(size=n).round(2)
        for level in (None, 20):
            options = {"truncation_level": level, "norm": True, **STABLE}
            expected = LambdaRank("gap", **options)(clicks, scores)
            found = UnbiasedLambdaRank("gap", **options)(clicks, scores)
            assert_allclose(found, expected, atol=1e-11)


# ---------------------------------------------------------------------- objects and errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UnbiasedLambdaRank("ndcg", bias_norm=-1), r"bias_norm=-1 must be a number in \[0"),
        (lambda: UnbiasedLambdaRank("ndcg", max_position=0), "max_position=0 must be at least 1"),
        (lambda: UnbiasedLambdaRank("ndcg", sigmoid=0), "sigmoid=0"),
        (lambda: UnbiasedLambdaRank("gpa"), "unknown metric 'gpa'"),
        (lambda: UnbiasedLambdaRank("ndcg", pairs="adjacent"), "pairs='adjacent'"),
        (lambda: AdditivePositionBias("ndcg", learning_rate=0), "learning_rate=0 must be a number"),
        (lambda: AdditivePositionBias("ndcg", learning_rate=2), "learning_rate=2 must be a number"),
        (lambda: AdditivePositionBias("ndcg", regularization=-1), "regularization=-1"),
        (lambda: AdditivePositionBias("ndcg", max_position=2.5), "max_position=2.5 must be an"),
        (lambda: AdditivePositionBias(UnbiasedLambdaRank("ndcg")), "learns about positions itself"),
        (lambda: AdditivePositionBias(AdditivePositionBias("ndcg")), "use it alone"),
        (
            lambda: 0.5 * UnbiasedLambdaRank("ndcg") + LambdaRank("gap"),
            "cannot be part of",
        ),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["err", "rr", "pfound"])
def test_metrics_without_such_pairs(name):
    with pytest.raises(
        ValueError, match=rf"no pair weights for {name}: use .*AdditivePositionBias"
    ):
        UnbiasedLambdaRank(name)([1, 0], [0.0, 1])


@both
@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([1, 2], "positions has 2 rows and relevance has 3"),
        ([1, -2, 3], "position of row 1 is -2: positions must be whole numbers of at least 0"),
        ([1, 2, 1.5], "position of row 2 is 1.5"),
        ([1, np.nan, 2], "position of row 1 is nan"),
        (["a", "b", "c"], "positions must be numbers"),
        ([[1, 2, 3]], "positions has shape"),
    ],
)
def test_positions_are_checked(objective, positions, message):
    with pytest.raises(ValueError, match=message):
        objective.position_bias([1, 0, 0], [0.0, 1, 2], positions=positions)


@both
def test_what_says_nothing(objective):
    for clicks in ([0, 0, 0], [1, 1, 1]):
        bias = objective.position_bias(clicks, [0.0, 1, 2])
        assert bias.iloc[:, 0].nunique() == 1
    with pytest.raises(ValueError, match="rounds=0 must be at least 1"):
        objective.position_bias([1, 0], [0.0, 1], rounds=0)
    with pytest.raises(ValueError, match="score of row 1 is nan"):
        objective.position_bias([1, 0], [0.0, np.nan])
