"""LambdaRank with perturbed orders, drawn anew each round, adjacent pairs, and normalisations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import LambdaLoss, LambdaRank, UnbiasedLambdaRank
from skrank._kernels import ranking
from skrank.objectives.base import seed_of_round
from skrank.objectives.lambdarank import SEED_STEP
from tests.helpers import reference as ref
from tests.helpers.catalogue import Point, every_objective, lists
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import STABLE, close, gradient, single

WORD = 2**64


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def noise(seed, n):
    """Gumbel noise of rows 0 .. n - 1, in a loop."""
    draws = [mixed((mixed(seed) + 0x9E3779B97F4A7C15 * (row + 1)) % WORD) >> 11 for row in range(n)]
    return -np.log(-np.log((np.array(draws, dtype=float) + 0.5) * 2.0**-53))


def literal(point, labels, scores, order, *, score_norm, sum_norm, max_grade, adjacent=False):
    """The double loop over one query in a given order of its documents: sum and gradients."""
    value, normalizer = point.objective(labels, None, max_grade)
    grad, hess, total = np.zeros(len(labels)), np.zeros(len(labels)), 0.0
    if point.value(labels, max_grade=max_grade) is None or normalizer == 0:
        return grad, hess, total
    ranked = [labels[row] for row in order]
    for a in range(len(order)):
        for b in range(a + 1, min(len(order), a + 2) if adjacent else len(order)):
            upper, lower = ranked[a] or 0, ranked[b] or 0
            change = ref.swap_delta(value, ranked, a + 1, b + 1) / normalizer
            if upper == lower or change == 0 or (change > 0) != (lower > upper):
                continue
            high, low = (order[a], order[b]) if upper > lower else (order[b], order[a])
            ahead = scores[high] - scores[low]
            wide = score_norm and max(scores) != min(scores)
            delta = abs(change) / (0.01 + abs(ahead) if wide else 1.0)
            p = 1 / (1 + np.exp(min(ahead, 700)))
            grad[high] -= delta * p
            grad[low] += delta * p
            hess[high] += delta * p * (1 - p)
            hess[low] += delta * p * (1 - p)
            total += 2 * delta * p
    return grad, hess, total


def expected(point, data, objective, *, seed=None):
    """Means over the orders that the objective draws; without `seed`, for the order of scores."""
    grad, hess = np.zeros((2, len(data.scores)))
    shift = 0 if seed is None else objective.temperature
    norms = {"score_norm": objective.score_norm, "sum_norm": objective.sum_norm}
    norms = {name: objective.norm if value is None else value for name, value in norms.items()}
    n_orders = objective.perturbations or 1
    seeds = [((seed or 0) + k * SEED_STEP) % 2**63 for k in range(n_orders)]
    drawn = [shift * noise(one, len(data.scores)) for one in seeds]
    for query, (_, labels) in zip(data.ids, data.queries(), strict=True):
        rows = np.flatnonzero(data.groups == query)
        total = 0.0
        for one in drawn:
            order = np.argsort(-(data.scores + one)[rows], kind="stable")
            g, h, s = literal(
                point, labels, data.scores[rows], order, max_grade=data.max_grade,
                adjacent=objective.pairs == "adjacent", **norms,
            )  # fmt: skip
            grad[rows] += g / n_orders
            hess[rows] += h / n_orders
            total += s / n_orders
        if norms["sum_norm"] and total > 0:
            grad[rows] *= np.log2(1 + total) / total
            hess[rows] *= np.log2(1 + total) / total
    return grad, hess


def step(bound, scores):
    out = np.empty((2, len(scores)))
    bound.gradient(scores, *out)
    return out


@every_objective
def test_neighbours_are_the_literal_pairs(point):
    for seed in (0, 1):
        data = lists(seed, levels=3, longest=12).retrieved()
        for norm in (True, False):
            options = {"pairs": "adjacent", "norm": norm}
            objective = LambdaRank(point.metric, **options, **STABLE)
            close(gradient(point.metric, data, **options), expected(point, data, objective))


@pytest.mark.parametrize("name", ["gap", "ndcg@3", "err", "q"])
@pytest.mark.parametrize("switches", [(True, False), (False, True), (True, True), (False, False)])
def test_each_normalisation_has_a_switch(name, switches):
    score_norm, sum_norm = switches
    data = lists(2, levels=5, longest=12).retrieved()
    for norm in (True, False):
        options = {"norm": norm, "score_norm": score_norm, "sum_norm": sum_norm}
        objective = LambdaRank(name, **options, **STABLE)
        close(gradient(name, data, **options), expected(Point(name), data, objective))


@pytest.mark.parametrize("name", ["gap", "ndcg@3", "err"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("norm", [True, False])
def test_perturbed_gradients_are_means_over_the_drawn_orders(name, pairs, norm):
    data = lists(3, n_queries=6, longest=9, scattered=False).retrieved()
    objective = LambdaRank(
        name, perturbations=3, temperature=0.7, pairs=pairs, norm=norm, random_state=5
    )
    judgments = judge(data.relevance, data.groups)
    bound = objective.bind(judgments)
    for _ in range(2):
        seed = seed_of_round(objective.random_state, bound.round)
        found = step(bound, data.scores)
        close(found, expected(Point(name), data, objective, seed=seed))


def wide(spread, seed=0):
    """Scores so far apart that exponentials overflow, with ties."""
    data = lists(seed, n_queries=6, longest=9, scattered=False).retrieved()
    data.scores[:] = spread * np.random.default_rng(seed).integers(-3, 4, len(data.scores))
    return data


@pytest.mark.parametrize("name", ["gap", "ndcg@3", "err"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("spread", [1e-30, 40.0, 1000.0, 1e6])
def test_perturbed_scores_of_any_range(name, pairs, spread):
    data = wide(spread)
    objective = LambdaRank(name, perturbations=2, temperature=spread, pairs=pairs)
    bound = objective.bind(judge(data.relevance, data.groups))
    seed = seed_of_round(objective.random_state, bound.round)
    found = step(bound, data.scores)
    close(found, expected(Point(name), data, objective, seed=seed), 1e-9)
    for part in single(objective, data):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("spread", [0.1, 40.0, 1000.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relatives_see_the_same_orders(spread, dtype):
    """With mu=0, and while all ratios are 1, both objectives equal LambdaRank."""
    data = wide(spread)
    options = {"perturbations": 3, "temperature": spread, "norm": True}
    plain = single(LambdaRank("ndcg", **options), data, dtype)
    for relative in (LambdaLoss("ndcg", mu=0, **options), UnbiasedLambdaRank("ndcg", **options)):
        for a, b in zip(single(relative, data, dtype), plain, strict=True):
            assert_allclose(a, b, rtol=0, atol=(1e-12 if dtype == np.float64 else 1e-4))


def test_noise_has_the_distribution_that_it_claims():
    n = 30_000
    indptr = np.array([0, 3 * n], dtype=np.int64)
    scores, noisy = np.tile([1.0, 0.0, -0.5], n), np.empty(3 * n)
    temperature = 0.8
    ranking.add_noise(0, 1, indptr, scores, temperature, 11, 0, noisy)
    first = np.argmax(noisy.reshape(n, 3), axis=1)
    weights = np.exp(scores[:3] / temperature)
    shares = weights / weights.sum()
    error = np.sqrt(shares * (1 - shares) / n)
    assert (np.abs(np.bincount(first) / n - shares) < 5 * error).all()


# ---------------------------------------------------------------------- rounds


GROUPS = np.repeat(np.arange(40), 15)


def labels_and_scores():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, len(GROUPS)) * 1.0, rng.normal(size=len(GROUPS))


@pytest.mark.parametrize("form", [LambdaRank, UnbiasedLambdaRank])
def test_a_last_place_of_one_score_changes_as_little(form):
    """Regression: it changed perturbed gradients by a third."""
    labels, scores = labels_and_scores()
    objective = form("ndcg", perturbations=4, norm=False)
    moved = scores.copy()
    moved[7] = np.nextafter(moved[7], np.inf)
    first, second = (step(objective.bind(judge(labels, GROUPS)), s) for s in (scores, moved))
    assert_allclose(second, first, rtol=0, atol=1e-12)


def test_rounds_differ_and_a_setting_repeats_them():
    labels, scores = labels_and_scores()
    bound = LambdaRank("gap", perturbations=2).bind(judge(labels, GROUPS))
    first, second = step(bound, scores), step(bound, scores)
    assert not np.array_equal(first, second)
    bound.round = 0
    assert_array_equal(step(bound, scores), first)
    other = LambdaRank("gap", perturbations=2, random_state=1).bind(judge(labels, GROUPS))
    assert not np.array_equal(step(other, scores), first)


@pytest.mark.parametrize("row", [1, 999, 1001, 5003, 9999])
def test_a_training_begins_with_scores_that_tie_inside_queries(row):
    sizes = np.full(500, 20)
    labels = np.arange(10_000) % 3
    call = skrank.xgboost.objective(LambdaRank("gap", perturbations=2))
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((10_000, 1)), labels, group=sizes)
    start = np.repeat(np.arange(500.0), 20)
    first = call(start, data)
    assert_array_equal(call(start, data), first)
    moved = start.copy()
    moved[row] = np.nextafter(moved[row], np.inf)
    second = call(moved, data)
    assert not np.array_equal(call(moved, data), second)  # the third round draws other orders
    assert_array_equal(call(start, data), first)


def test_a_callable_counts_the_rounds_of_each_training():
    labels, scores = labels_and_scores()
    objective = LambdaRank("gap", perturbations=2)
    lightgbm = pytest.importorskip("lightgbm")
    rows = lightgbm.Dataset(
        np.zeros((len(labels), 1)), labels, group=np.full(40, 15), params={"verbose": -1}
    ).construct()
    bound = objective.bind(judge(labels, GROUPS))
    start = np.zeros(len(scores))
    expected = []
    for one in (start, scores, scores):
        out = np.empty((2, len(scores)), np.float32)
        bound.gradient(one, *out)
        expected.append(out)
    call = skrank.lightgbm.objective(objective)
    for _ in range(2):  # the second training restarts
        found = [np.array(call(one, rows)) for one in (start, scores, scores)]
        assert_array_equal(found, expected)


def test_an_interrupted_round_leaves_nothing_behind(monkeypatch):
    def interrupt(first, last, indptr, tied, seed, n_before, order):
        order[:] = 0
        raise KeyboardInterrupt

    labels, scores = labels_and_scores()
    bound = LambdaRank("gap").bind(judge(labels, GROUPS))
    first = step(bound, scores)
    with monkeypatch.context() as patch:
        patch.setattr("skrank._kernels.ranking.shuffle_ties", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step(bound, scores)
    bound.round = 0
    assert_array_equal(step(bound, scores), first)
