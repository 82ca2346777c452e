"""The value of a query does not depend on the other queries, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

import skrank
from skrank.testing import make_lists
from tests.helpers.catalogue import CATALOGUE

METRICS = [replace(one, empty="nan") for one in dict.fromkeys(point.settled for point in CATALOGUE)]


def lists(levels):
    return make_lists(0, n_queries=12, longest=60, levels=levels, special=False)


def values(metrics, data):
    relevance, scores, groups = data
    report = skrank.evaluate(relevance, scores, groups=groups, metrics=metrics, max_grade=3)
    return report.per_query.to_numpy()


def one_by_one(metrics, data):
    return np.concatenate(
        [values(metrics, data.reordered(rows)) for rows in data.rows_of_queries()]
    )


def assert_same(metrics, found, expected):
    for metric, one, other in zip(metrics, found.T, expected.T, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(metric))


@pytest.mark.parametrize("levels", [None, 7], ids=["apart", "tied"])
def test_values_do_not_depend_on_other_queries(levels):
    data = lists(levels)
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
    data = lists(levels=7)
    beside = rng.permutation(300) / 100, rng.normal(size=300), np.full(300, "beside")
    both = [np.concatenate(pair) for pair in zip(data, beside, strict=True)]
    metrics = [metric for metric in METRICS if takes(metric, both)]
    assert len(metrics) > len(METRICS) / 2
    assert_same(metrics, values(metrics, both)[:12], one_by_one(metrics, data))
