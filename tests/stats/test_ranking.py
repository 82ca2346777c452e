"""Correlations of rankings: published values and literal definitions."""

import itertools

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from skrank import stats

# data of the README of ircor (J. Urbano), the R package of the paper on ties in AP correlation
X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
# R rounds halves to even, as numpy does
X_TIES, Y_TIES = np.round(X * 5) / 5, np.round(Y * 5) / 5


def rankings(seed, n, levels=None):
    random = np.random.default_rng(seed)
    if levels is None:
        return random.random((2, n))
    return random.integers(levels, size=(2, n)).astype(float)


def orders(scores):
    """Scores without ties, for every order of each group of ties."""
    groups = [np.flatnonzero(scores == value) for value in np.unique(scores)]
    for order in itertools.product(*map(itertools.permutations, groups)):
        untied = np.empty(len(scores))
        untied[list(itertools.chain(*order))] = np.arange(len(scores))
        yield untied


def literal_tau_ap(truth, estimate):
    order = np.argsort(-estimate)
    total = sum(
        sum(truth[order[j]] > truth[order[i]] for j in range(i)) / i for i in range(1, len(order))
    )
    return 2 * total / (len(order) - 1) - 1


def literal_rbo(x, y, p):
    n = len(x)
    first, second = np.argsort(-x), np.argsort(-y)
    share = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, n + 1)]
    return sum((1 - p) * p**d * share[d] for d in range(n)) + p**n


class TestPublished:
    def test_ircor(self):
        assert stats.kendall_tau(X, Y) == pytest.approx(0.7777778, abs=5e-8)
        assert stats.tau_ap(X, Y) == pytest.approx(0.7491182, abs=5e-8)
        assert stats.tau_ap(X, Y_TIES) == pytest.approx(0.6074515, abs=5e-8)
        assert stats.kendall_tau(X, Y_TIES) == pytest.approx(0.7111111, abs=5e-8)
        assert stats.tau_b(X_TIES, Y_TIES) == pytest.approx(0.75)
        assert stats.tau_ap(X_TIES, Y_TIES, ties="b") == pytest.approx(0.6269841, abs=5e-8)


class TestKendall:
    @pytest.mark.parametrize("levels", [None, 4])
    def test_against_scipy(self, levels):
        x, y = rankings(0, 30, levels)
        assert_allclose(stats.tau_b(x, y), scipy.stats.kendalltau(x, y).statistic)
        pairs = list(itertools.combinations(range(30), 2))
        signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in pairs]
        assert_allclose(stats.kendall_tau(x, y), np.mean(signs))

    def test_of_one_group_of_ties(self):
        assert stats.kendall_tau([1, 1, 1], [1, 2, 3]) == 0
        assert np.isnan(stats.tau_b([1, 1, 1], [1, 2, 3]))
        assert np.isnan(stats.tau_ap([1, 1, 1], [1, 2, 3], ties="b"))


class TestTauAP:
    @pytest.mark.parametrize("seed", range(5))
    def test_without_ties(self, seed):
        x, y = rankings(seed, 9)
        expected = literal_tau_ap(x, y)
        back = literal_tau_ap(y, x)
        assert_allclose(stats.tau_ap(x, y), expected)
        assert_allclose(stats.tau_ap(x, y, symmetric=True), (expected + back) / 2)
        assert_allclose(stats.tau_ap(x, y, ties="b"), (expected + back) / 2)

    @pytest.mark.parametrize("seed", range(5))
    def test_a_is_the_mean_over_orders(self, seed):
        x = rankings(seed, 7)[0]
        y = rankings(seed, 7, levels=3)[1]
        expected = np.mean([literal_tau_ap(x, order) for order in orders(y)])
        assert_allclose(stats.tau_ap(x, y), expected, atol=1e-12)

    def test_estimates_that_all_tie_have_the_correlation_0(self):
        assert_allclose(stats.tau_ap([3, 2, 1, 0], [1, 1, 1, 1]), 0, atol=1e-12)

    def test_extremes(self):
        x = np.arange(6.0)
        for ties in "ab":
            assert_allclose(stats.tau_ap(x, x, ties=ties), 1)
            assert_allclose(stats.tau_ap(x, -x, ties=ties), -1)

    def test_the_top_weighs_more(self):
        x = np.arange(6.0)[::-1]
        top, bottom = x[[1, 0, 2, 3, 4, 5]], x[[0, 1, 2, 3, 5, 4]]
        assert stats.tau_ap(x, top) < stats.tau_ap(x, bottom)
        assert stats.kendall_tau(x, top) == stats.kendall_tau(x, bottom)

    def test_ties_in_truth(self):
        with pytest.raises(ValueError, match=r'truth has ties.*ties="b"'):
            stats.tau_ap([1, 1, 2], [1, 2, 3])
        with pytest.raises(ValueError, match="estimate has ties"):
            stats.tau_ap([1, 2, 3], [1, 1, 2], symmetric=True)


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


def overlap_to(depth, x, y, p):
    """Rank-biased overlap up to a depth, as a sum over depths."""
    total, seen_x, seen_y = 0.0, set(), set()
    for d in range(1, depth + 1):
        seen_x.update(x[d - 1 : d])
        seen_y.update(y[d - 1 : d])
        total += (1 - p) * p ** (d - 1) * len(seen_x & seen_y) / d
    return total


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
        assert_allclose(found.lower, overlap_to(400, x, y, p), atol=1e-12)
        greatest = overlap_to(400, *continued(x, y, 400), p)
        assert_allclose(found.lower + found.residual, greatest, atol=1e-12)
        assert found.lower - 1e-12 <= found.extrapolated <= greatest + 1e-12
        swapped = stats.list_overlap(y, x, p=p)
        assert_allclose(swapped.extrapolated, found.extrapolated)

    def test_extrapolation_of_lists_of_one_length(self):
        """The agreement at the last rank continues: equation 30 of Webber et al. (2010)."""
        x, y, p = list("abcdefg"), list("bdacxyz"), 0.8
        agreement = [len(set(x[:d]) & set(y[:d])) / d for d in range(1, 8)]
        observed = sum((1 - p) * p**d * share for d, share in enumerate(agreement))
        found = stats.list_overlap(x, y, p=p)
        assert_allclose(found.extrapolated, observed + agreement[-1] * p**7)

    def test_extrapolation_of_uneven_lists(self):
        """The expected value is of the Python package rbo 0.1.3."""
        found = stats.list_overlap(["a", "b", "c", "d"], ["b", "a", "e"])
        assert_allclose(found.extrapolated, 0.63, rtol=1e-12)

    def test_complete_rankings_have_the_value_of_rank_biased_overlap(self):
        x, y = rankings(0, 200)
        found = stats.list_overlap(np.argsort(-x).tolist(), np.argsort(-y).tolist(), p=0.8)
        assert_allclose(found.extrapolated, stats.rank_biased_overlap(x, y, p=0.8))
        assert found.residual == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "measure", [stats.kendall_tau, stats.tau_b, stats.tau_ap, stats.rank_biased_overlap]
)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "x scores 2 systems and y 3"),
        ([1.0], [1.0], r"x has shape \(1,\)"),
        ([[1.0, 2.0]], [1.0, 2.0], r"x has shape \(1, 2\)"),
        ([1.0, 2.0], [1.0, np.nan], "y scores system 1 as nan"),
        (["a", "b"], [1.0, 2.0], "x must be numbers"),
    ],
)
def test_wrong_rankings(measure, x, y, message):
    with pytest.raises(ValueError, match=message):
        measure(x, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.tau_ap(X, Y, ties="c"), "ties='c' is not a choice"),
        (lambda: stats.rank_biased_overlap(X, Y, ties="c"), "ties='c' is not a choice"),
        (lambda: stats.rank_biased_overlap(X, Y, p=1), "p=1 must be"),
        (lambda: stats.list_overlap(["a"], ["b"], p=10**400), r"p=10+ must be a number in \(0, 1"),
        (lambda: stats.list_overlap([1, 2, 1], ["a"]), "x holds 1 twice"),
        *(
            (lambda x=x: stats.list_overlap(x, ["a"]), "x must be a list")
            for x in ([], "abc", 1, {"a", "b"}, [["a"]])
        ),
    ],
)
def test_wrong_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()
