"""Statistics over many comparisons: discriminative power, Tukey's test, adjusted p-values."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.engine import query_counts


def scores(n_queries=30, n_systems=6, seed=0):
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, 0.1, n_systems)


def literal_required(z, alpha, n_resamples, seed):
    """The mean of the resample of shifted differences with the (alpha B)-th largest absolute t."""
    shifted = z - z.mean()
    found = []
    for draws in query_counts(len(z), n_resamples, seed):
        for draw in draws.astype(int):
            w = np.repeat(shifted, draw)
            found.append((abs(w.mean() / (w.std(ddof=1) / math.sqrt(len(w)))), abs(w.mean())))
    return sorted(found, reverse=True)[math.ceil(alpha * n_resamples) - 1][1]


class TestDiscriminativePower:
    def test_literally(self):
        matrix = scores()
        found = stats.discriminative_power(matrix, n_resamples=200, random_state=7)
        expected = [
            literal_required(a - b, 0.05, 200, 7) for a, b in itertools.combinations(matrix.T, 2)
        ]
        assert_allclose(found.required, expected)
        assert found.required_difference == max(found.required)
        bootstrap = stats.paired_bootstrap(matrix, n_resamples=200, random_state=7)
        assert_array_equal(found.asl, bootstrap.p_value)
        assert_array_equal(found.difference, bootstrap.difference)
        assert found.power == np.mean(bootstrap.p_value < 0.05)

    def test_curve(self):
        found = stats.discriminative_power(scores())
        assert (np.diff(found.asl_curve) <= 0).all()
        assert_array_equal(np.sort(found.asl_curve), np.sort(found.asl))

    @pytest.mark.parametrize("n_queries", [40, 200])
    def test_required_difference_is_near_half_an_interval(self, n_queries):
        matrix = scores(n_queries, 4)
        found = stats.discriminative_power(matrix, n_resamples=5000)
        effects = stats.paired_effects(matrix)
        assert_allclose(found.required, (effects.high - effects.low) / 2, rtol=0.2)

    def test_less_noise_discriminates_more(self):
        random = np.random.default_rng(0)
        truth, noise = np.linspace(0, 1, 12), random.normal(size=(30, 12))
        power = [stats.discriminative_power(truth + s * noise).power for s in (0.3, 1, 3)]
        assert power[0] > power[1] > power[2]

    def test_number_of_the_extreme_is_rounded_up(self):
        # 0.05 * 50 is 2.5, so the third largest t is taken
        matrix = scores(n_systems=4)
        found = stats.discriminative_power(matrix, n_resamples=50)
        expected = [
            literal_required(a - b, 0.05, 50, 0) for a, b in itertools.combinations(matrix.T, 2)
        ]
        assert_allclose(found.required, expected)
        # 0.1 * 30 is 3.0000000000000004, which must count as 3
        matrix = scores(n_systems=2)
        found = stats.discriminative_power(matrix, alpha=0.1, n_resamples=30)
        assert_allclose(found.required, literal_required(np.subtract(*matrix.T), 0.0999, 30, 0))

    def test_few_queries_are_drawn_in_all_ways(self):
        matrix = scores(5, 2)
        found = stats.discriminative_power(matrix, n_resamples=5**5, alpha=0.1)
        z = np.subtract(*matrix.T)
        shifted = z - z.mean()
        drawn = []
        for draw in itertools.product(range(5), repeat=5):
            w = shifted[list(draw)]
            t = np.inf if np.ptp(w) == 0 else abs(w.mean() / (w.std(ddof=1) / math.sqrt(5)))
            drawn.append((t, abs(w.mean())))
        t = abs(z.mean() / (z.std(ddof=1) / math.sqrt(5)))
        assert_allclose(found.asl, np.mean([drawn_t >= t * (1 - 1e-9) for drawn_t, _ in drawn]))
        extreme = sorted(drawn, reverse=True)[math.ceil(0.1 * 5**5) - 1]
        assert_allclose(found.required, extreme[1])

    def test_missing_queries(self):
        matrix = scores(40)
        matrix[3, 1] = np.nan
        found = stats.discriminative_power(matrix)
        kept = np.delete(matrix, 3, axis=0)
        alone = stats.discriminative_power(kept)
        with_1 = (found.pairs == 1).any(axis=1)
        assert_array_equal(found.n_dropped, with_1.astype(int))
        assert_allclose(found.required[with_1], alone.required[with_1])
        assert_allclose(found.asl[with_1], alone.asl[with_1])

    def test_repr(self):
        text = repr(stats.discriminative_power(scores()))
        assert text.startswith("DiscriminativePower(alpha=0.05, power=0.")
        assert "15 pairs" in text

    @pytest.mark.parametrize("alpha", [0, 1, 5, "a", np.nan])
    def test_alpha(self, alpha):
        with pytest.raises(ValueError, match="alpha="):
            stats.discriminative_power(scores(), alpha=alpha)


class TestTukey:
    def test_two_systems_are_the_sign_flip_test(self):
        matrix = scores(12, 2)
        exact = stats.randomisation_test(matrix).p_value
        found = stats.tukey_hsd(matrix, n_resamples=20_000).p_value
        assert 0.01 < exact[0] < 0.99
        assert_allclose(found, exact, atol=0.012)

    def test_keeps_the_probability_of_any_false_positive(self):
        random = np.random.default_rng(0)
        any_found = [
            stats.tukey_hsd(
                random.normal(size=(15, 5)), n_resamples=300, random_state=i
            ).p_value.min()
            < 0.05
            for i in range(400)
        ]
        assert 0.02 < np.mean(any_found) < 0.085

    def test_critical_difference(self):
        matrix = scores(30, 8)
        found = stats.tukey_hsd(matrix, alpha=0.1)
        assert_array_equal(abs(found.difference) > found.critical_difference, found.p_value < 0.1)

    def test_critical_difference_is_near_that_of_the_studentised_range(self):
        noise = np.random.default_rng(1).normal(size=(60, 8))
        critical = stats.tukey_hsd(noise, n_resamples=5000).critical_difference
        error = math.sqrt(noise.var(axis=1, ddof=1).mean() / 60)
        expected = scipy.stats.studentized_range.ppf(0.95, 8, 59 * 7) * error
        assert critical == pytest.approx(expected, rel=0.03)

    def test_p_values_are_at_least_those_of_single_pairs(self):
        matrix = scores()
        alone = stats.randomisation_test(matrix, n_resamples=5000).p_value
        assert (stats.tukey_hsd(matrix).p_value >= alone - 0.01).all()

    def test_blocks_do_not_matter(self, monkeypatch):
        matrix = scores()
        whole = stats.tukey_hsd(matrix, n_resamples=100).p_value
        monkeypatch.setattr("skrank.stats._resampling._CELLS", 1000)
        assert_array_equal(stats.tukey_hsd(matrix, n_resamples=100).p_value, whole)

    def test_drops_queries_for_all(self):
        matrix = scores()
        matrix[[2, 4], [0, 1]] = np.nan
        found = stats.tukey_hsd(matrix)
        assert (found.n_queries, found.n_dropped) == (28, 2)
        alone = stats.tukey_hsd(np.delete(matrix, [2, 4], axis=0))
        assert_array_equal(found.p_value, alone.p_value)
        matrix[:29, 2] = np.nan
        with pytest.raises(ValueError, match=r"a value on 1 query\(s\)"):
            stats.tukey_hsd(matrix)


class TestAdjusted:
    P = np.array([[0.01, 0.04, 0.03], [0.005, 0.5, 0.01]])

    def test_holm_literally(self):
        flat = self.P.ravel()
        expected = np.empty(6)
        least = 0.0
        for rank, i in enumerate(sorted(range(6), key=lambda i: flat[i])):
            least = max(least, (6 - rank) * flat[i])
            expected[i] = min(1, least)
        found = stats.holm(self.P)
        assert found.shape == (2, 3)
        assert_allclose(found.ravel(), expected)

    def test_benjamini_hochberg_literally(self):
        flat = self.P.ravel()
        ranks = scipy.stats.rankdata(flat, "max")
        expected = [min(6 * flat[j] / ranks[j] for j in range(6) if flat[j] >= p) for p in flat]
        assert_allclose(stats.benjamini_hochberg(self.P).ravel(), np.minimum(expected, 1))

    @pytest.mark.parametrize("adjust", [stats.holm, stats.benjamini_hochberg])
    def test_any(self, adjust):
        p = np.random.default_rng(0).random(50)
        assert (adjust(p) >= p).all()
        assert (adjust(p) <= 1).all()
        assert_array_equal(np.argsort(adjust(p[:3])), np.argsort(p[:3]))
        assert adjust([0.03]) == [0.03]
        assert adjust([]).shape == (0,)
        assert adjust(0.2).shape == ()
        for wrong in ([0.1, 1.2], [0.1, np.nan], [0.2, -0.1]):
            with pytest.raises(ValueError, match=r"p_values\[1\] is"):
                adjust(wrong)
        with pytest.raises(ValueError, match="must be numbers"):
            adjust(["a"])
