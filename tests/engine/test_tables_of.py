"""Tables are cached for other data with the same labels, unless they depend on queries."""

import numpy as np
import pytest

from skrank._engine import plan
from skrank.extending import Queries
from tests.helpers.catalogue import CATALOGUE

QUERIES = Queries.from_sizes(np.array([2, 5, 3]))
ONE, OTHER = (
    np.array(labels) for labels in ([3, 1, 0, 2, 0, 1, 3, 2, 0, 0.0], np.arange(10.0) % 4)
)


@pytest.fixture(autouse=True)
def an_empty_cache():
    plan._cache.clear()
    yield
    plan._cache.clear()


@pytest.mark.parametrize("point", CATALOGUE, ids=repr)
def test_cached_tables_have_the_values_of_new_ones(point):
    scores = np.random.default_rng(0).normal(size=10).round(1)
    groups = np.repeat(np.arange(3), QUERIES.sizes)
    expected = point.settled.per_query(OTHER, scores, groups=groups)
    plan._cache.clear()
    point.settled.per_query(ONE, scores, groups=groups)
    found = point.settled.per_query(OTHER, scores, groups=groups)
    np.testing.assert_array_equal(found, expected)
