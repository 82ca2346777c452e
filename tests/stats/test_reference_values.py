"""Values of statsmodels 0.15, pingouin 0.7, krippendorff 0.9 and of publications, to 1e-10."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import quad

from skrank import stats

SCORES = np.array([[0.5, 0.4, 0.1], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1], [0.9, 0.6, 0.4]])
close = {"rtol": 1e-10, "atol": 0}


class TestAnova:
    def test_pingouin_and_statsmodels(self):
        found = stats.two_way_anova(SCORES)
        systems = [0.455, 2, 0.2275, 54.6, 0.00014128508391203707]
        queries = [0.15, 3, 0.05, 12, 0.006025505127574133]
        assert_allclose(found.systems, systems, **close)
        assert_allclose(found.queries, queries, **close)
        assert_allclose(found.residual[:3], [0.025, 6, 0.025 / 6], **close)
        assert_allclose(found.epsilon, 0.6355932203389831, **close)
        assert_allclose(found.p_corrected, 0.0019088955697315337, **close)
        assert_allclose(found.effect_size, 0.9479166666666666, **close)
        assert (found.n_queries, found.n_dropped) == (4, 0)

    def test_variances_add_up(self):
        random = np.random.default_rng(0)
        x = random.normal(size=(400, 1)) * 2 + random.normal(size=30) * 3
        x = x + random.normal(size=(400, 30))
        found = stats.two_way_anova(x).variances
        assert found["queries"] == pytest.approx(4, rel=0.2)
        assert found["systems"] == pytest.approx(9, rel=0.5)
        assert found["residual"] == pytest.approx(1, rel=0.03)

    def test_drops_queries_for_all(self):
        x = np.vstack([SCORES, [np.nan, 0.1, 0.2]])
        found = stats.two_way_anova(x)
        assert found.systems == stats.two_way_anova(SCORES).systems
        assert (found.n_queries, found.n_dropped) == (4, 1)
        x[1:, 0] = np.nan
        with pytest.raises(ValueError, match=r"a value on 1 query\(s\)"):
            stats.two_way_anova(x)
        with pytest.raises(ValueError, match="system 0 on query 1 is nan"):
            stats.two_way_anova(x, nan="raise")


class TestEquivalence:
    @pytest.mark.parametrize(
        ("margin", "lower", "upper"),
        [
            (0.3, 0.0016195185382722088, 0.09084505690810468),
            ((-0.05, 0.35), 0.011356911872294892, 0.04025478664924928),
        ],
    )
    def test_statsmodels(self, margin, lower, upper):
        found = stats.equivalence_test(SCORES[:, :2], margin)
        assert_allclose(found.p_lower, lower, **close)
        assert_allclose(found.p_upper, upper, **close)
        assert_allclose(found.p_value, upper, **close)

    def test_interval_is_inside_the_margin_where_significant(self):
        x = np.random.default_rng(0).normal(size=(30, 40)) * 0.05
        found = stats.equivalence_test(x, 0.02, alpha=0.1)
        inside = (found.low > -0.02) & (found.high < 0.02)
        assert 0 < inside.sum() < len(inside)
        np.testing.assert_array_equal(inside, found.p_value < 0.1)
        effects = stats.paired_effects(x, confidence=0.8)
        assert_allclose([found.low, found.high], [effects.low, effects.high], atol=1e-15)

    @pytest.mark.parametrize("margin", [0, -1, (0.1, 0.2), (0.1, -0.1), (-1, 0, 1), "a", np.nan])
    def test_margins(self, margin):
        with pytest.raises(ValueError, match="margin="):
            stats.equivalence_test(SCORES, margin)


class TestEffects:
    def test_interval_of_the_effect_size(self):
        """The observed t is the 97.5 % or 2.5 % quantile for the noncentrality of each end."""
        x = np.random.default_rng(0).random((12, 5)) + np.linspace(0, 3, 5)
        found = stats.paired_effects(x, confidence=0.9)
        t = stats.paired_t(x).statistic
        for bound, level in ((found.g_low, 0.95), (found.g_high, 0.05)):
            assert_allclose(
                scipy.stats.nct.cdf(t, 11, bound * math.sqrt(12)), level, rtol=1e-9, atol=0
            )

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

    def test_hedges_is_unbiased(self):
        z = np.random.default_rng(0).normal(0.7, 1, size=(6, 2000))
        x = np.concatenate([z, np.zeros((6, 1))], axis=1)
        found = stats.paired_effects(x, pairs=2000)
        assert found.hedges_g.mean() == pytest.approx(0.7, abs=0.035)
        assert found.cohen_d.mean() > 0.8
        held = (found.g_low <= 0.7) & (found.g_high >= 0.7)
        assert held.mean() == pytest.approx(0.95, abs=0.015)


class TestPower:
    def test_statsmodels(self):
        # statsmodels gives NaN for the effect of 1.5 with 50 queries
        for effect, n, power in (
            (0.5, 34, 0.8077775012792737),
            (0.2, 199, 0.8016910240370655),
            (0.3, 20, 0.2470890899680956),
            (0.8, 5, 0.2809920635173735),
            (2.0, 10, 0.9998419874351885),
        ):
            assert_allclose(stats.paired_t_power(effect, 1, n), power, **close)

    def test_large_effects(self):
        assert stats.paired_t_power(0.15, 0.1, 50) == 1
        found = stats.paired_t_power(1, 0.5, np.array([2, 20, 200, 20_000]))
        assert ((found > 0) & (found <= 1)).all()
        assert (np.diff(found) >= 0).all()


class TestSigns:
    def test_statsmodels(self):
        x = np.column_stack([SCORES[:, 0], [0.4, 0.8, 0.5, 0.6]])
        found = stats.sign_test(x)
        assert (found.p_value, found.statistic) == (0.625, 3)

    def test_scipy(self):
        x = np.random.default_rng(0).integers(0, 4, size=(40, 6)).astype(float)
        found = stats.sign_test(x)
        for (a, b), p, wins in zip(found.pairs, found.p_value, found.statistic, strict=True):
            z = x[:, a] - x[:, b]
            assert wins == (z > 0).sum()
            expected = scipy.stats.binomtest(int(wins), np.count_nonzero(z))
            assert_allclose(p, expected.pvalue, **close)


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
        assert_allclose(found.better + found.equivalent + found.worse, 1)

    def test_signed_rank_literally(self):
        x = np.random.default_rng(0).random((7, 2))
        found = stats.bayesian_comparison(x, 0.05, method="signed-rank", n_samples=200)
        random = np.random.default_rng(0)
        z = np.append(x[:, 0] - x[:, 1], 0)
        won = np.zeros(3)
        for chance in random.dirichlet([*np.ones(7), 0.5], 200):
            shares = np.zeros(3)
            for i in range(8):
                for j in range(8):
                    mean = (z[i] + z[j]) / 2
                    shares[1 + int(mean > 0.05) - int(mean < -0.05)] += chance[i] * chance[j]
            won[shares.argmax()] += 1
        assert_allclose([found.worse[0], found.equivalent[0], found.better[0]], won / 200)

    def test_both_methods_agree_on_clear_cases(self):
        random = np.random.default_rng(0)
        x = random.normal(size=(40, 1)) + random.normal(size=(40, 3)) * 0.05 + [0, 0, 1]
        for method in ("t", "signed-rank"):
            found = stats.bayesian_comparison(x, 0.1, method=method, n_samples=500)
            assert found.equivalent[0] > 0.99
            assert found.worse[1:].min() > 0.99

    def test_errors(self):
        with pytest.raises(ValueError, match="rope=0"):
            stats.bayesian_comparison(SCORES, 0)
        with pytest.raises(ValueError, match="method='sign'"):
            stats.bayesian_comparison(SCORES, 0.1, method="sign")


class TestAssessors:
    # Krippendorff (2011), section C: 12 units, 4 observers
    NAN = np.nan
    PUBLISHED = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ]
    ).T

    @pytest.mark.parametrize(
        ("level", "published", "expected"),
        [
            ("nominal", 0.743, 0.743421052631579),
            ("ordinal", 0.815, 0.8153875037548814),
            ("interval", 0.849, 0.8491071428571428),
            ("ratio", 0.797, 0.7974027747116121),
        ],
    )
    def test_krippendorff(self, level, published, expected):
        found = stats.krippendorff_alpha(self.PUBLISHED, level=level)
        assert found == pytest.approx(published, abs=5e-4)
        assert_allclose(found, expected, **close)

    def test_cohen(self):
        x, y = [0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 1]
        for weights, expected in ((None, 0.5), ("linear", 4 / 7), ("quadratic", 2 / 3)):
            assert_allclose(stats.cohen_kappa(x, y, weights=weights), expected, **close)
        assert stats.cohen_kappa([*x, np.nan, 1], [*y, 2, np.nan]) == stats.cohen_kappa(x, y)

    def test_fleiss(self):
        labels = [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0], [0, 1, 2], [2, 2, 1]]
        assert_allclose(stats.fleiss_kappa(labels), 0.4166666666666666, **close)

    def test_no_variation(self):
        assert np.isnan(stats.cohen_kappa([1, 1], [1, 1]))
        assert np.isnan(stats.fleiss_kappa([[1, 1], [1, 1]]))
        assert np.isnan(stats.krippendorff_alpha([[1, 1], [1, 1]]))

    def test_whole_agreement_and_order_of_assessors(self):
        labels = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]])
        for level in ("nominal", "ordinal", "interval", "ratio"):
            assert stats.krippendorff_alpha(labels, level=level) == 1
            found = stats.krippendorff_alpha(self.PUBLISHED, level=level)
            swapped = stats.krippendorff_alpha(self.PUBLISHED[::-1, ::-1], level=level)
            assert_allclose(found, swapped, **close)
        assert stats.fleiss_kappa(labels) == stats.cohen_kappa(labels[:, 0], labels[:, 1]) == 1

    def test_errors(self):
        with pytest.raises(ValueError, match=r"assessor 1 has not judged document 0.*krippendorff"):
            stats.fleiss_kappa([[1, np.nan], [0, 1]])
        with pytest.raises(ValueError, match="no document that two"):
            stats.krippendorff_alpha([[1, np.nan], [np.nan, 1]])
        with pytest.raises(ValueError, match="label -1 is negative"):
            stats.krippendorff_alpha([[1, -1]], level="ratio")
        with pytest.raises(ValueError, match="x labels 2 documents and y 1"):
            stats.cohen_kappa([1, 2], [1])
        with pytest.raises(ValueError, match="no document that both"):
            stats.cohen_kappa([1, np.nan], [np.nan, 1])
        with pytest.raises(ValueError, match="weights='cubic'"):
            stats.cohen_kappa([1, 2], [1, 2], weights="cubic")


class TestRankCorrelation:
    @pytest.mark.parametrize("levels", [None, 5])
    def test_scipy(self, levels):
        random = np.random.default_rng(0)
        x = random.normal(size=15)
        y = x + random.normal(size=15)
        if levels:
            x, y = x.round(), y.round()
        expected = scipy.stats.kendalltau(x, y)
        found = stats.rank_correlation(x, y)
        assert_allclose([found.value, found.p_value], expected, **close)
        assert found.low < found.value < found.high

    @pytest.mark.parametrize("method", ["tau", "tau_b"])
    def test_ends_of_the_interval_literally(self, method):
        """Each end differs from the value by Student's quantile times Esscher's deviation."""
        x = np.arange(9.0)
        y = np.array([1.0, 0, 2, 4, 3, 5, 6, 8, 7])
        found = stats.rank_correlation(x, y, method=method, confidence=0.9)
        for tau in (found.low, found.high):
            rho = np.sin(np.pi * tau / 2)
            rest = 1 / 9 - (2 / np.pi * np.arcsin(rho / 2)) ** 2
            variance = 2 / (9 * 8) * (1 - (2 / np.pi * np.arcsin(rho)) ** 2 + 2 * 7 * rest)
            away = abs(found.value - tau) / np.sqrt(variance)
            assert away == pytest.approx(scipy.stats.t.ppf(0.95, 8), abs=0.02)

    @pytest.mark.parametrize("method", ["tau_b", "tau_ap"])
    @pytest.mark.parametrize("tau", [0.8, 0.95, 0.99])
    def test_intervals_of_high_correlations_hold_the_truth(self, method, tau):
        random = np.random.default_rng(0)
        samples = []
        for _ in range(200):
            x, noise = random.normal(size=(2, 10))
            y = np.sin(np.pi * tau / 2) * x + np.cos(np.pi * tau / 2) * noise
            samples.append(stats.rank_correlation(x, y, method=method, n_resamples=10))
        truth = tau if method == "tau_b" else np.mean([one.value for one in samples])
        assert np.mean([one.low <= truth <= one.high for one in samples]) >= 0.93
        assert all(one.high - one.low > 0.05 for one in samples)

    @pytest.mark.parametrize("method", ["tau", "tau_b", "tau_ap"])
    def test_scores_per_query_give_an_interval_over_queries(self, method):
        random = np.random.default_rng(1)
        truth = np.linspace(0, 1, 12)
        x, y = truth + random.normal(size=(2, 40, 12))
        found = stats.rank_correlation(x, y, method=method)
        means = x.mean(axis=0), y.mean(axis=0)
        one = stats.rank_correlation(*means, method=method)
        assert (found.value, found.p_value) == (one.value, one.p_value)
        assert (found.n_queries, one.n_queries) == (40, None)
        measure = {"tau": stats.kendall_tau, "tau_b": stats.tau_b}.get(
            method, lambda a, b: stats.tau_ap(a, b, ties="b")
        )
        draws = random.integers(40, size=(1000, 40))
        literal = [measure(x[draw].mean(axis=0), y[draw].mean(axis=0)) for draw in draws]
        low, high = np.quantile(literal, [0.025, 0.975])
        assert found.low == pytest.approx(low, abs=0.04)
        assert found.high == pytest.approx(max(high, 2 * found.value - low), abs=0.04)
        x[3, 5] = np.nan
        less = stats.rank_correlation(x, y, method=method)
        kept = stats.rank_correlation(
            np.delete(x, 3, axis=0), np.delete(y, 3, axis=0), method=method
        )
        assert (less.low, less.high, less.n_queries) == (kept.low, kept.high, 39)
        with pytest.raises(ValueError, match=r"x has shape \(40, 12\) and y \(40, 11\)"):
            stats.rank_correlation(x, y[:, 1:], method=method)

    def test_full_agreement_is_not_certain(self):
        x = np.arange(10.0)
        for method in ("tau", "tau_b", "tau_ap"):
            found = stats.rank_correlation(x, x, method=method)
            assert found.low < 0.8 < found.high == 1
        per_query = x + np.zeros((5, 1))  # all draws of queries give the correlation 1
        again = stats.rank_correlation(per_query, per_query)
        assert (again.low, again.high) == (stats.rank_correlation(x, x).low, 1)

    def test_interval_of_tau_holds_the_truth(self):
        random = np.random.default_rng(0)
        truth, held = 2 / np.pi * np.arcsin(0.8), 0
        for _ in range(300):
            x = random.normal(size=12)
            found = stats.rank_correlation(x, 0.8 * x + 0.6 * random.normal(size=12))
            held += found.low <= truth <= found.high
        assert held / 300 > 0.92

    def test_tau_ap(self):
        random = np.random.default_rng(0)
        x = np.arange(5.0)
        y = np.array([1.0, 0, 2, 3, 4])
        found = stats.rank_correlation(x, y, method="tau_ap")
        assert found.value == pytest.approx(stats.tau_ap(x, y, symmetric=True))
        every = [stats.tau_ap(x, np.array(o), ties="b") for o in itertools.permutations(y)]
        assert found.p_value == 2 * np.mean(np.array(every) >= found.value - 1e-12)
        p = [
            stats.rank_correlation(
                *random.normal(size=(2, 8)), method="tau_ap", n_resamples=99
            ).p_value
            for _ in range(100)
        ]
        assert 0.35 < np.mean(p) < 0.65
        assert min(p) >= 2 / 100

    def test_defined(self):
        tied = stats.rank_correlation([1, 1, 1], [1, 2, 3])
        assert np.isnan([tied.value, tied.p_value, tied.low, tied.high]).all()
        two = stats.rank_correlation([1, 2], [1, 2])
        assert (two.value, two.low, two.high) == (1, -1, 1)
        with pytest.raises(ValueError, match="method='rho'"):
            stats.rank_correlation([1, 2], [1, 2], method="rho")
