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


def test_finite_differences_of_the_cost_at_fixed_weights():
    data = Clicks(3, 1)
    data.y[:] = 0
    data.y[[0, 3, 6]] = 1
    bound = UnbiasedLambdaRank("ndcg").bind(judge(data.y))
    rng = np.random.default_rng(0)
    scores = rng.normal(size=10)
    plus, minus = rng.uniform(0.2, 1.5, (2, 10))
    bound.position_bias.estimates["clicked"][:] = plus
    bound.position_bias.estimates["skipped"][:] = minus
    grad, hess = np.empty((2, 10))
    bound.step(scores, grad, hess)
    order = np.argsort(-scores)
    plan = skrank.metric("ndcg").bind(judge(data.y[order]))
    deltas = np.zeros((10, 10))
    deltas[np.ix_(order, order)] = np.abs(plan.tables.deltas(plan.judgments.codes)) * plan.inverse

    def cost(s):
        return sum(
            (deltas[i, j] + deltas[j, i]) / plus[i] / minus[j] * np.logaddexp(0, s[j] - s[i])
            for i in range(10)
            for j in range(10)
            if data.y[i] > data.y[j]
        )

    for i in range(10):
        step = np.zeros(10)
        step[i] = 1e-4
        up, here, down = cost(scores + step), cost(scores), cost(scores - step)
        assert grad[i] == pytest.approx((up - down) / 2e-4, abs=1e-6)
        assert hess[i] == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-5)


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


def test_what_xgboost_does_otherwise_is_the_sign_in_the_cost():
    data = Clicks(0, 80)
    literal = {}
    for as_xgboost in (False, True):
        oracle = Literal(
            "ndcg", data, bias_norm=1, norm=True, truncation_level=10, as_xgboost=as_xgboost
        )

        def gradient(scores, _, oracle=oracle):
            grad, hess = oracle.step(scores.astype(float))
            return grad, 2 * hess

        literal[as_xgboost] = by_objective(data, 6, gradient), list(oracle.plus.values())
    expected, plus, _ = xgboosts(data, 6)
    assert_allclose(literal[True][0], expected, atol=1e-5)
    assert_allclose(literal[True][1], plus, rtol=1e-4)
    unbiased = UnbiasedLambdaRank("ndcg", bias_norm=1, **AS_XGBOOST)
    objective = skrank.xgboost.objective(unbiased)
    found = by_objective(data, 6, objective)
    assert_allclose(found, literal[False][0], atol=1e-5)
    assert_allclose(objective.position_bias_["clicked"], literal[False][1], rtol=1e-4)
    assert np.abs(objective.position_bias_["clicked"] - plus).max() > 1e-3
