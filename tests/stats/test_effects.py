"""Effect sizes, equivalence and posterior probabilities: values of statsmodels and of integrals."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from skrank import stats
from tests.helpers.system_scores import SCORES, scores

close = {"rtol": 1e-10, "atol": 0}


class TestEffects:
    def test_counts_means_and_interval(self):
        matrix = np.array([[0.5, 0.4], [0.7, 0.7], [0.6, 0.7], [0.9, 0.6], [np.nan, 1.0]])
        z = np.array([0.1, 0.0, -0.1, 0.3])
        found = stats.paired_effects(matrix, confidence=0.9)
        interval = scipy.stats.ttest_1samp(z, 0).confidence_interval(0.9)
        assert_allclose([found.low[0], found.high[0]], interval)
        assert_allclose(found.difference, z.mean())
        assert_allclose(found.cohen_d, z.mean() / z.std(ddof=1))
        assert (found.wins[0], found.ties[0], found.losses[0]) == (2, 1, 1)
        assert found.superiority == 2.5 / 4
        assert (found.n_queries[0], found.n_dropped[0]) == (4, 1)

    def test_interval_of_the_effect_size(self):
        """The observed t is the 97.5 % or 2.5 % quantile for the noncentrality of each end."""
        x = np.random.default_rng(0).random((12, 5)) + np.linspace(0, 3, 5)
        found = stats.paired_effects(x, confidence=0.9)
        t = stats.paired_t(x).statistic
        for bound, level in ((found.g_low, 0.95), (found.g_high, 0.05)):
            below = scipy.stats.nct.cdf(t, 11, bound * math.sqrt(12))
            assert_allclose(below, level, rtol=1e-9, atol=0)

    @pytest.mark.parametrize("n", [2, 4, 30, 1000])
    @pytest.mark.parametrize("t", [50, 900, 2e4, 1e6, 1e9, -1e5])
    def test_interval_of_a_large_effect(self, n, t):
        """Also where functions of scipy are inaccurate, or do not return."""
        z = np.tile([1.0, -1.0], n // 2)
        found = stats.paired_effects(np.c_[z / z.std(ddof=1) + t / math.sqrt(n), np.zeros(n)])
        shares = (np.arange(200_000) + 0.5) / 200_000  # of the chi-square of the denominator
        spread = np.sqrt(scipy.stats.chi2.ppf(shares, n - 1) / (n - 1))
        for bound, level in ((found.g_low, 0.975), (found.g_high, 0.025)):
            below = scipy.stats.norm.cdf(t * spread - bound * math.sqrt(n)).mean()
            assert below == pytest.approx(level, abs=2e-5)

    def test_hedges(self):
        # (Gamma(3/2) / Gamma(1)) / sqrt(3/2), the exact factor for 3 degrees of freedom
        found = stats.paired_effects(SCORES[:, :2])
        assert_allclose(found.cohen_d, math.sqrt(3), **close)
        factor = math.gamma(1.5) / math.sqrt(1.5)
        assert_allclose(found.hedges_g, factor * math.sqrt(3), **close)


class TestEquivalence:
    @pytest.mark.parametrize(
        ("margin", "lower", "upper"),
        [
            (0.3, 0.0016195185382722088, 0.09084505690810468),
            ((-0.05, 0.35), 0.011356911872294892, 0.04025478664924928),
        ],
    )
    def test_values_of_statsmodels(self, margin, lower, upper):
        found = stats.equivalence_test(SCORES[:, :2], margin)
        assert_allclose(found.p_lower, lower, **close)
        assert_allclose(found.p_upper, upper, **close)
        assert_allclose(found.p_value, upper, **close)

    def test_interval_is_inside_the_margin_where_significant(self):
        x = np.random.default_rng(0).normal(size=(30, 40)) * 0.05
        found = stats.equivalence_test(x, 0.02, alpha=0.1)
        inside = (found.low > -0.02) & (found.high < 0.02)
        assert 0 < inside.sum() < len(inside)
        assert_array_equal(inside, found.p_value < 0.1)
        effects = stats.paired_effects(x, confidence=0.8)
        assert_allclose([found.low, found.high], [effects.low, effects.high], atol=1e-15)


class TestBayes:
    def test_t_is_the_integral_of_the_posterior(self):
        x = SCORES[:, :2]
        found = stats.bayesian_comparison(x, (-0.05, 0.1))
        z = x[:, 0] - x[:, 1]

        def density(d):
            return (1 + (d - z.mean()) ** 2 / (z.var(ddof=1) / 4) / 3) ** -2

        whole = quad(density, -np.inf, np.inf)[0]
        for share, low, high in (
            (found.worse, -np.inf, -0.05),
            (found.equivalent, -0.05, 0.1),
            (found.better, 0.1, np.inf),
        ):
            assert_allclose(share, quad(density, low, high)[0] / whole, atol=1e-7)

    def test_signed_rank_literally(self):
        x = np.random.default_rng(0).random((7, 2))
        found = stats.bayesian_comparison(x, 0.05, method="signed-rank", n_samples=200)
        z, won = np.append(x[:, 0] - x[:, 1], 0), np.zeros(3)
        side = np.digitize(np.add.outer(z, z) / 2, [-0.05, 0.05])
        for chance in np.random.default_rng(0).dirichlet([*np.ones(7), 0.5], 200):
            shares = [np.outer(chance, chance)[side == one].sum() for one in range(3)]
            won[np.argmax(shares)] += 1
        assert_allclose([found.worse[0], found.equivalent[0], found.better[0]], won / 200)


def test_a_constant_difference():
    one = scores(8, 1)
    x = np.hstack([one + 0.25, one])
    assert stats.sign_test(x).p_value == stats.wilcoxon(x).p_value == 2 / 2**8
    found = stats.max_t(x)
    assert (found.statistic, found.low, found.high) == (np.inf, found.difference, found.difference)
    # 1 of 128 changes of signs reaches t; of 2500 random draws plus the data, only the data do
    assert found.p_value == pytest.approx(np.sqrt((1 / 2**14 + 1 / 2501**2) / 2))
    effects = stats.paired_effects(np.hstack([one, x]))
    assert effects.cohen_d.tolist() == [-np.inf, 0.0, np.inf]
    for name in ("hedges_g", "g_low", "g_high"):
        assert getattr(effects, name)[[0, 2]].tolist() == [-np.inf, np.inf]
    assert effects.wins.tolist() == [0, 0, 8]
    assert effects.ties.tolist() == [0, 8, 0]
    assert stats.equivalence_test(x, 0.3).p_value == 0
    assert stats.equivalence_test(x, 0.2).p_value == 1
    for method in ("t", "signed-rank"):
        assert stats.bayesian_comparison(x, 0.3, method=method).equivalent == 1
        assert stats.bayesian_comparison(x, 0.1, method=method).better == 1
    anova = stats.two_way_anova(x)
    assert (anova.systems.f, anova.systems.p_value, anova.effect_size) == (np.inf, 0, 1)
    assert (anova.queries.f, anova.queries.p_value) == (np.inf, 0)
