"""Tests of pairs of systems agree with scipy, with literal definitions and with their levels."""

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.engine import query_counts
from tests.helpers.system_scores import PAIRED, differences, literal_t, scores, weights

each_test = pytest.mark.parametrize("test", [*PAIRED, stats.tukey_hsd])


class TestValues:
    def test_paired_t_is_that_of_scipy(self):
        matrix = scores()
        found = stats.paired_t(matrix, confidence=0.9)
        expected = [scipy.stats.ttest_1samp(z, 0) for z in differences(matrix)]
        assert_allclose(found.statistic, [one.statistic for one in expected])
        assert_allclose(found.p_value, [one.pvalue for one in expected])
        assert_allclose(found.difference, [z.mean() for z in differences(matrix)])
        ends = [one.confidence_interval(0.9) for one in expected]
        assert_allclose(np.transpose([found.low, found.high]), ends)

    def test_weighted_t(self):
        x, w = scores(20, 3), weights()
        found = stats.paired_t(x, weights=w)
        expected = [literal_t(z, w, hc2=0.5) for z in differences(x)]
        assert_allclose(found.statistic, expected, rtol=1e-12)
        assert_allclose(found.p_value, 2 * scipy.stats.t.sf(np.abs(expected), 19), rtol=1e-12)
        half = scipy.stats.t.isf(0.025, 19) * found.difference / expected
        for interval in (found, stats.t_interval(np.transpose(differences(x)), weights=w)):
            assert_allclose(interval.low, found.difference - half, rtol=1e-12)
            assert_allclose(interval.high, found.difference + half, rtol=1e-12)

    @pytest.mark.parametrize(  # few queries with ties: older versions of SciPy approximate
        ("n_queries", "digits"), [(8, 16), (20, 1), (20, 16), (60, 1)]
    )
    def test_wilcoxon_is_that_of_scipy(self, n_queries, digits):
        matrix = scores(n_queries, n_systems=5).round(digits)
        matrix[:, 4] = scores(n_queries, seed=1)[:, 0]  # one system without ties
        found = stats.wilcoxon(matrix)
        # scipy ranks rounding errors, which breaks ties: round the differences first
        expected = [scipy.stats.wilcoxon(z.round(12)) for z in differences(matrix)]
        assert_allclose(found.statistic, [one.statistic for one in expected])
        assert_allclose(found.p_value, [one.pvalue for one in expected])

    @pytest.mark.parametrize("digits", [1, 16])
    def test_few_queries_have_all_changes_of_signs(self, digits):
        x, w = scores(8, 3).round(digits), weights(8)
        ones, ranks = np.ones(8), lambda z: scipy.stats.rankdata(np.abs(z)) - np.sum(z == 0)
        for test, size, how in (
            (stats.randomisation_test, np.abs, {}),
            (stats.randomisation_test, lambda z: w * np.abs(z), {"weights": w}),
            (stats.wilcoxon, ranks, {}),
            (stats.sign_test, lambda z: ones, {}),
        ):
            expected = []
            for z in differences(x):
                signed = np.sign(z.round(12)) * size(z.round(12))
                sums = [abs(np.dot(s, signed)) for s in itertools.product([1, -1], repeat=8)]
                expected.append(np.mean(np.array(sums) >= abs(signed.sum()) - 1e-12))
            assert_allclose(test(x, **how).p_value, expected)
        wins = [np.sum(z.round(12) > 0) for z in differences(x)]
        assert_array_equal(stats.sign_test(x).statistic, wins)

    @pytest.mark.parametrize("digits", [1, 16])
    def test_bootstrap_is_that_of_sakai(self, digits):
        matrix = scores(6, 5).round(digits)
        found = stats.paired_bootstrap(matrix, n_resamples=300, random_state=3)
        draws = np.concatenate(list(query_counts(6, 300, 3))).astype(int)
        for z, p in zip(differences(matrix), found.p_value, strict=True):
            z = z.round(digits)
            drawn = [abs(literal_t(np.repeat(z - z.mean(), draw))) for draw in draws]
            assert p == np.mean(np.array(drawn) >= abs(literal_t(z)) * (1 - 1e-9))

    def test_weighted_bootstrap_of_all_draws(self):
        x, w = scores(4, 2), np.array([1.0, 2.0, 3.0, 1.0])
        (z,) = differences(x)
        shifted = z - np.average(z, weights=w)
        observed = abs(literal_t(z, w)) - 1e-9
        draws = map(list, itertools.product(range(4), repeat=4))
        at_least = [abs(literal_t(shifted[draw], w[draw])) >= observed for draw in draws]
        assert_allclose(stats.paired_bootstrap(x, weights=w).p_value, np.mean(at_least))


@pytest.mark.parametrize(
    ("test", "n_queries", "n_systems", "n_all"),
    [
        (stats.randomisation_test, 12, 4, 2**12),
        (stats.max_t, 5, 4, 2 * 5**5),
        (stats.tukey_hsd, 5, 3, 6**4),
    ],
)
def test_random_resamples_come_near_all_resamples(test, n_queries, n_systems, n_all):
    x = scores(n_queries, n_systems)
    every, some = (test(x, n_resamples=n).p_value for n in (n_all, n_all - 2))
    assert_allclose(some, every, atol=0.03)
    assert not np.array_equal(some, every)
    assert_array_equal(test(x, n_resamples=n_all, random_state=1).p_value, every)


@pytest.mark.parametrize(
    ("test", "least"),
    [(stats.randomisation_test, 0.001), (stats.tukey_hsd, 0.001), (stats.max_t, 0.002)],
)
def test_the_data_count_as_a_resample(test, least):
    """One system is better on all 30 queries: no random resample reaches its t, and p is not 0."""
    found = test(scores(30, 3) + np.array([0, 0, 100]), n_resamples=999)
    assert_allclose(found.p_value[1:], least)  # max_t draws 499 resamples of each kind
    assert found.p_value[0] > 0.001


class TestConstantDifferences:
    def test_all_the_same_up_to_rounding(self):
        one = scores(8, n_systems=1)
        shifted = np.hstack([one + 0.1, one])
        assert np.ptp(shifted[:, 0] - shifted[:, 1]) > 0
        for test in (stats.paired_t, stats.paired_bootstrap):
            found = test(shifted)
            assert (found.statistic, found.p_value) == (np.inf, 0)
        assert stats.sign_test(shifted).p_value == stats.wilcoxon(shifted).p_value == 2 / 2**8
        found = stats.max_t(shifted)
        assert (found.statistic, found.low, found.high) == (np.inf, *[found.difference] * 2)
        # 1 of 128 changes of signs reaches t; of 5000 random draws plus the data, only the data do
        assert found.p_value == pytest.approx(np.sqrt((1 / 2**14 + 1 / 5001**2) / 2))

    def test_a_constant_resample(self):
        # z = -1, 0, 1 has t 0; a draw that repeats one query has t 0 (the middle) or infinity
        matrix = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
        assert stats.paired_bootstrap(matrix, n_resamples=100).p_value == 1
        # z = 0, .2, .4: 0.2 minus the mean of z is not exactly 0 in floating point
        matrix = np.array([[0.1, 0.1], [0.3, 0.1], [0.7, 0.3]])
        found = stats.paired_bootstrap(matrix, n_resamples=500)
        z = np.array([0.0, 1.0, 2.0])  # in units of .2
        draws = [literal_t(z[list(draw)] - 1) for draw in itertools.product(range(3), repeat=3)]
        assert_allclose(found.p_value, np.mean(np.abs(draws) >= literal_t(z) - 1e-9))

    @each_test
    @pytest.mark.parametrize("n_queries", [2, 5, 30])
    def test_systems_that_never_differ(self, test, n_queries):
        found = test(np.tile(scores(n_queries, 1), 3))
        assert_array_equal(found.difference, 0)
        assert_array_equal(found.p_value, 1)


class TestPairs:
    @each_test
    @pytest.mark.parametrize("n_queries", [2, 3, 9, 40])
    @pytest.mark.parametrize("digits", [1, 16])
    def test_swapping_systems_swaps_signs_and_nothing_else(self, test, n_queries, digits):
        x = scores(n_queries, 2).round(digits)
        found, swapped = test(x), test(x[:, ::-1])
        assert_array_equal(found.difference, -swapped.difference)
        assert_array_equal(found.p_value, swapped.p_value)
        assert 0 <= found.p_value <= 1

    @pytest.mark.parametrize("test", PAIRED[:-1])
    def test_pairs_do_not_depend_on_the_other_pairs(self, test):
        matrix = scores(n_systems=60)
        every, whole = np.empty((60, 60)), test(matrix)
        first, second = whole.pairs.T
        every[first, second] = every[second, first] = whole.p_value
        found = test(matrix, pairs=1)
        assert_allclose(found.p_value, np.delete(every[:, 1], 1), rtol=1e-12)
        assert_allclose(found.difference, np.delete((matrix - matrix[:, [1]]).mean(axis=0), 1))
        chosen = test(matrix, pairs=[(3, 0), (1, 2)])
        assert_allclose(chosen.p_value, every[[3, 1], [0, 2]], rtol=1e-12)

    @pytest.mark.parametrize("test", [*PAIRED, stats.discriminative_power])
    def test_queries_without_a_value_are_left_out_of_the_pair(self, test):
        other = {stats.discriminative_power: "required", stats.max_t: "n_queries"}
        matrix = scores(40)
        matrix[:3, 0] = np.nan
        matrix[[2, 5], 1] = np.nan
        found = test(matrix)
        assert found.n_queries.tolist() == [36, 37, 37, 38, 38, 40]
        assert found.n_dropped.tolist() == [4, 3, 3, 2, 2, 0]
        for i, columns in enumerate(found.pairs):
            pair = matrix[:, columns]
            alone = test(pair[~np.isnan(pair).any(axis=1)])
            for name in ("difference", other.get(test, "p_value")):
                assert_allclose(getattr(found, name)[i], getattr(alone, name)[0])
