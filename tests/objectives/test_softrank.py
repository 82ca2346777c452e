"""SoftRank: literal definitions, curvature, sigma and length."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

import skrank
from skrank.objectives import SoftRank
from tests.helpers.engine import judge

CASES = [
    "gap", "gap(thresholds=[0.2,0.5,0.3])", "ap", "ap(rel=2)", "ndcg",
    "dcg(gain=linear,discount=romip)", "ndcg(gain=[0,1,5,6])",
]  # fmt: skip
every_metric = pytest.mark.parametrize("name", ["gap", "ap", "ndcg"])
every_case = pytest.mark.parametrize("name", CASES)


def one_query(seed, n=9):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n).astype(float)
    labels[:2] = 3, 0
    return labels, rng.normal(size=n)


def many(n_queries, seed=0, longest=40):
    """Contiguous queries; the first has all grades."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, longest, n_queries)
    groups = np.repeat(np.arange(n_queries), sizes)
    labels = rng.choice([0.0, 0, 0, 1, 2, 3], len(groups))
    labels[:4] = range(4)
    return labels, rng.normal(size=len(groups)), groups


def phi(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def chance(scores, i, j, sigma):
    """Probability that i ranks above j."""
    return 0.5 * math.erfc(-(scores[i] - scores[j]) / (2 * sigma))


def soft_gap(worth, scores, sigma):
    """Sum of a ratio of expectations over relevant documents, divided by the sum of u."""
    n, total = len(scores), 0.0
    for j in range(n):
        if worth[j] == 0:
            continue
        others = [i for i in range(n) if i != j]
        a = worth[j] + sum(chance(scores, i, j, sigma) * min(worth[i], worth[j]) for i in others)
        b = 1 + sum(chance(scores, i, j, sigma) for i in others)
        total += a / b
    return total / sum(worth)


def soft_dcg(gains, scores, sigma, shift):
    """The Taylor series of the discount at the expected rank, to second order."""
    n, total = len(scores), 0.0
    for j in range(n):
        chances = [chance(scores, i, j, sigma) for i in range(n) if i != j]
        x = shift + 1 + sum(chances)
        variance = sum(p * (1 - p) for p in chances)
        second = math.log(2) * (2 + math.log(x)) / (x**2 * math.log(x) ** 3)
        total += gains[j] * (1 / math.log2(x) + second * variance / 2)
    return total


def literal(name, labels, scores, sigma):
    """Soft value of one query; the highest grade of the collection is 3."""
    metric = skrank.metric(name)
    if name.startswith("gap"):
        g = metric.thresholds or (1 / 3, 1 / 3, 1 / 3)
        return soft_gap([sum(g[: int(y)]) for y in labels], scores, sigma)
    if name.startswith("ap"):
        return soft_gap([float(y >= metric.rel) for y in labels], scores, sigma)
    table = {"exp2": [0, 1, 3, 7], "linear": [0, 1, 2, 3]}
    table = table[metric.gain] if isinstance(metric.gain, str) else metric.gain
    gains = [table[int(y)] for y in labels]
    shift, ranks = {"log2": 1, "romip": 2}[metric.discount], np.arange(1.0, len(labels) + 1)
    best = float(np.sort(gains)[::-1] @ (1 / np.log2(shift + ranks)))
    return soft_dcg(gains, scores, sigma, shift) / (best if name.startswith("ndcg") else 1.0)


@every_case
@pytest.mark.parametrize("sigma", [0.05, 3.0])
def test_values_are_those_of_the_definition(name, sigma):
    objective = SoftRank(name, sigma=sigma)
    for seed in range(5):
        labels, scores = one_query(seed, 3 + 3 * seed)
        expected = literal(name, labels, scores, sigma)
        assert objective.value(labels, scores) == pytest.approx(expected, abs=1e-12)


@every_case
@pytest.mark.parametrize("sigma", [0.2, 5.0])
def test_gradients_are_finite_differences_of_the_definition(name, sigma):
    labels, scores = one_query(7)
    grad, _ = SoftRank(name, sigma=sigma)(labels, scores)
    for i, unit in enumerate(np.eye(len(scores))):
        up, down = (literal(name, labels, scores + s * unit, sigma) for s in (1e-5, -1e-5))
        assert grad[i] == pytest.approx((down - up) / 2e-5, abs=1e-8)


@every_case
def test_small_sigma_gives_the_metric(name):
    metric = skrank.metric(name)
    for seed in range(5):
        labels, scores = one_query(seed, 12)
        exact = metric(labels, scores)
        for sigma, tolerance in ((1e-3, 0.05), (1e-4, 1e-4), (1e-6, 1e-13)):
            value = SoftRank(metric, sigma=sigma).value(labels, scores)
            assert value == pytest.approx(exact, abs=tolerance * max(1, exact))


def pair_costs(name, labels, scores, sigma):
    """Derivatives by pi of each pair i < j, by finite differences; z; weights of variances."""
    n = len(labels)
    z = np.subtract.outer(scores, scores) / (math.sqrt(2) * sigma)
    pi = ndtr(z)

    def value(pi):
        above = pi.sum(0) - np.diag(pi)
        if name == "gap":
            worth = labels / 3
            least = np.minimum.outer(worth, worth)
            a = worth + (pi * least).sum(0) - np.diag(pi * least)
            return (a / (1 + above))[worth > 0].sum() / worth.sum()
        gains = 2**labels - 1
        x = 2 + above
        second = np.log(2) * (2 + np.log(x)) / (x**2 * np.log(x) ** 3)
        spread = (pi * (1 - pi)).sum(0) - np.diag(pi * (1 - pi))
        best = np.sort(gains)[::-1] @ (1 / np.log2(2 + np.arange(n)))
        return gains @ (np.log(2) / np.log(x) + second * spread / 2) / best

    above = pi.sum(0) - np.diag(pi)
    x = 2 + above
    q = np.zeros(n)
    if name == "ndcg":
        gains = 2**labels - 1
        best = np.sort(gains)[::-1] @ (1 / np.log2(2 + np.arange(n)))
        q = gains * np.log(2) * (2 + np.log(x)) / (x**2 * np.log(x) ** 3) / 2 / best
    slopes = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        step = np.zeros((n, n))
        step[i, j], step[j, i] = 1e-5, -1e-5
        slopes[i, j] = (value(pi + step) - value(pi - step)) / 2e-5
    return slopes, z, q


@pytest.mark.parametrize("name", ["gap", "ndcg"])
@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_curvature_is_that_of_the_bound(name, sigma):
    labels, scores = one_query(3)
    slopes, z, q = pair_costs(name, labels, scores, sigma)
    theta = math.sqrt(2) * sigma
    grad, hess = np.zeros((2, len(labels)))
    for i, j in itertools.combinations(range(len(labels)), 2):
        x = math.copysign(1, slopes[i, j]) * z[i, j]
        force = abs(slopes[i, j]) * phi(x)
        bend = force * (x + math.sqrt(x * x + 4)) / 2 / theta**2
        assert bend >= force * (x + phi(x) / ndtr(x)) / theta**2
        grad[i] -= slopes[i, j] * phi(x) / theta
        grad[j] += slopes[i, j] * phi(x) / theta
        hess[[i, j]] += bend + 2 * (q[i] + q[j]) * phi(x) ** 2 / theta**2
    found = SoftRank(name, sigma=sigma)(labels, scores)
    assert_allclose(found[0], grad, atol=1e-8)
    assert_allclose(found[1], hess, atol=1e-8)


@every_metric
def test_relative_sigma_counts_standard_deviations_of_a_query(name):
    labels, scores = one_query(5)
    relative = SoftRank(name, sigma=0.4, relative=True)
    for scale in (0.1, 1, 1e6):
        fixed = SoftRank(name, sigma=min(0.4 * scale * scores.std(), 1e6))
        for a, b in zip(
            relative(labels, scores * scale), fixed(labels, scores * scale), strict=True
        ):
            assert_allclose(a, b, rtol=1e-9)
        value = relative.value(labels, scores * scale)
        assert value == pytest.approx(relative.value(labels, scores))
    tied = SoftRank(name, sigma=0.4 * 0.01)(labels, np.ones(len(labels)))
    assert_allclose(relative(labels, np.ones(len(labels))), tied, rtol=1e-9)


@every_metric
def test_queries_without_anything_to_gain(name):
    groups = np.repeat(["none", "one", "unjudged", "some"], [3, 1, 2, 2])
    relevance = [0, 0, 0, 3, np.nan, np.nan, 2, np.nan]
    objective = SoftRank(name)
    grad, hess = objective(relevance, np.arange(8.0), groups=groups)
    assert not grad[:6].any()
    assert not hess[:3].any()
    assert grad[6] < 0 < grad[7]
    both = objective.value(relevance, np.arange(8.0), groups=groups)
    last = objective.value(relevance[3:], np.arange(3.0, 8), groups=groups[3:])
    assert both == pytest.approx(last)
    assert np.isnan(objective.value([0, 0], [1, 2]))


def through_boosters(objective, labels, scores, groups, dtype=np.float32):
    """Gradients as boosters compute them."""
    grad, hess = np.full((2, len(labels)), np.nan, dtype)
    objective.bind(judge(labels, groups)).gradient(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("name", ["gap", "ndcg"])
def test_pairs_that_are_not_kept_are_made_again(name):
    """A query with too many relevant documents to cache its pairs, and several tiles."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 1300).astype(float), rng.normal(size=1300)
    objective, one = SoftRank(name, sigma=0.3), {"groups": np.zeros(1300)}
    grad, hess = objective(labels, scores, **one)
    assert abs(grad.sum()) < 1e-12
    found = through_boosters(objective, labels, scores, **one)
    for a, b in zip(found, (grad, hess), strict=True):
        assert_allclose(a, b, atol=2e-6 * np.abs(b).max())
    unit = rng.normal(size=1300)
    up, down = (objective.value(labels, scores + s * unit, **one) for s in (1e-5, -1e-5))
    assert grad @ unit == pytest.approx((down - up) / 2e-5, rel=1e-6)


@every_metric
@pytest.mark.parametrize("n", [1, 15, 16, 17, 33])
def test_lengths_around_a_step_of_simd(name, n):
    """Padding does not count, even after a longer list has filled it."""
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    labels[0] = 3
    longer, more = one_query(n, 80)
    objective = SoftRank(name)
    alone = through_boosters(objective, labels, scores, np.zeros(n))
    groups = np.repeat([0, 1], [80, n])
    after = through_boosters(objective, np.r_[longer, labels], np.r_[more, scores], groups)
    for a, b, double in zip(alone, after, objective(labels, scores), strict=True):
        assert_array_equal(a, b[80:])
        assert_allclose(a, double, atol=2e-6 * np.abs(double).max() + 1e-7)
