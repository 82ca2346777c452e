"""LambdaLoss: literal definitions, comparison with LambdaRank, and scores of any range."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import LambdaLoss, LambdaRank
from tests.helpers.catalogue import Lists, lists
from tests.helpers.lambdaloss_cases import (
    METRICS,
    OPTIONS,
    literal_query,
)
from tests.helpers.lambdarank_cases import RANGES, STABLE, close, finite, single


def gradient(name, data, **options):
    objective = LambdaLoss(name, **(STABLE | options))
    return objective(data.relevance, data.scores, groups=data.groups)


def literal(name, data, **options):
    grad, hess = np.zeros(len(data.groups)), np.zeros(len(data.groups))
    for query, (scores, labels) in zip(data.ids, data.queries(), strict=True):
        rows = data.groups == query
        labels = np.array([math.nan if label is None else label for label in labels], float)
        grad[rows], hess[rows] = literal_query(name, labels, np.asarray(scores), **options)
    return grad, hess


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", METRICS)
def test_gradients_are_the_literal_double_loop(name, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = finite(lists(seed, **how))
        expected = literal(name, data, **options)
        assert expected[0].any()
        close(gradient(name, data, **options), expected)


@pytest.mark.parametrize(
    "name", ["ndcg", "ndcg@3", "dcg(gain=linear)@700", "ndcg(discount=letor)@5"]
)
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("level", [None, 5])
def test_without_the_bound_it_is_lambdarank(name, norm, level):
    options = {"norm": norm, "truncation_level": level}
    for seed, how in enumerate(({}, {"n_queries": 3, "longest": 1500})):
        data = finite(lists(seed, **how))
        expected = LambdaRank(name, **STABLE, **options)(
            data.relevance, data.scores, groups=data.groups
        )
        close(gradient(name, data, mu=0, **options), expected)


# ---------------------------------------------------------------------- precision and range


def one_query(labels, scores):
    return Lists(labels, scores, np.zeros(len(labels), int))


def check_both_precisions(data, expected, tolerance, norm=False, **options):
    objective = LambdaLoss("ndcg@3", norm=norm, **STABLE, **options)
    close(single(objective, data, np.float64), expected)
    for part, wanted in zip(single(objective, data), expected, strict=True):
        assert_allclose(part, wanted, rtol=0, atol=tolerance * np.abs(wanted).max() + 1e-35)


@pytest.mark.parametrize("spread", RANGES)
@pytest.mark.parametrize("norm", [True, False])
def test_scores_of_any_range(spread, norm):
    rng = np.random.default_rng(12)
    labels = rng.choice([0, 0, 1, 2, 3], 14).astype(float)
    labels[1] = 3
    scores = RANGES[spread](rng, 14)
    expected = literal_query("ndcg@3", labels, scores, norm=norm)
    check_both_precisions(one_query(labels, scores), expected, 3e-5, norm)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 511, 512, 513, 529, 1300])
def test_lengths_around_a_tile(n):
    rng = np.random.default_rng(n)
    labels, scores = rng.choice([0.0, 1, 2, 3], n), rng.normal(size=n).round(2)
    labels[0] = 1
    options = {} if n < 600 else {"truncation_level": 20}
    expected = literal_query("ndcg@3", labels, scores, **options)
    check_both_precisions(one_query(labels, scores), expected, 1e-5, **options)
