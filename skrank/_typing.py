"""Types that many signatures share."""

from __future__ import annotations

from collections.abc import Sequence
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

# Features, one row per document.
Table: TypeAlias = "np.ndarray | pd.DataFrame | pl.DataFrame | sparse.csr_matrix"

# An object with `fit` and `predict`: an estimator of scikit-learn, LightGBM, XGBoost or CatBoost.
Estimator: TypeAlias = "BaseEstimator"

# Columns of features, by name or number, or a mask of them.
Columns: TypeAlias = Sequence[str | int | bool]

# Collections of Dask: features, and one value per row.
DaskTable: TypeAlias = "da.Array | dd.DataFrame"
DaskColumn: TypeAlias = "da.Array | dd.Series"

# Axes of matplotlib, on which displays draw.
Axes: TypeAlias = "MatplotlibAxes"

# Keyword arguments that are passed to another function.
Options: TypeAlias = dict[str, Any]

# Return value of `object.__reduce__`.
Reduced: TypeAlias = tuple[Any, ...]

# A seed or a generator of random numbers. (A string, so that numpy.random is not imported.)
RandomState: TypeAlias = "int | np.integer | np.random.Generator | np.random.RandomState | None"

# Training rows and test rows.
Split: TypeAlias = tuple[np.ndarray, np.ndarray]

# One weight per query; None: all queries weigh the same.
Weights: TypeAlias = np.ndarray | None
