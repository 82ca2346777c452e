"""Weights of queries in every test, interval and effect size."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from skrank import stats

TESTS = {
    "paired_t": stats.paired_t,
    "wilcoxon": stats.wilcoxon,
    "sign_test": stats.sign_test,
    "randomisation_test": stats.randomisation_test,
    "paired_bootstrap": stats.paired_bootstrap,
    "max_t": stats.max_t,
    "tukey_hsd": stats.tukey_hsd,
    "equivalence_test": lambda scores, **how: stats.equivalence_test(scores, 0.05, **how),
}
OTHERS = {
    "paired_effects": lambda x, **how: (found := stats.paired_effects(x, **how)).low + found.g_low,
    "discriminative_power": lambda x, **how: stats.discriminative_power(x, **how).required,
    "bayesian_t": lambda x, **how: stats.bayesian_comparison(x, 0.01, **how).better,
    "bayesian_signed_rank": lambda x, **how: (
        stats.bayesian_comparison(x, 0.01, method="signed-rank", n_samples=200, **how).better
    ),
    "two_way_anova": lambda x, **how: stats.two_way_anova(x, **how).systems,
    "t_interval": lambda x, **how: stats.t_interval(x, **how).low,
    "bootstrap_t": lambda x, **how: stats.bootstrap_interval(x, method="bootstrap-t", **how).low,
}
MEASURES = {name: lambda x, t=test, **how: t(x, **how).p_value for name, test in TESTS.items()}
# Methods that change with weights: from exact to approximate, or to other random numbers.
OTHER_METHODS = {"wilcoxon", "sign_test", "bayesian_signed_rank"}
each_measure = pytest.mark.parametrize(
    "measure", (MEASURES | OTHERS).values(), ids=MEASURES | OTHERS
)


def scores(n_queries=20, n_systems=3, seed=0):
    random = np.random.default_rng(seed)
    return random.random((n_queries, 1)) + 0.3 * random.random((n_queries, n_systems))


def weights(n_queries=20, seed=1):
    return np.random.default_rng(seed).integers(1, 5, n_queries).astype(float)


@each_measure
def test_equal_weights_change_nothing(measure):
    x = scores()
    assert_array_equal(measure(x, weights=np.full(20, 3.0)), measure(x))


@pytest.mark.parametrize("n_queries", [5, 20])
@pytest.mark.parametrize("name", sorted((MEASURES | OTHERS).keys() - OTHER_METHODS))
def test_nearly_equal_weights_give_nearly_equal_results(name, n_queries):
    x, measure = scores(n_queries), (MEASURES | OTHERS)[name]
    nearly = np.append(np.ones(n_queries - 1), 1 + 1e-13)
    assert_allclose(measure(x, weights=nearly), measure(x), rtol=1e-9)


@each_measure
def test_a_weight_of_zero_leaves_a_query_out(measure):
    x, w = scores(12), weights(12)
    w[[2, 7]] = 0
    kept = w > 0
    assert_allclose(measure(x, weights=w), measure(x[kept], weights=w[kept]), rtol=1e-12)


@each_measure
def test_the_scale_of_weights_does_not_matter(measure):
    x, w = scores(), weights()
    assert_allclose(measure(x, weights=w / 7), measure(x, weights=w), rtol=1e-12)


@each_measure
@pytest.mark.parametrize(
    ("w", "message"),
    [
        ([1.0, 2.0], r"weights has shape \(2,\)"),
        (np.full(20, -1.0), "eights? of query 0"),
        (np.append(np.ones(19), np.nan), "eights? of query 19"),
        (["a"] * 20, "must be numbers"),
    ],
)
def test_wrong_weights(measure, w, message):
    with pytest.raises(ValueError, match=message):
        measure(scores(), weights=w)


@each_measure
def test_weights_in_another_order_are_refused(measure):
    x = pd.DataFrame(scores())
    with pytest.raises(ValueError, match="same labels in another order"):
        measure(x, weights=pd.Series(weights()).iloc[::-1])


def literal_t(z, w, hc2=0.5):
    """The weighted mean over its standard error, with the share `hc2` of the variance HC2."""
    h = w / w.sum()
    mean = h @ z
    # variance of the deviation of each query from the weighted mean, if z has the variance 1
    factors = [sum(((i == j) - h[j]) ** 2 for j in range(len(h))) for i in range(len(h))]
    corrected = sum(h[i] ** 2 * (z[i] - mean) ** 2 / factors[i] for i in range(len(h)))
    unweighted = (h**2).sum() * np.var(z, ddof=1)
    return mean / np.sqrt(hc2 * corrected + (1 - hc2) * unweighted)


def test_t_literally():
    x, w = scores(), weights()
    found = stats.paired_t(x, weights=w)
    expected = [literal_t(x[:, a] - x[:, b], w) for a, b in found.pairs]
    assert_allclose(found.statistic, expected, rtol=1e-12)
    assert_allclose(found.p_value, 2 * scipy.stats.t.sf(np.abs(expected), 19), rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("n_queries", [10, 50])
def test_levels_and_coverage_under_uneven_weights(sigma, n_queries):
    random = np.random.default_rng(0)
    found = []
    for _ in range(150):
        w = np.exp(sigma * random.normal(size=n_queries))
        x = random.normal(size=(n_queries, 40))
        pairs = np.arange(40).reshape(-1, 2)
        p = stats.paired_t(x, pairs=pairs, weights=w).p_value
        interval = stats.t_interval(x[:, :20], weights=w)
        held = (interval.low <= 0) & (interval.high >= 0)
        found.append((np.mean(p < 0.05), 1 - held.mean()))
    assert ((np.mean(found, axis=0) > 0.03) & (np.mean(found, axis=0) < 0.07)).all()


def test_power_under_uneven_weights_is_near_that_of_the_randomisation_test():
    random = np.random.default_rng(1)
    found = []
    for seed in range(200):
        w = random.lognormal(0, 1, 25)
        x = np.column_stack([random.normal(size=25) + 0.75, np.zeros(25)])
        how = {"weights": w, "n_resamples": 400, "random_state": seed}
        found.append(
            [test(x, **how).p_value[0] < 0.05 for test in (stats.max_t, stats.randomisation_test)]
        )
    ours, theirs = np.mean(found, axis=0)
    assert theirs > 0.6
    assert ours > theirs - 0.1


def test_tests_by_signs_literally():
    x, w = scores(8, 2), weights(8)
    z = x[:, 0] - x[:, 1]
    ranks = scipy.stats.rankdata(np.abs(z))
    for test, size in (
        (stats.randomisation_test, np.abs(z)),
        (stats.wilcoxon, ranks),
        (stats.sign_test, 1.0),
    ):
        sizes = w * size
        sums = [abs(np.dot(s, sizes)) for s in itertools.product([1, -1], repeat=8)]
        expected = np.mean(np.array(sums) >= abs(np.sign(z) @ sizes) - 1e-12)
        assert_allclose(test(x, weights=w).p_value, expected)


def literal_square(z, w, drawn=slice(None)):
    """Square of t, with the variance HC2 only."""
    return literal_t(z[drawn], w[drawn], hc2=1) ** 2


def test_bootstrap_literally():
    x, w = scores(4, 2), np.array([1.0, 2.0, 3.0, 1.0])
    z = x[:, 0] - x[:, 1]
    shifted = z - np.average(z, weights=w)
    at_least = 0
    for draw in itertools.product(range(4), repeat=4):
        chosen = list(draw)
        if len(set(chosen)) > 1:
            at_least += literal_square(shifted, w, chosen) >= literal_square(z, w) - 1e-9
        else:
            at_least += shifted[chosen[0]] != 0
    assert_allclose(stats.paired_bootstrap(x, weights=w).p_value, at_least / 4**4)


@pytest.mark.parametrize("test", [stats.paired_t, stats.sign_test, stats.wilcoxon])
def test_levels(test):
    """The t-test and the normal approximations hold their level under uneven weights."""
    random = np.random.default_rng(0)
    w = random.lognormal(0, 0.7, 25)
    x = random.normal(size=(25, 4000))
    p = test(x, pairs=np.arange(4000).reshape(-1, 2), weights=w).p_value
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.012)


def test_anova_of_two_systems_is_the_weighted_t():
    x, w = scores(n_systems=2), weights()
    t = stats.paired_t(x, weights=w)
    found = stats.two_way_anova(x, weights=w)
    assert_allclose(found.systems.f, t.statistic**2)
    assert_allclose(found.systems.p_value, t.p_value)
