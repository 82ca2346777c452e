"""Tests of pairs, scores of systems on queries, weights of queries, and a literal t."""

import itertools

import numpy as np

from skrank import stats

PAIRED = [
    stats.paired_t, stats.wilcoxon, stats.sign_test, stats.randomisation_test,
    stats.paired_bootstrap, stats.max_t,
]  # fmt: skip
SCORES = np.array([[0.5, 0.4, 0.1], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1], [0.9, 0.6, 0.4]])


def scores(n_queries=30, n_systems=4, seed=0, rise=0.1):
    """Scores with strong effects of queries; the last system is better by `rise` than the first."""
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, rise, n_systems)


def weights(n_queries=20):
    return np.random.default_rng(1).integers(1, 5, n_queries).astype(float)


def differences(matrix):
    return [a - b for a, b in itertools.combinations(matrix.T, 2)]


def literal_t(z, w=None, hc2=1.0):
    """The weighted mean over its standard error; sizes below 1e-12 are rounding.

    The share `hc2` of the variance is HC2, and the rest does not depend on the weights.
    """
    h = np.full(len(z), 1 / len(z)) if w is None else w / w.sum()
    mean = h @ z
    if abs(mean) < 1e-12:
        return 0.0
    if np.ptp(z) < 1e-12:
        return np.inf * np.sign(mean)
    # variance of the deviation of each query from the weighted mean, if z has the variance 1
    factors = ((np.eye(len(z)) - h) ** 2).sum(axis=1)
    corrected = (h**2 * (z - mean) ** 2 / factors).sum()
    unweighted = (h**2).sum() * np.var(z, ddof=1)
    return mean / np.sqrt(hc2 * corrected + (1 - hc2) * unweighted)
