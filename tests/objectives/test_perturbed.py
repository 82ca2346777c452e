"""LambdaRank with perturbed orders, adjacent pairs and normalisations; random draws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import LambdaLoss, LambdaRank, Softmax
from skrank._kernels import draws
from skrank.objectives.lambdarank import SEED_STEP
from tests.helpers import reference as ref
from tests.helpers.catalogue import Point, every_objective, lists
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import STABLE, close, gradient, single

WORD, STEP = 2**64, 0x9E3779B97F4A7C15


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def noise(seed, number, scores):
    """Gumbel noise of query `number`, in a loop."""
    place = state = mixed((seed + STEP * (number + 1)) % WORD)
    for bits in (np.asarray(scores) + 0.0).view(np.uint64).tolist():
        place = (place + STEP) % WORD
        state += mixed(bits ^ place)
    state = mixed(state % WORD)
    draws = [mixed((state + STEP * (i + 1)) % WORD) >> 11 for i in range(len(scores))]
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
    for number, (query, (_, labels)) in enumerate(zip(data.ids, data.queries(), strict=True)):
        rows = np.flatnonzero(data.groups == query)
        total = 0.0
        for one in seeds:
            noisy = data.scores[rows] + shift * noise(one, number, data.scores[rows])
            order = np.argsort(-noisy, kind="stable")
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
    for scores in (data.scores, data.scores + 1):
        moved = data.with_scores(scores)
        close(step(bound, scores), expected(Point(name), moved, objective, seed=5))


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
    found = step(bound, data.scores)
    close(found, expected(Point(name), data, objective, seed=0), 1e-9)
    for part in single(objective, data):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("spread", [0.1, 40.0, 1000.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lambdaloss_sees_the_same_orders(spread, dtype):
    """With mu=0, it equals LambdaRank."""
    data = wide(spread)
    options = {"perturbations": 3, "temperature": spread, "norm": True}
    plain = single(LambdaRank("ndcg", **options), data, dtype)
    for a, b in zip(single(LambdaLoss("ndcg", mu=0, **options), data, dtype), plain, strict=True):
        assert_allclose(a, b, rtol=0, atol=(1e-12 if dtype == np.float64 else 1e-4))


def test_noise_has_the_distribution_that_it_claims():
    n = 30_000
    indptr = np.array([0, 3 * n], dtype=np.int64)
    scores, noisy = np.tile([1.0, 0.0, -0.5], n), np.empty(3 * n)
    temperature = 0.8
    draws.add_noise(0, 1, indptr, scores, temperature, 11, 0, noisy)
    first = np.argmax(noisy.reshape(n, 3), axis=1)
    weights = np.exp(scores[:3] / temperature)
    shares = weights / weights.sum()
    error = np.sqrt(shares * (1 - shares) / n)
    assert (np.abs(np.bincount(first) / n - shares) < 5 * error).all()


# ---------------------------------------------------------------------- draws


GROUPS = np.repeat(np.arange(40), 15)


def labels_and_scores():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, len(GROUPS)) * 1.0, rng.normal(size=len(GROUPS)).round(1)


DRAWING = [
    LambdaRank("gap"),
    LambdaRank("ndcg", perturbations=2),
    LambdaLoss("ndcg", perturbations=2),
    Softmax(random_gains=True),
    0.5 * LambdaRank("err") + 0.5 * Softmax(random_gains=True),
]


@pytest.mark.parametrize("objective", DRAWING, ids=str)
def test_draws_depend_on_seed_and_scores_of_the_query_only(objective):
    labels, scores = labels_and_scores()
    bound = objective.bind(judge(labels, GROUPS))
    first = step(bound, scores)
    step(bound, -scores)
    assert_array_equal(step(bound, scores), first)
    assert_array_equal(step(bound, np.where(scores == 0, -0.0, scores)), first)
    moved = scores.copy()
    moved[GROUPS == 3] += 1  # a shift alone changes no gradient but by other draws
    changed = (step(bound, moved) != first).any(axis=0)
    assert changed[GROUPS == 3].any()
    assert not changed[GROUPS != 3].any()
    if len(objective.terms) == 1:
        other = dataclasses.replace(objective, random_state=1).bind(judge(labels, GROUPS))
        assert not np.array_equal(step(other, scores), first)


def test_an_interrupted_round_leaves_nothing_behind(monkeypatch):
    def interrupt(*arguments):
        arguments[-1][:] = 0  # the order
        raise KeyboardInterrupt

    labels, scores = labels_and_scores()
    bound = LambdaRank("gap").bind(judge(labels, GROUPS))
    first = step(bound, scores)
    with monkeypatch.context() as patch:
        patch.setattr("skrank._kernels.draws.shuffle_ties", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step(bound, scores)
    assert_array_equal(step(bound, scores), first)
