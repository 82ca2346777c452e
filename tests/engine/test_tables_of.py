"""Tables are cached for other data with the same labels, unless they depend on queries."""

from dataclasses import dataclass

import numpy as np
import pytest

from skrank._engine import plan
from skrank._engine.plan import Plan
from skrank.extending import Judgments, QuadraticTables, Queries, discounts
from skrank.metrics import Metric, metric
from tests.helpers.catalogue import CATALOGUE, MIXTURES

QUERIES = Queries.from_sizes(np.array([2, 5, 3]))
ONE, OTHER = (
    np.array(labels) for labels in ([3, 1, 0, 2, 0, 1, 3, 2, 0, 0.0], np.arange(10.0) % 4)
)


@pytest.fixture(autouse=True)
def an_empty_cache():
    plan._cache.clear()
    yield
    plan._cache.clear()


def tables(one, labels=ONE):
    return one.bind(Judgments(labels, QUERIES)).tables


@pytest.mark.parametrize("point", CATALOGUE + MIXTURES, ids=repr)
def test_cached_tables_have_the_values_of_new_ones(point):
    scores = np.random.default_rng(0).normal(size=10).round(1)
    groups = np.repeat(np.arange(3), QUERIES.sizes)
    expected = point.settled.per_query(OTHER, scores, groups=groups)
    plan._cache.clear()
    point.settled.per_query(ONE, scores, groups=groups)
    found = point.settled.per_query(OTHER, scores, groups=groups)
    np.testing.assert_array_equal(found, expected)


def test_tables_are_cached_if_they_tell_of_no_query():
    for name in ("gap", "ap@3", "ndcg", "err", "rbp"):
        assert tables(metric(name)) is tables(metric(name), OTHER), name
    for name in ("q", "r_precision", "rpref"):
        assert tables(metric(name)) is not tables(metric(name), OTHER), name
    assert tables(metric("ap@3")) is not tables(metric("ap@2"))
    assert tables(metric("gap")) is not tables(metric("gap"), np.minimum(OTHER, 2))


@dataclass(frozen=True)
class Weighted(Metric):
    """Its gains are a list, which is not hashable."""

    names = ("weighted_gains",)
    gains: list = None

    def tables(self, scale, k):
        gain = np.asarray(self.gains, dtype=float)[scale.labels.astype(int)]
        return QuadraticTables(gain, discounts(np.ones_like, scale.longest, k))


def test_parameters_need_no_hash():
    one = Weighted(k=2, gains=[0.0, 1, 2, 4])
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert isinstance(Plan(one, Judgments(ONE, QUERIES)).tables, QuadraticTables)
    assert not plan._cache
