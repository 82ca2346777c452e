"""Scores of systems on queries, their differences, and weights of queries."""

import itertools

import numpy as np


def scores(n_queries=30, n_systems=4, seed=0, rise=0.1):
    """Scores with strong effects of queries; the last system is better by `rise` than the first."""
    random = np.random.default_rng(seed)
    queries = random.random((n_queries, 1))
    return queries + 0.3 * random.random((n_queries, n_systems)) + np.linspace(0, rise, n_systems)


def weights(n_queries=20):
    return np.random.default_rng(1).integers(1, 5, n_queries).astype(float)


def differences(matrix):
    """The differences of each pair of columns, first minus second."""
    return [a - b for a, b in itertools.combinations(matrix.T, 2)]
