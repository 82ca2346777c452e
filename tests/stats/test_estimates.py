"""Effects, equivalence, posteriors, intervals and power: values of other libraries, and levels."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import quad

from skrank import stats
from tests.helpers.engine import query_counts
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
        assert_allclose(found.cohen_d, z.mean() / z.std(ddof=1), **close)
        # (Gamma(3/2) / Gamma(1)) / sqrt(3/2), the exact factor for 3 degrees of freedom
        assert_allclose(found.hedges_g, math.gamma(1.5) / math.sqrt(1.5) * found.cohen_d, **close)
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
        found = stats.bayesian_comparison(x, (-0.05, 0.1), method="signed-rank", n_samples=200)
        z, won = np.append(x[:, 0] - x[:, 1], 0), np.zeros(3)
        side = np.digitize(np.add.outer(z, z) / 2, [-0.05, 0.1])
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
    for method in ("t", "signed-rank"):
        assert stats.bayesian_comparison(x, 0.3, method=method).equivalent == 1
        assert stats.bayesian_comparison(x, 0.1, method=method).better == 1
    anova = stats.two_way_anova(x)
    assert (anova.systems.f, anova.systems.p_value, anova.effect_size) == (np.inf, 0, 1)
    assert (anova.queries.f, anova.queries.p_value) == (np.inf, 0)


def values(n_queries=40, n_columns=3, seed=0):
    return np.random.default_rng(seed).beta(1, 4, size=(n_queries, n_columns))


class TestBootstrapInterval:
    @pytest.mark.parametrize("method", ["percentile", "BCa"])
    def test_against_scipy(self, method):
        x, how = values(25, 1)[:, 0], {"n_resamples": 20_000}
        found = stats.bootstrap_interval(x, method=method.lower(), confidence=0.9, **how)
        expected = scipy.stats.bootstrap(
            (x,), np.mean, method=method, confidence_level=0.9, rng=0, **how
        ).confidence_interval
        width = expected.high - expected.low
        assert_allclose([found.low, found.high], expected, atol=0.02 * width)
        assert found.mean == pytest.approx(x.mean())

    def test_weights_literally(self):
        x, w = values(12, 1)[:, 0], np.arange(1.0, 13)
        means = [
            np.average(np.repeat(x, draw), weights=np.repeat(w, draw))
            for draws in query_counts(12, 300, 4)
            for draw in draws.astype(int)
        ]
        found = stats.bootstrap_interval(x, weights=w, n_resamples=300, random_state=4)
        assert_allclose([found.low, found.high], np.quantile(means, [0.025, 0.975]))
        assert_allclose(found.mean, np.average(x, weights=w))

    def test_bca_counts_draws_of_the_same_mean_by_half(self):
        """Means that differ from the observed mean by rounding only count as equal."""
        integers = np.random.default_rng(0).integers(0, 10, 10).astype(float)  # sums are exact
        exact, found = (
            stats.bootstrap_interval(x, method="bca", n_resamples=300)
            for x in (integers, integers / 10)
        )
        assert_allclose([10 * found.low, 10 * found.high], [exact.low, exact.high])

    def test_bootstrap_t_literally(self):
        x = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.2, 0.4, 0.9])
        error, t = x.std(ddof=1) / np.sqrt(12), []
        least = np.sqrt(12) / 16 * error
        for draws in query_counts(12, 300, 4):
            for draw in draws.astype(int):
                y = np.repeat(x, draw)
                t.append((y.mean() - x.mean()) / max(y.std(ddof=1) / np.sqrt(12), least))
        found = stats.bootstrap_interval(x, method="bootstrap-t", n_resamples=300, random_state=4)
        tail = 0.025 * (1 - 2 / 12)
        low, high = np.quantile(t, [tail, 1 - tail])
        assert_allclose([found.low, found.high], [x.mean() - high * error, x.mean() - low * error])
        assert found.high - found.mean > 2 * (found.mean - found.low)  # longer at the long tail

    @pytest.mark.parametrize(("n_queries", "w"), [(4, None), (12, [0.01] * 11 + [1.0])])
    def test_bootstrap_t_of_few_effective_queries_is_that_of_t(self, n_queries, w):
        x = values(n_queries)
        found = stats.bootstrap_interval(x, method="bootstrap-t", weights=w)
        expected = stats.t_interval(x, weights=w)
        assert_allclose([found.low, found.high], [expected.low, expected.high])

    def test_too_few_resamples_for_the_confidence_warn(self):
        with pytest.warns(UserWarning, match="n_resamples=2000") as caught:
            stats.bootstrap_interval(values(), confidence=0.999)
        assert caught[0].filename == __file__
        stats.bootstrap_interval(values(), confidence=0.999, n_resamples=2000)

    @pytest.mark.parametrize("method", ["percentile", "bca", "bootstrap-t"])
    def test_columns_are_independent_and_constants_have_no_width(self, method):
        matrix = values()
        matrix[4, 1] = np.nan
        weights = values(seed=1)
        weights[7, 2] = 0
        found = stats.bootstrap_interval(matrix, weights=weights, method=method)
        for column in range(3):
            alone = stats.bootstrap_interval(
                matrix[:, column], weights=weights[:, column], method=method
            )
            assert_allclose(found.low[column], alone.low)
            assert_allclose(found.high[column], alone.high)
        assert found.n_queries.tolist() == [40, 39, 39]
        assert found.n_dropped.tolist() == [0, 1, 1]
        found = stats.bootstrap_interval(np.full(7, 0.1), method=method)
        assert (found.mean, found.low, found.high) == (0.1, 0.1, 0.1)


def test_t_interval_against_scipy():
    x = values(9, 1)[:, 0]
    found = stats.t_interval(x, confidence=0.9)
    expected = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert_allclose([found.low, found.high], expected, **close)


class TestBoundedInterval:
    @pytest.mark.parametrize("n_ones", [0, 1, 4, 10])
    def test_for_values_0_and_1_it_is_the_interval_of_clopper_and_pearson(self, n_ones):
        values = np.repeat([1.0, 0.0], [n_ones, 10 - n_ones])
        found = stats.bounded_interval(values, n_resamples=200_000)
        exact = scipy.stats.binomtest(n_ones, 10).proportion_ci(method="exact")
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=4e-3)
        assert found.mean == n_ones / 10

    def test_it_holds_where_most_values_are_zero(self, random):
        """For comparison, t intervals cover .79 here, and bootstrap-t intervals .83."""
        values = np.where(random.random((10, 1000)) < 0.8, 0.0, random.random((10, 1000)))
        found = stats.bounded_interval(values, n_resamples=1000)
        assert np.mean((found.low <= 0.1) & (found.high >= 0.1)) > 0.97
        longer = stats.bootstrap_interval(values[:, :200], method="bootstrap-t", n_resamples=500)
        assert np.mean(found.high - found.low) < 0.9 * np.mean(longer.high - longer.low)

    def test_it_is_equivariant_and_widens_with_its_bounds(self, random):
        values = random.random(15)
        found = stats.bounded_interval(values)
        reflected = stats.bounded_interval(1 - values)
        assert (reflected.low, reflected.high) == pytest.approx((1 - found.high, 1 - found.low))
        scaled = stats.bounded_interval(6 * values - 2, bounds=(-2, 4))
        assert (scaled.low, scaled.high) == pytest.approx((6 * found.low - 2, 6 * found.high - 2))
        wider = stats.bounded_interval(values, bounds=(-1, 2))
        assert wider.low < found.low < found.mean < found.high < wider.high
        assert 0 <= found.low < found.high <= 1

    @pytest.mark.parametrize(
        "bounds",
        [(-0.006826779865523179, 1.0461432923049026), (0.05136971011682231, 2.924817391145659)],
    )
    def test_rounding_does_not_move_an_end_beyond_the_mean_or_a_bound(self, bounds):
        found = stats.bounded_interval([bounds[0]] * 2, bounds=bounds)
        assert found.low == found.mean == bounds[0]

    def test_missing_values_are_left_out_by_column(self, random):
        values = random.random((12, 3))
        values[:4, 1] = np.nan
        found = stats.bounded_interval(values)
        alone = stats.bounded_interval(values[4:, 1])
        assert (found.low[1], found.high[1]) == (alone.low, alone.high)
        assert found.n_dropped.tolist() == [0, 4, 0]

    def test_two_queries_suffice(self):
        found = stats.bounded_interval([0.5, 0.5])
        assert 0 < found.low < 0.2
        assert 0.8 < found.high < 1


class TestPower:
    @pytest.mark.parametrize(("effect", "queries"), [(0.2, 199), (0.5, 34), (0.8, 15)])
    def test_queries_needed_as_tabulated(self, effect, queries):
        # G*Power, paired t-test, two tails, alpha .05, power .80
        assert stats.queries_needed(effect, 1) == queries
        assert stats.queries_needed(-3 * effect, 3) == queries
        assert stats.queries_needed(100, 1) == 2
        assert stats.queries_needed(0.001, 1) == pytest.approx(7.849e6, rel=1e-3)

    @pytest.mark.parametrize("n_systems", [2, 3, 10])
    def test_power_of_several_systems_is_the_rejection_rate_of_anova(self, n_systems):
        """The best and the worst system differ by 1; differences have the standard deviation 2."""
        n_queries = stats.queries_needed(1, 2, n_systems=n_systems)
        random, found = np.random.default_rng(0), 0
        means = np.zeros(n_systems)
        means[:2] = -0.5, 0.5
        for _ in range(1000):
            scores = means + random.normal(0, np.sqrt(2), size=(n_queries, n_systems))
            found += stats.two_way_anova(scores).systems.p_value < 0.05
        assert found / 1000 == pytest.approx(0.8, abs=0.04)

    @pytest.mark.parametrize("n_systems", [2, 5])
    def test_width_is_that_of_intervals(self, n_systems):
        n_queries = stats.queries_needed(std=0.3, width=0.2, n_systems=n_systems)
        n_pairs = n_systems * (n_systems - 1) / 2
        z = np.random.default_rng(0).normal(0, 0.3, size=(n_queries, 4000))
        confidence = 1 - 0.05 / n_pairs
        found, shorter = (stats.t_interval(z[:n], confidence=confidence) for n in (n_queries, -1))
        assert np.mean(found.high - found.low) <= 0.2 * 1.001
        assert np.mean(shorter.high - shorter.low) > 0.2 * 0.999
