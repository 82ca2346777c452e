"""Levels and power of tests, and coverage of intervals, in simulations."""

import numpy as np
import pytest

from skrank import stats


def share(significant, n_samples):
    """Share of the samples, each with its number as seed, in which something is significant."""
    return np.mean([significant(seed) for seed in range(n_samples)], axis=0)


def test_max_t_keeps_its_level_where_differences_are_skewed():
    """For comparison, Holm's correction of t-tests rejects in up to 12 % of these samples."""
    random, n_queries = np.random.default_rng(0), 10

    def both(seed):
        x = random.exponential(size=(n_queries, 5)) - 1
        x[:, 0] = 0.1 * random.normal(size=n_queries)
        largest = stats.max_t(x, n_resamples=400, random_state=seed).p_value.min()
        return largest < 0.05, stats.holm(stats.paired_t(x).p_value).min() < 0.05

    found = share(both, 300)
    assert found[0] < min(0.065, found[1])


def test_max_t_keeps_its_level_at_unequal_spread_where_tukey_does_not():
    random = np.random.default_rng(0)

    def both(seed):
        x = random.normal(size=(20, 5)) * [1, 1, 1, 1, 5]
        tests = stats.max_t, stats.tukey_hsd
        return [test(x, n_resamples=300).p_value.min() < 0.05 for test in tests]

    largest, tukey = share(both, 400)
    assert 0.02 < largest < 0.075
    assert tukey > 0.075


def test_intervals_of_max_t_hold_together():
    random, truth = np.random.default_rng(1), np.array([0, 0, 0.5, 2])

    def held(seed):
        x = truth + random.normal(size=(15, 4)) * [1, 2, 1, 4]
        found = stats.max_t(x, n_resamples=300)
        true = truth[found.pairs[:, 0]] - truth[found.pairs[:, 1]]
        return ((found.low <= true) & (true <= found.high)).all()

    assert 0.92 < share(held, 300) < 0.985


@pytest.mark.parametrize(
    "test", [stats.paired_t, stats.wilcoxon, stats.sign_test, stats.paired_bootstrap]
)
def test_five_percent_of_p_values_are_below_the_level_if_systems_are_equal(test):
    """The exact level of the sign test on 25 queries is .043."""
    matrix = np.random.default_rng(0).normal(size=(25, 4000))
    found = test(matrix, pairs=np.arange(4000).reshape(-1, 2))
    assert 0.038 < np.mean(found.p_value < 0.05) < 0.062


@pytest.mark.parametrize(("sigma", "n_queries"), [(0.5, 10), (1.5, 10), (1.0, 50)])
def test_levels_and_coverage_under_uneven_weights(sigma, n_queries):
    random = np.random.default_rng(0)

    def both(seed):
        w = np.exp(sigma * random.normal(size=n_queries))
        x = random.normal(size=(n_queries, 40))
        p = stats.paired_t(x, pairs=np.arange(40).reshape(-1, 2), weights=w).p_value
        interval = stats.t_interval(x[:, :20], weights=w)
        held = (interval.low <= 0) & (interval.high >= 0)
        return np.mean(p < 0.05), 1 - held.mean()

    found = share(both, 150)
    assert ((found > 0.03) & (found < 0.07)).all()


@pytest.mark.parametrize(
    ("draw", "n_queries", "how", "mean"),
    [("normal", 15, (), 0), ("exponential", 15, (), 1), ("beta", 10, (0.4, 2), 1 / 6)],
)
def test_bootstrap_t_covers(draw, n_queries, how, mean):
    """Metrics of the first ranks have values such as beta's; t intervals cover .90 there."""
    x = getattr(np.random.default_rng(0), draw)(*how, size=(n_queries, 1500))
    found = stats.bootstrap_interval(x, method="bootstrap-t")
    held = np.mean((found.low <= mean) & (mean <= found.high))
    assert held == pytest.approx(0.95, abs=0.02)
