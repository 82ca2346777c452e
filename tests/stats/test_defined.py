"""Results for few queries, constant differences and ties; swapping systems swaps signs only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats

TESTS = {
    "paired_t": stats.paired_t,
    "wilcoxon": stats.wilcoxon,
    "sign_test": stats.sign_test,
    "randomisation_test": stats.randomisation_test,
    "paired_bootstrap": stats.paired_bootstrap,
    "max_t": stats.max_t,
    "tukey_hsd": stats.tukey_hsd,
}
each_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)


def scores(n_queries=20, n_systems=4, seed=0):
    random = np.random.default_rng(seed)
    x = random.random((n_queries, 1)) + 0.3 * random.random((n_queries, n_systems))
    return x.round(1) if seed else x


@each_test
@pytest.mark.parametrize("n_queries", [2, 3, 9, 40])
@pytest.mark.parametrize("seed", [0, 1])
def test_swapping_systems_swaps_signs_and_nothing_else(test, n_queries, seed):
    x = scores(n_queries, 2, seed)
    found, swapped = test(x), test(x[:, ::-1])
    assert_array_equal(found.difference, -swapped.difference)
    assert_array_equal(found.p_value, swapped.p_value)


def test_swapping_swaps_intervals_and_probabilities():
    x = scores()[:, :2]
    for find in (stats.paired_effects, stats.max_t):
        found, swapped = find(x), find(x[:, ::-1])
        assert_allclose([found.low, found.high], [-swapped.high, -swapped.low], rtol=1e-12)
    for effects in (stats.paired_effects(x), stats.paired_effects(x[:, ::-1])):
        assert effects.g_low < effects.hedges_g < effects.g_high
    found, swapped = stats.paired_effects(x), stats.paired_effects(x[:, ::-1])
    assert_allclose([found.g_low, found.g_high], [-swapped.g_high, -swapped.g_low], rtol=1e-10)
    for method in ("t", "signed-rank"):
        found, swapped = (
            stats.bayesian_comparison(y, 0.01, method=method, n_samples=500)
            for y in (x, x[:, ::-1])
        )
        assert_allclose(found.better, swapped.worse, atol=1e-12)
        assert_allclose(found.equivalent, swapped.equivalent, atol=1e-12)
    found, swapped = (stats.equivalence_test(y, (-0.1, 0.1)) for y in (x, x[:, ::-1]))
    assert_allclose(found.p_value, swapped.p_value)
    assert_allclose(found.p_lower, swapped.p_upper)


@each_test
@pytest.mark.parametrize("n_queries", [2, 5, 30])
def test_systems_that_never_differ(test, n_queries):
    found = test(np.tile(scores(n_queries, 1), 3))
    assert_array_equal(found.difference, 0)
    assert_array_equal(found.p_value, 1)


@each_test
def test_two_queries(test):
    found = test([[0.5, 0.4], [0.7, 0.4]])
    assert 0 < found.p_value <= 1


@each_test
def test_one_query_is_refused(test):
    with pytest.raises(ValueError, match=r"1 query \(row\).*at least 2"):
        test([[0.5, 0.4]])
    for refusing in (stats.two_way_anova, stats.paired_effects, stats.discriminative_power):
        with pytest.raises(ValueError, match=r"1 query \(row\)"):
            refusing([[0.5, 0.4]])


def test_a_constant_difference():
    x = np.column_stack([scores(8, 1) + 0.25, scores(8, 1)])
    assert stats.sign_test(x).p_value == 2 / 2**8
    assert stats.wilcoxon(x).p_value == 2 / 2**8
    found = stats.max_t(x)
    assert (found.statistic, found.low, found.high) == (np.inf, found.difference, found.difference)
    # 1 of 128 changes of signs reaches t; of 2500 random draws plus the data, only the data do
    assert found.p_value == pytest.approx(np.sqrt((1 / 2**14 + 1 / 2501**2) / 2))
    effects = stats.paired_effects(x)
    assert effects.hedges_g == effects.g_low == effects.g_high == np.inf
    assert stats.equivalence_test(x, 0.3).p_value == 0
    assert stats.equivalence_test(x, 0.2).p_value == 1
    for method in ("t", "signed-rank"):
        assert stats.bayesian_comparison(x, 0.3, method=method).equivalent == 1
    assert stats.bayesian_comparison(x, 0.1).better == 1
    anova = stats.two_way_anova(x)
    assert (anova.systems.f, anova.systems.p_value, anova.effect_size) == (np.inf, 0, 1)
    assert (anova.queries.f, anova.queries.p_value) == (np.inf, 0)


def test_anova_of_constant_scores():
    anova = stats.two_way_anova(np.full((4, 3), 0.1))
    for source in (anova.systems, anova.queries):
        assert (source.f, source.p_value, source.sum_of_squares) == (0, 1, 0)
    assert (anova.p_corrected, anova.epsilon, anova.effect_size) == (1, 1, 0)
    assert anova.variances == {"systems": 0, "queries": 0, "residual": 0}


def test_intervals_are_infinite_if_no_p_value_can_be_below_alpha():
    """Two queries have 2 changes of signs, so every p-value is at least 1/4."""
    found = stats.max_t([[0.5, 0.4], [0.7, 0.4]])
    assert (found.low, found.high, found.critical_t) == (-np.inf, np.inf, np.inf)
    assert stats.max_t(scores(), n_resamples=10).critical_t == np.inf
