"""Tests of pairs of systems agree with scipy, with literal definitions and with their levels."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.engine import query_counts
from tests.helpers.system_scores import differences, scores, weights

PAIRED = [
    stats.paired_t, stats.wilcoxon, stats.sign_test, stats.randomisation_test,
    stats.paired_bootstrap, stats.max_t,
]  # fmt: skip
each_paired = pytest.mark.parametrize("test", PAIRED)
each_test = pytest.mark.parametrize("test", [*PAIRED, stats.tukey_hsd])


def literal_t(z):
    """Student's t, with the rules for constants; sizes below 1e-12 are rounding."""
    if abs(np.mean(z)) < 1e-12:
        return 0.0
    if np.ptp(z) < 1e-12:
        return np.inf * np.sign(z[0])
    return np.mean(z) / (np.std(z, ddof=1) / np.sqrt(len(z)))


def literal_weighted_t(z, w, hc2=0.5):
    """The weighted mean over its standard error, with the share `hc2` of the variance HC2."""
    h = w / w.sum()
    mean = h @ z
    # variance of the deviation of each query from the weighted mean, if z has the variance 1
    factors = [sum(((i == j) - h[j]) ** 2 for j in range(len(h))) for i in range(len(h))]
    corrected = sum(h[i] ** 2 * (z[i] - mean) ** 2 / factors[i] for i in range(len(h)))
    unweighted = (h**2).sum() * np.var(z, ddof=1)
    return mean / np.sqrt(hc2 * corrected + (1 - hc2) * unweighted)


class TestValues:
    def test_paired_t_is_that_of_scipy(self):
        matrix = scores()
        found = stats.paired_t(matrix)
        expected = [scipy.stats.ttest_1samp(z, 0) for z in differences(matrix)]
        assert_allclose(found.statistic, [one.statistic for one in expected])
        assert_allclose(found.p_value, [one.pvalue for one in expected])
        assert_allclose(found.difference, [z.mean() for z in differences(matrix)])

    def test_weighted_t(self):
        x, w = scores(20, 3), weights()
        found = stats.paired_t(x, weights=w)
        expected = [literal_weighted_t(z, w) for z in differences(x)]
        assert_allclose(found.statistic, expected, rtol=1e-12)
        assert_allclose(found.p_value, 2 * scipy.stats.t.sf(np.abs(expected), 19), rtol=1e-12)

    @pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
    @pytest.mark.parametrize("n_queries", [8, 20, 60])
    @pytest.mark.parametrize("digits", [1, 16])
    def test_wilcoxon_is_that_of_scipy(self, zeros, n_queries, digits):
        matrix = scores(n_queries, n_systems=5).round(digits)
        matrix[:, 4] = scores(n_queries, seed=1)[:, 0]  # one system without ties
        found = stats.wilcoxon(matrix, zeros=zeros)
        # scipy ranks rounding errors, which breaks ties: round the differences first
        expected = [
            scipy.stats.wilcoxon(z.round(12), zero_method=zeros) for z in differences(matrix)
        ]
        assert_allclose(found.statistic, [one.statistic for one in expected])
        assert_allclose(found.p_value, [one.pvalue for one in expected])

    def test_sign_test_is_binomial(self):
        x = np.random.default_rng(0).integers(0, 4, size=(40, 6)).astype(float)
        found = stats.sign_test(x)
        wins = [int((z > 0).sum()) for z in differences(x)]
        counted = [np.count_nonzero(z) for z in differences(x)]
        assert_array_equal(found.statistic, wins)
        expected = [scipy.stats.binomtest(*one).pvalue for one in zip(wins, counted, strict=True)]
        assert_allclose(found.p_value, expected, rtol=1e-10)

    @pytest.mark.parametrize("digits", [1, 16])
    @pytest.mark.parametrize("w", [None, weights(8)])
    def test_few_queries_have_all_changes_of_signs(self, digits, w):
        x = scores(8, 3).round(digits)
        sizes = {
            stats.randomisation_test: np.abs,
            stats.wilcoxon: lambda z: scipy.stats.rankdata(np.abs(z)) - np.count_nonzero(z == 0),
            stats.sign_test: np.ones_like,
        }
        for test, size in sizes.items():
            expected = []
            for z in differences(x):
                z = z.round(12)
                signed = np.sign(z) * size(z) * (1 if w is None else w)
                sums = [abs(np.dot(s, signed)) for s in itertools.product([1, -1], repeat=8)]
                expected.append(np.mean(np.array(sums) >= abs(signed.sum()) - 1e-12))
            assert_allclose(test(x, weights=w).p_value, expected)

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
        observed, at_least = literal_weighted_t(z, w, hc2=1) ** 2, 0
        for draw in map(list, itertools.product(range(4), repeat=4)):
            if len(set(draw)) > 1:
                t = literal_weighted_t(shifted[draw], w[draw], hc2=1)
                at_least += t**2 >= observed - 1e-9
            else:
                at_least += shifted[draw[0]] != 0
        assert_allclose(stats.paired_bootstrap(x, weights=w).p_value, at_least / 4**4)

    def test_random_flips_come_near_all_flips(self):
        matrix = scores(12)
        exact = stats.randomisation_test(matrix, n_resamples=2**12).p_value
        some = stats.randomisation_test(matrix, n_resamples=2**12 - 1).p_value
        assert_allclose(some, exact, atol=0.03)
        assert not np.array_equal(some, exact)

    def test_the_data_count_as_an_assignment(self):
        z = 1 + np.linspace(0, 1, 40)
        found = stats.randomisation_test(np.column_stack([z, 0 * z]), n_resamples=999)
        assert found.p_value[0] == 1 / 1000


@pytest.mark.parametrize(
    ("test", "how", "low", "high"),
    [
        (stats.paired_bootstrap, {}, 0.035, 0.08),
        *((test, {"weights": np.random.default_rng(0).lognormal(0, 0.7, 25)}, 0.038, 0.062)
          for test in (stats.paired_t, stats.sign_test, stats.wilcoxon)),
    ],
)  # fmt: skip
def test_five_percent_of_p_values_are_below_the_level_if_systems_are_equal(test, how, low, high):
    matrix = np.random.default_rng(0).normal(size=(25, 4000))
    found = test(matrix, pairs=np.arange(4000).reshape(-1, 2), **how)
    assert low < np.mean(found.p_value < 0.05) < high


@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("n_queries", [10, 50])
def test_levels_and_coverage_under_uneven_weights(sigma, n_queries):
    random = np.random.default_rng(0)
    found = []
    for _ in range(150):
        w = np.exp(sigma * random.normal(size=n_queries))
        x = random.normal(size=(n_queries, 40))
        p = stats.paired_t(x, pairs=np.arange(40).reshape(-1, 2), weights=w).p_value
        interval = stats.t_interval(x[:, :20], weights=w)
        held = (interval.low <= 0) & (interval.high >= 0)
        found.append((np.mean(p < 0.05), 1 - held.mean()))
    assert ((np.mean(found, axis=0) > 0.03) & (np.mean(found, axis=0) < 0.07)).all()


class TestConstantDifferences:
    def test_all_the_same_up_to_rounding(self):
        one = scores(n_systems=1)
        shifted = np.hstack([one + 0.1, one])
        assert np.ptp(shifted[:, 0] - shifted[:, 1]) > 0
        for test in (stats.paired_t, stats.paired_bootstrap):
            found = test(shifted)
            assert (found.statistic, found.p_value) == (np.inf, 0)

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
        every, found = test(matrix).to_matrix(), test(matrix, pairs=1)
        assert found.pairs[:3].tolist() == [[0, 1], [2, 1], [3, 1]]
        assert_allclose(found.p_value, np.delete(every[:, 1], 1), rtol=1e-12)
        assert_allclose(found.difference, np.delete((matrix - matrix[:, [1]]).mean(axis=0), 1))
        chosen = test(matrix, pairs=[(3, 0), (1, 2)])
        assert_allclose(chosen.p_value, every[[3, 1], [0, 2]], rtol=1e-12)

    def test_matrix(self):
        found = stats.paired_t(scores(), pairs=0).to_matrix()
        assert found.shape == (4, 4)
        assert np.isnan(found[1:, 1:]).all()
        assert_array_equal(found, found.T)

    @pytest.mark.parametrize("test", [stats.randomisation_test, stats.paired_bootstrap])
    def test_seeds(self, test):
        matrix = scores()
        first = test(matrix, random_state=1).p_value
        assert_array_equal(first, test(matrix, random_state=1).p_value)
        assert not np.array_equal(first, test(matrix, random_state=2).p_value)
        for make in (np.random.default_rng, np.random.RandomState):
            drawn = test(matrix, random_state=make(5)).p_value
            assert_array_equal(drawn, test(matrix, random_state=make(5)).p_value)
        assert test(matrix, random_state=None).p_value.shape == first.shape

    @pytest.mark.parametrize("test", PAIRED[:-1])
    def test_queries_without_a_value_are_left_out_of_the_pair(self, test):
        matrix = scores(40)
        matrix[:3, 0] = np.nan
        matrix[[2, 5], 1] = np.nan
        found = test(matrix)
        assert found.n_queries.tolist() == [36, 37, 37, 38, 38, 40]
        assert found.n_dropped.tolist() == [4, 3, 3, 2, 2, 0]
        for (a, b), difference, p in zip(found.pairs, found.difference, found.p_value, strict=True):
            pair = matrix[:, [a, b]]
            alone = test(pair[~np.isnan(pair).any(axis=1)])
            assert_allclose([difference, p], [alone.difference[0], alone.p_value[0]])


NO_VALUES = np.array([[0.1, 0.2, np.nan], [0.2, np.nan, 0.3], [0.3, 0.4, 0.5]])


@each_paired
@pytest.mark.parametrize(
    ("matrix", "how", "message"),
    [
        ([1.0, 2.0], {}, r"shape \(2,\).*numpy.column_stack"),
        (np.zeros((2, 1)), {}, r"1 system \(column\).*at least 2"),
        (np.zeros((1, 2)), {}, r"1 query \(row\).*at least 2"),
        ([[0.0, np.inf], [0.0, 1.0]], {}, r"system 1 on query 0 is inf"),
        ([[1, 1e200], [1, 2]], {}, r"system 1 on query 0 is 1e\+200.*divide all scores"),
        ([["a", "b"], ["c", "d"]], {}, "must be numbers"),
        (NO_VALUES, {"nan": "raise"}, r"system 2 on query 0 is nan.*nan=\"drop\""),
        (NO_VALUES, {}, r"systems 1 and 2 both have a value on 1 query"),
        (NO_VALUES, {"nan": "ignore"}, r"nan='ignore' is not a choice"),
        (scores(), {"pairs": 4}, r"outside 0\.\.3"),
        (scores(), {"pairs": [(0, -1)]}, r"outside 0\.\.3"),
        (scores(), {"pairs": "first"}, "number of one column"),
        (scores(), {"pairs": [0, 1]}, r"shape \(n_pairs, 2\)"),
        (scores(), {"pairs": np.empty((0, 2), int)}, "at least one pair"),
        # weights that are negligible beside other weights count as 0
        ([[1, 2], [2, 3], [4, 1]], {"weights": [1e300, 1, 1]}, "comparison needs at least 2"),
    ],
)
def test_wrong_scores_and_pairs(test, matrix, how, message):
    with pytest.raises(ValueError, match=message):
        test(matrix, **how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_resamples": 0}, "n_resamples=0 must be at least 1"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
        ({"random_state": "x"}, "random_state='x' is not a seed"),
    ],
)
@pytest.mark.parametrize(
    "test", [*PAIRED[3:], stats.tukey_hsd, stats.discriminative_power, stats.bootstrap_interval]
)
def test_wrong_draws(test, how, message):
    with pytest.raises(ValueError, match=message):
        test(scores(), **how)


# Weights ------------------------------------------------------------------------------------------

MEASURES = {
    **{test.__name__: lambda x, t=test, **how: t(x, **how).p_value
       for test in (*PAIRED, stats.tukey_hsd)},
    "equivalence_test": lambda x, **how: stats.equivalence_test(x, 0.05, **how).p_value,
    "paired_effects": lambda x, **how: (found := stats.paired_effects(x, **how)).low + found.g_low,
    "discriminative_power": lambda x, **how: stats.discriminative_power(x, **how).required,
    "bayesian_t": lambda x, **how: stats.bayesian_comparison(x, 0.01, **how).better,
    "bayesian_signed_rank": lambda x, **how: (
        stats.bayesian_comparison(x, 0.01, method="signed-rank", n_samples=200, **how).better
    ),
    "two_way_anova": lambda x, **how: stats.two_way_anova(x, **how).systems,
    "t_interval": lambda x, **how: stats.t_interval(x, **how).low,
    "bootstrap_t": lambda x, **how: stats.bootstrap_interval(x, method="bootstrap-t", **how).low,
}  # fmt: skip
# Methods that change with weights: from exact to approximate, or to other random numbers.
OTHER_METHODS = {"wilcoxon", "sign_test", "bayesian_signed_rank"}


@pytest.mark.parametrize("name", MEASURES)
class TestWeights:
    def test_equal_weights_change_nothing(self, name):
        x = scores(20, 3)
        assert_array_equal(MEASURES[name](x, weights=np.full(20, 3.0)), MEASURES[name](x))

    @pytest.mark.parametrize("n_queries", [5, 20])
    def test_nearly_equal_weights_give_nearly_equal_results(self, name, n_queries):
        if name not in OTHER_METHODS:
            x, nearly = scores(n_queries, 3), np.append(np.ones(n_queries - 1), 1 + 1e-13)
            assert_allclose(MEASURES[name](x, weights=nearly), MEASURES[name](x), rtol=1e-9)

    def test_a_weight_of_zero_leaves_a_query_out(self, name):
        x, w = scores(12, 3), weights(12)
        w[[2, 7]] = 0
        found, kept = MEASURES[name](x, weights=w), w > 0
        assert_allclose(found, MEASURES[name](x[kept], weights=w[kept]), rtol=1e-12)

    def test_the_scale_of_weights_does_not_matter(self, name):
        x, w = scores(20, 3), weights()
        found = MEASURES[name](x, weights=w / 7)
        assert_allclose(found, MEASURES[name](x, weights=w), rtol=1e-12)

    @pytest.mark.parametrize(
        ("w", "message"),
        [
            ([1.0, 2.0], r"weights has shape \(2,\)"),
            (np.full(20, -1.0), "eights? of query 0"),
            (np.append(np.ones(19), np.nan), "eights? of query 19"),
            (["a"] * 20, "must be numbers"),
            (pd.Series(weights()).iloc[::-1], "same labels in another order"),
        ],
    )
    def test_wrong_weights(self, name, w, message):
        with pytest.raises(ValueError, match=message):
            MEASURES[name](pd.DataFrame(scores(20, 3)), weights=w)
