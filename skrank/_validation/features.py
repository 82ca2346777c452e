"""Checks of features: arrays, data frames and sparse matrices of numbers."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._validation.arrays import as_numbers, first_text, unmasked

if TYPE_CHECKING:
    from scipy import sparse


# `remedy` of text, in `fit` and after it
MAKE_CATEGORY = "make it a category by astype('category'), or leave it out"
WAS_NUMBER = "give a number, as in fit"
_TIMES = {"date", "datetime", "datetime64", "period", "time", "timedelta", "timedelta64"}
_LARGEST = np.finfo(np.float64).max


def feature_table(X: Any, *, keep_polars: bool = True) -> Any:
    """X as a two-dimensional array, CSR matrix or frame, without masked values.

    Tables of pyarrow become pandas frames. With keep_polars=False, polars frames do, too: LightGBM
    and XGBoost read names and categories from pandas frames.
    """
    from scipy.sparse import csr_matrix, issparse

    tables = ("pyarrow.",) if keep_polars else ("pyarrow.", "polars.")
    if type(X).__module__.startswith(tables) and hasattr(X, "to_pandas"):
        X = X.to_pandas()  # LightGBM ends the process if a table of pyarrow has text
    if issparse(X):
        X = csr_matrix(X)
        # some row has two entries for a column, or is not sorted
        if not X.has_canonical_format:
            X = X.copy()  # the arrays may be those of the caller
            X.sum_duplicates()
    elif isinstance(X, np.ndarray) or not hasattr(X, "shape"):
        array = unmasked("X", X, "rows of numbers, all of the same length")
        # in lists with text, numbers stay numbers
        X = np.asarray(X, object) if array.dtype.kind in "US" else array
    if len(X.shape) != 2:
        raise ValueError(
            f"X has shape {X.shape} and needs 2 dimensions. Reshape your data: X.reshape(1, -1) "
            "for one document, X.reshape(-1, 1) for one feature."
        )
    if X.shape[1] == 0:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    dtypes = map(str, getattr(X, "dtypes", ()))
    # pandas.ArrowDtype of a dictionary, the categories of Arrow
    coded = [number for number, dtype in enumerate(dtypes) if dtype.startswith("dictionary<")]
    return X.astype(dict.fromkeys(X.columns[coded], "category")) if coded else X


def feature_numbers(X: Any, remedy: str, *, who: object) -> np.ndarray | sparse.csr_matrix:
    """Features as an array or a CSR matrix of numbers, which may be NaN but not infinite.

    Text is refused, also if it looks like numbers, such as identifiers.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_rows, n_features)
    remedy : str
        What the user can do with a column of text, beside converting it to numbers.
    who : estimator
        Named in errors.
    """
    from sklearn.utils import check_array

    X = feature_table(X)
    names = list(getattr(X, "columns", ()))
    kinds = set(X.dtypes) if names else ()
    if kinds and all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in kinds):
        X = X.to_numpy()  # check_array takes 1 ms per 100 columns of a frame
    elif hasattr(X, "iter_columns"):  # of polars
        for column in X.iter_columns():
            if np.asarray(column).dtype.kind not in "fiub":
                column_numbers(repr(column.name), column, remedy)  # raises unless numbers
    X = number_columns(X, remedy)
    try:
        dtypes = [np.float64, np.float32]
        values = check_array(
            X, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False, estimator=who
        )
    except (TypeError, ValueError, OverflowError) as error:
        if "convert" not in str(error) and isinstance(error, ValueError):  # of the shape
            raise
        raise ValueError(f"X must hold numbers ({error}): {remedy}.") from None
    _check_largest(values, names or range(values.shape[1]), _LARGEST)
    return values


def column_numbers(name: object, column: Any, remedy: str) -> np.ndarray:
    """A column in double precision; raises for text, dates, time spans and other objects."""
    from pandas.api.types import infer_dtype

    values = np.asarray(column)
    kind = infer_dtype(values, skipna=True)
    if kind in _TIMES:
        raise ValueError(
            f"column {name} of X is of the type {kind}: give a number, such as days since a date, "
            "or leave it out."
        )
    if values.dtype.kind == "c":  # in the words of scikit-learn, which its check expects
        raise ValueError(f"Complex data not supported in column {name} of X: give real numbers.")
    if (text := first_text(values)) is not None:
        raise ValueError(
            f"column {name} of X is text, such as {text!r}: convert numbers by pandas.to_numeric, "
            f"or {remedy}."
        )
    try:
        return as_numbers(f"column {name} of X", column, "a feature of documents")
    except ValueError as error:
        cause, give = error.__context__, "Give a number per row, or leave it out."
        if isinstance(cause, TypeError) and str(cause):  # an object, in NumPy's words
            # a TypeError, which a check of scikit-learn expects
            raise TypeError(f"column {name} of X: {cause}. {give}") from None
        raise ValueError(f"{error} {give}") from None


def number_columns(
    X: Any, remedy: str, but: Container[object] = (), *, categories: Container[object] | None = None
) -> Any:
    """X, after a check that its columns are numbers, except the columns `but`.

    Columns of a frame whose dtypes some libraries refuse, such as objects, Arrow's dtypes and
    booleans with missing values, become double precision. In `but`, text is the name of a column,
    and an integer its position, as boosters read them. Unless `categories` is None, columns may be
    categories; it has the names, of any type, of columns that were categories in fit.
    """
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind not in "fiub":
        for number, column in enumerate(X.T):
            if number not in but:
                column_numbers(number, column, remedy)  # raises unless numbers
    if not hasattr(X, "isetitem"):
        return X
    X = X.copy(deep=False)
    for number, (name, dtype) in enumerate(X.dtypes.items()):
        allowed = categories is not None and (str(dtype) == "category" or name in categories)
        exempt = number in but or (isinstance(name, str) and name in but)
        if not (allowed or exempt or _all_read(dtype)):
            X.isetitem(number, column_numbers(repr(name), X.iloc[:, number], remedy))
    return X


def _all_read(dtype: Any) -> bool:
    """True for numbers that all libraries read."""
    import pandas as pd

    if isinstance(dtype, (np.dtype, pd.SparseDtype)):
        return dtype.kind in "fiub" and dtype != np.longdouble
    return dtype.kind in "fiu" and not isinstance(dtype, pd.ArrowDtype)


def check_largest(X: Any, largest: float) -> None:
    """Refuse numbers of an array, CSR matrix or frame beyond the `largest` that a booster reads."""
    if not hasattr(X, "isetitem"):
        _check_largest(X, range(X.shape[1]), largest)
        return
    for name, column in X.items():
        if str(column.dtype) != "category":
            _check_largest(np.asarray(column, dtype=np.float64)[:, None], [name], largest)


def _check_largest(values: Any, names: Sequence[object], largest: float) -> None:
    """Refuse infinite values, and values beyond `largest`."""
    data = values if isinstance(values, np.ndarray) else values.data
    if data.dtype.kind != "f" or not data.size:
        return
    # not a mask, which takes memory; NaN is ignored
    if max(np.fmax.reduce(data, axis=None), -np.fmin.reduce(data, axis=None)) <= largest:
        return
    with np.errstate(invalid="ignore"):
        rows, columns = (abs(values) > largest).nonzero()
    if len(rows):
        number = "a finite number" if largest == _LARGEST else f"a number up to {largest:.0e}"
        value = values[rows[0], columns[0]]
        raise ValueError(
            f"row {rows[0]} of X is {'infinite' if np.isinf(value) else f'{value:g}'} in column "
            f"{names[columns[0]]!r}: replace the value by NaN, or by {number}."
        )


def check_names(X: Any, forbidden: str, library: str) -> None:
    """Refuse names of columns that match `forbidden`, a regular expression."""
    for name in getattr(X, "columns", ()):
        if re.search(forbidden, str(name)):
            raise ValueError(
                f"the name of column {name!r} of X is empty or has a character that {library} does "
                "not allow: rename it, such as by X.rename(columns=...)."
            )
