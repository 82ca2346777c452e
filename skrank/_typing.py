"""Names of types that many signatures share, where numpy's ArrayLike is not the word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes as MatplotlibAxes
    from scipy import sparse
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import BaseCrossValidator

# Features, a row per document.
Table: TypeAlias = "np.ndarray | pd.DataFrame | pl.DataFrame | sparse.csr_matrix"

# Anything with `fit` and `predict`: scikit-learn's estimators and those of the boosters.
Estimator: TypeAlias = "BaseEstimator"

# Rows in partitions: features, and one value per row.
DaskTable: TypeAlias = "da.Array | dd.DataFrame"
DaskColumn: TypeAlias = "da.Array | dd.Series"

# What displays draw on.
Axes: TypeAlias = "MatplotlibAxes"

# Keyword arguments that are passed on to another function, which knows their types.
Options: TypeAlias = dict[str, Any]

# What `object.__reduce__` returns.
Reduced: TypeAlias = tuple[Any, ...]

# Where random numbers come from, as in scikit-learn.
RandomState: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | None

# How to cross-validate: a number of folds, a splitter, or the rows of each fold's two sides.
Folds: TypeAlias = "int | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]]"
