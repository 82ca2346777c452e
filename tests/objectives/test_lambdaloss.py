"""LambdaLoss against literal pair weights, and its place next to LambdaRank."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import LambdaLoss, LambdaRank
from skrank._engine import threads as _parallel
from skrank._engine.judgments import judge
from tests.helpers.catalogue import lists

STABLE = {"tie_order": "stable"}


# ---------------------------------------------------------------------- literal definition


def log2_discount(rank):
    return 1 / math.log2(1 + rank)


def jk_discount(rank):
    return 1.0 if rank < 3 else math.log(3) / math.log(rank)


def short_discount(rank):
    return (1, 0.5, 0.5, 0.1)[rank - 1] if rank <= 4 else 0.0


def exp2(label):
    return 2**label - 1


# name, gain, discount, whether it is divided by the best value
METRICS = {
    "ndcg": (exp2, log2_discount, None, True),
    "ndcg@3": (exp2, log2_discount, 3, True),
    "ndcg@1": (exp2, log2_discount, 1, True),
    "ndcg(gain=linear)@5": (float, log2_discount, 5, True),
    "dcg(gain=[0,1,3,10])": ((0, 1, 3, 10).__getitem__, log2_discount, None, False),
    "ndcg(discount=jk,base=3.0)": (exp2, jk_discount, None, True),
    "ndcg(discount=jk,base=3.0)@1": (exp2, jk_discount, 1, True),
    "ndcg(discount=[1,0.5,0.5,0.1])": (exp2, short_discount, None, True),
    "dcg(discount=[1,0.5,0.5,0.1])@2": (exp2, short_discount, 2, False),
}
OPTIONS = [
    {},
    {"weights": "ndcg_loss2"},
    {"mu": 0.5, "sigmoid": 2.0},
    {"norm": True},
    {"truncation_level": 1},
    {"weights": "ndcg_loss2", "truncation_level": 4, "norm": True, "sigmoid": 0.5},
]


def step(discount, k, upper, lower):
    """delta of two ranks; below a cut-off k stretched so that a document's deltas sum to d(1)."""
    distance = lower - upper
    value = discount(distance) - discount(distance + 1)
    if k is not None and lower > k:
        total = discount(1) - discount(lower)
        return value * discount(1) / total if total > 0 else discount(1) / (lower - 1)
    return value


def pair_weight(name, weights, mu, gains, upper, lower):
    """Weight of the documents at two ranks, whose gains are given."""
    _, discount, k, _ = METRICS[name]

    def cut(rank):
        return discount(rank) if k is None or rank <= k else 0.0

    bound = step(discount, k, upper, lower)
    if weights == "ndcg_loss2":
        return abs(gains[0] - gains[1]) * bound
    return abs(gains[0] - gains[1]) * (abs(cut(upper) - cut(lower)) + mu * bound)


def literal_query(
    name, labels, scores, *, weights="ndcg_loss2++", mu=10.0, sigmoid=1.0, truncation_level=None,
    norm=False,
):  # fmt: skip
    """Gradient and curvature of one query by the double loop over ranks."""
    gain, discount, k, normalised = METRICS[name]
    n = len(labels)
    order = np.argsort(-scores, kind="stable")
    gains = [float(gain(0 if math.isnan(labels[i]) else int(labels[i]))) for i in order]
    depth = min(one for one in (k, truncation_level, n) if one is not None)
    best = sum(g * discount(r + 1) for r, g in enumerate(sorted(gains, reverse=True)[:depth]))
    grad, hess, total = np.zeros(n), np.zeros(n), 0.0
    if best == 0:
        return grad, hess
    if normalised:
        gains = [g / best for g in gains]
    for a in range(min(n, truncation_level or n)):
        for b in range(a + 1, n):
            if gains[a] == gains[b]:
                continue
            better, worse = (a, b) if gains[a] > gains[b] else (b, a)
            i, j = order[better], order[worse]
            weight = pair_weight(name, weights, mu, (gains[a], gains[b]), a + 1, b + 1)
            if norm and scores[order[0]] != scores[order[-1]]:
                weight /= 0.01 + abs(scores[i] - scores[j])
            wrong = 1 / (1 + math.exp(sigmoid * (scores[i] - scores[j])))
            grad[i] -= sigmoid * weight * wrong
            grad[j] += sigmoid * weight * wrong
            hess[[i, j]] += sigmoid**2 * weight * wrong * (1 - wrong)
            total += 2 * sigmoid * weight * wrong
    factor = math.log2(1 + total) / total if norm and total > 0 else 1.0
    return factor * grad, factor * hess


def literal(name, data, **options):
    grad, hess = np.zeros(len(data.groups)), np.zeros(len(data.groups))
    for query, (scores, labels) in zip(data.ids, data.queries(), strict=True):
        rows = data.groups == query
        labels = np.array([math.nan if label is None else label for label in labels], float)
        grad[rows], hess[rows] = literal_query(name, labels, np.asarray(scores), **options)
    return grad, hess


def finite(seed, **how):
    """Lists whose documents are all retrieved."""
    data = lists(seed, **how)
    low = ~np.isfinite(data.scores)
    data.scores[low] = np.random.default_rng(seed).normal(size=low.sum()) - 3
    return data


def gradient(name, data, sample_weight=None, **options):
    objective = LambdaLoss(name, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups, sample_weight=sample_weight)


def close(actual, expected, tolerance=1e-10):
    for a, b in zip(actual, expected, strict=True):
        assert_allclose(a, b, rtol=0, atol=tolerance * max(1e-9, np.abs(b).max()))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", METRICS)
def test_gradients_are_the_literal_double_loop(name, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = finite(seed, **how)
        expected = literal(name, data, **options)
        assert expected[0].any()
        close(gradient(name, data, **options), expected)


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "ndcg(discount=jk,base=3.0)@1"])
@pytest.mark.parametrize("weights", ["ndcg_loss2++", "ndcg_loss2"])
def test_finite_differences_of_the_cost_at_fixed_weights(name, weights):
    rng = np.random.default_rng(8)
    labels, scores = rng.integers(0, 4, 9).astype(float), rng.normal(size=9)
    labels[0] = 3
    gain, discount, k, _ = METRICS[name]
    order = np.argsort(-scores)
    rank = np.empty(9, int)
    rank[order] = np.arange(1, 10)
    gains = np.array([gain(label) for label in labels])
    gains = gains / sum(
        g * discount(r + 1) for r, g in enumerate(sorted(gains, reverse=True)) if r < (k or 9)
    )

    def weight(i, j):
        upper, lower = sorted((rank[i], rank[j]))
        return pair_weight(name, weights, 10.0, (gains[i], gains[j]), upper, lower)

    fixed = {(i, j): weight(i, j) for i in range(9) for j in range(9) if labels[i] > labels[j]}

    def cost(s):
        return sum(w * np.log1p(np.exp(s[j] - s[i])) for (i, j), w in fixed.items())

    grad, hess = LambdaLoss(name, weights=weights)(labels, scores)
    for i in range(9):
        change = np.zeros(9)
        change[i] = 1e-4
        up, here, down = cost(scores + change), cost(scores), cost(scores - change)
        assert grad[i] == pytest.approx((up - down) / 2e-4, abs=1e-6)
        assert hess[i] == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-5)


def test_weights_of_pairs_in_the_wrong_order_bound_the_loss():
    rng = np.random.default_rng(0)
    ratios = []
    for n in (2, 3, 5, 9, 30):
        for _ in range(30):
            labels = np.append(rng.integers(0, 4, n - 1), 3)
            loss = 1 - skrank.metric("ndcg")(labels, -np.arange(n))
            gains = [exp2(label) for label in labels]
            best = sum(g * log2_discount(r + 1) for r, g in enumerate(sorted(gains)[::-1]))
            bound = sum(
                pair_weight("ndcg", "ndcg_loss2", 1, (gains[a], gains[b]), a + 1, b + 1) / best
                for a in range(n)
                for b in range(a + 1, n)
                if gains[a] < gains[b]
            )
            assert bound >= loss - 1e-12
            if loss > 0:
                ratios.append(bound / loss)
    assert min(ratios) < 1.01  # nothing less would do


@pytest.mark.parametrize("k", [1, 3, 10])
def test_steps_above_a_document_sum_to_what_it_loses(k):
    for rank in range(2, 20):
        steps = sum(step(log2_discount, k, above, rank) for above in range(1, rank))
        assert steps == pytest.approx(1 - (log2_discount(rank) if rank <= k else 0))


# ---------------------------------------------------------------------- next to LambdaRank


@pytest.mark.parametrize(
    "name", ["ndcg", "ndcg@3", "dcg(gain=linear)@700", "ndcg(discount=letor)@5"]
)
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("level", [None, 5])
def test_without_the_bound_it_is_lambdarank(name, norm, level):
    options = {"norm": norm, "truncation_level": level}
    for seed, how in enumerate(({}, {"n_queries": 3, "longest": 1500})):
        data = finite(seed, **how)
        expected = LambdaRank(name, **STABLE, **options)(
            data.relevance, data.scores, groups=data.groups
        )
        close(gradient(name, data, mu=0, **options), expected)


def test_far_down_the_list_it_tells_neighbours_apart():
    n = 200
    labels = np.zeros(n)
    labels[-1] = 1  # behind 199 others
    ratio = {}
    for objective in (LambdaRank("ndcg", norm=False), LambdaLoss("ndcg")):
        grad, _ = objective(labels, -1e-3 * np.arange(n))
        ratio[type(objective)] = grad[-2] / grad[0]  # of the neighbour and of the first document
    assert ratio[LambdaRank] < 0.01
    assert ratio[LambdaLoss] > 1


# ---------------------------------------------------------------------- precision and range


def single(objective, data, dtype=np.float32):
    """Gradients through the path that the boosters take, for contiguous queries."""
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
    """The literal loop with an exponential that ends at the largest number."""
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


def test_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    n = 5 * _parallel._ROWS_WORTH_A_THREAD + 7
    groups = np.sort(rng.integers(0, 2000, n))
    judgments = judge(rng.choice([0.0, 0, 0, 1, 2, 3], n), groups)
    scores = rng.normal(size=n).round(1)
    results = []
    for n_threads in (1, 2, 5):
        with _parallel.limit_threads(n_threads):
            results.append(np.empty((2, n), np.float32))
            LambdaLoss("ndcg@10").bind(judgments).gradient(scores, *results[-1])
    for other in results[1:]:
        assert_array_equal(other, results[0])


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
    data.scores[:] = np.random.default_rng(0).permutation(len(data.scores)) / 10  # none tie
    for options in ({}, {"sum_norm": True}, {"score_norm": True}):
        noisy = gradient("ndcg@3", data, perturbations=3, temperature=1e-9, **options)
        close(noisy, gradient("ndcg@3", data, **options))


# ---------------------------------------------------------------------- training


class Data:
    def __init__(self, seed, n_queries=80):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, 25, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.normal(size=(len(self.qid), 5))
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, 4)

    def score(self, predictions):
        return skrank.metric("ndcg@5")(self.y, predictions, groups=self.qid)


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


def test_objectives_are_values():
    objective = LambdaLoss("ndcg@10", mu=5, truncation_level=30)
    for again in (copy.deepcopy(objective), pickle.loads(pickle.dumps(objective))):
        assert again == objective
        assert hash(again) == hash(objective)
    assert objective != LambdaRank("ndcg@10", truncation_level=30)
    assert dataclasses.replace(objective, mu=0).mu == 0.0


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


def test_scores_that_cannot_be_trained_on():
    for value, message in [(np.nan, "score of row 2 is nan"), (-np.inf, "query 'b' is -inf")]:
        with pytest.raises(ValueError, match=message):
            LambdaLoss("ndcg")([1, 0, 1, 0], [1, 2, value, 3], groups=["a", "a", "b", "b"])


def test_page_of_objectives_runs(capsys):
    page = Path(__file__).resolve().parents[2] / "docs" / "objectives.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(blocks).replace('"verbosity": -1', '"verbosity": -1, "num_threads": 1')
    exec(compile(code, page.name, "exec"), {})
    values = [float(line) for line in capsys.readouterr().out.splitlines()[:5]]
    naive, *debiased = values[2:]
    assert min(debiased) > naive + 0.02  # as the page says
