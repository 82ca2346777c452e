"""SoftRank: literal definitions, curvature, sigma and length."""

from __future__ import annotations

import itertools
import math
from functools import partial

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


def chances(scores, sigma):
    """Probability that i ranks above j, at [i, j]; 0 on the diagonal."""
    above = ndtr(np.subtract.outer(scores, scores) / (math.sqrt(2) * sigma))
    np.fill_diagonal(above, 0)
    return above


def soft_gap(worth, above):
    """Sum of a ratio of expectations over relevant documents, divided by the sum of u."""
    worth = np.asarray(worth)
    found = worth + (above * np.minimum.outer(worth, worth)).sum(0)
    return (found / (1 + above.sum(0)))[worth > 0].sum() / worth.sum()


def second_derivative(x):
    """Of the discount 1 / log2(x), halved."""
    return np.log(2) * (2 + np.log(x)) / (x**2 * np.log(x) ** 3) / 2


def soft_dcg(gains, above, shift=1):
    """The Taylor series of the discount at the expected rank, to second order."""
    x, variance = shift + 1 + above.sum(0), (above * (1 - above)).sum(0)
    return gains @ (1 / np.log2(x) + second_derivative(x) * variance)


def best_dcg(gains, shift=1):
    return np.sort(gains)[::-1] @ (1 / np.log2(shift + np.arange(1, len(gains) + 1)))


def literal_of(name, labels):
    """Function of the chances: the soft value; the highest grade of the collection is 3."""
    metric = skrank.metric(name)
    if name.startswith("gap"):
        g = metric.thresholds or (1 / 3, 1 / 3, 1 / 3)
        return partial(soft_gap, [sum(g[: int(y)]) for y in labels])
    if name.startswith("ap"):
        return partial(soft_gap, [float(y >= metric.rel) for y in labels])
    table = {"exp2": [0, 1, 3, 7], "linear": [0, 1, 2, 3]}
    table = table[metric.gain] if isinstance(metric.gain, str) else metric.gain
    gains, shift = np.array(table)[labels.astype(int)], {"log2": 1, "romip": 2}[metric.discount]
    best = best_dcg(gains, shift) if name.startswith("ndcg") else 1.0
    return lambda above: soft_dcg(gains, above, shift) / best


def literal(name, labels, scores, sigma):
    return literal_of(name, labels)(chances(scores, sigma))


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


@pytest.mark.parametrize("name", ["gap", "ndcg"])
@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_curvature_is_that_of_the_bound(name, sigma):
    """Each pair is bounded by itself; slopes of pairs are finite differences of the definition."""
    labels, scores = one_query(3)
    value, above, theta = literal_of(name, labels), chances(scores, sigma), math.sqrt(2) * sigma
    gains = 2**labels - 1
    spread = gains * second_derivative(2 + above.sum(0)) / best_dcg(gains) * (name == "ndcg")
    hess = np.zeros(len(labels))
    for i, j in itertools.combinations(range(len(labels)), 2):
        step = np.zeros_like(above)
        step[i, j], step[j, i] = 1e-5, -1e-5
        slope = (value(above + step) - value(above - step)) / 2e-5
        x = math.copysign(1, slope) * (scores[i] - scores[j]) / theta
        bend = abs(slope) * phi(x) * (x + math.sqrt(x * x + 4)) / 2
        assert bend >= abs(slope) * phi(x) * (x + phi(x) / ndtr(x))
        hess[[i, j]] += (bend + 2 * (spread[i] + spread[j]) * phi(x) ** 2) / theta**2
    assert_allclose(SoftRank(name, sigma=sigma)(labels, scores)[1], hess, atol=1e-8)


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
