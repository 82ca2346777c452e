"""Max-t: its level, its intervals, and what it is literally."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats


def scores(n_queries=30, n_systems=5, seed=0):
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, 0.2, n_systems)


def literal_t(z):
    if np.ptp(z) < 1e-12:
        return 0.0 if abs(z[0]) < 1e-12 else np.inf
    return abs(z.mean()) / (z.std(ddof=1) / np.sqrt(len(z)))


def test_literally():
    x = scores(7, 3)
    found = stats.max_t(x)
    differences = [x[:, a] - x[:, b] for a, b in found.pairs]
    largest = [
        max(literal_t((z - z.mean()) * signs) for z in differences)
        for signs in itertools.product([1, -1], repeat=7)
    ]
    for z, t, p in zip(differences, found.statistic, found.p_value, strict=True):
        assert abs(t) == pytest.approx(literal_t(z))
        share = np.mean(np.array(largest) >= literal_t(z) * (1 - 1e-9))
        assert p == pytest.approx((1 + 5000 * share) / 5001)


def test_intervals_exclude_zero_where_significant():
    for alpha in (0.01, 0.05, 0.3):
        found = stats.max_t(scores(20, 12), alpha=alpha, n_resamples=999)
        significant = found.p_value < alpha
        assert 0 < significant.sum() < len(significant)
        assert_array_equal((found.low > 0) | (found.high < 0), significant)
        assert_array_equal(np.abs(found.statistic) > found.critical_t, significant)


def test_keeps_its_level_at_unequal_spread_where_tukey_does_not():
    random = np.random.default_rng(0)
    spread = np.array([1, 1, 1, 1, 5.0])
    any_found = {stats.max_t: 0, stats.tukey_hsd: 0}
    for _ in range(400):
        x = random.normal(size=(20, 5)) * spread
        for test in any_found:
            any_found[test] += test(x, n_resamples=300).p_value.min() < 0.05
    assert 0.02 <= any_found[stats.max_t] / 400 < 0.075
    assert any_found[stats.tukey_hsd] / 400 > 0.075


def test_intervals_hold_together():
    random = np.random.default_rng(1)
    truth = np.array([0, 0, 0.5, 2])
    held = 0
    for _ in range(300):
        x = truth + random.normal(size=(15, 4)) * [1, 2, 1, 4]
        found = stats.max_t(x, n_resamples=300)
        true = truth[found.pairs[:, 0]] - truth[found.pairs[:, 1]]
        held += ((found.low <= true) & (true <= found.high)).all()
    assert 0.92 < held / 300 < 0.985


def test_pairs_may_miss_queries():
    x = scores()
    x[3, 1] = x[8, 2] = np.nan
    found = stats.max_t(x)
    assert found.n_dropped.max() == 2
    t = stats.paired_t(x)
    assert_allclose(found.statistic, t.statistic)
    assert (found.p_value >= t.p_value - 0.01).all()
    alone = stats.max_t(x, pairs=[(1, 2)])
    kept = np.delete(x, [3, 8], axis=0)
    again = stats.max_t(kept, pairs=[(1, 2)])
    assert_allclose(alone.statistic, again.statistic)
    assert_allclose(alone.p_value, again.p_value, atol=0.03)


def test_many_pairs_are_no_other_than_few():
    """The largest t of all blocks of pairs counts."""
    x = scores(12, 40)
    found = stats.max_t(x, n_resamples=200)
    assert len(found.pairs) > 512
    assert found.critical_t > stats.max_t(x[:, :3], n_resamples=200).critical_t
    backwards = stats.max_t(x, n_resamples=200, pairs=found.pairs[::-1])
    assert backwards.critical_t == found.critical_t
    assert_array_equal(backwards.p_value[::-1], found.p_value)


@pytest.mark.parametrize("test", [stats.tukey_hsd, stats.max_t])
def test_the_observed_order_counts_among_the_random_ones(test):
    """A system that is better on all 30 queries: no resample reaches that, and p is not 0."""
    found = test(scores(30, 3) + np.array([0, 0, 100]), n_resamples=999)
    assert_allclose(found.p_value[1:], 1 / 1000)
    assert found.p_value[0] > 1 / 1000


class TestTukeyExactly:
    def test_all_permutations(self):
        x = scores(4, 3)
        found = stats.tukey_hsd(x)
        spreads = [
            np.ptp(np.mean([x[0], *rows], axis=0))
            for rows in itertools.product(*(itertools.permutations(row) for row in x[1:]))
        ]
        assert len(spreads) == 216
        expected = [np.mean(np.array(spreads) >= abs(d) - 1e-12) for d in found.difference]
        assert_allclose(found.p_value, expected)

    def test_random_ones_come_near(self):
        x = scores(5, 3)
        exact = stats.tukey_hsd(x, n_resamples=1296).p_value
        some = stats.tukey_hsd(x, n_resamples=1295).p_value
        assert_allclose(some, exact, atol=0.05)
        assert_array_equal(exact, stats.tukey_hsd(x, n_resamples=5000, random_state=1).p_value)
        assert not np.array_equal(some, exact)
