"""LambdaRank: literal definitions, precision, long queries, rounds, and orders of ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import LambdaRank
from tests.helpers.catalogue import Lists, Point, every_objective, lists
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import (
    OPTIONS,
    STABLE,
    close,
    gradient,
    literal,
    many,
    single,
)


@every_objective
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lambdas_are_the_literal_double_loop(point, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = lists(seed, **how).retrieved()
        close(gradient(point.metric, data, **options), literal(point, data, **options))


def test_two_documents_by_hand():
    """In the wrong order: the change of AP is 1/2, the distance of the scores is 1."""
    p = 1 / (1 + np.exp(-1))
    grad, hess = LambdaRank("ap", norm=False)([0, 1], [1, 0])
    assert_allclose([grad, hess], [[0.5 * p, -0.5 * p], [0.5 * p * (1 - p)] * 2])
    grad, _ = LambdaRank("ap")([0, 1], [1, 0])
    assert grad[0] == pytest.approx(np.log2(1 + p / 1.01) / 2)


SUMS = [
    "ndcg", "ndcg(gain=linear)@3", "cg(gain=linear)@4", "rbp(gain=linear,max_grade=4)",
]  # fmt: skip


def continuous(seed, n_queries=24, n_documents=9):
    """Lists of more distinct labels than classes, with ties of labels and scores."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    labels = np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0, 4, n).round(2))
    groups = np.repeat(np.arange(n_queries), n_documents)
    return Lists(labels, rng.integers(-4, 4, n) / 2, groups)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("norm", [True, False])
def test_sums_over_documents_take_continuous_labels(name, norm):
    data = continuous(0)
    assert len(np.unique(data.relevance)) > 100
    close(gradient(name, data, norm=norm), literal(Point(name), data, norm=norm))


@pytest.mark.parametrize("name", ["gap(fractional=interp)", "q"])
def test_pairs_of_documents_name_what_takes_continuous_labels(name):
    data = continuous(0)
    with pytest.raises(ValueError, match="gain=linear"):
        gradient(name, data)


# scores of n documents
SPREADS = {
    "tiny": lambda rng, n: rng.integers(-9, 9, n) * 1e-30,
    "tied": lambda rng, n: np.zeros(n),
    "moderate": lambda rng, n: rng.normal(size=n) * 30,
    "beyond single": lambda rng, n: rng.integers(-100, 100, n) * 1.0,
    "just safe": lambda rng, n: np.r_[0, 1399.5, rng.random(n - 2) * 1399],
    "just unsafe": lambda rng, n: np.r_[0, 1400.5, rng.random(n - 2) * 1400],
    "clusters": lambda rng, n: np.where(rng.random(n) < 0.5, 0, 5000) + rng.integers(0, 9, n),
    "huge": lambda rng, n: rng.integers(-1000, 1000, n) * 1e3,
    "subnormal": lambda rng, n: rng.integers(-9, 9, n) * 1e-310,
    "one outlier": lambda rng, n: np.r_[1e6, rng.normal(size=n - 1)],
    "one low": lambda rng, n: np.r_[-1e6, rng.normal(size=n - 1)],
    "mixed": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-30, 7, n),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", ["gap", "ndcg@3", "err", "rr", "ap"])
@pytest.mark.parametrize("norm", [True, False])
def test_scores_of_any_range(spread, name, norm):
    rng = np.random.default_rng(12)
    n = 14
    labels = rng.choice([0, 0, 1, 2, 3], n).astype(float)
    labels[1] = 3
    data = Lists(labels, SPREADS[spread](rng, n), np.full(n, "q", object))
    expected = literal(Point(name), data, norm=norm)
    close(gradient(name, data, norm=norm), expected, 1e-8 if "one" in spread else 1e-10)
    found = single(LambdaRank(name, norm=norm, **STABLE), data)
    for part, wanted in zip(found, expected, strict=True):
        assert np.isfinite(part).all()
        if spread not in ("one outlier", "one low", "mixed"):  # centred in single precision
            assert_allclose(part, wanted, rtol=0, atol=3e-5 * np.abs(wanted).max() + 1e-35)


def swap_changes(tables, codes):
    """Changes of the sum of a list by swaps of ranks a < b, at [a, b]; elsewhere anything."""
    if hasattr(tables, "stop"):
        rho, phi, out = tables.stop[codes], tables.phi[: len(codes)], np.zeros((len(codes),) * 2)
        alive = np.append(1, np.cumprod(1 - rho))
        for a in range(len(codes)):
            product = np.append(1, np.cumprod(1 - rho[a + 1 :]))[:-1]  # users who pass all between
            stopped = np.append(0, np.cumsum(product * (rho * phi)[a + 1 :]))[:-1]
            loss = stopped + product * phi[a + 1 :] - phi[a]
            out[a, a + 1 :] = alive[a] * (rho[a] - rho[a + 1 :]) * loss
        return out
    gain, u = tables.gain[codes], tables.u[: len(codes)]
    change = np.subtract.outer(u, u) * -np.subtract.outer(gain, gain)
    if tables.pairs is None:
        return change
    w, k = tables.pairs.weights[: len(codes)], tables.pairs.worth(codes)
    below = w * k
    # pairs of document x if x stands at rank r, at [r, x]
    t = w[:, None] * (np.cumsum(k, 0) - k) + (below.sum(1)[:, None] - np.cumsum(below, 1)).T
    lower = w[np.maximum.outer(np.arange(len(u)), np.arange(len(u)))]
    half = t - np.diag(t)[:, None] - lower * (np.diag(k)[:, None] - k)
    return change + half + half.T


def by_arrays(metric, data, *, truncation_level=None, norm=True, sigmoid=1.0):
    """The double loop on arrays, for tables whose offsets are 0."""
    n = len(data.groups)
    order = np.argsort(-data.scores, kind="stable")
    labels, s = data.relevance[order], data.scores[order]
    plan = metric.bind(judge(labels))
    cut = (plan.metric.k, truncation_level)
    cut = min((one for one in cut if one is not None), default=None)
    inverse = plan.inverse_ideal(0 if plan.metric.ideal_cutoff == 0 else cut)[0]
    change = swap_changes(plan.tables, plan.judgments.codes) * inverse * plan.slope()[0]
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


LEVELS = (30, 512, 700)
LONG = [{}, {"norm": False}, *({"truncation_level": level} for level in LEVELS)]
GRADES = [0.4, 0.35, 0.2, 0.05]
USERS = [0.5, 0.3, 0.15, 0.05]  # with a high max_grade they rarely stop: all ranks count


@pytest.mark.parametrize("options", LONG, ids=str)
@pytest.mark.parametrize(
    ("metric", "shares", "seed"),
    [
        *((name, GRADES, 0) for name in ("gap", "ndcg", "ap", "ndcg@600", "precision@20")),
        *((name, USERS, 1) for name in ("err(max_grade=12)", "err(max_grade=12)@600", "err@20")),
        ("rr", [0.999, 0.001], 1),
    ],
)
def test_queries_longer_than_a_tile(metric, shares, seed, options):
    data = long_query(1700, shares, seed=seed)
    expected = by_arrays(skrank.metric(metric), data, **options)
    close(gradient(metric, data, **options), expected)
    found = single(LambdaRank(metric, **STABLE, **options), data)
    for part, wanted in zip(found, expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [15, 16, 17, 512, 513, 529])
@pytest.mark.parametrize("name", ["gap", "err(max_grade=8)"])
def test_lengths_around_a_tile(name, n):
    data = long_query(n, [0.97, 0.02, 0.01], seed=n)
    data.relevance[n // 2] = 2
    close(gradient(name, data), by_arrays(skrank.metric(name), data))


@pytest.mark.parametrize("name", ["gap", "ndcg@10", "err"])
def test_a_warm_start_changes_nothing(name):
    """The scores of a round differ slightly, completely, or tie."""
    rng, data = np.random.default_rng(14), many(40)
    objective, scores = LambdaRank(name, **STABLE), np.zeros(len(data.groups))
    bound = objective.bind(judge(data.relevance, data.groups))
    for step in [0.1] * 5 + [100] + [0.1] * 4:
        warm = np.empty((2, len(scores)), np.float32)
        bound.gradient(scores, *warm)
        assert_array_equal(warm, single(objective, data.with_scores(scores)))
        scores = (scores + step * rng.normal(size=len(scores))).round(1)


def random_orders(n_documents, n_queries, n_scores=1, seed=0):
    """Orders of tied documents, one row per query and score."""
    n = n_documents * n_queries
    queries = np.repeat(np.arange(n_queries), n_documents)
    bound = LambdaRank("gap", random_state=seed).bind(judge(np.arange(n) % 2, queries))
    found = []
    for score in range(n_scores):
        bound.gradient(np.full(n, float(score)), *np.empty((2, n)))
        found.append(bound.order.reshape(n_queries, n_documents).copy())
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("n_documents", "n_queries", "n_scores"), [(3, 12_000, 1), (3, 1, 3000), (4, 200, 60)]
)
def test_random_ties_are_uniform_over_all_orders(n_documents, n_queries, n_scores):
    found = random_orders(n_documents, n_queries, n_scores)
    orders, counts = np.unique(found, axis=0, return_counts=True)
    n_orders = len(list(itertools.permutations(range(n_documents))))
    assert len(orders) == n_orders
    expected = len(found) / n_orders
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = n_orders - 1
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)
