"""`max_t`: its level, its intervals, and its literal definition; and exact `tukey_hsd`."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats


def scores(n_queries=30, n_systems=5, seed=0):
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, 0.2, n_systems)


def literal_mean_and_variance(z, w):
    """Weighted mean, and the variance of the mean if weights do not affect the variance of z."""
    h = w / w.sum()
    return h @ z, np.var(z, ddof=1) * (h**2).sum()


def literal_t(differences, w):
    """abs(t) of each pair; the variance is the mean of that of the pair and the median of all."""
    means, variances = np.transpose([literal_mean_and_variance(z, w) for z in differences])
    pooled = (variances + np.median(variances)) / 2
    squares = np.zeros(len(means))
    moved = np.abs(means) > 1e-12
    with np.errstate(divide="ignore"):
        squares[moved] = means[moved] ** 2 / np.where(pooled < 1e-24, 0, pooled)[moved]
    return np.sqrt(squares)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0, 4.0, 3.0]])
def test_literally(weights):
    """All changes of signs and all draws of five queries, one by one."""
    x = scores(5, 3)
    found = stats.max_t(x, weights=weights, n_resamples=2 * 5**5)
    w = np.ones(5) if weights is None else np.array(weights)
    differences = np.array([x[:, a] - x[:, b] for a, b in found.pairs])
    shifted = differences - differences.mean(axis=1, keepdims=True)
    flipped = [
        literal_t(differences * signs, w).max() for signs in itertools.product([1, -1], repeat=5)
    ]
    drawn = [
        literal_t(shifted[:, list(draw)], w).max() for draw in itertools.product(range(5), repeat=5)
    ]
    assert_allclose(np.abs(found.statistic), literal_t(differences, w))
    for t, p in zip(literal_t(differences, w), found.p_value, strict=True):
        shares = [np.mean(np.array(null) >= t * (1 - 1e-9)) for null in (flipped, drawn)]
        part = w.sum() ** 2 / (w**2).sum() / 5 / 2
        assert p == pytest.approx(np.sqrt((1 - part) * shares[0] ** 2 + part * shares[1] ** 2))


def test_random_resamples_come_near_all_resamples():
    x = scores(5, 4, seed=3)
    every = stats.max_t(x, n_resamples=2 * 5**5)
    some = stats.max_t(x, n_resamples=2 * 5**5 - 2)
    assert_allclose(some.p_value, every.p_value, atol=0.03)
    assert not np.array_equal(some.p_value, every.p_value)


@pytest.mark.parametrize("n_queries", [2, 3, 5, 8])
def test_few_queries_give_no_small_p_value(n_queries):
    """One of the 2**(n - 1) changes of signs is the data, also if the difference is clear."""
    clear = np.column_stack([np.arange(n_queries) + 100.0, np.arange(n_queries)])
    noisy = clear + np.random.default_rng(0).normal(size=clear.shape)
    for x in (clear, noisy):
        assert stats.max_t(x).p_value >= 2.0**-n_queries


def test_one_pair_has_the_t_of_student():
    x, w = scores(12, 2), np.random.default_rng(0).random(12)
    assert_allclose(stats.max_t(x).statistic, stats.paired_t(x).statistic)
    z = x[:, 0] - x[:, 1]
    mean, variance = literal_mean_and_variance(z, w)
    assert_allclose(stats.max_t(x, weights=w).statistic, mean / np.sqrt(variance))


def test_pairs_without_common_systems_do_not_share_variances():
    """The columns are systems under two metrics, and each metric has its own scale."""
    one, other = scores(12, 3), scores(12, 3, seed=1)
    pairs = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    together = stats.max_t(np.hstack([one, 1000 * other]), pairs=pairs)
    alone = [stats.max_t(x).statistic for x in (one, other)]
    assert_allclose(together.statistic, np.concatenate(alone))


def skewed_levels(test, n_queries, repeats=300):
    """Share of samples with any p-value below .05, for skewed systems and a nearly constant one."""
    random = np.random.default_rng(0)
    found = 0
    for seed in range(repeats):
        x = random.exponential(size=(n_queries, 5)) - 1
        x[:, 0] = 0.1 * random.normal(size=n_queries)
        found += test(x, seed) < 0.05
    return found / repeats


@pytest.mark.parametrize("n_queries", [10, 25])
def test_keeps_its_level_where_differences_are_skewed(n_queries):
    """For comparison, Holm's correction of t-tests rejects in up to 12 % of these samples."""

    def max_t(x, seed):
        return stats.max_t(x, n_resamples=400, random_state=seed).p_value.min()

    def holm(x, seed):
        return stats.holm(stats.paired_t(x).p_value).min()

    assert skewed_levels(max_t, n_queries) < min(0.065, skewed_levels(holm, n_queries))


def test_intervals_exclude_zero_where_significant():
    for alpha in (0.01, 0.05, 0.3):
        found = stats.max_t(scores(20, 12), alpha=alpha, n_resamples=999)
        significant = found.p_value < alpha
        assert 0 < significant.sum() < len(significant)
        assert_array_equal((found.low > 0) | (found.high < 0), significant)
        assert_array_equal(np.abs(found.statistic) > found.critical_t, significant)


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize(("n_queries", "significant"), [(2, False), (4, False), (6, True)])
def test_constant_differences_of_few_queries_are_significant_by_their_signs_only(
    adjust, n_queries, significant
):
    x = np.arange(n_queries)[:, None] / 10 + [[0.5, 0.0]]
    found = stats.max_t(x, adjust=adjust)
    assert (found.p_value[0] < 0.05) == significant
    assert (found.low[0] > 0) == significant
    assert found.high[0] == (found.difference[0] if significant else np.inf)


def test_without_adjustment_each_pair_is_tested_as_the_only_pair():
    x = scores(n_queries=12, n_systems=4)
    x[3, 2] = np.nan
    found = stats.max_t(x, adjust=False, alpha=0.1)
    for i, pair in enumerate(found.pairs):
        alone = stats.max_t(x, pairs=[pair], alpha=0.1)
        assert_allclose(found.statistic[i], alone.statistic[0])
        assert_allclose(found.p_value[i], alone.p_value[0])
        assert_allclose([found.low[i], found.high[i]], [alone.low[0], alone.high[0]])
        assert_allclose(found.critical_t[i], alone.critical_t)


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
    assert_array_equal(found.difference, t.difference)
    assert (found.p_value >= t.p_value - 0.01).all()
    alone = stats.max_t(x, pairs=[(1, 2)])
    assert_allclose(alone.statistic, t.statistic[(t.pairs == [1, 2]).all(axis=1)])
    kept = np.delete(x, [3, 8], axis=0)
    again = stats.max_t(kept, pairs=[(1, 2)])
    assert_allclose(alone.statistic, again.statistic)
    assert_allclose(alone.p_value, again.p_value, atol=0.03)


def test_the_largest_t_is_taken_over_all_blocks_of_pairs():
    x = scores(12, 40)
    found = stats.max_t(x, n_resamples=200)
    assert len(found.pairs) > 512
    assert found.critical_t > stats.max_t(x[:, :3], n_resamples=200).critical_t
    backwards = stats.max_t(x, n_resamples=200, pairs=found.pairs[::-1])
    assert backwards.critical_t == found.critical_t
    assert_array_equal(backwards.p_value[::-1], found.p_value)


@pytest.mark.parametrize(("test", "least"), [(stats.tukey_hsd, 1 / 1000), (stats.max_t, 1 / 500)])
def test_the_data_count_as_a_resample(test, least):
    """One system is better on all 30 queries: no random resample reaches its t, and p is not 0."""
    found = test(scores(30, 3) + np.array([0, 0, 100]), n_resamples=999)
    assert_allclose(found.p_value[1:], least)  # max_t draws 499 resamples of each kind
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

    def test_random_permutations_come_near(self):
        x = scores(5, 3)
        exact = stats.tukey_hsd(x, n_resamples=1296).p_value
        some = stats.tukey_hsd(x, n_resamples=1295).p_value
        assert_allclose(some, exact, atol=0.05)
        assert_array_equal(exact, stats.tukey_hsd(x, n_resamples=5000, random_state=1).p_value)
        assert not np.array_equal(some, exact)
