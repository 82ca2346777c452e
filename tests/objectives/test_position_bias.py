"""Position bias: literal definitions and parity with the boosters."""

import json
import re

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
from tests.helpers.position_bias_cases import QUIET, STABLE, Clicks, Literal, trained

OPTIONS = [
    {},
    {"bias_norm": 1, "norm": True},
    {"sigmoid": 2.0, "bias_norm": 3.5},
    {"truncation_level": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("metric", ["ndcg", "ndcg@3", "gap", "ap", "dcg(gain=linear)"])
def test_pairs_are_weighed_literally(metric, options):
    data = Clicks(0, 40, ragged=True)
    data.y *= 1 + (data.X[:, 2] > 0)  # clicks of grades 1 and 2
    positions = (data.rank * 7) % 5 + 3
    weight = np.random.default_rng(0).choice([0.5, 1, 2], len(data.sizes))[data.qid]
    expected = Literal(metric, data, positions=positions, weight=weight, **options)
    parts, bias = trained(
        UnbiasedLambdaRank(metric, **STABLE, **options), data, weight=weight, positions=positions
    )
    for scores, grad, hess in parts:
        wanted = expected.step(scores)
        assert_allclose(grad, wanted[0], atol=1e-9)
        assert_allclose(hess, wanted[1], atol=1e-9)
    assert list(bias.index) == [3, 4, 5, 6, 7]
    assert_allclose(bias["clicked"], list(expected.plus.values()), rtol=1e-9)
    assert_allclose(bias["skipped"], list(expected.minus.values()), rtol=1e-9)
    assert bias["clicked"].std() > 0.01


def test_without_ratios_it_is_lambdarank():
    data = Clicks(1, 30, ragged=True)
    scores = np.random.default_rng(0).normal(size=len(data.y))
    for options in ({}, {"sigmoid": 3.0}, {"truncation_level": 2, "norm": True}):
        for metric in ("ndcg", "ndcg@3", "gap", "precision@3"):
            options = {"norm": False} | options
            expected = LambdaRank(metric, **options)(data.y, scores, groups=data.qid)
            found = UnbiasedLambdaRank(metric, **options)(data.y, scores, groups=data.qid)
            assert_allclose(found, expected, atol=1e-12)
            found = AdditivePositionBias(LambdaRank(metric, **options))(
                data.y, scores, groups=data.qid
            )
            assert_array_equal(found, expected)


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


def test_queries_longer_than_a_tile():
    rng = np.random.default_rng(0)
    for n in (511, 512, 513, 1100):
        clicks, scores = rng.random(n) < 0.3, rng.normal(size=n).round(2)
        for level in (None, 20):
            options = {"truncation_level": level, "norm": True, **STABLE}
            expected = LambdaRank("gap", **options)(clicks, scores)
            found = UnbiasedLambdaRank("gap", **options)(clicks, scores)
            assert_allclose(found, expected, atol=1e-11)


# ---------------------------------------------------------------------- parity


@pytest.mark.parametrize("regularization", [0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbms_positions_are_reproduced(regularization, weighted, capsys):
    data = Clicks(0, 300, ragged=True)
    weight = np.random.default_rng(0).choice([0.5, 1, 2], 300)[data.qid] if weighted else None
    own = {"lambdarank_position_bias_regularization": regularization, "verbosity": 2}
    own |= {"objective": "lambdarank", "lambdarank_truncation_level": 30}
    expected = lgb.train(
        QUIET | own, data.dataset(position=data.rank, weight=weight, params={"verbosity": 2}), 20
    ).predict(data.X)
    table = re.findall(r"\[Debug\] +(\d+) +(\S+)", capsys.readouterr().out)[-10:]
    plain = LambdaRank("ndcg", truncation_level=30, **STABLE)
    objective = skrank.lightgbm.objective(
        AdditivePositionBias(plain, regularization=regularization)
    )
    dataset = data.dataset(position=data.rank, weight=weight)
    found = lgb.train(QUIET | {"objective": objective}, dataset, 20).predict(data.X)
    assert_allclose(found, expected, atol=1e-4, rtol=0)
    bias = objective.position_bias_["bias"]
    assert [int(position) for position, _ in table] == [x + 1 for x in bias.index]  # renumbered
    assert_allclose(bias, [float(x) for _, x in table], atol=1e-4)
    naive = skrank.lightgbm.objective(plain)
    without = lgb.train(QUIET | {"objective": naive}, data.dataset(weight=weight), 20)
    assert np.abs(without.predict(data.X) - found).max() > 0.1


AS_XGBOOST = {"norm": True, "truncation_level": 10, "tie_order": "stable"}
XGBOOST = {"nthread": 1, "max_depth": 3, "eta": 0.1, "base_score": 0.5}


def xgboosts(data, rounds, bias_norm=1.0):
    """XGBoost's own predictions and ratios."""
    own = {"objective": "rank:ndcg", "lambdarank_pair_method": "topk", "lambdarank_unbiased": True}
    own |= {"lambdarank_num_pair_per_sample": 10, "lambdarank_bias_norm": bias_norm}
    booster = xgb.train(XGBOOST | own, data.dmatrix(), rounds)
    config = json.loads(booster.save_config())["learner"]["objective"]
    return booster.predict(data.dmatrix()), config["ti+"], config["tj-"]


def by_objective(data, rounds, objective):
    plain = XGBOOST | {"disable_default_eval_metric": 1}
    return xgb.train(plain, data.dmatrix(), rounds, obj=objective).predict(data.dmatrix())


@pytest.mark.parametrize("bias_norm", [0.5, 1.0])
def test_xgboosts_ratios_are_reproduced_while_all_scores_tie(bias_norm):
    """The first round estimates the ratios, the second uses them: both agree up to here."""
    data = Clicks(0, 80)
    unbiased = UnbiasedLambdaRank("ndcg", bias_norm=bias_norm, **AS_XGBOOST)
    objective = skrank.xgboost.objective(unbiased)
    by_objective(data, 1, objective)
    _, plus, minus = xgboosts(data, 1, bias_norm)
    assert_allclose(objective.position_bias_["clicked"], plus, rtol=1e-6)
    assert_allclose(objective.position_bias_["skipped"], minus, rtol=1e-6)
    expected = xgboosts(data, 2, bias_norm)[0]
    assert_allclose(by_objective(data, 2, objective), expected, atol=1e-6)
