"""Agreement of rankings and of assessors: published values and literal definitions."""

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


def test_values_of_ircor():
    assert stats.tau_b(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert stats.tau_ap(X, Y) == pytest.approx(0.7491182, abs=5e-8)
    assert stats.tau_ap(X, Y_TIES) == pytest.approx(0.6074515, abs=5e-8)
    assert stats.tau_b(X_TIES, Y_TIES) == pytest.approx(0.75)
    assert stats.tau_ap(X_TIES, Y_TIES, ties="b") == pytest.approx(0.6269841, abs=5e-8)


@pytest.mark.parametrize("levels", [None, 4])
def test_tau_b_is_that_of_scipy(levels):
    x, y = rankings(0, 30, levels)
    assert_allclose(stats.tau_b(x, y), scipy.stats.kendalltau(x, y).statistic)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [None, 3])
def test_tau_ap_is_the_mean_over_orders_of_ties(seed, levels):
    x, y = rankings(seed, 7)[0], rankings(seed, 7, levels)[1]
    forward = np.mean([literal_tau_ap(x, order) for order in orders(y)])
    assert_allclose(stats.tau_ap(x, y), forward, atol=1e-12)
    if levels is None:
        both = (forward + literal_tau_ap(y, x)) / 2
        assert_allclose(stats.tau_ap(x, y, ties="b"), both)


def test_ties_of_all_systems():
    assert np.isnan(stats.tau_ap([1, 1, 1], [1, 2, 3], ties="b"))
