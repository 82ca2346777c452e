"""SignedLog and RidgeImputer: columns with heavy tails, units, sparse columns, NaN, and errors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.preprocessing import RidgeImputer, SignedLog

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(700, 3))
# counts with a heavy tail; a normal column; and the exponential of one
COUNTS = np.floor(np.exp(NOISE[:, 0] * 2))
X = np.column_stack([COUNTS, NOISE[:, 1], np.exp(3 * NOISE[:, 2])])


def logs(X, columns="heavy"):
    return np.isfinite(SignedLog(columns).fit(X).scale_).tolist()


def test_heavy_tails_become_logs():
    model = SignedLog().fit(X)
    assert logs(X) == [True, False, True]
    assert logs(X, "all") == [True] * 3
    found = model.transform(X)
    signed = X[:, 0] - model.center_[0]
    away = np.abs(signed) / model.scale_[0]
    assert_allclose(np.diff(found[:, 0]), np.diff(np.copysign(np.log1p(away), signed)), atol=1e-9)
    assert_array_equal(found[:, 1], X[:, 1])
    assert_array_equal(model.transform(np.zeros((1, 3))), np.zeros((1, 3)))
    assert_array_equal(
        np.argsort(found, axis=0, kind="stable"), np.argsort(X, axis=0, kind="stable")
    )


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1000.0, 2.0**900])
@pytest.mark.parametrize("columns", ["heavy", "all"])
def test_the_unit_of_a_column_does_not_change_logs(factor, columns):
    model, scaled = SignedLog(columns), SignedLog(columns)
    found, expected = scaled.fit_transform(X * factor), model.fit_transform(X)
    used = np.isfinite(model.scale_)
    assert_array_equal(np.isfinite(scaled.scale_), used)
    assert_allclose(found[:, used], expected[:, used], rtol=1e-9)


def test_constant_and_nearly_zero_columns_stay():
    rare = np.where(np.arange(len(X)) == 3, 1e9, 0.0)
    assert logs(np.column_stack([np.full(len(X), 7.0), rare])) == [False, False]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_columns_stay_sparse_and_equal_dense_columns(dtype):
    table = np.where(X > 0.5, X, 0).astype(dtype)
    found = SignedLog().fit_transform(csr_matrix(table))
    assert issparse(found)
    assert found.nnz == np.count_nonzero(table)
    dense = SignedLog().fit_transform(table)
    assert found.dtype == dense.dtype == dtype
    assert_allclose(found.toarray(), dense, rtol=1e-5)


def test_nan_stays_and_the_rows_of_the_caller_do_not_change():
    table = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    before = table.copy()
    assert_array_equal(np.isnan(SignedLog().fit_transform(table)), np.isnan(before))
    assert_array_equal(table, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SignedLog("some").fit(X), "columns='some'"),
        (lambda: SignedLog().fit(pd.DataFrame({"site": ["1", "2"]})), "column 'site'"),
        (lambda: SignedLog().fit(np.where(X > 9, np.inf, X)), "infinite in column"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@parametrize_with_checks([SignedLog(), SignedLog("all"), RidgeImputer()])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
