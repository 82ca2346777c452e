"""LambdaRank: literal definitions, finite differences, precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank import LambdaRank
from tests.helpers.catalogue import CATALOGUE, Lists, every_objective, lists
from tests.helpers.engine import judge
from tests.helpers.lambdarank_cases import (
    OPTIONS,
    RANGES,
    STABLE,
    close,
    finite,
    gradient,
    literal,
    single,
)

# ---------------------------------------------------------------------- literal definition


@every_objective
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lambdas_are_the_literal_double_loop(point, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = finite(lists(seed, **how))
        close(gradient(point.metric, data, **options), literal(point, data, **options))


DIVIDED = ("gap", "ap", "q", "ndcg", "nerr")
AS_THEY_ARE = ("dcg", "err", "pfound", "rbp", "rr")
WITH_A_CUTOFF = ("precision", "recall", "cg", "f1")


@pytest.mark.parametrize(
    ("name", "k"),
    [(name, k) for name in DIVIDED + AS_THEY_ARE for k in (None, 3)]
    + [(name, 3) for name in WITH_A_CUTOFF],
)
def test_which_metrics_are_divided_by_their_best_value(name, k):
    """The docstring lists these metrics. Gradients use changes of the metric as it is defined."""
    labels, scores = np.array([0, 3, 1, 0, 2, 1, 0, 1]), np.arange(8.0)[::-1]
    scale = {"max_grade": 4} if name in ("gap", "nerr", "err", "rbp") else {}
    metric = skrank.metric(name, **({"k": k} if k else {}), **scale)
    pulls = np.zeros(8)
    for better, worse in zip(*np.nonzero(labels[:, None] > labels), strict=True):
        swapped = scores.copy()
        swapped[[better, worse]] = scores[[worse, better]]
        delta = abs(metric(labels, scores) - metric(labels, swapped))
        pull = delta / (1 + np.exp(scores[better] - scores[worse]))
        pulls[better] -= pull
        pulls[worse] += pull
    best = metric(labels, labels) if name in DIVIDED else 1
    grad, _ = LambdaRank(metric, norm=False, tie_order="stable")(labels, scores)
    assert_allclose(grad, pulls / best, atol=1e-12)


def test_queries_without_anything_to_gain_have_no_gradient():
    groups = np.repeat(["none", "all", "one", "unjudged"], [3, 3, 1, 2])
    relevance = [0, 0, 0, 2, 2, 2, 3, np.nan, np.nan]
    for name in ("gap", "ndcg", "ap", "err", "rr", "precision@2"):
        grad, hess = LambdaRank(name)(relevance, np.arange(9.0), groups=groups)
        assert not grad.any()
        assert not hess.any()


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
    plan = metric.bind(judge(labels[order]))
    deltas = np.abs(plan.tables.deltas(plan.judgments.codes)) * plan.inverse[0] * plan.slope()[0]
    out = np.zeros((len(labels),) * 2)
    out[np.ix_(order, order)] = deltas + deltas.T
    return out


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


SPREADS = RANGES | {
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
    point = next(point for point in CATALOGUE if point.text == name)
    labels = rng.choice([0, 0, 1, 2, 3], n).astype(float)
    labels[1] = 3
    data = Lists(labels, SPREADS[spread](rng, n), np.full(n, "q", object))
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
