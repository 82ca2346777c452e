"""Position bias: literal pair weights, parity with LightGBM and XGBoost, and simulated clicks."""

from __future__ import annotations

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
from scipy.special import expit

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import AdditivePositionBias, LambdaRank, UnbiasedLambdaRank
from skrank._engine import threads as _parallel
from skrank._engine.judgments import judge
from skrank._engine.plan import Plan

STABLE = {"tie_order": "stable"}
QUIET = {
    "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 20, "num_leaves": 8, "metric": "None",
}  # fmt: skip
BOTH = [UnbiasedLambdaRank("ndcg"), AdditivePositionBias("ndcg")]
both = pytest.mark.parametrize("objective", BOTH, ids=lambda one: type(one).__name__)


class Clicks:
    """Lists in the order of a weak ranker; users look at a rank by chance, and click what is good.

    Attributes
    ----------
    seen : chance that a rank is looked at
    good : whether each document is good, which only `score` knows
    """

    def __init__(self, seed, n_queries=400, n=10, ragged=False, taste=0.3):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, n + 1, n_queries) if ragged else np.full(n_queries, n)
        rows = int(self.sizes.sum())
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.rank = np.concatenate([np.arange(1, size + 1) for size in self.sizes])
        self.X = rng.normal(size=(rows, 4))
        self.worth = 1 / (1 + np.exp(1.5 - 2 * self.X[:, 0]))
        shown = taste * self.X[:, 0] + self.X[:, 1]  # the old ranker likes the second feature
        self._sort(np.lexsort((-shown, self.qid)))
        self.seen = 1 / np.arange(1, n + 1)
        self.good = rng.random(rows) < self.worth
        self.y = (self.good & (rng.random(rows) < self.seen[self.rank - 1])).astype(float)

    def _sort(self, order):
        self.X, self.worth = self.X[order], self.worth[order]

    @property
    def log_odds(self):
        return np.log(self.worth / (1 - self.worth))

    def dataset(self, **kwargs):
        return lgb.Dataset(self.X, self.y, **{"group": self.sizes, "params": dict(QUIET)} | kwargs)

    def dmatrix(self):
        return xgb.DMatrix(self.X, self.y, qid=self.qid, nthread=1)

    def score(self, predictions):
        return skrank.metric("ndcg@5")(self.good, predictions, groups=self.qid)


# ---------------------------------------------------------------------- literal definition


class Literal:
    """Unbiased LambdaMART by the double loop; with its cost, and its sums, as XGBoost's."""

    def __init__(self, metric, data, *, bias_norm=0.0, norm=False, sigmoid=1.0,
                 truncation_level=None, positions=None, weight=None, as_xgboost=False):  # fmt: skip
        self.metric, self.data, self.norm, self.sigmoid = skrank.metric(metric), data, norm, sigmoid
        self.level, self.as_xgboost = truncation_level, as_xgboost
        self.power = 1 / (1 + bias_norm)
        self.positions = data.rank if positions is None else positions
        self.weight = np.ones(len(data.y)) if weight is None else weight
        self.plus = dict.fromkeys(np.unique(self.positions).tolist(), 1.0)
        self.minus = dict(self.plus)

    def step(self, scores):
        grad, hess = np.zeros((2, len(scores)))
        self.costs = {True: dict.fromkeys(self.plus, 0.0), False: dict.fromkeys(self.plus, 0.0)}
        self.shown = dict.fromkeys(self.plus, 0.0)
        for query in np.unique(self.data.qid):
            rows = np.flatnonzero(self.data.qid == query)
            grad[rows], hess[rows] = self.query(rows, scores[rows])
        for ratios, clicked in ((self.plus, True), (self.minus, False)):
            means = {
                p: c / (1 if self.as_xgboost else self.shown[p])
                for p, c in self.costs[clicked].items()
            }
            first = means[min(means)]
            if first <= 1e-16:
                continue
            ratios.update({p: (mean / first) ** self.power for p, mean in means.items()})
        return grad, hess

    def query(self, rows, scores):
        n = len(rows)
        grad, hess, total = np.zeros(n), np.zeros(n), 0.0
        order = np.argsort(-scores, kind="stable")
        labels, weight = self.data.y[rows], self.weight[rows[0]]
        plan = Plan(self.metric, judge(labels[order]))
        cuts = [cut for cut in (self.metric.k, self.level) if cut is not None]
        cut = 0 if self.metric.ideal_cutoff == 0 else min(cuts, default=None)
        inverse = plan.inverse_ideal(cut)[0]
        if inverse == 0:
            return grad, hess
        deltas = np.abs(plan.tables.deltas(plan.judgments.codes)) * inverse
        for row in rows:
            self.shown[self.positions[row]] += weight
        for a in range(min(n, self.level or n)):
            for b in range(a + 1, n):
                if labels[order[a]] == labels[order[b]]:
                    continue
                i, j = order[[a, b] if labels[order[a]] > labels[order[b]] else [b, a]]
                gap, delta = scores[i] - scores[j], deltas[a, b]
                if self.norm and scores[order[0]] != scores[order[-1]]:
                    delta /= 0.01 + abs(gap)
                p, q = self.positions[rows[i]], self.positions[rows[j]]
                plus, minus = (t if t > 1e-16 else 1.0 for t in (self.plus[p], self.minus[q]))
                wrong = expit(-self.sigmoid * gap)
                pull = self.sigmoid * delta * wrong / (plus * minus)
                grad[i] -= pull
                grad[j] += pull
                hess[[i, j]] += self.sigmoid * pull * (1 - wrong)
                total += 2 * pull
                cost = np.logaddexp(0, gap if self.as_xgboost else -self.sigmoid * gap)
                self.costs[True][p] += weight * delta * cost / minus
                self.costs[False][q] += weight * delta * cost / plus
        factor = np.log2(1 + total) / total if self.norm and total > 0 else 1.0
        return weight * factor * grad, weight * factor * hess


def trained(objective, data, rounds=4, dtype=np.float64, weight=None, positions=None):
    """Gradients of rounds that move against them, and what is learned about positions."""
    per_query = None if weight is None else weight[np.unique(data.qid, return_index=True)[1]]
    bound = objective.bind(judge(data.y, data.qid), per_query, positions=positions)
    scores = np.zeros(len(data.y))
    parts = []
    for _ in range(rounds):
        grad, hess = np.empty((2, len(scores)), dtype)
        bound.gradient(scores, grad, hess)
        parts.append((scores, grad, hess))
        scores = scores - 0.5 * grad.astype(float)
    return parts, bound.position_bias.frame()


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
    data.y *= 1 + (data.X[:, 2] > 0)  # two grades of clicks
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
    plan = Plan(skrank.metric("ndcg"), judge(data.y[order]))
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
    """The first round gives the ratios and the second weighs by them: nothing differs so far."""
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


# ---------------------------------------------------------------------- simulated clicks


def test_ratios_are_the_chances_to_be_seen():
    data = Clicks(0, 4000, taste=0.0)  # an old ranker whose order says nothing
    bias = UnbiasedLambdaRank("ndcg").position_bias(
        data.y, data.log_odds, groups=data.qid, rounds=30
    )
    assert_allclose(np.log(bias["clicked"]), np.log(data.seen), atol=0.4)
    assert (np.diff(bias["clicked"]) < 0.01).all()
    damped = UnbiasedLambdaRank("ndcg", bias_norm=1).position_bias(
        data.y, data.log_odds, groups=data.qid, rounds=30
    )
    assert_allclose(np.log(damped["clicked"]), np.log(data.seen) / 2, atol=0.25)


def test_ratios_are_nearer_to_the_truth_than_rates_of_clicks():
    """The old ranker puts good documents first, where more clicks are not all bias."""
    data = Clicks(0, 4000)
    rates = np.array([data.y[data.rank == rank].mean() for rank in range(1, 11)])
    bias = UnbiasedLambdaRank("ndcg").position_bias(
        data.y, data.log_odds, groups=data.qid, rounds=30
    )
    errors = np.abs(np.log(bias["clicked"]) - np.log(data.seen))
    assert errors.mean() < 0.7 * np.abs(np.log(rates / rates[0]) - np.log(data.seen)).mean()


def test_biases_are_the_shifts_of_the_scores():
    data = Clicks(0, 4000)
    truth = -0.3 * np.arange(10)
    chance = 1 / (1 + np.exp(-data.log_odds - truth[data.rank - 1]))
    clicks = np.random.default_rng(0).random(len(chance)) < chance
    spread = []
    for regularization in (0, 0.01, 0.1):
        additive = AdditivePositionBias("ndcg", regularization=regularization)
        bias = additive.position_bias(clicks, data.log_odds, groups=data.qid)["bias"]
        assert np.corrcoef(bias, truth)[0, 1] > 0.9
        if regularization == 0:
            assert (np.diff(bias) < 0).all()
            assert_allclose(bias - bias[1], truth, atol=0.2)
        spread.append(np.ptp(bias))
    assert spread[0] > 1.3 * spread[1] > 1.3**2 * spread[2]


@pytest.fixture(scope="module")
def simulated():
    return Clicks(1, 600), Clicks(2, 600)


def train_lightgbm(objective, train, rounds=40):
    return lgb.train(QUIET | {"objective": objective}, train.dataset(), rounds).predict


def train_xgboost(objective, train, rounds=40):
    params = {"nthread": 1, "max_depth": 3, "eta": 0.1, "disable_default_eval_metric": 1}
    booster = xgb.train(params, train.dmatrix(), rounds, obj=objective)
    return lambda X: booster.predict(xgb.DMatrix(X, nthread=1))


BOOSTERS = {
    "lightgbm": (skrank.lightgbm.objective, train_lightgbm),
    "xgboost": (skrank.xgboost.objective, train_xgboost),
}


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
        scores = rng.normal(size=len(data.y))  # none tie
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


def test_a_position_of_long_lists_only_is_not_taken_for_unpopular():
    data = Clicks(5, 9000, ragged=True, taste=0.0)  # one list in nine has ten documents
    unbiased = UnbiasedLambdaRank("ndcg")
    bias = unbiased.position_bias(data.y, data.log_odds, groups=data.qid, rounds=30)
    assert_allclose(np.log(bias["clicked"]), np.log(data.seen), atol=0.5)


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
    assert list(given.index) == list(range(9, -1, -1))  # numbered as they occur: 10, 9, ...
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
def test_the_same_data_set_again(objective):
    """The Dataset is kept, and with it what is bound to it."""
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

    once = learned(start)
    assert not np.array_equal(learned(start, other), once)
    assert_array_equal(learned(start, other, third, start), once)  # as at first
    assert_array_equal(learned(start, other, per_query), learned(per_query))  # untrained
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


@both
def test_number_of_threads_changes_no_bit(objective):
    rng = np.random.default_rng(0)
    n = 5 * _parallel._ROWS_WORTH_A_THREAD + 7
    groups = np.sort(rng.integers(0, 5000, n))
    judgments = judge(rng.random(n) < 0.2, groups)
    results = []
    for n_threads in (1, 2, 5):
        with _parallel.limit_threads(n_threads):
            bound = objective.bind(judgments)
            scores = np.zeros(n)
            for _ in range(3):
                grad, hess = np.empty((2, n), np.float32)
                bound.gradient(scores, grad, hess)
                scores = scores - grad
            results.append((scores, bound.position_bias.frame()))
    for scores, bias in results[1:]:
        assert_array_equal(scores, results[0][0])
        assert_array_equal(bias, results[0][1])


# ---------------------------------------------------------------------- objects and errors


@both
def test_objectives_are_values(objective):
    changed = dataclasses.replace(objective, max_position=5)
    for again in (copy.deepcopy(changed), pickle.loads(pickle.dumps(changed))):
        assert again == changed
        assert hash(again) == hash(changed)
    assert changed != objective
    assert type(objective) is not LambdaRank


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
        (lambda: 0.5 * UnbiasedLambdaRank("ndcg") + LambdaRank("gap"), "no part of a mixture"),
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
