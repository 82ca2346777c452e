"""LambdaRank: literal definitions, precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import LambdaRank
from tests.helpers.catalogue import CATALOGUE, Lists, every_objective, lists
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


def test_queries_without_anything_to_gain_have_no_gradient():
    groups = np.repeat(["none", "all", "one", "unjudged"], [3, 3, 1, 2])
    relevance = [0, 0, 0, 2, 2, 2, 3, np.nan, np.nan]
    for name in ("gap", "ndcg", "ap", "err", "rr", "precision@2"):
        grad, hess = LambdaRank(name)(relevance, np.arange(9.0), groups=groups)
        assert not grad.any()
        assert not hess.any()


# ---------------------------------------------------------------------- precision


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
