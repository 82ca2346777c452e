"""The value of a query does not depend on the other queries, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

import skrank
from tests.helpers.catalogue import CATALOGUE, MIXTURES

ELEVEN = skrank.metric("+".join(f"{k}*ndcg@{k}" for k in range(1, 12)))
METRICS = [
    replace(one, empty="nan")
    for one in dict.fromkeys([*(point.settled for point in (*CATALOGUE, *MIXTURES)), ELEVEN])
]
N_QUERIES, LONGEST = 12, 60


def queries(levels=None):
    """Lists of different lengths; scores of few levels, so that many are tied, or of all."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, LONGEST + 1, N_QUERIES)
    n = int(sizes.sum())
    relevance = rng.integers(0, 4, n).astype(float)
    relevance[rng.random(n) < 0.1] = np.nan
    scores = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    scores[rng.random(n) < 0.1] = -np.inf
    return relevance, scores, np.repeat(np.arange(N_QUERIES), sizes)


def values(metrics, data):
    relevance, scores, groups = data
    report = skrank.evaluate(relevance, scores, groups=groups, metrics=metrics, max_grade=3)
    return report.per_query.to_numpy()


def one_by_one(metrics, data):
    return np.concatenate(
        [values(metrics, [column[data[2] == q] for column in data]) for q in range(N_QUERIES)]
    )


def assert_same(metrics, found, expected):
    for metric, one, other in zip(metrics, found.T, expected.T, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(metric))


@pytest.mark.parametrize("levels", [None, 7], ids=["apart", "tied"])
def test_values_do_not_depend_on_other_queries(levels):
    data = queries(levels)
    assert_same(METRICS, values(METRICS, data), one_by_one(METRICS, data))


def takes(metric, data):
    try:
        values([metric], data)
    except ValueError:  # labels that are no grades of the metric, or too many for it
        return False
    return True


def test_a_query_among_queries_of_many_labels():
    """With many distinct labels, sums over documents use another algorithm."""
    rng = np.random.default_rng(1)
    data = queries(levels=7)
    beside = rng.permutation(300) / 100, rng.normal(size=300), np.full(300, N_QUERIES)
    both = [np.concatenate(pair) for pair in zip(data, beside, strict=True)]
    metrics = [metric for metric in METRICS if takes(metric, both)]
    assert len(metrics) > len(METRICS) / 2
    assert_same(metrics, values(metrics, both)[:N_QUERIES], one_by_one(metrics, data))
