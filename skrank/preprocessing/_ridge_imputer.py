"""RidgeImputer: estimates of NaN from the other columns, and indicators of NaN."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from skrank import _validation as check
from skrank._typing import Table

_BLOCK = 2**17  # values per block of rows
_SAMPLE_ROWS = 2**13  # from which medians and weights are computed
_MOST_ESTIMATED = 512  # columns, up to which NaN is estimated: the time grows with their cube
# Other values of the next three constants change nDCG@10 of a LinearRanker by -1.4 to .5 points, on
# the sample of MSLR-WEB with missing values (benchmarks/raw_features.py).
_SIGNIFICANT = 3.0  # standard deviations by which the covariance of NaN and labels differs from 0
_RIDGE = 0.1  # penalty of the ridge regression of a standardised column on the others
FARTHEST = 3.0  # estimates are clipped to this number of standard deviations from the mean


class RidgeImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace NaN by estimates from the other columns of the row, and mark NaN that tells labels.

    Each standardised column is regressed on the other columns, where NaN counts as 0. This takes
    one matrix inversion in place of a regression per column and round.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
        Medians, which replace NaN if `X` is sparse, has more than 512 columns, or had no NaN in
        `fit`.
    mean_, deviation_ : ndarray of shape (n_features,), or None
        Means and standard deviations of the columns; inf for columns that are not estimated.
    weights_ : ndarray of shape (n_features, n_features), or None
        ``weights_[j]`` are the weights of the standardised columns in the estimate of column j.
    missing_ : ndarray
        Numbers of the columns with an indicator of NaN: those whose NaN correlates with `y`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    sklearn.impute.IterativeImputer : a regression per column and round.

    Notes
    -----
    Let G be the second moments of the standardised columns with 0 for NaN, and P the inverse of
    G + 0.1 I. The weights of column j are -P[j, :] / P[j, j], divided by the share of rows in which
    j is known, since zeros for NaN shrink its moments by this share.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.preprocessing import RidgeImputer
    >>> rows = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [3.0, np.nan]])
    >>> RidgeImputer().fit_transform(rows).round()[-1]
    array([3., 5.])
    """

    def fit(self, X: Table, y: ArrayLike | None = None) -> Self:
        """Fit; estimates are fitted to at most 8192 rows, at equal distances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), optional
            Labels, such as grades minus the mean grade of their query.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        ValueError
            If a column is not of numbers, or a value is infinite.
        """
        values = self._numbers(X, reset=True)
        sample = values[:: -(-values.shape[0] // _SAMPLE_ROWS)]
        medians = SimpleImputer(strategy="median", keep_empty_features=True).fit(sample)
        self.fill_ = medians.statistics_
        self.missing_ = np.empty(0, np.int64)
        self.mean_: np.ndarray | None = None
        self.deviation_: np.ndarray | None = None
        self.weights_: np.ndarray | None = None
        if not _has_nan(values):
            return self
        if y is not None:
            labels = check.as_vector("y", y)
            check_consistent_length(values, labels)
            self.missing_ = np.flatnonzero(_correlated_nan(values, labels))
        if not sparse.issparse(sample) and values.shape[1] <= _MOST_ESTIMATED:
            self._fit_estimates(sample.astype(np.float64, copy=False))
        return self

    def _fit_estimates(self, values: np.ndarray) -> None:
        known = ~np.isnan(values)
        counts = known.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = np.where(known, values, 0).sum(axis=0) / counts
            squares = np.where(known, (values - mean) ** 2, 0).sum(axis=0) / counts
        usable = np.isfinite(squares) & (squares > 0)
        mean = np.where(usable, mean, self.fill_)
        deviation = np.sqrt(np.where(usable, squares, np.inf))
        standard = np.where(known, (values - mean) / deviation, 0)
        moments = standard.T @ standard / len(values)
        inverse = np.linalg.inv(moments + _RIDGE * np.eye(len(moments)))
        share = np.maximum(counts, 1) / len(values)
        weights = -inverse / (np.diag(inverse) * share)[:, None]
        np.fill_diagonal(weights, 0)
        self.mean_, self.deviation_, self.weights_ = mean, deviation, weights

    def transform(self, X: Table) -> np.ndarray | sparse.csr_matrix:
        """Replace NaN, and add the indicators; if nothing changes, without a copy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)

        Raises
        ------
        ValueError
            As `fit`; and if the number or the names of the columns differ from those in `fit`.
        """
        check_is_fitted(self)
        values = self._numbers(X, reset=False)
        if not len(self.missing_) and not _has_nan(values):
            return values
        marks = values[:, self.missing_]
        if sparse.issparse(values):
            values = values.copy()
            values.data = np.where(np.isnan(values.data), self.fill_[values.indices], values.data)
            marks.data = np.isnan(marks.data).astype(values.dtype)
            marks.eliminate_zeros()
            return sparse.hstack([values, marks], format="csr")
        filled = values.copy()
        for rows in gen_batches(len(values), max(1, _BLOCK // values.shape[1])):
            block = values[rows].astype(np.float64)
            filled[rows] = np.where(np.isnan(block), self._estimates(block), block)
        return np.hstack([filled, np.isnan(marks)], dtype=values.dtype)

    def _estimates(self, block: np.ndarray) -> np.ndarray:
        """Estimates of all values of a block of rows, or medians."""
        if self.weights_ is None or self.deviation_ is None or self.mean_ is None:
            return self.fill_
        standard = np.where(np.isnan(block), 0, (block - self.mean_) / self.deviation_)
        scale = np.where(np.isfinite(self.deviation_), self.deviation_, 0)
        return self.mean_ + scale * (standard @ self.weights_.T).clip(-FARTHEST, FARTHEST)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns, such as "bm25", and of the indicators, such as "bm25_missing"."""
        names = super().get_feature_names_out(input_features)
        marks = [f"{name}_missing" for name in names[self.missing_]]
        return np.array([*names, *marks], dtype=object)

    def _numbers(self, X: Table, *, reset: bool) -> Any:
        """X as an array or a CSR matrix."""
        remedy = check.MAKE_CATEGORY if reset else check.WAS_NUMBER
        values = check.feature_numbers(X, remedy, who=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _has_nan(values: Any) -> bool:
    data = values.data if sparse.issparse(values) else values
    return data.size > 0 and bool(np.isnan(data.min()))  # NaN if a value is, without a mask


def _correlated_nan(values: Any, y: np.ndarray) -> np.ndarray:
    """True for each column whose NaN correlates with y; a label that is NaN does not count.

    With y minus its mean, tests sum(y at NaN)^2 > z^2 p (1 - p) sum(y^2), with p the share of NaN
    and z = 3: the right side without z^2 is the variance of the sum if NaN and y are independent.
    Indicators of other columns would only fit noise.
    """
    if sparse.issparse(values):
        entries = values.tocoo()
        is_nan = np.isnan(entries.data)
        rows, columns = entries.row[is_nan], entries.col[is_nan]
    else:
        rows, columns = np.nonzero(np.isnan(values))
    share = np.bincount(columns, minlength=values.shape[1]) / len(y)
    known = ~np.isnan(y)
    with np.errstate(all="ignore"):  # of labels that are infinite or too large to square
        y = np.where(known, y - np.nansum(y) / known.sum(), 0.0)
        sums = np.bincount(columns, y[rows], minlength=values.shape[1])
        return sums**2 > _SIGNIFICANT**2 * share * (1 - share) * (y @ y)
