"""Signed logarithms of columns with heavy tails, such as counts, times and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from skrank import _validation as check
from skrank._typing import Table

_BLOCK = 2**17  # values per block of rows: 1 MB of float64 stays in the CPU cache
_SAMPLE_ROWS = 2**13  # from which centers and scales are chosen
# Other values of the next five constants, most of them half or twice as large, change nDCG@10 of a
# LinearRanker on the sample of MSLR-WEB (benchmarks/raw_features.py) by -1.0 to 1.7 points, where
# logarithms gain 6.0 points.
_PRESENT = 0.01  # columns of which a smaller share is NaN or other than 0 are not transformed
_HEAVY = 5.0  # kurtosis of heavy tails; the normal distribution has 3, the exponential has 9
_LOWER = 0.9  # a log is used if (kurtosis of logs) / (kurtosis of values) is below this
_DENSEST = 0.1  # the center is the middle of the shortest interval with this share of the values
_NEAR = 0.06  # the scale is this quantile of the distances from the center that are above 0
_LARGEST = np.finfo(np.float64).max


def signed_log(X: Table, center: np.ndarray, scale: np.ndarray) -> np.ndarray | sparse.csr_matrix:
    """Signed logarithms of columns of numbers; without a copy if no column changes.

    A value x becomes f(x) - f(0) with f(x) = sign(x - center) log(1 + abs(x - center) / scale). 0
    is thus mapped to 0, and sparse columns stay sparse. NaN stays NaN. A column whose scale is NaN
    does not change.
    """
    values: Any = check.feature_numbers(X, check.WAS_NUMBER, who="LinearRanker")
    columns = np.flatnonzero(np.isfinite(scale))
    if not len(columns):
        return values
    values = values.copy()
    if sparse.issparse(values):
        changed = np.isin(values.indices, columns)
        column = values.indices[changed]
        values.data[changed] = _signed_logs(values.data[changed], center[column], scale[column])
        return values
    for rows in gen_batches(len(values), max(1, _BLOCK // len(columns))):
        values[rows, columns] = _signed_logs(values[rows, columns], center[columns], scale[columns])
    return values


def _signed_logs(values: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return _raw_logs(values, center, scale) - _raw_logs(np.zeros(len(center)), center, scale)


def _raw_logs(values: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        distance = (values.astype(np.float64) - center) / scale
    np.clip(distance, -_LARGEST, _LARGEST, out=distance)  # inf becomes the largest number
    return np.copysign(np.log1p(np.abs(distance)), distance)


def center_and_scale(values: Any, *, only_heavy: bool) -> tuple[np.ndarray, np.ndarray]:
    """Arguments of `signed_log` for the columns of an array or a CSR matrix.

    The center is where the values of a column are densest; the scale is a small distance from the
    center. Both are in units of the column, so that the unit does not change the logarithms. The
    scale is NaN for constant columns and for columns of which at least 99 % are 0. With
    `only_heavy`, it is also NaN unless the kurtosis is above 5, and that of the logarithms less
    than 0.9 times as large.
    """
    center, scale = np.zeros(values.shape[1]), np.full(values.shape[1], np.nan)
    sample = values[:: -(-values.shape[0] // _SAMPLE_ROWS)]
    counts = np.asarray((sample != 0).sum(axis=0)).ravel()
    sample = sample.tocsc() if sparse.issparse(sample) else sample
    for index in np.flatnonzero(counts > _PRESENT * sample.shape[0]).tolist():
        column = sample[:, [index]]
        column = column.toarray() if sparse.issparse(column) else column
        known = column[~np.isnan(column)].astype(np.float64)
        if len(known):
            center[index], scale[index] = _column_center_and_scale(known, only_heavy=only_heavy)
    return center, scale


def _column_center_and_scale(values: np.ndarray, *, only_heavy: bool) -> tuple[float, float]:
    largest = float(np.abs(values).max())
    if values.min() == values.max():
        return 0.0, np.nan
    values = np.sort(values / largest)  # at most 1: no square overflows
    kurtosis = _kurtosis(values)
    if only_heavy and kurtosis <= _HEAVY:
        return 0.0, np.nan
    width = max(1, int(_DENSEST * len(values)))
    first = int(np.argmin(values[width:] - values[:-width]))
    center = values[first + width // 2]
    distances = np.abs(values - center)
    distances = np.sort(distances[distances > 0])
    scale = distances[int(_NEAR * len(distances))]
    stays_heavy = only_heavy and _kurtosis(_raw_logs(values, center, scale)) >= _LOWER * kurtosis
    if stays_heavy or scale * largest < np.finfo(np.float64).tiny:  # subnormal: too inexact
        return 0.0, np.nan
    return float(center * largest), float(scale * largest)


def _kurtosis(values: np.ndarray) -> float:
    """Mean fourth power of standardised values; 0 if they are constant."""
    squares = (values - values.mean()) ** 2
    variance = squares.mean()
    return float((squares**2).mean() / variance**2) if variance > 0 else 0.0
