"""LambdaRank gradients against the literal double loop, and what training relies on."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import LambdaRank
from skrank._engine import threads as _parallel
from skrank._engine.judgments import judge
from skrank._engine.plan import Plan
from skrank.objectives import Objective, as_objective
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, Lists, every_objective, lists

STABLE = {"tie_order": "stable"}
OPTIONS = [
    {},
    {"norm": False},
    {"truncation_level": 1},
    {"truncation_level": 3, "sigmoid": 2.0},
    {"truncation_level": 5, "norm": False, "sigmoid": 0.3},
    {"truncation_level": 100},
]


def finite(data):
    """The same lists with every document retrieved."""
    rng = np.random.default_rng(len(data.scores))
    low = ~np.isfinite(data.scores)
    scores = np.where(low, rng.normal(size=len(low)) - 3, data.scores)
    return Lists(data.relevance, scores, data.groups)


def literal(point, data, *, norm=True, sigmoid=1.0, truncation_level=None):
    """Gradient and curvature of each row by the double loop."""
    grad, hess = np.zeros(len(data.groups)), np.zeros(len(data.groups))
    for query, (scores, labels) in zip(data.ids, data.queries(), strict=True):
        metric, normalizer = point.objective(labels, truncation_level, data.max_grade)
        if point.value(labels, max_grade=data.max_grade) is None:  # nothing to gain
            continue
        rows = data.groups == query
        grad[rows], hess[rows] = ref.lambdas(
            metric, scores, labels, normalizer=normalizer, sigma=sigmoid, signed=True,
            truncation_level=truncation_level, score_norm=norm, sum_norm=norm,
        )  # fmt: skip
    return grad, hess


def gradient(metric, data, weights=None, **options):
    objective = LambdaRank(metric, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups, sample_weight=weights)


def close(actual, expected, tolerance=1e-10):
    for a, b in zip(actual, expected, strict=True):
        assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


# ---------------------------------------------------------------------- literal definition


@every_objective
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lambdas_are_the_literal_double_loop(point, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = finite(lists(seed, **how))
        close(gradient(point.metric, data, **options), literal(point, data, **options))


@every_objective
def test_gradients_sum_to_zero_and_curvature_is_positive(point):
    data = finite(lists(3, levels=6, n_queries=30, longest=20))
    for options in OPTIONS:
        grad, hess = gradient(point.metric, data, **options)
        frame = pd.DataFrame({"grad": grad, "size": np.abs(grad), "query": data.groups})
        sums = frame.groupby("query").sum()
        assert (sums["grad"].abs() <= 1e-12 * np.maximum(1, sums["size"])).all()
        assert (hess >= 0).all()
        assert grad.any()
        assert ((hess > 0) == (grad != 0))[hess == 0].all()


@every_objective
def test_better_documents_are_pulled_up(point):
    data = finite(lists(4, levels=3, n_queries=30, longest=12))
    grad, _ = gradient(point.metric, data)
    for query in data.ids:
        rows = data.groups == query
        labels, pull = np.nan_to_num(data.relevance[rows]), -grad[rows]
        assert (pull[labels == labels.max()] >= -1e-15).all()
        assert (pull[labels == labels.min()] <= 1e-15).all()


def test_weights_scale_the_gradients_of_a_query():
    data = finite(lists(5))
    rng = np.random.default_rng(0)
    weight_of = dict(zip(data.ids, rng.choice([0, 0.5, 1, 3], len(data.ids)), strict=True))
    weights = np.array([weight_of[query] for query in data.groups])
    for name in ("gap", "err", "ndcg@3"):
        plain = gradient(name, data)
        close(gradient(name, data, weights), [weights * part for part in plain], 1e-14)


def test_queries_without_anything_to_gain_have_no_gradient():
    groups = np.repeat(["none", "all", "one", "unjudged"], [3, 3, 1, 2])
    relevance = [0, 0, 0, 2, 2, 2, 3, np.nan, np.nan]
    for name in ("gap", "ndcg", "ap", "err", "rr", "precision@2"):
        grad, hess = LambdaRank(name)(relevance, np.arange(9.0), groups=groups)
        assert not grad.any()
        assert not hess.any()


@pytest.mark.parametrize("name", ["gap", "ndcg@3", "ap", "err", "rr"])
def test_order_of_rows_changes_nothing(name):
    data = finite(lists(6, n_queries=20, special=False))
    rows = np.random.default_rng(0).permutation(len(data.groups))
    expected = [part[rows] for part in gradient(name, data)]
    close(gradient(name, data.reordered(rows)), expected, 1e-14)


@pytest.mark.parametrize("name", ["gap", "err"])
def test_shift_of_scores_changes_nothing(name):
    data = finite(lists(7, n_queries=20))
    moved = Lists(data.relevance, data.scores + 1000, data.groups)
    close(gradient(name, moved), gradient(name, data), 1e-9)


# ---------------------------------------------------------------------- calculus


@pytest.mark.parametrize("name", ["gap", "ndcg", "err", "ap", "precision@3"])
@pytest.mark.parametrize("sigmoid", [0.5, 2.0])
def test_finite_differences_of_the_cost_at_fixed_deltas(name, sigmoid):
    rng = np.random.default_rng(8)
    labels, scores = rng.integers(0, 4, 9), rng.normal(size=9)
    labels[0] = 3
    weight = pair_weights(skrank.metric(name), labels, scores)

    def cost(s):
        return sum(
            weight[i, j] * np.log1p(np.exp(-sigmoid * (s[i] - s[j])))
            for i in range(9)
            for j in range(9)
            if labels[i] > labels[j]
        )

    grad, hess = LambdaRank(name, sigmoid=sigmoid, norm=False)(labels, scores)
    for i in range(9):
        step = np.zeros(9)
        step[i] = 1e-4
        up, here, down = cost(scores + step), cost(scores), cost(scores - step)
        assert grad[i] == pytest.approx((up - down) / 2e-4, abs=1e-7)
        assert hess[i] == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-6)


def pair_weights(metric, labels, scores):
    """|delta| of every pair of positions."""
    order = np.argsort(-scores, kind="stable")
    plan = Plan(metric, judge(labels[order]))
    deltas = np.abs(plan.tables.deltas(plan.judgments.codes)) * plan.inverse[0] * plan.slope()[0]
    out = np.zeros((len(labels),) * 2)
    out[np.ix_(order, order)] = deltas + deltas.T
    return out


def test_a_step_against_the_gradient_raises_the_metric():
    data = finite(lists(9, n_queries=60, longest=20, special=False))
    for name in ("gap", "ndcg", "ap", "err"):
        scores = data.scores.copy()
        before = skrank.metric(name)(data.relevance, scores, groups=data.groups)
        for _ in range(100):
            now = Lists(data.relevance, scores, data.groups)
            scores = scores - 0.3 * gradient(name, now)[0]
        assert skrank.metric(name)(data.relevance, scores, groups=data.groups) > before + 0.1


# ---------------------------------------------------------------------- precision and range


def single(objective, data, dtype=np.float32, weights=None):
    """Gradients through the path that the boosters take, for contiguous queries."""
    judgments = judge(data.relevance, data.groups)
    assert judgments.queries.order is None
    grad, hess = np.full((2, len(data.groups)), np.nan, dtype)
    objective.bind(judgments, weights).gradient(data.scores, grad, hess)
    return grad, hess


@every_objective
def test_single_precision_is_close(point):
    rng = np.random.default_rng(10)
    for spread in (1e-3, 1.0, 20.0):
        data = finite(lists(10, n_queries=30, longest=40, scattered=False, special=False))
        data.scores[:] = rng.normal(size=len(data.scores)) * spread
        objective = LambdaRank(point.metric, **STABLE)
        double = objective(data.relevance, data.scores, groups=data.groups)
        for one, two in zip(single(objective, data), double, strict=True):
            assert one.dtype == np.float32
            for query in data.ids:
                rows = data.groups == query
                limit = 1e-5 * max(1, spread) * max(np.abs(two[rows]).max(), 1e-30)
                assert np.abs(one[rows] - two[rows]).max() <= limit


def test_double_precision_of_a_bound_objective_is_that_of_a_call():
    data = finite(lists(11, scattered=False))
    objective = LambdaRank("gap", **STABLE)
    called = objective(data.relevance, data.scores, groups=data.groups)
    for a, b in zip(single(objective, data, np.float64), called, strict=True):
        assert_array_equal(a, b)


WIDE = {
    "tiny": lambda rng, n: rng.integers(-9, 9, n) * 1e-30,
    "subnormal": lambda rng, n: rng.integers(-9, 9, n) * 1e-310,
    "moderate": lambda rng, n: rng.normal(size=n) * 30,
    "beyond single": lambda rng, n: rng.integers(-100, 100, n) * 1.0,
    "just safe": lambda rng, n: np.r_[0, 1399.5, rng.random(n - 2) * 1399],
    "just unsafe": lambda rng, n: np.r_[0, 1400.5, rng.random(n - 2) * 1400],
    "two clusters": lambda rng, n: np.where(rng.random(n) < 0.5, 0, 5000) + rng.integers(0, 9, n),
    "one outlier": lambda rng, n: np.r_[1e6, rng.normal(size=n - 1)],
    "one low": lambda rng, n: np.r_[-1e6, rng.normal(size=n - 1)],
    "huge": lambda rng, n: rng.integers(-1000, 1000, n) * 1e3,
    "mixed": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-30, 7, n),
}


@pytest.mark.parametrize("spread", WIDE)
@pytest.mark.parametrize("name", ["gap", "ndcg@3", "err", "rr", "ap"])
@pytest.mark.parametrize("norm", [True, False])
def test_scores_of_any_range(spread, name, norm):
    rng = np.random.default_rng(12)
    n = 14
    point = next(point for point in CATALOGUE if point.text == name)
    labels = rng.choice([0, 0, 1, 2, 3], n).astype(float)
    labels[1] = 3
    data = Lists(labels, WIDE[spread](rng, n), np.full(n, "q", object))
    expected = literal(point, data, norm=norm)
    close(gradient(name, data, norm=norm), expected, 1e-8 if "one" in spread else 1e-10)
    found = single(LambdaRank(name, norm=norm, **STABLE), data)
    for part, wanted in zip(found, expected, strict=True):
        assert np.isfinite(part).all()
        if spread not in ("one outlier", "one low", "mixed"):  # centred in single precision
            assert_allclose(part, wanted, rtol=0, atol=3e-5 * np.abs(wanted).max() + 1e-35)


@pytest.mark.parametrize("sigmoid", [1e-6, 0.1, 50.0, 1e4, 1e6])
@pytest.mark.parametrize("name", ["gap", "err"])
def test_any_slope(sigmoid, name):
    point = next(point for point in CATALOGUE if point.text == name)
    data = finite(lists(13, levels=4, scattered=False))
    options = {"sigmoid": sigmoid}
    close(gradient(name, data, **options), literal(point, data, **options))
    for part in single(LambdaRank(name, **options, **STABLE), data):
        assert np.isfinite(part).all()


# ---------------------------------------------------------------------- long queries


def by_arrays(metric, data, *, truncation_level=None, norm=True, sigmoid=1.0):
    """The double loop on arrays, with swap deltas that test_deltas.py holds to the definition."""
    n = len(data.groups)
    order = np.argsort(-data.scores, kind="stable")
    labels, s = data.relevance[order], data.scores[order]
    plan = Plan(metric, judge(labels))
    cut = (plan.metric.k, truncation_level)
    cut = min((one for one in cut if one is not None), default=None)
    inverse = plan.inverse_ideal(0 if plan.metric.ideal_cutoff == 0 else cut)[0]
    change = plan.tables.deltas(plan.judgments.codes) * inverse * plan.slope()[0]
    counts = np.triu(np.not_equal.outer(labels, labels), 1)
    counts[n if truncation_level is None else truncation_level :] = False
    better_above = np.greater.outer(labels, labels)
    counts &= np.where(better_above, change < 0, change > 0)
    distance = np.where(better_above, 1, -1) * np.subtract.outer(s, s)  # better minus worse
    delta = np.where(counts, np.abs(change), 0)
    if norm and s[0] != s[-1]:
        delta /= 0.01 + np.abs(distance)
    p = 1 / (1 + np.exp(np.minimum(sigmoid * distance, 700)))
    pull, curve = sigmoid * delta * p, sigmoid**2 * delta * p * (1 - p)
    signed = np.where(better_above, -pull, pull)  # of the upper document
    grad, hess = np.empty(n), np.empty(n)
    grad[order] = signed.sum(1) - signed.sum(0)
    hess[order] = curve.sum(1) + curve.sum(0)
    total = 2 * pull.sum()
    factor = np.log2(1 + total) / total if norm and total > 0 else 1
    return factor * grad, factor * hess


def long_query(n, shares, seed=0, max_grade=None):
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(shares), n, p=shares).astype(float)
    return Lists(labels, rng.normal(size=n).round(2), np.zeros(n, int))


def test_arrays_agree_with_the_double_loop():
    for point in CATALOGUE:
        if point.text in ("gap", "ndcg@3", "err", "ap", "rr"):
            data = long_query(25, [0.5, 0.2, 0.2, 0.1])
            for options in OPTIONS:
                close(by_arrays(point.metric, data, **options), literal(point, data, **options))


LONG = [
    {},
    {"norm": False},
    {"truncation_level": 30},
    {"truncation_level": 511},
    {"truncation_level": 512},
    {"truncation_level": 513},
    {"truncation_level": 700},
]


@pytest.mark.parametrize("options", LONG, ids=str)
@pytest.mark.parametrize("name", ["gap", "ndcg", "ap", "ndcg@600", "precision@20"])
def test_queries_longer_than_a_tile_of_pairs(name, options):
    data = long_query(1700, [0.4, 0.35, 0.2, 0.05])
    expected = by_arrays(skrank.metric(name), data, **options)
    close(gradient(name, data, **options), expected)
    found = single(LambdaRank(name, **STABLE, **options), data)
    for part, wanted in zip(found, expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("options", LONG, ids=str)
@pytest.mark.parametrize("metric", ["err(max_grade=12)", "rr", "err(max_grade=12)@600", "err@20"])
def test_queries_longer_than_a_tile_of_users(metric, options):
    """High max_grade: users hardly stop, so that every rank of a long list is reached."""
    share = [0.999, 0.001] if metric == "rr" else [0.5, 0.3, 0.15, 0.05]
    data = long_query(1700, share, seed=1)
    expected = by_arrays(skrank.metric(metric), data, **options)
    close(gradient(metric, data, **options), expected)
    found = single(LambdaRank(metric, **STABLE, **options), data)
    for part, wanted in zip(found, expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [15, 16, 17, 31, 33, 511, 512, 513, 528, 529])
@pytest.mark.parametrize("name", ["gap", "err(max_grade=8)"])
def test_lengths_around_a_tile(name, n):
    data = long_query(n, [0.97, 0.02, 0.01], seed=n)
    data.relevance[n // 2] = 2
    close(gradient(name, data), by_arrays(skrank.metric(name), data))


# ---------------------------------------------------------------------- rounds


def rounds(objective, data, n_rounds=6, dtype=np.float32):
    """Gradients of rounds with drifting scores, some of them torn up or tied."""
    rng = np.random.default_rng(14)
    judgments = judge(data.relevance, data.groups)
    bound = objective.bind(judgments)
    scores = np.zeros(len(data.groups))
    for i in range(n_rounds):
        grad, hess = np.empty((2, len(scores)), dtype)
        bound.gradient(scores, grad, hess)
        yield scores, grad, hess
        step = 100 if i == n_rounds // 2 else 0.1
        scores = (scores + step * rng.normal(size=len(scores))).round(1)


def many(n_queries=300, longest=400, seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.r_[1, rng.integers(1, longest, n_queries - 1)]
    n = int(sizes.sum())
    labels = rng.choice([0.0, 0, 0, 1, 2, 3], n)
    return Lists(labels, rng.normal(size=n).round(1), np.repeat(np.arange(n_queries), sizes))


@pytest.mark.parametrize("name", ["gap", "ndcg@10", "err"])
def test_a_warm_start_changes_nothing(name):
    data = many(40)
    objective = LambdaRank(name, **STABLE)
    for scores, grad, hess in rounds(objective, data, 10):
        cold = single(objective, Lists(data.relevance, scores, data.groups))
        assert_array_equal(grad, cold[0])
        assert_array_equal(hess, cold[1])


@pytest.mark.parametrize("name", ["gap", "err"])
@pytest.mark.parametrize("tie_order", ["random", "stable"])
def test_number_of_threads_changes_no_bit(name, tie_order):
    data = many(700)
    assert len(data.groups) > 5 * _parallel._ROWS_WORTH_A_THREAD
    objective = LambdaRank(name, tie_order=tie_order)
    results = []
    for n_threads in (1, 2, 5):
        with _parallel.limit_threads(n_threads):
            results.append([part for one in rounds(objective, data, 3) for part in one[1:]])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert_array_equal(a, b)


def test_random_ties_are_seeded_and_drawn_anew_each_round():
    data = many(40)
    flat = Lists(data.relevance, np.zeros(len(data.groups)), data.groups)

    def orders(seed):
        bound = LambdaRank("gap", random_state=seed).bind(judge(flat.relevance, flat.groups))
        found = []
        for _ in range(3):
            bound.gradient(flat.scores, *np.empty((2, len(flat.scores)), np.float32))
            found.append(bound.order.copy())
        return found

    first = orders(0)
    for a, b in zip(first, orders(0), strict=True):
        assert_array_equal(a, b)
    everything = first + orders(1) + orders(2)
    for a, b in itertools.combinations(everything, 2):
        assert np.mean(a == b) < 0.1


def test_random_ties_leave_the_order_of_different_scores():
    data = many(40)
    bound = LambdaRank("gap").bind(judge(data.relevance, data.groups))
    for _ in range(3):
        bound.gradient(data.scores, *np.empty((2, len(data.scores))))
        for start, stop in itertools.pairwise(bound.indptr):
            order = bound.order[start:stop]
            assert (np.diff(data.scores[start:stop][order]) <= 0).all()
            assert_array_equal(np.sort(order), np.arange(stop - start))


def random_orders(n_documents, n_queries, n_rounds=1, seed=0):
    """Orders of tied documents, one line per query and round."""
    n = n_documents * n_queries
    queries = np.repeat(np.arange(n_queries), n_documents)
    bound = LambdaRank("gap", random_state=seed).bind(judge(np.arange(n) % 2, queries))
    found = []
    for _ in range(n_rounds):
        bound.gradient(np.zeros(n), *np.empty((2, n)))
        found.append(bound.order.reshape(n_queries, n_documents).copy())
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("n_documents", "n_queries", "n_rounds"), [(3, 12_000, 1), (3, 1, 3000), (4, 200, 60)]
)
def test_random_ties_are_uniform_over_all_orders(n_documents, n_queries, n_rounds):
    found = random_orders(n_documents, n_queries, n_rounds)
    orders, counts = np.unique(found, axis=0, return_counts=True)
    n_orders = len(list(itertools.permutations(range(n_documents))))
    assert len(orders) == n_orders
    expected = len(found) / n_orders
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = n_orders - 1
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


def test_random_ties_of_long_blocks_are_uniform_by_place():
    found = random_orders(300, 100, 3)
    assert np.abs(found.mean(0) - 149.5).max() < 5 * 300 / np.sqrt(12 * 300)


def test_random_ties_repair_a_file_that_is_sorted_by_label():
    """Row order must not leak into the first round: all documents tie there."""
    labels, groups = np.tile([3, 2, 1, 0, 0, 0], 500), np.repeat(np.arange(500), 6)
    scores = np.zeros(3000)
    forward = LambdaRank("ndcg")(labels, scores, groups=groups)[0].reshape(500, 6)
    backward = LambdaRank("ndcg")(labels[::-1], scores, groups=groups)[0].reshape(500, 6)
    assert_allclose(forward.mean(0), backward.mean(0)[::-1], atol=0.05)
    stable = LambdaRank("ndcg", **STABLE)
    leak = stable(labels, scores, groups=groups)[0][:6]
    assert np.abs(leak - stable(labels[::-1], scores, groups=groups)[0][:6][::-1]).max() > 0.05


# ---------------------------------------------------------------------- objects and errors


def test_options_are_checked():
    for option, message in [
        ({"sigmoid": 0}, r"sigmoid=0 must be a number in \(0"),
        ({"sigmoid": -1}, "sigmoid=-1"),
        ({"sigmoid": float("nan")}, "sigmoid=nan"),
        ({"sigmoid": "1"}, "sigmoid='1'"),
        ({"truncation_level": 0}, "truncation_level=0 must be at least 1"),
        ({"truncation_level": 2.5}, "truncation_level=2.5 must be an integer"),
        ({"tie_order": "rows"}, r"tie_order='rows' .*'random', 'stable'"),
        ({"norm": "off"}, "norm='off'"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"random_state": 0.5}, "random_state=0.5"),
    ]:
        with pytest.raises(ValueError, match=message):
            LambdaRank("gap", **option)


def test_metrics_that_cannot_be_trained_on():
    with pytest.raises(ValueError, match=r"condensed=True.*drop the training rows without a label"):
        LambdaRank("gap(condensed=True)")
    with pytest.raises(ValueError, match="unknown metric 'gpa': did you mean 'gap'"):
        LambdaRank("gpa")


def test_scores_that_cannot_be_trained_on():
    groups = ["a", "a", "b", "b"]
    for value, message in [
        (np.nan, "score of row 2 is nan"),
        (np.inf, "score of row 2 is inf"),
        (-np.inf, r"score of query 'b' is -inf: gradients need finite scores.*learning rate"),
    ]:
        with pytest.raises(ValueError, match=message):
            LambdaRank("gap")([1, 0, 1, 0], [1, 2, value, 3], groups=groups)


def test_objectives_are_values():
    objective = LambdaRank("ndcg@10", truncation_level=30)
    assert objective == LambdaRank(skrank.metric("ndcg@10"), truncation_level=30)
    assert hash(objective) == hash(pickle.loads(pickle.dumps(objective)))
    assert dataclasses.replace(objective, sigmoid=2).sigmoid == 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        objective.sigmoid = 2


def test_as_objective():
    objective = LambdaRank("gap", sigmoid=2)
    assert as_objective(objective) is objective
    assert as_objective("gap", sigmoid=2) == objective
    assert as_objective(skrank.metric("gap"), sigmoid=2) == objective
    assert isinstance(as_objective("gap"), Objective)
    with pytest.raises(ValueError, match=r"options \['sigmoid'\] belong to the objective"):
        as_objective(objective, sigmoid=3)
    with pytest.raises(ValueError, match=r"option of LambdaRank 'sigmod': did you mean 'sigmoid'"):
        as_objective("gap", sigmod=2)
    with pytest.raises(ValueError, match="is no metric"):
        as_objective(3)


def test_groups_on_the_index():
    y = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
    grad, hess = LambdaRank("gap")(y, [1.0, 2, 2, 1])
    expected = LambdaRank("gap")(y.to_numpy(), [1.0, 2, 2, 1], groups=["a", "a", "b", "b"])
    assert_array_equal(grad, expected[0])
    assert_array_equal(hess, expected[1])


def test_max_grade_of_the_collection_reaches_the_tables():
    judgments = judge([1, 0, 2])
    for name in ("gap", "err"):
        grad, hess = np.empty((2, 3))
        LambdaRank(name).bind(judgments, max_grade=4).gradient(np.zeros(3), grad, hess)
        expected = LambdaRank(skrank.metric(name, max_grade=4))([1, 0, 2], np.zeros(3))
        assert_array_equal(grad, expected[0])
