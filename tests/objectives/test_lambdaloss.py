"""LambdaLoss: literal definitions, comparison with LambdaRank, and lists around a tile."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import LambdaLoss
from tests.helpers import reference as ref
from tests.helpers.catalogue import Lists, lists, parsed
from tests.helpers.lambdarank_cases import STABLE, close, single


def step(discount, k, upper, lower):
    """delta of two ranks; below a cut-off k stretched so that a document's deltas sum to d(1)."""
    distance = lower - upper
    value = discount(distance) - discount(distance + 1)
    if k is not None and lower > k:
        total = discount(1) - discount(lower)
        return value * discount(1) / total if total > 0 else discount(1) / (lower - 1)
    return value


def discount_of(given):
    """The discount of a rank, for parameters of a metric."""
    return lambda rank: ref.discount_at(rank, given.get("discount", "log2"), given.get("base", 2))


def pair_weight(name, labels, weights="ndcg_loss2++", mu=10.0, truncation_level=None):
    """Function that weights the documents at two ranks of a list."""
    metric, given = parsed(name)
    discount, k, gain = discount_of(given), given.get("k"), given.get("gain", "exp2")
    depth = min(cut for cut in (k, truncation_level, len(labels)) if cut is not None)
    gains = sorted((float(ref.gain_of(label, gain)) for label in labels), reverse=True)
    best = sum(gain * discount(rank) for rank, gain in enumerate(gains[:depth], start=1))

    def cut(rank):
        return discount(rank) if k is None or rank <= k else 0.0

    def weight(ranked, upper, lower):
        apart = abs(ref.gain_of(ranked[upper - 1], gain) - ref.gain_of(ranked[lower - 1], gain))
        bound = step(discount, k, upper, lower)
        if weights == "ndcg_loss2++":
            bound = abs(cut(upper) - cut(lower)) + mu * bound
        return apart * bound / (best if metric is ref.ndcg else 1.0) if best else 0.0

    return weight


def literal_query(name, labels, scores, *, sigmoid=1.0, norm=False, **options):
    """Gradient and curvature of one query by the double loop over ranks."""
    level = options.get("truncation_level")
    weight = pair_weight(name, labels, **options)
    return ref.lambdas(weight, scores, labels, sigma=sigmoid, truncation_level=level, norm=norm)


def gradient(name, data, **options):
    objective = LambdaLoss(name, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups)


def literal(name, data, **options):
    grad, hess = np.zeros((2, len(data.groups)))
    for rows, (scores, labels) in zip(data.rows_of_queries(), data.queries(), strict=True):
        grad[rows], hess[rows] = literal_query(name, labels, scores, **options)
    return grad, hess


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "ndcg_loss2"},
        {"mu": 0.5, "sigmoid": 2.0},
        {"mu": 0, "norm": True},
        {"truncation_level": 1},
        {"weights": "ndcg_loss2", "truncation_level": 4, "norm": True, "sigmoid": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "name",
    [
        "ndcg", "ndcg@3", "ndcg@1", "ndcg(gain=linear)@5", "dcg(gain=[0,1,3,10])",
        "ndcg(discount=jk,base=3.0)", "ndcg(discount=jk,base=3.0)@1",
        "ndcg(discount=[1,0.5,0.5,0.1])", "dcg(discount=[1,0.5,0.5,0.1])@2",
    ],
)  # fmt: skip
def test_gradients_are_the_literal_double_loop(name, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = lists(seed, **how).retrieved()
        expected = literal(name, data, **options)
        assert expected[0].any()
        close(gradient(name, data, **options), expected)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 511, 512, 513, 529, 1300])
def test_lengths_around_a_tile(n):
    rng = np.random.default_rng(n)
    labels, scores = np.maximum(rng.integers(-9, 4, n), 0.0), rng.normal(size=n).round(2)
    labels[0] = 1
    options = {} if n < 600 else {"truncation_level": 20}
    expected = literal_query("ndcg@3", labels.tolist(), scores.tolist(), **options)
    objective, data = LambdaLoss("ndcg@3", **STABLE, **options), Lists(labels, scores, np.zeros(n))
    close(single(objective, data, np.float64), expected)
    for part, wanted in zip(single(objective, data), expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max() + 1e-35)
