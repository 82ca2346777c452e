"""SoftRank: sigma, queries without a relevant document, precision, range and length."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

import skrank
from skrank._kernels import simd
from skrank.objectives import SoftRank
from tests.helpers.engine import judge
from tests.helpers.softrank_cases import FORMS, every_form, many, one_query

# ---------------------------------------------------------------------- properties


@every_form
def test_scores_and_sigma_have_one_unit(name, form):
    labels, scores, groups = many(20)
    grad, hess = SoftRank(name, form=form)(labels, scores, groups=groups)
    wider = SoftRank(name, sigma=7, form=form)(labels, scores * 7, groups=groups)
    assert_allclose((wider[0] * 7, wider[1] * 49), (grad, hess), rtol=1e-9, atol=1e-15)
    assert (hess[np.abs(grad) > 1e-30] > 0).all()


@every_form
def test_relative_sigma_counts_standard_deviations_of_a_query(name, form):
    labels, scores = one_query(5)
    relative = SoftRank(name, sigma=0.4, relative=True, form=form)
    for scale in (0.1, 1, 1e6):
        fixed = SoftRank(name, sigma=min(0.4 * scale * scores.std(), 1e6), form=form)
        for a, b in zip(
            relative(labels, scores * scale), fixed(labels, scores * scale), strict=True
        ):
            assert_allclose(a, b, rtol=1e-9)
        value = relative.value(labels, scores * scale)
        assert value == pytest.approx(relative.value(labels, scores))
    tied = SoftRank(name, sigma=0.4 * 0.01, form=form)(labels, np.ones(len(labels)))
    assert_allclose(relative(labels, np.ones(len(labels))), tied, rtol=1e-9)


@every_form
def test_the_value_is_a_weighted_mean(name, form):
    labels, scores, groups = many(10)
    weight = np.random.default_rng(0).choice([0, 0.5, 1, 3], 10)
    objective = SoftRank(name, form=form)
    bound = objective.bind(judge(labels, groups))
    keep = ~bound.empty
    expected = np.average(bound.values(scores)[keep], weights=weight[keep])
    found = objective.value(labels, scores, groups=groups, sample_weight=weight[groups])
    assert found == pytest.approx(expected)


@every_form
def test_queries_without_anything_to_gain(name, form):
    groups = np.repeat(["none", "one", "unjudged", "some"], [3, 1, 2, 2])
    relevance = [0, 0, 0, 3, np.nan, np.nan, 2, np.nan]
    objective = SoftRank(name, form=form)
    grad, hess = objective(relevance, np.arange(8.0), groups=groups)
    assert not grad[:6].any()
    assert not hess[:3].any()
    assert grad[6] < 0 < grad[7]
    both = objective.value(relevance, np.arange(8.0), groups=groups)
    last = objective.value(relevance[3:], np.arange(3.0, 8), groups=groups[3:])
    assert both == pytest.approx(last)
    assert np.isnan(objective.value([0, 0], [1, 2]))


# ---------------------------------------------------------------------- precision, range, length


def through_boosters(objective, labels, scores, groups, dtype=np.float32):
    """Gradients as boosters compute them."""
    grad, hess = np.full((2, len(labels)), np.nan, dtype)
    objective.bind(judge(labels, groups)).gradient(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize(
    ("real", "absolute", "relative"), [(np.float32, 2e-7, 1e-4), (np.float64, 4e-16, 1e-12)]
)
def test_the_normal_distribution(real, absolute, relative):
    """Errors are at most those documented in `skrank._kernels.simd`."""
    y = np.linspace(0, simd.reach(real(0)), 20_001).astype(real)
    found = np.transpose([simd.normal(one) for one in y]).astype(float)
    exact = y.astype(float)
    tail, density = ndtr(-exact / simd.UNIT), np.exp2(-(exact**2))
    assert_allclose(found[0], tail, rtol=0, atol=absolute)
    assert_allclose(found[1], density, rtol=0, atol=absolute)
    there = density > 1e-3 * np.finfo(real).tiny * 2.0**23
    assert_allclose(found[0][there], tail[there], rtol=relative)
    assert_allclose(found[2], np.sqrt(exact**2 + 4 * simd.UNIT**2), rtol=4 * np.finfo(real).eps)
    assert found[0, -1] == found[1, -1] == 0


def test_a_value_and_its_gradient_come_in_one_pass():
    labels, scores, groups = many(30)
    for name, form in FORMS:
        for real, tolerance in ((np.float32, 2e-7), (np.float64, 1e-15)):
            bound = SoftRank(name, form=form).bind(judge(labels, groups))
            losses = bound.losses(scores, *np.empty((2, len(scores)), real))
            expected = np.where(bound.empty, 0, 1 - bound.values(scores))
            assert_allclose(losses, expected, atol=tolerance)


@pytest.mark.parametrize("name", ["gap", "ndcg"])
def test_pairs_that_are_not_kept_are_made_again(name):
    """A query with too many relevant documents to cache its pairs, and several tiles."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 1300).astype(float), rng.normal(size=1300)
    objective = SoftRank(name, sigma=0.3)
    grad, hess = objective(labels, scores)
    assert abs(grad.sum()) < 1e-12
    for a, b in zip(through_boosters(objective, labels, scores, None), (grad, hess), strict=True):
        assert_allclose(a, b, atol=2e-6 * np.abs(b).max())
    unit = rng.normal(size=1300)
    up, down = (objective.value(labels, scores + s * unit) for s in (1e-5, -1e-5))
    assert grad @ unit == pytest.approx((down - up) / 2e-5, rel=1e-6)


@every_form
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_single_precision_is_close(name, form, sigma):
    labels, scores, groups = many(40)
    objective = SoftRank(name, sigma=sigma, form=form)
    double = objective(labels, scores, groups=groups)
    for one, two in zip(through_boosters(objective, labels, scores, groups), double, strict=True):
        assert one.dtype == np.float32
        assert np.abs(one - two).max() <= 2e-6 * np.abs(two).max()


RANGES = {
    "tiny": lambda rng, n: rng.integers(-9, 9, n) * 1e-30,
    "subnormal": lambda rng, n: rng.integers(-9, 9, n) * 1e-310,
    "wide": lambda rng, n: rng.normal(size=n) * 1e6,
    "one outlier": lambda rng, n: np.r_[1e6, rng.normal(size=n - 1)],
    "mixed": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-30, 7, n),
    "huge": lambda rng, n: rng.normal(size=n) * 1e30,
}


@every_form
@pytest.mark.parametrize("spread", RANGES)
@pytest.mark.parametrize("relative", [False, True])
def test_scores_of_any_range(name, form, spread, relative):
    labels, _ = one_query(2, 20)
    scores = RANGES[spread](np.random.default_rng(0), 20)
    for sigma in (1e-9, 1e-3, 1.0, 1e6):
        objective = SoftRank(name, sigma=sigma, relative=relative, form=form)
        for part in through_boosters(objective, labels, scores, np.zeros(20)):
            assert np.isfinite(part).all()
        assert 0 <= objective.value(labels, scores) <= 1 + 1e-9


@every_form
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 32, 33, 65])
def test_lengths_around_a_step_of_simd(name, form, n):
    """Padding does not count, even after a longer list has filled it."""
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
    labels[0] = 3
    longer, more = one_query(n, 80)
    objective = SoftRank(name, form=form)
    alone = through_boosters(objective, labels, scores, np.zeros(n))
    groups = np.repeat([0, 1], [80, n])
    after = through_boosters(objective, np.r_[longer, labels], np.r_[more, scores], groups)
    for a, b, double in zip(alone, after, objective(labels, scores), strict=True):
        assert_array_equal(a, b[80:])
        assert_allclose(a, double, atol=2e-6 * np.abs(double).max() + 1e-7)


def test_long_queries():
    """Ten thousand documents, with memory for a few numbers per document."""
    rng = np.random.default_rng(0)
    labels, scores = rng.choice([0.0, 1, 3], 10_000, p=[0.98, 0.01, 0.01]), rng.normal(size=10_000)
    for name in ("gap", "ndcg"):
        objective = SoftRank(name, sigma=0.01)
        assert objective.value(labels, scores) == pytest.approx(
            skrank.metric(name)(labels, scores), abs=0.01
        )
        double = objective(labels, scores)
        for a, b in zip(through_boosters(objective, labels, scores, None), double, strict=True):
            assert_allclose(a, b, atol=1e-4 * np.abs(b).max())
