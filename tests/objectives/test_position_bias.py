"""Position bias: literal definitions, parity, simulated clicks, positions, and errors."""

import copy
import dataclasses
import json
import pickle
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
from tests.helpers.position_bias_cases import (
    BOOSTERS,
    QUIET,
    STABLE,
    Clicks,
    Literal,
    both,
    train_lightgbm,
    trained,
)

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


@pytest.mark.parametrize(
    ("metric", "options", "n"),
    [
        *(
            (metric, {"norm": False} | options, None)
            for metric in ("ndcg", "ndcg@3", "gap", "precision@3")
            for options in ({}, {"sigmoid": 3.0}, {"truncation_level": 2, "norm": True})
        ),
        *(
            ("gap", {"truncation_level": level, "norm": True, **STABLE}, n)
            for level in (None, 20)
            for n in (511, 512, 513, 1100)
        ),
    ],
)
def test_without_ratios_it_is_lambdarank(metric, options, n):
    """Clicks on short lists, or on one list of n documents, about as long as a tile or longer."""
    rng, data = np.random.default_rng(0), Clicks(1, 30, ragged=True)
    labels, scores, groups = data.y, rng.normal(size=len(data.y)), data.qid
    if n is not None:
        labels, scores, groups = rng.random(n) < 0.3, rng.normal(size=n).round(2), None
    lambdarank = LambdaRank(metric, **options)
    expected = lambdarank(labels, scores, groups=groups)
    found = UnbiasedLambdaRank(metric, **options)(labels, scores, groups=groups)
    assert_allclose(found, expected, atol=1e-12 if n is None else 1e-11)
    assert_array_equal(AdditivePositionBias(lambdarank)(labels, scores, groups=groups), expected)


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


# ---------------------------------------------------------------------- simulated clicks


@pytest.fixture(scope="module")
def simulated():
    return Clicks(1, 600), Clicks(2, 600)


@both
@pytest.mark.parametrize("booster", BOOSTERS)
def test_what_was_good_is_ranked_better(simulated, objective, booster):
    train, test = simulated
    make, fit = BOOSTERS[booster]
    called = make(objective)
    found = test.score(fit(called, train)(test.X))
    naive = test.score(fit(make(LambdaRank("ndcg")), train)(test.X))
    assert found > naive + 0.02
    assert found < test.score(test.worth)
    bias = called.position_bias_.iloc[:, 0]
    assert list(bias.index) == list(range(1, 11))
    assert np.corrcoef(np.log(train.seen), bias if bias.min() < 0 else np.log(bias))[0, 1] > 0.9


# ---------------------------------------------------------------------- positions


@both
def test_positions_are_the_order_of_the_rows_or_given(objective):
    data = Clicks(4, 30, ragged=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(data.y))
    in_order = objective.bind(judge(data.y, data.qid))
    judgments = judge(data.y[rows], data.qid[rows])
    given = objective.bind(judgments, positions=data.rank[rows].astype(float).tolist())
    for _ in range(3):
        scores = rng.normal(size=len(data.y))  # without ties
        grad, hess = np.empty((2, 2, len(rows)))
        in_order.gradient(scores, grad[0], hess[0])
        given.gradient(judgments.queries.gather(scores[rows]), grad[1], hess[1])
        assert_allclose(judgments.queries.scatter(grad[1]), grad[0][rows], atol=1e-12)
        assert_allclose(judgments.queries.scatter(hess[1]), hess[0][rows], atol=1e-12)
    frames = in_order.position_bias.frame(), given.position_bias.frame()
    assert list(frames[0].index) == list(frames[1].index) == list(range(1, 11))
    assert_allclose(*frames, atol=1e-12)
    assert frames[0].iloc[:, 0].nunique() > 5


@both
def test_deep_positions_are_one(objective):
    data = Clicks(4, 60)
    deep = dataclasses.replace(objective, max_position=4)
    _, bias = trained(deep, data)
    assert list(bias.index) == [1, 2, 3, 4]
    _, clipped = trained(objective, data, positions=np.minimum(data.rank, 4))
    assert_array_equal(bias, clipped)


@both
def test_lightgbm_subsets_keep_their_positions(objective):
    data = Clicks(6, 60)
    whole = data.dataset(position=data.rank, free_raw_data=False).construct()
    part = whole.subset(np.arange(300)).construct()
    scores = np.zeros(300)
    called = skrank.lightgbm.objective(objective)
    found = called(scores, part)
    half = lgb.Dataset(
        data.X[:300], data.y[:300], group=data.sizes[:30], position=data.rank[:300],
        params=dict(QUIET),
    ).construct()  # fmt: skip
    first = called.position_bias_
    assert_array_equal(skrank.lightgbm.objective(objective)(scores, half), found)
    assert_array_equal(called.position_bias_, first)
    assert list(first.index) == list(range(10))


def test_max_position_needs_positions_that_rise():
    data = Clicks(6, 20)
    called = skrank.lightgbm.objective(AdditivePositionBias("ndcg", max_position=5))
    called(np.zeros(200), data.dataset(position=data.rank).construct())
    assert list(called.position_bias_.index) == [0, 1, 2, 3, 4, 5]
    shuffled = np.random.default_rng(0).permutation(200) // 20
    with pytest.raises(
        ValueError, match=r"rows \d+ and \d+ are not in the order of their positions"
    ):
        called(np.zeros(200), data.dataset(position=shuffled).construct())


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


# ---------------------------------------------------------------------- errors


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
