"""Logarithms of LinearRanker, and RidgeImputer: heavy tails, units, sparse columns, and NaN."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import LinearRanker
from skrank.preprocessing import RidgeImputer

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(700, 3))
# counts with a heavy tail; a normal column; and the exponential of one
COUNTS = np.floor(np.exp(NOISE[:, 0] * 2))
X = np.column_stack([COUNTS, NOISE[:, 1], np.exp(3 * NOISE[:, 2])])


def logs(X, features="auto"):
    """The transformer of signed logarithms that a linear ranker chooses."""
    ranker = LinearRanker(features=features, alpha=10.0)
    return ranker.fit(X, np.arange(len(X)) % 3, groups=np.arange(len(X)) // 10).feature_map_[0]


def used(X, features="auto"):
    return np.isfinite(logs(X, features).kw_args["scale"]).tolist()


def test_heavy_tails_become_logs():
    model = logs(X)
    assert used(X) == [True, False, True]
    assert used(X, "log") == [True] * 3
    found = model.transform(X)
    signed = X[:, 0] - model.kw_args["center"][0]
    away = np.abs(signed) / model.kw_args["scale"][0]
    assert_allclose(np.diff(found[:, 0]), np.diff(np.copysign(np.log1p(away), signed)), atol=1e-9)
    assert_array_equal(found[:, 1], X[:, 1])
    assert_array_equal(model.transform(np.zeros((1, 3))), np.zeros((1, 3)))
    assert_array_equal(
        np.argsort(found, axis=0, kind="stable"), np.argsort(X, axis=0, kind="stable")
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_columns_stay_sparse_and_equal_dense_columns(dtype):
    table = np.where(X > 0.5, X, 0).astype(dtype)
    model = logs(table)
    found, dense = model.transform(csr_matrix(table)), model.transform(table)
    assert issparse(found)
    assert found.nnz == np.count_nonzero(table)
    assert found.dtype == dense.dtype == dtype
    assert_allclose(found.toarray(), dense, rtol=1e-5)


def test_nan_stays_and_the_rows_of_the_caller_do_not_change():
    table = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    before = table.copy()
    assert_array_equal(np.isnan(logs(X).transform(table)), np.isnan(before))
    assert_array_equal(table, before)


def test_only_nan_that_correlates_with_labels_is_marked():
    """In labels with any mean, of which some are unknown."""
    table, labels = np.where(RNG.random(X.shape) < 0.3, np.nan, X), RNG.integers(0, 5, len(X)) + 0.0
    table[labels > 2, 1] = np.nan
    labels[::9] = np.nan
    for rows in (table, csr_matrix(table)):
        assert RidgeImputer().fit(rows, labels).missing_.tolist() == [1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"site": ["1", "2"]}), "column 'site'"),
        (np.where(X > 9, np.inf, X), "infinite in column"),
    ],
)
def test_errors(table, message):
    for transform in (logs(X[:, :1]).transform, RidgeImputer().fit):
        with pytest.raises(ValueError, match=message):
            transform(table)


@parametrize_with_checks([RidgeImputer()])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
