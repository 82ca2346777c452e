"""NaN in the features of a linear ranker: its estimates, and its correlation with grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skrank.rankers._linear_features import Matrix, is_sparse, row_blocks, sum_arrays, with_entries

_SIGNIFICANT = 3.0  # standard deviations by which the covariance of NaN and grades differs from 0
FARTHEST = 3.0  # estimates are clipped to this number of standard deviations from the mean
_RIDGE = 0.1  # penalty of the ridge regression of standardised columns


def has_nan(X: Matrix) -> bool:
    """True if an entry is NaN."""
    if is_sparse(X):
        return bool(np.isnan(X.data).any())
    return any(np.isnan(X[rows]).any() for rows in row_blocks(X))


class MissingSums(NamedTuple):
    """Counts of NaN and sums of grades at NaN. `total` adds the sums of disjoint sets of rows.

    Attributes
    ----------
    present : bool
        True if any row, used or not, has NaN.
    rows, squares : float
        Number of used rows, and the sum of the squares of their grades.
    sums : ndarray of shape (2, n_features)
        For each feature, the number of used rows with NaN, and the sum of their grades.
    """

    present: bool
    rows: float
    squares: float
    sums: np.ndarray

    @classmethod
    def of(cls, X: Matrix, grades: np.ndarray, used: np.ndarray) -> MissingSums:
        """Sums over the `used` rows of X; `grades` are centred by query."""
        sums = np.zeros((2, X.shape[1]))
        known = grades if len(used) == len(grades) else grades[used]
        present = has_nan(X)
        if present:
            weights = np.zeros((2, X.shape[0]))
            weights[:, used] = np.ones(len(used)), grades[used]
            for rows in row_blocks(X):
                block = X[rows]
                nan = np.isnan(block.data if is_sparse(block) else block).astype(np.float64)
                sums += weights[:, rows] @ (with_entries(block, nan) if is_sparse(block) else nan)
        return cls(present, len(used), float(known @ known), sums)

    @classmethod
    def total(cls, parts: Sequence[MissingSums]) -> MissingSums:
        """The sums over all rows."""
        present, rows, squares, sums = zip(*parts, strict=True)
        return cls(any(present), sum(rows), sum(squares), sum_arrays(sums))

    def informative_columns(self) -> np.ndarray:
        """True for each column whose NaN correlates with grades inside queries.

        Tests sum(grades at NaN)^2 > z^2 p (1 - p) sum(grades^2), with p the share of NaN and z = 3:
        the right side without z^2 is the variance of the sum if NaN and grades are independent.
        Indicators of other columns would only fit noise.
        """
        if not self.present:
            return np.zeros(self.sums.shape[1], dtype=bool)
        share, covariance = self.sums[0] / self.rows, self.sums[1]
        return covariance**2 > _SIGNIFICANT**2 * share * (1 - share) * self.squares


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
        """Values with estimates in place of NaN, computed row by row, so that equal rows tie."""
        rows, columns = np.nonzero(np.isnan(values))
        if not len(rows):
            return values
        found = np.einsum("ij,ij->i", self._standard(values)[rows], self.weights[columns])
        scale = np.where(np.isfinite(self.deviation), self.deviation, 0)[columns]
        values = values.copy()
        values[rows, columns] = self.mean[columns] + scale * found.clip(-FARTHEST, FARTHEST)
        return values
