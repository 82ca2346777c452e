"""SoftRank: literal definitions, finite differences, curvature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

import skrank
from skrank.objectives import SoftRank
from tests.helpers.softrank_cases import every_form, many, one_query

# ---------------------------------------------------------------------- literal definition

CASES = [
    ("gap", "moments"),
    ("gap(thresholds=[0.2,0.5,0.3])", "moments"),
    ("ap", "moments"),
    ("ap(rel=2)", "moments"),
    ("ndcg", "moments"),
    ("dcg(gain=linear,discount=romip)", "moments"),
    ("ndcg", "distribution"),
    ("ndcg(gain=[0,1,5,6],discount=jk,base=3)", "distribution"),
    ("ndcg@3", "distribution"),
    ("dcg(gain=linear)@1", "distribution"),
]


every_case = pytest.mark.parametrize(("name", "form"), CASES)


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


def soft_dcg_by_ranks(gains, scores, sigma, discounts):
    """The mean of the discount over the distribution of the rank."""
    n, total = len(scores), 0.0
    for j in range(n):
        p = [1.0]
        for i in range(n):
            if i != j:
                up = chance(scores, i, j, sigma)
                p = [
                    (p[r] * (1 - up) if r < len(p) else 0) + (p[r - 1] * up if r else 0)
                    for r in range(len(p) + 1)
                ]
        total += gains[j] * sum(d * pr for d, pr in zip(discounts, p, strict=True))
    return total


def discount_of(metric, n):
    """Discounts of the ranks 1..n, cut off."""
    ranks = np.arange(1.0, n + 1)
    if metric.discount == "jk":
        weights = [1 if r < metric.base else math.log(metric.base) / math.log(r) for r in ranks]
    else:
        weights = 1 / np.log2({"log2": 1, "romip": 2}[metric.discount] + ranks)
    return np.where(ranks <= (metric.k or n), weights, 0)


def literal(name, form, labels, scores, sigma):
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
    discounts = discount_of(metric, len(labels))
    best = float(np.sort(gains)[::-1] @ discounts) if name.startswith("ndcg") else 1.0
    if form == "distribution":
        return soft_dcg_by_ranks(gains, scores, sigma, discounts) / best
    return soft_dcg(gains, scores, sigma, {"log2": 1, "romip": 2}[metric.discount]) / best


@every_case
@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0])
def test_values_are_those_of_the_definition(name, form, sigma):
    objective = SoftRank(name, sigma=sigma, form=form)
    for seed in range(5):
        labels, scores = one_query(seed, 3 + 3 * seed)
        expected = literal(name, form, labels, scores, sigma)
        assert objective.value(labels, scores) == pytest.approx(expected, abs=1e-12)


@every_case
@pytest.mark.parametrize("sigma", [0.2, 0.7, 5.0])
def test_gradients_are_finite_differences_of_the_definition(name, form, sigma):
    labels, scores = one_query(7)
    grad, _ = SoftRank(name, sigma=sigma, form=form)(labels, scores)
    for i, unit in enumerate(np.eye(len(scores))):
        up, down = (literal(name, form, labels, scores + s * unit, sigma) for s in (1e-5, -1e-5))
        assert grad[i] == pytest.approx((down - up) / 2e-5, abs=1e-8)


@every_case
def test_small_sigma_gives_the_metric(name, form):
    metric = skrank.metric(name)
    for seed in range(5):
        labels, scores = one_query(seed, 12)
        exact = metric(labels, scores)
        for sigma, tolerance in ((1e-3, 0.05), (1e-4, 1e-4), (1e-6, 1e-13)):
            value = SoftRank(metric, sigma=sigma, form=form).value(labels, scores)
            assert value == pytest.approx(exact, abs=tolerance * max(1, exact))


def test_two_documents_by_hand():
    """The relevant document scores 0.6 less: it ranks first with probability Phi(-0.6 / theta)."""
    first = ndtr(-0.6 / (math.sqrt(2) * 0.5))
    labels, scores, options = [1, 0], [0.0, 0.6], {"sigma": 0.5}
    assert SoftRank("gap", **options).value(labels, scores) == pytest.approx(1 / (2 - first))
    exact = first + (1 - first) / math.log2(3)
    found = SoftRank("ndcg", form="distribution", **options).value(labels, scores)
    assert found == pytest.approx(exact)


# ---------------------------------------------------------------------- curvature


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


def test_curvature_of_the_distribution_bounds_pairs_one_by_one():
    """It is higher than that of the moments, by a factor of less than 5."""
    labels, scores, groups = many(50)
    short = SoftRank("ndcg")(labels, scores, groups=groups)
    long = SoftRank("ndcg", form="distribution")(labels, scores, groups=groups)
    assert np.corrcoef(short[0], long[0])[0, 1] > 0.98
    ratio = long[1].sum() / short[1].sum()
    assert 1 < ratio < 5


@every_form
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_newton_steps_raise_the_value(name, form, sigma):
    """With a learning rate of 1/2, every step raises the value, and none diverges."""
    labels, scores, groups = many(20, seed=1, longest=15)
    scores = scores * sigma
    objective = SoftRank(name, sigma=sigma, form=form)
    values = []
    for _ in range(30):
        values.append(objective.value(labels, scores, groups=groups))
        grad, hess = objective(labels, scores, groups=groups)
        scores = scores - 0.5 * grad / np.maximum(hess, 1e-300)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 0.1
    assert np.isfinite(scores).all()
