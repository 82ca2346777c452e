"""Agreement of rankings and of assessors: published values and literal definitions."""

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from skrank import stats

NAN = np.nan
# data of the README of ircor (J. Urbano), the R package of the paper on ties in AP correlation
X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
# R rounds halves to even, as numpy does
X_TIES, Y_TIES = np.round(X * 5) / 5, np.round(Y * 5) / 5


def rankings(seed, n, levels=None):
    random = np.random.default_rng(seed)
    return random.random((2, n)) if levels is None else random.integers(levels, size=(2, n)) * 1.0


def orders(scores):
    """Scores without ties, for every order of each group of ties."""
    groups = [np.flatnonzero(scores == value) for value in np.unique(scores)]
    for order in itertools.product(*map(itertools.permutations, groups)):
        untied = np.empty(len(scores))
        untied[list(itertools.chain(*order))] = np.arange(len(scores))
        yield untied


def literal_tau_ap(truth, estimate):
    ranked = truth[np.argsort(-estimate)]
    return 2 * np.mean([np.mean(ranked[:i] > ranked[i]) for i in range(1, len(ranked))]) - 1


def literal_overlap(x, y, p, depth):
    """Rank-biased overlap of two lists up to a depth."""
    shares = [len({*x[:d]} & {*y[:d]}) / d for d in range(1, depth + 1)]
    return sum((1 - p) * p**d * share for d, share in enumerate(shares))


def literal_rbo(x, y, p):
    return literal_overlap(np.argsort(-x), np.argsort(-y), p, len(x)) + p ** len(x)


def test_values_of_ircor():
    assert stats.kendall_tau(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert stats.tau_ap(X, Y) == pytest.approx(0.7491182, abs=5e-8)
    assert stats.tau_ap(X, Y_TIES) == pytest.approx(0.6074515, abs=5e-8)
    assert stats.kendall_tau(X, Y_TIES) == pytest.approx(0.7111111, abs=5e-8)
    assert stats.tau_b(X_TIES, Y_TIES) == pytest.approx(0.75)
    assert stats.tau_ap(X_TIES, Y_TIES, ties="b") == pytest.approx(0.6269841, abs=5e-8)


@pytest.mark.parametrize("levels", [None, 4])
def test_kendall_tau_literally_and_tau_b_against_scipy(levels):
    x, y = rankings(0, 30, levels)
    assert_allclose(stats.tau_b(x, y), scipy.stats.kendalltau(x, y).statistic)
    pairs = itertools.combinations(range(30), 2)
    signs = [np.sign((x[i] - x[j]) * (y[i] - y[j])) for i, j in pairs]
    assert_allclose(stats.kendall_tau(x, y), np.mean(signs))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [None, 3])
def test_tau_ap_is_the_mean_over_orders_of_ties(seed, levels):
    x, y = rankings(seed, 7)[0], rankings(seed, 7, levels)[1]
    forward = np.mean([literal_tau_ap(x, order) for order in orders(y)])
    assert_allclose(stats.tau_ap(x, y), forward, atol=1e-12)
    if levels is None:
        both = (forward + literal_tau_ap(y, x)) / 2
        assert_allclose(stats.tau_ap(x, y, symmetric=True), both)
        assert_allclose(stats.tau_ap(x, y, ties="b"), both)


class TestRankBiasedOverlap:
    @pytest.mark.parametrize("ties", ["a", "b", "w"])
    @pytest.mark.parametrize("p", [0.5, 0.9])
    def test_without_ties(self, ties, p):
        x, y = rankings(0, 12)
        assert_allclose(stats.rank_biased_overlap(x, y, p=p, ties=ties), literal_rbo(x, y, p))
        assert_allclose(stats.rank_biased_overlap(x, x, p=p, ties=ties), 1)

    @pytest.mark.parametrize("seed", range(3))
    def test_a_is_the_mean_over_orders(self, seed):
        x, y = rankings(seed, 6, levels=3)
        expected = np.mean([literal_rbo(a, b, 0.8) for a in orders(x) for b in orders(y)])
        assert_allclose(stats.rank_biased_overlap(x, y, p=0.8), expected)

    def test_w_counts_ties_from_their_first_rank(self):
        # {a, c} b d against a {b, c} d: the agreement is 2/3, 4/5, and then 1
        x, y = [3, 2, 3, 1], [3, 2, 2, 1]
        expected = 0.1 * (2 / 3 + 0.9 * 4 / 5) + 0.81
        assert_allclose(stats.rank_biased_overlap(x, y, ties="w"), expected)

    def test_a_ranking_with_ties_against_itself(self):
        x = rankings(0, 8, levels=3)[0]
        assert stats.rank_biased_overlap(x, x, ties="a") < 1
        for ties in "bw":
            assert_allclose(stats.rank_biased_overlap(x, x, ties=ties), 1)


def continued(x, y, depth):
    """Each list, followed by the missing items of the other list and then by common new items."""
    x, y = ([*a, *(item for item in b if item not in a)] for a, b in ((x, y), (y, x)))
    new = [("new", i) for i in range(depth - len(x))]
    return x + new, y + new


class TestListOverlap:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("p", [0.5, 0.9])
    def test_bounds_are_the_least_and_the_greatest_value(self, seed, p):
        random = np.random.default_rng(seed)
        x, y = (random.permutation(12)[: random.integers(1, 9)].tolist() for _ in range(2))
        found = stats.list_overlap(x, y, p=p)
        assert_allclose(found.lower, literal_overlap(x, y, p, 400), atol=1e-12)
        greatest = literal_overlap(*continued(x, y, 400), p, 400)
        assert_allclose(found.lower + found.residual, greatest, atol=1e-12)
        assert found.lower - 1e-12 <= found.extrapolated <= greatest + 1e-12
        swapped = stats.list_overlap(y, x, p=p)
        assert_allclose(swapped.extrapolated, found.extrapolated)

    def test_extrapolation_of_uneven_lists(self):
        """The expected value is of the Python package rbo 0.1.3."""
        found = stats.list_overlap(["a", "b", "c", "d"], ["b", "a", "e"])
        assert_allclose(found.extrapolated, 0.63, rtol=1e-12)


class TestRankCorrelation:
    @pytest.mark.parametrize("levels", [None, 5])
    def test_scipy(self, levels):
        x, y = rankings(0, 15, levels)
        expected = scipy.stats.kendalltau(x, y)
        found = stats.rank_correlation(x, y)
        assert_allclose([found.value, found.p_value], expected, rtol=1e-10, atol=0)
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

    @pytest.mark.parametrize("method", ["tau", "tau_b", "tau_ap"])
    def test_scores_per_query_give_an_interval_over_queries(self, method):
        random = np.random.default_rng(1)
        both = np.linspace(0, 1, 12) + random.normal(size=(2, 40, 12))
        found = stats.rank_correlation(*both, method=method)
        one = stats.rank_correlation(*both.mean(axis=1), method=method)
        assert (found.value, found.p_value) == (one.value, one.p_value)
        measure = {"tau": stats.kendall_tau, "tau_b": stats.tau_b}.get(
            method, lambda a, b: stats.tau_ap(a, b, ties="b")
        )
        draws = random.integers(40, size=(1000, 40))
        literal = [measure(*both[:, draw].mean(axis=1)) for draw in draws]
        low, high = np.quantile(literal, [0.025, 0.975])
        assert found.low == pytest.approx(low, abs=0.04)
        assert found.high == pytest.approx(max(high, 2 * found.value - low), abs=0.04)
        both[0, 3, 5] = np.nan
        less = stats.rank_correlation(*both, method=method)
        kept = stats.rank_correlation(*np.delete(both, 3, axis=1), method=method)
        assert (less.low, less.high, less.n_queries) == (kept.low, kept.high, 39)

    @pytest.mark.parametrize("method", ["tau", "tau_b", "tau_ap"])
    def test_full_agreement_is_not_certain(self, method):
        x = np.arange(10.0)
        found = stats.rank_correlation(x, x, method=method)
        assert found.low < 0.8 < found.high == 1
        per_query = x + np.zeros((5, 1))  # all draws of queries give the correlation 1
        again = stats.rank_correlation(per_query, per_query, method=method)
        assert (again.low, again.high) == (found.low, 1)

    def test_p_value_of_tau_ap_is_that_of_all_orders(self):
        x, y = np.arange(5.0), np.array([1.0, 0, 2, 3, 4])
        found = stats.rank_correlation(x, y, method="tau_ap")
        assert found.value == pytest.approx(stats.tau_ap(x, y, symmetric=True))
        every = [stats.tau_ap(x, np.array(o), ties="b") for o in itertools.permutations(y)]
        assert found.p_value == 2 * np.mean(np.array(every) >= found.value - 1e-12)
        samples = np.random.default_rng(0).normal(size=(100, 2, 8))
        how = {"method": "tau_ap", "n_resamples": 99}
        p = [stats.rank_correlation(*one, **how).p_value for one in samples]
        assert 0.35 < np.mean(p) < 0.65
        assert min(p) >= 2 / 100

    def test_defined(self):
        assert stats.kendall_tau([1, 1, 1], [1, 2, 3]) == 0
        assert np.isnan(stats.tau_ap([1, 1, 1], [1, 2, 3], ties="b"))
        tied = stats.rank_correlation([1, 1, 1], [1, 2, 3])
        assert np.isnan([tied.value, tied.p_value, tied.low, tied.high]).all()
        two = stats.rank_correlation([1, 2], [1, 2])
        assert (two.value, two.low, two.high) == (1, -1, 1)
