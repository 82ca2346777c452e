"""Transformers of columns of numbers: logarithms of heavy tails, and estimates of NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from skrank import _validation as check
from skrank._typing import Table

_BLOCK = 2**17  # values per block of rows: 1 MB of float64 stays in the CPU cache
_SAMPLE_ROWS = 2**13  # from which centers and scales are chosen
_PRESENT = 0.01  # columns with a smaller share of values other than 0 (or NaN) are not transformed
_HEAVY = 5.0  # kurtosis of heavy tails; the normal distribution has 3, the exponential has 9
_LOWER = 0.9  # a log is used if (kurtosis of logs) / (kurtosis of values) is below this
_DENSEST = 0.1  # the center is the middle of the shortest interval with this share of the values
_NEAR = 0.06  # the scale is this quantile of the distances from the center that are above 0
_LARGEST = np.finfo(np.float64).max


class _NumbersTransformer(TransformerMixin, BaseEstimator):
    """A transformer of columns of numbers, dense or sparse, which may have NaN."""

    def fit(self, X: Table, y: ArrayLike | None = None) -> Self:
        """Fit to at most 8192 rows, at equal distances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), optional
            Labels, such as grades minus the mean grade of their query. `SignedLog` ignores them.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        ValueError
            If a column is not of numbers, or a value is infinite.
        """
        self._fit(self._numbers(X, reset=True), y)
        return self

    def transform(self, X: Table) -> np.ndarray | sparse.csr_matrix:
        """Transform the columns; if nothing changes, without a copy.

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
        return self._transform(self._numbers(X, reset=False))

    def _fit(self, values: Any, y: ArrayLike | None) -> None:
        raise NotImplementedError

    def _transform(self, values: Any) -> Any:
        raise NotImplementedError

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


class SignedLog(OneToOneFeatureMixin, _NumbersTransformer):
    """Signed logarithms of columns with heavy tails, such as counts, times and lengths.

    A value x becomes f(x) - f(0) with f(x) = sign(x - center) log(1 + abs(x - center) / scale). 0
    is thus mapped to 0, and sparse columns stay sparse. NaN stays NaN.

    Parameters
    ----------
    columns : {"heavy", "all"}, default="heavy"
        "heavy": columns whose kurtosis is above 5, and that of the logarithms less than 0.9 times
        as large. "all": all columns. Constant columns, and columns of which more than 99 % are 0,
        stay as they are.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Where the values of a column are densest.
    scale_ : ndarray of shape (n_features,)
        A small distance from the center: the 6 % quantile of the distances above 0. NaN for a
        column that is not transformed. Center and scale are in units of the column, so that the
        unit does not change the logarithms.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    skrank.LinearRanker : transforms its columns of numbers by it.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.preprocessing import SignedLog
    >>> clicks = np.array([[0.0], [0.0], [1.0], [10.0], [1000.0], [np.nan]])
    >>> SignedLog("all").fit_transform(clicks).round(2).ravel()
    array([0.  , 0.  , 0.69, 2.4 , 6.91,  nan])
    """

    def __init__(self, columns: str = "heavy") -> None:
        self.columns = columns

    def _fit(self, values: Any, y: ArrayLike | None) -> None:
        check.check_choice("columns", self.columns, ("heavy", "all"))
        self.center_, self.scale_ = np.zeros(values.shape[1]), np.full(values.shape[1], np.nan)
        for number, known in _known_values(_sampled(values)):
            found = _center_and_scale(known, always=self.columns == "all")
            self.center_[number], self.scale_[number] = found

    def _transform(self, values: Any) -> Any:
        logs = np.flatnonzero(np.isfinite(self.scale_))
        if not len(logs):
            return values
        values = values.copy()
        if sparse.issparse(values):
            entries = np.flatnonzero(np.isin(values.indices, logs))
            values.data[entries] = self._logs(values.data[entries], values.indices[entries])
            return values
        for rows in gen_batches(len(values), max(1, _BLOCK // len(logs))):
            values[rows, logs] = self._logs(values[rows, logs], logs)
        return values

    def _logs(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        center, scale = self.center_[columns], self.scale_[columns]
        zeros = np.zeros(len(center))
        return _signed_log(values, center, scale) - _signed_log(zeros, center, scale)


_SIGNIFICANT = 3.0  # standard deviations by which the covariance of NaN and labels differs from 0
_MOST_ESTIMATED = 512  # columns, up to which NaN is estimated from the other columns
_RIDGE = 0.1  # penalty of the ridge regression of a standardised column on the others
FARTHEST = 3.0  # estimates are clipped to this number of standard deviations from the mean


class RidgeImputer(_NumbersTransformer):
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

    def _fit(self, values: Any, y: ArrayLike | None) -> None:
        sample, width = _sampled(values), values.shape[1]
        self.fill_ = np.zeros(width)
        for number, known in _known_values(sample):
            self.fill_[number] = np.median(known)
        self.missing_ = np.empty(0, np.int64)
        self.mean_: np.ndarray | None = None
        self.deviation_: np.ndarray | None = None
        self.weights_: np.ndarray | None = None
        if not _has_nan(values):
            return
        if y is not None:
            labels = check.as_vector("y", y)
            check_consistent_length(values, labels)
            self.missing_ = np.flatnonzero(_correlated_nan(values, labels))
        if not sparse.issparse(sample) and width <= _MOST_ESTIMATED:
            self._fit_estimates(sample.astype(np.float64, copy=False))

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

    def _transform(self, values: Any) -> Any:
        if not len(self.missing_) and not _has_nan(values):
            return values
        marks = values[:, self.missing_]
        if sparse.issparse(values):
            values = values.copy()
            values.data = np.where(np.isnan(values.data), self.fill_[values.indices], values.data)
            marks.data = np.isnan(marks.data).astype(values.dtype)
            marks.eliminate_zeros()
            return sparse.hstack([values, marks], format="csr")
        found = np.hstack([values, np.isnan(marks)], dtype=values.dtype, casting="unsafe")
        for rows in gen_batches(len(values), max(1, _BLOCK // values.shape[1])):
            block = values[rows].astype(np.float64)
            at, columns = np.nonzero(np.isnan(block))
            found[rows][at, columns] = self._estimates(block, at, columns)
        return found

    def _estimates(self, block: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.weights_ is None or self.deviation_ is None or self.mean_ is None:
            return self.fill_[columns]
        standard = np.where(np.isnan(block), 0, (block - self.mean_) / self.deviation_)
        # one product per row: a product of matrices may round equal rows to different estimates
        found = np.einsum("ij,ij->i", standard[rows], self.weights_[columns])
        scale = np.where(np.isfinite(self.deviation_), self.deviation_, 0)[columns]
        return self.mean_[columns] + scale * found.clip(-FARTHEST, FARTHEST)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns, such as "bm25", and of the indicators, such as "bm25_missing"."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        marks = [f"{name}_missing" for name in names[self.missing_]]
        return np.array([*names, *marks], dtype=object)


def _sampled(values: Any) -> Any:
    """At most _SAMPLE_ROWS rows, at equal distances."""
    return values[:: -(-values.shape[0] // _SAMPLE_ROWS)]


def _known_values(sample: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Number and known values of each column; omits columns with a share > 0.99 of zeros."""
    counts = np.asarray((sample != 0).sum(axis=0)).ravel()
    sample = sample.tocsc() if sparse.issparse(sample) else sample
    for number in np.flatnonzero(counts > _PRESENT * sample.shape[0]).tolist():
        column = sample[:, [number]]
        column = column.toarray() if sparse.issparse(column) else column
        known = column[~np.isnan(column)].astype(np.float64)
        if len(known):
            yield number, known


def _has_nan(values: Any) -> bool:
    if sparse.issparse(values):
        return bool(np.isnan(values.data).any())
    blocks = gen_batches(len(values), max(1, _BLOCK // values.shape[1]))
    return any(np.isnan(values[rows]).any() for rows in blocks)


def _correlated_nan(values: Any, y: np.ndarray) -> np.ndarray:
    """True for each column whose NaN correlates with y, whose mean is 0.

    Tests sum(y at NaN)^2 > z^2 p (1 - p) sum(y^2), with p the share of NaN and z = 3: the right
    side without z^2 is the variance of the sum if NaN and y are independent. Indicators of other
    columns would only fit noise.
    """
    sums = np.zeros((2, values.shape[1]))
    for rows in gen_batches(values.shape[0], max(1, _BLOCK // values.shape[1])):
        block = values[rows]
        if sparse.issparse(block):
            block.data = np.where(np.isnan(block.data), block.data, 0)
            block = block.toarray()
        sums += np.array([np.ones(len(y[rows])), y[rows]]) @ np.isnan(block).astype(np.float64)
    share = sums[0] / len(y)
    with np.errstate(all="ignore"):  # of labels that are infinite or too large to square
        return sums[1] ** 2 > _SIGNIFICANT**2 * share * (1 - share) * (y @ y)


def _signed_log(values: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        away = (values.astype(np.float64) - center) / scale
    np.clip(away, -_LARGEST, _LARGEST, out=away)
    return np.copysign(np.log1p(np.abs(away)), away)


def _center_and_scale(values: np.ndarray, *, always: bool) -> tuple[float, float]:
    """Center and scale of the logarithms of values; the scale is NaN if no logarithm is used."""
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
        after = _kurtosis(_signed_log(values, center, scale))
        center, scale = (float(np.ldexp(one, exponent)) for one in (center, scale))
        if (always or after < _LOWER * before) and scale >= np.finfo(np.float64).tiny:
            return center, scale
    return 0.0, np.nan


def _kurtosis(values: np.ndarray) -> float:
    """Mean fourth power of standardised values; 0 if they are constant."""
    squares = (values - values.mean()) ** 2
    variance = squares.mean()
    return float((squares**2).mean() / variance**2) if variance > 0 else 0.0
