"""Tests of pairs of systems agree with scipy, with literal definitions and with their levels."""

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.engine import query_counts

TESTS = [stats.paired_t, stats.wilcoxon, stats.randomisation_test, stats.paired_bootstrap]
anyone = pytest.mark.parametrize("test", TESTS)


def scores(n_queries=30, n_systems=4, seed=0):
    """Scores with strong effects of queries and weak effects of systems."""
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, 0.1, n_systems)


def each_pair(matrix):
    return [a - b for a, b in itertools.combinations(matrix.T, 2)]


def literal_t(z):
    """Student's t, with the rules for constants; sizes below 1e-12 are rounding."""
    if abs(np.mean(z)) < 1e-12:
        return 0.0
    if np.ptp(z) < 1e-12:
        return np.inf * np.sign(z[0])
    return np.mean(z) / (np.std(z, ddof=1) / np.sqrt(len(z)))


def literal_asl(z, n_resamples, seed):
    """Sakai's algorithm, one draw of queries at a time."""
    shifted = z - np.mean(z)
    count = 0
    for draws in query_counts(len(z), n_resamples, seed):
        for draw in draws.astype(int):
            count += abs(literal_t(np.repeat(shifted, draw))) >= abs(literal_t(z)) * (1 - 1e-9)
    return count / n_resamples


class TestAgainstScipy:
    def test_paired_t(self):
        matrix = scores()
        found = stats.paired_t(matrix)
        expected = [scipy.stats.ttest_1samp(z, 0) for z in each_pair(matrix)]
        assert_allclose(found.statistic, [one.statistic for one in expected])
        assert_allclose(found.p_value, [one.pvalue for one in expected])
        assert_allclose(found.difference, [z.mean() for z in each_pair(matrix)])

    @pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
    @pytest.mark.parametrize("n_queries", [8, 20, 60])
    @pytest.mark.parametrize("digits", [1, 16])
    def test_wilcoxon(self, zeros, n_queries, digits):
        matrix = scores(n_queries, n_systems=5).round(digits)
        matrix[:, 4] = scores(n_queries, seed=1)[:, 0]  # one system without ties
        found = stats.wilcoxon(matrix, zeros=zeros)
        for z, statistic, p in zip(each_pair(matrix), found.statistic, found.p_value, strict=True):
            # scipy ranks rounding errors, which breaks ties: round the differences first
            expected = scipy.stats.wilcoxon(z.round(12), zero_method=zeros)
            assert_allclose([statistic, p], [expected.statistic, expected.pvalue])

    @pytest.mark.parametrize("n_queries", [7, 12])
    def test_randomisation_is_exact_for_few_queries(self, n_queries):
        matrix = scores(n_queries)
        found = stats.randomisation_test(matrix)
        for z, p in zip(each_pair(matrix), found.p_value, strict=True):
            expected = scipy.stats.permutation_test(
                (z,), np.mean, permutation_type="samples", n_resamples=np.inf
            )
            assert_allclose(p, expected.pvalue)

    @pytest.mark.parametrize("outlier", [False, True])
    def test_bootstrap_of_two_systems(self, outlier):
        """With an outlier, the p-value of the bootstrap differs from that of Student's t."""
        random = np.random.default_rng(0)
        matrix = random.beta(1, 4, size=(25, 2)) + np.array([0.06, 0])
        if outlier:
            z = 0.03 + 0.04 * random.normal(size=30)
            z[0] = 0.5
            matrix = np.column_stack([z, np.zeros(30)])
        (z,) = each_pair(matrix)

        def t(z, axis):
            return np.abs(scipy.stats.ttest_1samp(z, 0, axis=axis).statistic)

        expected = scipy.stats.monte_carlo_test(
            z,
            rvs=lambda size: random.choice(z - z.mean(), size),
            statistic=t,
            n_resamples=20_000,
            alternative="greater",
        )
        found = stats.paired_bootstrap(matrix, n_resamples=20_000).p_value[0]
        assert 0.02 < found < 0.5
        assert (found > stats.paired_t(matrix).p_value[0] + 0.05) == outlier
        assert found == pytest.approx(expected.pvalue, abs=0.012)


class TestLiterally:
    @pytest.mark.parametrize("digits", [1, 16])
    def test_bootstrap(self, digits):
        matrix = scores(6, 5).round(digits)
        found = stats.paired_bootstrap(matrix, n_resamples=300, random_state=3)
        expected = [literal_asl(z.round(digits), 300, 3) for z in each_pair(matrix)]
        assert_array_equal(found.p_value, expected)

    def test_exact_randomisation(self):
        matrix = scores(6, 3).round(1)
        found = stats.randomisation_test(matrix, n_resamples=64)
        for z, p in zip(each_pair(matrix), found.p_value, strict=True):
            sums = [abs(np.dot(s, z)) for s in itertools.product([1, -1], repeat=6)]
            assert p == np.mean(np.array(sums) >= abs(z.sum()) - 1e-12)

    def test_random_flips_come_near_all_flips(self):
        matrix = scores(12)
        exact = stats.randomisation_test(matrix, n_resamples=2**12).p_value
        some = stats.randomisation_test(matrix, n_resamples=2**12 - 1).p_value
        assert_allclose(some, exact, atol=0.03)
        assert not np.array_equal(some, exact)

    def test_the_data_count_as_an_assignment(self):
        z = np.ones((40, 1)) + np.linspace(0, 1, 40)[:, None]
        found = stats.randomisation_test(np.hstack([z, 0 * z]), n_resamples=999)
        assert found.p_value[0] == 1 / 1000


class TestLevels:
    """If the systems do not differ, about 5 % of p-values are below .05."""

    @pytest.mark.parametrize(
        ("test", "low", "high"),
        [
            (stats.paired_t, 0.035, 0.065),
            (stats.wilcoxon, 0.035, 0.065),
            (stats.randomisation_test, 0.035, 0.065),
            (stats.paired_bootstrap, 0.035, 0.08),
        ],
    )
    def test_null(self, test, low, high):
        matrix = np.random.default_rng(0).normal(size=(25, 4000))
        how = {} if test in (stats.paired_t, stats.wilcoxon) else {"n_resamples": 1000}
        found = test(matrix, pairs=np.arange(4000).reshape(-1, 2), **how)
        assert low < np.mean(found.p_value < 0.05) < high

    def test_bootstrap_is_near_t_on_many_queries(self):
        matrix = scores(400, 6, seed=2)
        found = stats.paired_bootstrap(matrix, n_resamples=20_000).p_value
        assert_allclose(found, stats.paired_t(matrix).p_value, atol=0.01)


class TestConstantDifferences:
    def test_all_the_same(self):
        one = scores(n_systems=1)
        shifted = np.hstack([one + 0.1, one])  # constant up to rounding
        assert np.ptp(shifted[:, 0] - shifted[:, 1]) > 0
        t = stats.paired_t(shifted)
        assert t.statistic == np.inf
        assert t.p_value == 0
        bootstrap = stats.paired_bootstrap(shifted)
        assert bootstrap.statistic == np.inf
        assert bootstrap.p_value == 0

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


class TestPairs:
    @anyone
    def test_baseline(self, test):
        matrix = scores()
        all_pairs, found = test(matrix), test(matrix, pairs=1)
        assert found.pairs.tolist() == [[0, 1], [2, 1], [3, 1]]
        assert_allclose(found.p_value, all_pairs.to_matrix()[[0, 2, 3], 1])
        assert_allclose(found.difference, (matrix - matrix[:, [1]]).mean(axis=0)[[0, 2, 3]])

    @anyone
    def test_chosen_pairs(self, test):
        matrix = scores()
        found = test(matrix, pairs=[(3, 0), (1, 2)])
        assert_allclose(found.p_value, test(matrix).to_matrix()[[3, 1], [0, 2]])

    @anyone
    def test_does_not_depend_on_the_other_pairs(self, test):
        matrix = scores(n_systems=60)
        assert_allclose(test(matrix).p_value[0], test(matrix[:, :2]).p_value[0], rtol=1e-12)

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


class TestMissing:
    @anyone
    def test_drops_queries_of_the_pair(self, test):
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

    @anyone
    def test_errors(self, test):
        matrix = scores(3)
        matrix[0, 2] = np.nan
        with pytest.raises(ValueError, match=r"system 2 on query 0 is nan.*nan=\"drop\""):
            test(matrix, nan="raise")
        matrix[1, 1] = np.nan
        with pytest.raises(ValueError, match=r"systems 1 and 2 both have a value on 1 query"):
            test(matrix)
        with pytest.raises(ValueError, match=r"nan='ignore' is not a choice"):
            test(matrix, nan="ignore")


@anyone
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([1.0, 2.0], r"shape \(2,\).*numpy.column_stack"),
        (np.zeros((2, 1)), r"1 system \(column\).*at least 2"),
        ([[0.0, np.inf], [0.0, 1.0]], r"system 1 on query 0 is inf"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
    ],
)
def test_wrong_scores(test, matrix, message):
    with pytest.raises(ValueError, match=message):
        test(matrix)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"pairs": 4}, r"outside 0\.\.3"),
        ({"pairs": [(0, -1)]}, r"outside 0\.\.3"),
        ({"pairs": "first"}, "number of one column"),
        ({"pairs": [0, 1]}, r"shape \(n_pairs, 2\)"),
        ({"pairs": np.empty((0, 2), int)}, "at least one pair"),
        ({"n_resamples": 0}, "n_resamples=0 must be at least 1"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
        ({"random_state": "x"}, "random_state='x' is not a seed"),
    ],
)
def test_wrong_parameters(how, message):
    with pytest.raises(ValueError, match=message):
        stats.randomisation_test(scores(), **how)


def test_effects():
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


def test_interval_and_test_agree():
    matrix = scores(n_systems=40)
    found = stats.paired_effects(matrix)
    significant = stats.paired_t(matrix).p_value < 0.05
    assert 0.1 < significant.mean() < 0.9
    assert_array_equal((found.low > 0) | (found.high < 0), significant)


def test_effects_of_constant_differences():
    one = scores(n_systems=1)
    found = stats.paired_effects(np.hstack([one, one + 0.1, one]))
    assert found.cohen_d.tolist() == [-np.inf, 0.0, np.inf]
    assert found.wins.tolist() == [0, 0, 30]
    assert found.ties.tolist() == [0, 30, 0]
