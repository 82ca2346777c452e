"""Position bias: estimates from simulated clicks, sources of positions, trainings, and errors."""

import copy
import dataclasses
import pickle

import lightgbm as lgb
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import AdditivePositionBias, LambdaRank, UnbiasedLambdaRank
from tests.helpers.engine import judge
from tests.helpers.position_bias_cases import BOOSTERS, QUIET, Clicks, both, train_lightgbm, trained

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
def test_lightgbm_positions_reach_the_objective(objective):
    data = Clicks(6, 300)
    rows = np.arange(3000).reshape(300, 10)[:, ::-1].ravel()
    called = skrank.lightgbm.objective(objective)
    train_lightgbm(called, data, 20)
    in_order = called.position_bias_.iloc[:, 0]
    assert list(in_order.index) == list(range(1, 11))
    fields = {"group": data.sizes, "position": data.rank[rows], "params": dict(QUIET)}
    lgb.train(QUIET | {"objective": called}, lgb.Dataset(data.X[rows], data.y[rows], **fields), 20)
    given = called.position_bias_.iloc[::-1, 0]
    assert list(given.index) == list(range(9, -1, -1))  # numbered by first occurrence: 10, 9, ...
    if given.min() >= 0:
        in_order, given = np.log(in_order), np.log(given)
    assert np.corrcoef(in_order, given)[0, 1] > 0.9


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
