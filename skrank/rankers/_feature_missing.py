"""NaN in the features of a linear ranker: what replaces it, and whether it tells of grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skrank.rankers._linear_features import Matrix, add, is_sparse, row_blocks, with_entries

_TELLS = 3.0  # NaN has a weight if its covariance with grades is more standard deviations from 0
FARTHEST = 3.0  # standard deviations of an estimate from the mean
_RIDGE = 0.1  # penalty of the estimates, for columns of variance 1


def has_gaps(X: Matrix) -> bool:
    """True if an entry is NaN."""
    if is_sparse(X):
        return bool(np.isnan(X.data).any())
    return any(np.isnan(X[rows]).any() for rows in row_blocks(X))


class GapSums(NamedTuple):
    """Where NaN is in some rows, and the grades there; tables of two parts of the rows add up.

    Attributes
    ----------
    present : bool
        True if an entry of the rows is NaN, be they used or not.
    rows, squares : float
        Number of the used rows, and the sum of the squares of their grades.
    sums : ndarray of shape (2, n_features)
        Number of the used rows with NaN, and the sum of their grades.
    """

    present: bool
    rows: float
    squares: float
    sums: np.ndarray

    @classmethod
    def of(cls, X: Matrix, grades: np.ndarray, used: np.ndarray) -> GapSums:
        """Sums over the `used` rows of X; grades are less the mean of their query."""
        sums = np.zeros((2, X.shape[1]))
        known = grades if len(used) == len(grades) else grades[used]
        present = has_gaps(X)
        if present:
            weights = np.zeros((2, X.shape[0]))
            weights[:, used] = np.ones(len(used)), grades[used]
            for rows in row_blocks(X):
                block = X[rows]
                gaps = np.isnan(block.data if is_sparse(block) else block).astype(np.float64)
                sums += weights[:, rows] @ (with_entries(block, gaps) if is_sparse(block) else gaps)
        return cls(present, len(used), float(known @ known), sums)

    @classmethod
    def total(cls, parts: Sequence[GapSums]) -> GapSums:
        """The sums over all rows."""
        present, rows, squares, sums = zip(*parts, strict=True)
        return cls(any(present), sum(rows), sum(squares), add(sums))

    def telling(self) -> np.ndarray:
        """True for each column whose NaN goes with higher or lower grades inside queries.

        Without such a relation, the indicators of many columns would learn the grades of single
        rows.
        """
        if not self.present:
            return np.zeros(self.sums.shape[1], dtype=bool)
        share, covariance = self.sums[0] / self.rows, self.sums[1]
        return covariance**2 > _TELLS**2 * share * (1 - share) * self.squares


class GapEstimates:
    """Estimates of the features that are NaN from the other features of a row.

    Ridge regression of each standardised feature on the others, with 0 for those that are NaN.

    With G the second moments of features with 0 for NaN, and P the inverse of G + ridge, the
    weights of feature j are -P[j, :] / P[j, j]. Zeros for NaN shrink the moments of j with the
    others by the share of rows in which j is known: weights are divided by this share.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        A sample of rows.
    fill : ndarray of shape (n_features,)
        In place of a feature that cannot be estimated, for it is constant or too large to square.
    """

    def __init__(self, values: np.ndarray, fill: np.ndarray) -> None:
        known = ~np.isnan(values)
        counts = known.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.mean = np.where(known, values, 0).sum(axis=0) / counts
            squares = np.where(known, (values - self.mean) ** 2, 0).sum(axis=0) / counts
        right = np.isfinite(squares) & (squares > 0)
        self.mean = np.where(right, self.mean, fill)
        self.deviation = np.sqrt(np.where(right, squares, np.inf))
        standard = self._standard(values)
        moments = standard.T @ standard / len(values)
        inverse = np.linalg.inv(moments + _RIDGE * np.eye(len(moments)))
        share = np.maximum(counts, 1) / len(values)
        self.weights = -inverse / (np.diag(inverse) * share)[:, None]
        np.fill_diagonal(self.weights, 0)

    def _standard(self, values: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), 0, (values - self.mean) / self.deviation)

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values with estimates in place of NaN; each row by itself, so that equal rows tie."""
        rows, columns = np.nonzero(np.isnan(values))
        if not len(rows):
            return values
        found = np.einsum("ij,ij->i", self._standard(values)[rows], self.weights[columns])
        scale = np.where(np.isfinite(self.deviation), self.deviation, 0)[columns]
        values = values.copy()
        values[rows, columns] = self.mean[columns] + scale * found.clip(-FARTHEST, FARTHEST)
        return values
