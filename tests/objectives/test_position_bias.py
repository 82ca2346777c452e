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
from scipy.special import expit

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import AdditivePositionBias, LambdaRank, UnbiasedLambdaRank
from tests.helpers.engine import judge

STABLE = {"tie_order": "stable"}

QUIET = {
    "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 20, "num_leaves": 8, "metric": "None",
}  # fmt: skip

both = pytest.mark.parametrize(
    "objective",
    [UnbiasedLambdaRank("ndcg"), AdditivePositionBias("ndcg")],
    ids=lambda one: type(one).__name__,
)


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
        order = np.lexsort((-shown, self.qid))
        self.X, self.worth = self.X[order], self.worth[order]
        self.seen = 1 / np.arange(1, n + 1)
        self.good = rng.random(rows) < self.worth
        self.y = (self.good & (rng.random(rows) < self.seen[self.rank - 1])).astype(float)

    @property
    def log_odds(self):
        return np.log(self.worth / (1 - self.worth))

    def dataset(self, **kwargs):
        return lgb.Dataset(self.X, self.y, **{"group": self.sizes, "params": dict(QUIET)} | kwargs)

    def dmatrix(self):
        return xgb.DMatrix(self.X, self.y, qid=self.qid, nthread=1)

    def score(self, predictions):
        return skrank.metric("ndcg@5")(self.good, predictions, groups=self.qid)


class Literal:
    """Unbiased LambdaMART by the double loop."""

    def __init__(self, metric, data, *, bias_norm=0.0, norm=False, sigmoid=1.0,
                 truncation_level=None, positions=None, weight=None):  # fmt: skip
        self.metric, self.data, self.norm, self.sigmoid = skrank.metric(metric), data, norm, sigmoid
        self.level = truncation_level
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
            means = {p: c / self.shown[p] for p, c in self.costs[clicked].items()}
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
        plan = self.metric.bind(judge(labels[order]))
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
                hess[[i, j]] += self.sigmoid * pull * expit(self.sigmoid * gap)
                total += 2 * pull
                cost = np.logaddexp(0, -self.sigmoid * gap)
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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias_norm": 1, "norm": True},
        {"sigmoid": 2.0, "bias_norm": 3.5},
        {"truncation_level": 3},
    ],
    ids=str,
)
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
            bound.gradient(now, *found)
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


@pytest.mark.parametrize("bias_norm", [0.5, 1.0])
def test_xgboosts_ratios_are_reproduced_while_all_scores_tie(bias_norm):
    """The first round estimates the ratios, the second uses them: both agree up to here."""
    rows = Clicks(0, 80).dmatrix()
    shared = {"nthread": 1, "max_depth": 3, "eta": 0.1, "base_score": 0.5}
    own = {
        "objective": "rank:ndcg", "lambdarank_pair_method": "topk", "lambdarank_unbiased": True,
        "lambdarank_num_pair_per_sample": 10, "lambdarank_bias_norm": bias_norm,
    }  # fmt: skip
    options = {"bias_norm": bias_norm, "norm": True, "truncation_level": 10, **STABLE}
    objective = skrank.xgboost.objective(UnbiasedLambdaRank("ndcg", **options))
    plain = {"disable_default_eval_metric": 1}
    for rounds in (1, 2):
        expected = xgb.train(shared | own, rows, rounds)
        objective.restart()
        found = xgb.train(shared | plain, rows, rounds, obj=objective)
        assert_allclose(found.predict(rows), expected.predict(rows), atol=1e-6)
        if rounds == 1:
            ratios = json.loads(expected.save_config())["learner"]["objective"]
            assert_allclose(objective.position_bias_["clicked"], ratios["ti+"], rtol=1e-6)
            assert_allclose(objective.position_bias_["skipped"], ratios["tj-"], rtol=1e-6)


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
    with pytest.raises(ValueError, match=r"rows \d+ and \d+ .*positions"):
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
def test_the_bias_is_kept_until_a_restart(objective):
    xgb = pytest.importorskip("xgboost")
    data, called = Clicks(7, 60), skrank.xgboost.objective(objective)
    start = np.random.default_rng(0).normal(size=len(data.y))
    matrix = xgb.DMatrix(data.X, data.y, qid=data.qid, base_margin=start)

    def trained():
        booster = xgb.train({"disable_default_eval_metric": 1}, matrix, 3, obj=called)
        return booster.predict(matrix), called.position_bias_

    first, again = trained(), trained()
    assert not np.array_equal(again[1], first[1])
    called.restart()
    for found, expected in zip(trained(), first, strict=True):
        assert_array_equal(found, expected)


def test_what_was_learned_is_shared_with_deep_copies_only():
    data = Clicks(7, 30)
    called = skrank.lightgbm.objective(UnbiasedLambdaRank("ndcg"))
    with pytest.raises(AttributeError, match="positions"):
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
    with pytest.raises(ValueError, match=rf"no pair weights for {name} .*AdditivePositionBias"):
        UnbiasedLambdaRank(name)([1, 0], [0.0, 1])


@both
@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([1, 2], "positions"),
        ([1, -2, 3], "position of row 1"),
        ([1, 2, 1.5], "position of row 2"),
        ([1, np.nan, 2], "position of row 1"),
        (["a", "b", "c"], "positions"),
        ([[1, 2, 3]], "positions"),
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
    with pytest.raises(ValueError, match="rounds=0"):
        objective.position_bias([1, 0], [0.0, 1], rounds=0)
    with pytest.raises(ValueError, match="score of row 1"):
        objective.position_bias([1, 0], [0.0, np.nan])
