"""LambdaRank: literal definitions, precision, long queries, rounds, and orders of ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import LambdaRank
from tests.helpers import reference as ref
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
    for seed, how in enumerate(({"levels": 3}, {"scattered": False, "longest": 12})):
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
    "beyond whole numbers": lambda rng, n: rng.integers(-7, 7, n) * 1e17,
    "one step apart": lambda rng, n: 3.2e19 * (1 - 2.0**-53 * rng.integers(0, 9, n)),
    "near the limit": lambda rng, n: rng.choice([0.0, 1, 1e8, 3e38], n),
}
NOT_SINGLE = ("one outlier", "one low", "mixed", *list(SPREADS)[-3:])  # centred in single precision


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", ["gap", "err"])
@pytest.mark.parametrize(
    "options", [{}, {"norm": False}, {"sigmoid": 1e-300}, {"sigmoid": 1e3}], ids=str
)
def test_scores_of_any_range(spread, name, options):
    rng = np.random.default_rng(12)
    n = 14
    labels = rng.choice([0, 0, 1, 2, 3], n).astype(float)
    labels[1] = 3
    data = Lists(labels, SPREADS[spread](rng, n).astype(float), np.full(n, "q", object))
    expected = literal(Point(name), data, **options)
    close(gradient(name, data, **options), expected, 1e-8 if spread in NOT_SINGLE else 1e-10)
    found = single(LambdaRank(name, **options, **STABLE), data)
    for part, wanted in zip(found, expected, strict=True):
        assert np.isfinite(part).all()
        if spread not in NOT_SINGLE:
            assert_allclose(part, wanted, rtol=0, atol=3e-5 * np.abs(wanted).max() + 1e-35)


def by_values(name, data, **options):
    """The double loop; changes by swaps are differences of values of two lists."""
    rows = np.argsort(-data.scores, kind="stable")
    labels, n = data.relevance[rows], len(rows)
    pairs = np.argwhere(np.triu(np.not_equal.outer(labels, labels)))
    lists, each = np.tile(labels, (1 + len(pairs), 1)), np.arange(1, 1 + len(pairs))
    lists[each, pairs[:, 0]], lists[each, pairs[:, 1]] = labels[pairs[:, 1]], labels[pairs[:, 0]]
    groups = np.repeat(np.arange(len(lists)), n)
    values = (
        skrank.metric(name)
        .on_scale(int(labels.max()))
        .per_query(lists.ravel(), np.tile(-np.arange(float(n)), len(lists)), groups=groups)
    )
    changes = dict(zip(map(tuple, (pairs + 1).tolist()), values[1:] - values[0], strict=True))
    return ref.lambdas(
        lambda _, a, b: changes[a, b], data.scores.tolist(), data.relevance.tolist(),
        signed=True, **options,
    )  # fmt: skip


def long_query(n, seed, common=0):
    """Most documents have the label `common`."""
    rng = np.random.default_rng(seed)
    labels = np.full(n, float(common))
    rare = rng.choice(n, 6, replace=False)
    labels[rare] = rng.permutation([0, 1, 1, 2, 2, 2])
    return Lists(labels, rng.normal(size=n).round(2), np.zeros(n, int))


@pytest.mark.parametrize("common", [0, 1])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("gap", "ndcg", "q", "err(max_grade=12)", "err@20", "rr")),
        ("ap", {"norm": False}),
        *((name, {"truncation_level": level})  # which changes normalisers
          for name in ("dcg", "cg@600", "err(max_grade=12)") for level in (30, 512, 600)),
    ],
)  # fmt: skip
def test_queries_longer_than_a_tile(name, options, common):
    data = long_query(610, 1, common)
    expected = by_values(name, data, **options)
    close(gradient(name, data, **options), expected)
    found = single(LambdaRank(name, **STABLE, **options), data)
    for part, wanted in zip(found, expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [15, 16, 17, 512, 513, 529])
@pytest.mark.parametrize("name", ["gap", "err(max_grade=8)"])
def test_lengths_around_a_tile(name, n):
    data = long_query(n, seed=n)
    close(gradient(name, data), by_values(name, data))


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
