"""LambdaLoss: literal definitions, comparison with LambdaRank, and lists around a tile."""

import math

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


def pair_weight(given, weights, mu, gains, upper, lower):
    """Weight of the documents at two ranks, whose gains are given."""
    discount, k = discount_of(given), given.get("k")

    def cut(rank):
        return discount(rank) if k is None or rank <= k else 0.0

    bound = step(discount, k, upper, lower)
    if weights == "ndcg_loss2":
        return abs(gains[0] - gains[1]) * bound
    return abs(gains[0] - gains[1]) * (abs(cut(upper) - cut(lower)) + mu * bound)


def literal_query(
    name, labels, scores, *, weights="ndcg_loss2++", mu=10.0, sigmoid=1.0, truncation_level=None,
    norm=False,
):  # fmt: skip
    """Gradient and curvature of one query by the double loop over ranks."""
    metric, given = parsed(name)
    discount, k = discount_of(given), given.get("k")
    n = len(labels)
    order = np.argsort(-scores, kind="stable")
    known = [None if labels[i] is None else int(labels[i]) for i in order]
    gains = [float(ref.gain_of(label, given.get("gain", "exp2"))) for label in known]
    depth = min(one for one in (k, truncation_level, n) if one is not None)
    best = sum(g * discount(r + 1) for r, g in enumerate(sorted(gains, reverse=True)[:depth]))
    grad, hess, total = np.zeros(n), np.zeros(n), 0.0
    if best == 0:
        return grad, hess
    if metric is ref.ndcg:
        gains = [g / best for g in gains]
    for a in range(min(n, truncation_level or n)):
        for b in range(a + 1, n):
            if gains[a] == gains[b]:
                continue
            better, worse = (a, b) if gains[a] > gains[b] else (b, a)
            i, j = order[better], order[worse]
            weight = pair_weight(given, weights, mu, (gains[a], gains[b]), a + 1, b + 1)
            if norm and scores[order[0]] != scores[order[-1]]:
                weight /= 0.01 + abs(scores[i] - scores[j])
            wrong = ref.logistic_of_minus(sigmoid * (scores[i] - scores[j]))
            grad[i] -= sigmoid * weight * wrong
            grad[j] += sigmoid * weight * wrong
            hess[[i, j]] += sigmoid**2 * weight * wrong * (1 - wrong)
            total += 2 * sigmoid * weight * wrong
    factor = math.log1p(total) / math.log(2) / total if norm and total > 0 else 1.0
    return factor * grad, factor * hess


def gradient(name, data, **options):
    objective = LambdaLoss(name, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups)


def literal(name, data, **options):
    grad, hess = np.zeros((2, len(data.groups)))
    for rows, (scores, labels) in zip(data.rows_of_queries(), data.queries(), strict=True):
        grad[rows], hess[rows] = literal_query(name, labels, np.array(scores), **options)
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
    labels, scores = rng.choice([0.0, 1, 2, 3], n), rng.normal(size=n).round(2)
    labels[0] = 1
    options = {} if n < 600 else {"truncation_level": 20}
    expected = literal_query("ndcg@3", labels, scores, **options)
    objective, data = LambdaLoss("ndcg@3", **STABLE, **options), Lists(labels, scores, np.zeros(n))
    close(single(objective, data, np.float64), expected)
    for part, wanted in zip(single(objective, data), expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max() + 1e-35)
