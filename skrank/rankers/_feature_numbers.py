"""Columns of numbers of a linear ranker: signed logarithms of heavy tails, and estimates of NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skrank.rankers._matrix import Matrix, has_nan, is_sparse, row_blocks, with_entries

_PRESENT = 0.01  # columns with a smaller share of values other than 0 (or NaN) are not transformed
_HEAVY = 5.0  # kurtosis of heavy tails; the normal distribution has 3, the exponential has 9
_LOWER = 0.9  # a log is used if (kurtosis of logs) / (kurtosis of values) is below this
_DENSEST = 0.1  # the center is the middle of the shortest interval with this share of the values
_NEAR = 0.06  # the scale is this quantile of the distances from the center that are above 0
_LARGEST = np.finfo(np.float64).max
_SIGNIFICANT = 3.0  # standard deviations by which the covariance of NaN and grades differs from 0
FARTHEST = 3.0  # estimates are clipped to this number of standard deviations from the mean
_RIDGE = 0.1  # penalty of the ridge regression of a standardised column on the others


def known_values(X: Matrix) -> Iterator[tuple[int, np.ndarray]]:
    """Number and known values of each column; omits columns with a share > 0.99 of zeros."""
    counts = np.bincount(X.indices, X.data != 0, X.shape[1]) if is_sparse(X) else (X != 0).sum(0)
    columns: Any = X.tocsc() if is_sparse(X) else X
    for column in np.flatnonzero(counts > _PRESENT * X.shape[0]).tolist():
        values = columns[:, [column]].toarray().ravel() if is_sparse(X) else columns[:, column]
        values = values[~np.isnan(values)].astype(np.float64)
        if len(values):
            yield column, values


def signed_log(values: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """sign(x) log(1 + abs(x)) of x = (values - center) / scale."""
    with np.errstate(over="ignore"):
        away = (values - center) / scale
    np.clip(away, -_LARGEST, _LARGEST, out=away)
    return np.copysign(np.log1p(np.abs(away)), away)


def log_of(values: np.ndarray, *, always: bool) -> tuple[float, float]:
    """Center and scale of the signed log of values; the scale is NaN if no log is used.

    Both are proportional to the values, so that the log does not depend on the unit of a column.
    The center is where values are densest, such as 0 for counts that are often 0.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.sort(np.ldexp(values, -exponent))  # at most 1: no square overflows
    before = _kurtosis(values)
    if values[0] < values[-1] and (always or before > _HEAVY):
        width = max(1, int(_DENSEST * len(values)))
        first = int(np.argmin(values[width:] - values[:-width]))
        center = values[first + width // 2]
        away = np.abs(values - center)
        away = np.sort(away[away > 0])
        scale = away[int(_NEAR * len(away))]
        after = _kurtosis(signed_log(values, center, scale))
        center, scale = (float(np.ldexp(one, exponent)) for one in (center, scale))
        if (always or after < _LOWER * before) and scale >= np.finfo(np.float64).tiny:
            return center, scale
    return 0.0, np.nan


def _kurtosis(values: np.ndarray) -> float:
    """Mean fourth power of standardised values; 0 if they are constant."""
    squares = (values - values.mean()) ** 2
    variance = squares.mean()
    return float((squares**2).mean() / variance**2) if variance > 0 else 0.0


def missing_sums(X: Matrix, grades: np.ndarray) -> np.ndarray:
    """Sums for `informative_columns`, of shape (4, n_features); `grades` are centred by query.

    For each feature, the number of rows with NaN, the sum of their grades, the number of rows, and
    the sum of the squares of grades.
    """
    sums = np.zeros((4, X.shape[1]))
    sums[2:] = np.array([[len(grades)], [grades @ grades]])
    if has_nan(X):
        factors = np.array([np.ones_like(grades), grades])
        for rows in row_blocks(X):
            block = X[rows]
            nan = np.isnan(block.data if is_sparse(block) else block).astype(np.float64)
            sums[:2] += factors[:, rows] @ (with_entries(block, nan) if is_sparse(block) else nan)
    return sums


def informative_columns(sums: np.ndarray) -> np.ndarray:
    """True for each column whose NaN correlates with grades inside queries.

    Tests sum(grades at NaN)^2 > z^2 p (1 - p) sum(grades^2), with p the share of NaN and z = 3: the
    right side without z^2 is the variance of the sum if NaN and grades are independent. Indicators
    of other columns would only fit noise.
    """
    missing, covariance, rows, squares = sums
    share = missing / rows
    return covariance**2 > _SIGNIFICANT**2 * share * (1 - share) * squares


class MissingEstimates:
    """Estimates of features that are NaN from the other features of the same row.

    Ridge regression of each standardised feature on the other features, where NaN counts as 0.

    Let G be the second moments of the standardised features with 0 for NaN, and P the inverse of
    G + ridge * I. The weights of feature j are -P[j, :] / P[j, j]. Zeros for NaN shrink the moments
    of feature j by the share of rows in which j is known, so weights are divided by this share.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        A sample of rows.
    fill : ndarray of shape (n_features,)
        Estimate for a feature without usable variance: constant, or too large to square.
    """

    def __init__(self, values: np.ndarray, fill: np.ndarray) -> None:
        known = ~np.isnan(values)
        counts = known.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.mean = np.where(known, values, 0).sum(axis=0) / counts
            squares = np.where(known, (values - self.mean) ** 2, 0).sum(axis=0) / counts
        usable = np.isfinite(squares) & (squares > 0)
        self.mean = np.where(usable, self.mean, fill)
        self.deviation = np.sqrt(np.where(usable, squares, np.inf))
        standard = self._standard(values)
        moments = standard.T @ standard / len(values)
        inverse = np.linalg.inv(moments + _RIDGE * np.eye(len(moments)))
        share = np.maximum(counts, 1) / len(values)
        self.weights = -inverse / (np.diag(inverse) * share)[:, None]
        np.fill_diagonal(self.weights, 0)

    def _standard(self, values: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), 0, (values - self.mean) / self.deviation)

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values with estimates in place of NaN.

        One product per row: a product of matrices may round equal rows to different estimates.
        """
        rows, columns = np.nonzero(np.isnan(values))
        if not len(rows):
            return values
        found = np.einsum("ij,ij->i", self._standard(values)[rows], self.weights[columns])
        scale = np.where(np.isfinite(self.deviation), self.deviation, 0)[columns]
        values = values.copy()
        values[rows, columns] = self.mean[columns] + scale * found.clip(-FARTHEST, FARTHEST)
        return values
