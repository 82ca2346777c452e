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


def test_ties_of_all_systems():
    assert stats.kendall_tau([1, 1, 1], [1, 2, 3]) == 0
    assert np.isnan(stats.tau_ap([1, 1, 1], [1, 2, 3], ties="b"))
