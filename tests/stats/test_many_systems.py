"""Statistics of many systems: `max_t`, Tukey's test, discriminative power, corrections."""

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats
from tests.helpers.engine import query_counts
from tests.helpers.system_scores import differences, literal_t, scores


def literal_max_t(zs, w, least=0):
    """abs(t) of each pair, for variances of at least `least`.

    Weights do not affect the variance of the differences.
    """
    h = w / w.sum()
    means = np.array(zs) @ h
    variances = np.maximum(np.var(zs, axis=1, ddof=1) * (h**2).sum(), least)
    with np.errstate(divide="ignore"):
        t = np.abs(means) / np.sqrt(np.where(variances < 1e-24, 0, variances))
    return np.where(np.abs(means) > 1e-12, t, 0)


class TestMaxT:
    @pytest.mark.parametrize("n_systems", [2, 3])
    @pytest.mark.parametrize("w", [None, [1.0, 2.0, 1.0, 4.0, 3.0]])
    def test_all_changes_of_signs_and_all_draws(self, n_systems, w):
        x = scores(5, n_systems)
        found = stats.max_t(x, weights=w, n_resamples=2 * 5**5)
        w = np.ones(5) if w is None else np.array(w)
        z = np.array(differences(x))
        shifted = z - z.mean(axis=1, keepdims=True)
        least = 0.1 * z.var(axis=1, ddof=1) * (w**2).sum() / w.sum() ** 2
        draws = map(list, itertools.product(range(5), repeat=5))
        nulls = [
            [literal_max_t(z * signs, w).max() for signs in itertools.product([1, -1], repeat=5)],
            [literal_max_t(shifted[:, draw], w, least).max() for draw in draws],
        ]
        assert_allclose(np.abs(found.statistic), literal_max_t(z, w))
        part = w.sum() ** 2 / (w**2).sum() / 5 / 2
        for t, p in zip(literal_max_t(z, w), found.p_value, strict=True):
            shares = [np.mean(np.array(null) >= t * (1 - 1e-9)) for null in nulls]
            assert p == pytest.approx(np.sqrt((1 - part) * shares[0] ** 2 + part * shares[1] ** 2))

    @pytest.mark.parametrize("other", ["weak", "changed on one query", "identical"])
    def test_other_pairs_do_not_hide_a_clear_difference(self, other):
        random = np.random.default_rng(0)
        old = random.random(50)
        new = old + 0.01 * (random.random(50) < 0.54)  # 27 wins, no losses
        others = {"weak": random.random((50, 2)), "identical": old,
                  "changed on one query": old + 0.5 * (np.arange(50) == 3)}  # fmt: skip
        found = stats.max_t(np.column_stack([new, old, others[other]]))
        assert found.p_value[0] < 0.01
        assert found.high[0] - found.low[0] < 0.01
        if other == "identical":
            assert (found.p_value[-1], found.low[-1], found.high[-1]) == (1, 0, 0)

    def test_intervals_exclude_zero_where_significant(self):
        for confidence in (0.99, 0.7):
            found = stats.max_t(scores(20, 12, rise=0.2), confidence=confidence, n_resamples=999)
            significant = found.p_value < round(1 - confidence, 9)
            assert 0 < significant.sum() < len(significant)
            assert_array_equal((found.low > 0) | (found.high < 0), significant)
            assert_array_equal(np.abs(found.statistic) > found.critical_value, significant)
            half = found.critical_value * found.difference / found.statistic
            assert_allclose(found.low, found.difference - half)
            assert_allclose(found.high, found.difference + half)
        for found in (stats.max_t(scores(), n_resamples=10), stats.max_t(scores(4))):
            # no p-value can be below .05
            assert found.critical_value == found.high.min() == -found.low.max() == np.inf

    @pytest.mark.parametrize(("n_queries", "significant"), [(2, False), (4, False), (6, True)])
    def test_constant_differences_of_few_queries_are_significant_by_their_signs_only(
        self, n_queries, significant
    ):
        x = np.arange(n_queries)[:, None] / 10 + [[0.5, 0.0]]
        found = stats.max_t(x)
        assert (found.p_value[0] < 0.05) == significant
        assert (found.low[0] > 0) == significant
        assert found.high[0] == (found.difference[0] if significant else np.inf)

    def test_the_largest_t_is_taken_over_all_blocks_of_pairs(self):
        x = scores(12, 40)
        found = stats.max_t(x, n_resamples=200)
        assert len(found.pairs) > 512
        assert found.critical_value > stats.max_t(x[:, :3], n_resamples=200).critical_value
        backwards = stats.max_t(x, n_resamples=200, pairs=found.pairs[::-1])
        assert backwards.critical_value == found.critical_value
        assert_array_equal(backwards.p_value[::-1], found.p_value)


class TestTukey:
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

    @pytest.mark.parametrize("n_resamples", [50, 10_000])
    def test_significant_are_differences_above_the_critical_value(self, n_resamples):
        for seed in range(40):
            random = np.random.default_rng(seed)
            x = random.random((random.integers(2, 6), random.integers(2, 5))).round(1)
            found = stats.tukey_hsd(x, n_resamples=n_resamples)
            above = np.abs(found.difference) > found.critical_value
            assert_array_equal(above, found.p_value < 0.05)


def test_tukey_leaves_out_queries_without_all_systems():
    matrix = scores()
    matrix[2, 0] = matrix[4, 1] = np.nan
    found = stats.tukey_hsd(matrix)
    assert_array_equal(found.p_value, stats.tukey_hsd(np.delete(matrix, [2, 4], axis=0)).p_value)
    assert (found.n_queries[0], found.n_dropped[0]) == (28, 2)
    with pytest.raises(ValueError, match="system 0 on query 2"):
        stats.tukey_hsd(matrix, nan="raise")


def literal_required(z, draws, rank):
    """The mean of the resample of shifted differences with the `rank`-th largest absolute t."""
    resamples = [(z - z.mean())[draw] for draw in draws]
    return sorted((abs(literal_t(x)), abs(x.mean())) for x in resamples)[-rank][1]


class TestDiscriminativePower:
    # 0.05 * 50 is 2.5, so the third largest t is taken; 0.07 * 100 is 7.000000000000001
    @pytest.mark.parametrize(
        ("confidence", "n_resamples", "rank"), [(0.95, 200, 10), (0.95, 50, 3), (0.93, 100, 7)]
    )
    def test_required_difference_is_that_of_an_extreme_resample(
        self, confidence, n_resamples, rank
    ):
        matrix, how = scores(30, 5), {"n_resamples": n_resamples, "random_state": 7}
        found = stats.discriminative_power(matrix, confidence=confidence, **how)
        counts = np.concatenate(list(query_counts(30, n_resamples, 7))).astype(int)
        draws = [np.repeat(np.arange(30), count) for count in counts]
        expected = [literal_required(z, draws, rank) for z in differences(matrix)]
        assert_allclose(found.required, expected)
        assert found.required_difference == max(found.required)
        bootstrap = stats.paired_bootstrap(matrix, **how)
        assert_array_equal(found.p_value, bootstrap.p_value)
        assert_array_equal(found.difference, bootstrap.difference)
        assert found.power == np.mean(bootstrap.p_value < round(1 - confidence, 9))
        assert_array_equal(found.asl_curve, np.sort(found.p_value)[::-1])

    def test_few_queries_are_drawn_in_all_ways(self):
        matrix = scores(5, 2)
        found = stats.discriminative_power(matrix, n_resamples=5**5, confidence=0.9)
        draws = list(map(list, itertools.product(range(5), repeat=5)))
        assert_allclose(found.required, literal_required(*differences(matrix), draws, 313))


def test_holm_literally():
    p = np.array([[0.01, 0.04, 0.03], [0.005, 0.5, 0.01]])
    steps = np.maximum.accumulate(np.sort(p.ravel()) * np.arange(6, 0, -1))
    expected = np.minimum(steps, 1)[scipy.stats.rankdata(p.ravel(), "ordinal") - 1]
    assert_allclose(stats.holm(p), expected.reshape(2, 3))
