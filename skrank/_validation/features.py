"""Checks of features: arrays, data frames and sparse matrices of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._validation.arrays import as_numbers

if TYPE_CHECKING:
    from scipy import sparse


def summed(X: Any) -> sparse.csr_matrix:
    """A sparse matrix as a CSR matrix with at most one entry for each row and column."""
    found = X.tocsr()
    if not found.has_canonical_format:
        found = found.copy()  # it may share its arrays with X
        found.sum_duplicates()
    return found


def feature_numbers(X: Any, remedy: str, *, who: object) -> np.ndarray | sparse.csr_matrix:
    """Features as an array or a CSR matrix of numbers, which may be NaN but not infinite.

    Text is refused, also if it looks like numbers, such as identifiers.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_rows, n_features)
    remedy : str
        End of the error for a column that is not numeric: what the user can do.
    who : estimator
        Named in errors.
    """
    from sklearn.utils import check_array

    if hasattr(X, "tocsr"):
        X = summed(X)
    names = list(getattr(X, "columns", ()))
    kinds = set(X.dtypes) if names else ()
    if kinds and all(isinstance(one, np.dtype) and one.kind in "fiu" for one in kinds):
        X = X.to_numpy()  # check_array takes 1 ms per 100 columns of a frame
    elif names:
        _check_numeric(((repr(name), X[name]) for name in names), remedy)
    elif isinstance(X, (list, tuple)):
        with suppress(ValueError):  # of rows of unequal lengths, which check_array reports
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "fiubc":
        _check_numeric(enumerate(X.T), remedy)
    try:
        values = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=who,
        )
    except (TypeError, ValueError, OverflowError) as error:
        if "convert" not in str(error) and isinstance(error, ValueError):  # of the shape
            raise
        raise ValueError(f"X must hold numbers: {error}. {remedy}") from None
    infinite = np.isinf(values if isinstance(values, np.ndarray) else values.data)
    if infinite.any():
        row, column = (int(places[0]) for places in (abs(values) == np.inf).nonzero())
        raise ValueError(
            f"row {row} of X is infinite in column {(names or range(column + 1))[column]!r}: "
            "replace the value by NaN, or by a finite number."
        )
    return values


def _check_numeric(columns: Iterable[tuple[object, Any]], remedy: str) -> None:
    """Refuse columns, given with their names, that have text or no numbers."""
    for name, column in columns:
        values = np.asarray(column)
        objects = values.tolist() if values.dtype.kind in "OSU" else ()
        text = next((one for one in objects if isinstance(one, (str, bytes))), None)
        if text is not None:
            raise ValueError(f"column {name} of X is text, such as {text!r}. {remedy}")
        if values.dtype.kind not in "fiub":
            try:
                as_numbers(f"column {name} of X", column, "a feature of documents")
            except ValueError as error:
                cause = error.__context__
                if isinstance(cause, TypeError) and str(cause):  # an object, in NumPy's words
                    raise TypeError(f"column {name} of X: {cause}. {remedy}") from None
                raise ValueError(f"{error} {remedy}") from None
