"""What the tests of lambdarank share."""

import numpy as np
from numpy.testing import assert_allclose

from skrank import LambdaRank
from tests.helpers import reference as ref
from tests.helpers.catalogue import Lists
from tests.helpers.engine import judge

STABLE = {"tie_order": "stable"}

OPTIONS = [
    {},
    {"truncation_level": 1},
    {"truncation_level": 5, "norm": False, "sigmoid": 0.3},
]


def literal(point, data, *, norm=True, sigmoid=1.0, truncation_level=None):
    grad, hess = np.zeros((2, len(data.groups)))
    for rows, (scores, labels) in zip(data.rows_of_queries(), data.queries(), strict=True):
        grad[rows], hess[rows] = ref.lambdas(
            point.change_by_swap(labels, truncation_level, data.max_grade), scores, labels,
            sigma=sigmoid, signed=True, truncation_level=truncation_level, norm=norm,
        )  # fmt: skip
    return grad, hess


def gradient(metric, data, weights=None, **options):
    objective = LambdaRank(metric, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups, sample_weight=weights)


def close(actual, expected, tolerance=1e-10):
    for a, b in zip(actual, expected, strict=True):
        assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


def single(objective, data, dtype=np.float32, weights=None):
    """Gradients through the path that the boosters take, for contiguous queries."""
    judgments = judge(data.relevance, data.groups)
    assert judgments.queries.order is None
    grad, hess = np.full((2, len(data.groups)), np.nan, dtype)
    objective.bind(judgments, weights).gradient(data.scores, grad, hess)
    return grad, hess


def many(n_queries=300, longest=400, seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.r_[1, rng.integers(1, longest, n_queries - 1)]
    n = int(sizes.sum())
    labels = rng.choice([0.0, 0, 0, 1, 2, 3], n)
    return Lists(labels, rng.normal(size=n).round(1), np.repeat(np.arange(n_queries), sizes))
