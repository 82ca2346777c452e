"""Intervals of means: values of scipy, and literal definitions."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from skrank import stats
from tests.helpers.engine import query_counts


def values(n_queries=40, n_columns=3, seed=0):
    return np.random.default_rng(seed).beta(1, 4, size=(n_queries, n_columns))


class TestBootstrapInterval:
    def test_against_scipy(self):
        x, how = values(25, 1)[:, 0], {"n_resamples": 20_000}
        found = stats.bootstrap_interval(x, confidence=0.9, **how)
        expected = scipy.stats.bootstrap(  # without a seed: SciPy 1.15 has renamed its argument
            (x,), np.mean, method="percentile", confidence_level=0.9, **how
        ).confidence_interval
        width = expected.high - expected.low
        assert_allclose([found.low, found.high], expected, atol=0.05 * width)
        assert found.mean == pytest.approx(x.mean())

    def test_weights_literally(self):
        x, w = values(12, 1)[:, 0], np.arange(1.0, 13)
        means = [
            np.average(np.repeat(x, draw), weights=np.repeat(w, draw))
            for draws in query_counts(12, 300, 4)
            for draw in draws.astype(int)
        ]
        found = stats.bootstrap_interval(x, weights=w, n_resamples=300, random_state=4)
        assert_allclose([found.low, found.high], np.quantile(means, [0.025, 0.975]))
        assert_allclose(found.mean, np.average(x, weights=w))

    def test_bootstrap_t_literally(self):
        x = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.2, 0.4, 0.9])
        error, t = x.std(ddof=1) / np.sqrt(12), []
        least = np.sqrt(12) / 16 * error
        for draws in query_counts(12, 300, 4):
            for draw in draws.astype(int):
                y = np.repeat(x, draw)
                t.append((y.mean() - x.mean()) / max(y.std(ddof=1) / np.sqrt(12), least))
        found = stats.bootstrap_interval(x, method="bootstrap-t", n_resamples=300, random_state=4)
        tail = 0.025 * (1 - 2 / 12)
        low, high = np.quantile(t, [tail, 1 - tail])
        assert_allclose([found.low, found.high], [x.mean() - high * error, x.mean() - low * error])
        assert found.high - found.mean > 2 * (found.mean - found.low)  # longer at the long tail

    @pytest.mark.parametrize(("n_queries", "w"), [(4, None), (12, [0.01] * 11 + [1.0])])
    def test_bootstrap_t_of_few_effective_queries_is_that_of_t(self, n_queries, w):
        x = values(n_queries)
        found = stats.bootstrap_interval(x, method="bootstrap-t", weights=w)
        expected = stats.t_interval(x, weights=w)
        assert_allclose([found.low, found.high], [expected.low, expected.high])

    def test_too_few_resamples_for_the_confidence_warn(self):
        with pytest.warns(UserWarning, match="n_resamples=2000"):
            stats.bootstrap_interval(values(), confidence=0.999, n_resamples=1999)
        stats.bootstrap_interval(values(), confidence=0.999, n_resamples=2000)

    @pytest.mark.parametrize("method", ["percentile", "bootstrap-t"])
    def test_columns_are_independent_and_constants_have_no_width(self, method):
        matrix = values()
        matrix[4, 1] = np.nan
        weights = values(seed=1)
        weights[7, 2] = 0
        found = stats.bootstrap_interval(matrix, weights=weights, method=method)
        for column in range(3):
            alone = stats.bootstrap_interval(
                matrix[:, column], weights=weights[:, column], method=method
            )
            assert_allclose(found.low[column], alone.low)
            assert_allclose(found.high[column], alone.high)
        assert found.n_queries.tolist() == [40, 39, 39]
        assert found.n_dropped.tolist() == [0, 1, 1]
        found = stats.bootstrap_interval(np.full(7, 0.1), method=method)
        assert (found.mean, found.low, found.high) == (0.1, 0.1, 0.1)


def test_queries_may_have_any_name():
    by_query = pd.Series([0.1, 0.2, 0.6], index=["columns", "index", "a"])
    assert stats.t_interval(by_query).names == [0]
