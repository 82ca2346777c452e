"""FeatureMap: from the columns of X to the features of a linear ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from skrank import _validation as check
from skrank._typing import Table
from skrank.rankers._feature_numbers import (
    MissingEstimates,
    informative_columns,
    known_values,
    log_of,
    signed_log,
)
from skrank.rankers._linear_rows import RowParts, TrainingRows
from skrank.rankers._matrix import (
    Matrix,
    columns_of,
    has_nan,
    is_sparse,
    row_blocks,
    stack_columns,
    stack_rows,
    with_entries,
    without_duplicates,
)

if TYPE_CHECKING:
    import pandas as pd

    Encoder: TypeAlias = OneHotEncoder | TargetEncoder

_SAMPLE_ROWS = 2**13  # from which the map of a column is chosen
_MOST_ESTIMATED = 512  # columns of numbers, up to which NaN is estimated from the other columns
_FEW_LEVELS = 4  # number up to which each level has a weight
_FOLDS = 5  # of queries, for out-of-fold target encoding
_REMEDY = "Make it a category, or name it in categorical_features of LinearRanker."


class FeatureMap(BaseEstimator):
    """The features of a linear ranker, from the columns of X.

    A column of numbers is kept, or replaced by its signed log f(x) - f(0), where
    f(x) = sign(x - center) * log(1 + abs(x - center) / scale). 0 is thus mapped to 0, and sparse
    columns stay sparse. NaN is replaced by an estimate from the other columns of the row if X is
    dense, has up to 512 columns of numbers, and has NaN in training; otherwise by the median. NaN
    has an indicator feature if it correlates with grades in training.

    A categorical column of up to 4 levels has an indicator feature for each level. In a column of
    more levels, each level is replaced by its mean grade, after the mean grade of each query is
    subtracted (target encoding). A level that does not occur in training has indicators of 0, or
    the mean grade of all rows.

    Parameters
    ----------
    features, categorical_features
        See LinearRanker.

    Attributes
    ----------
    table : DataFrame
        A row per feature: its column and its map. `repr` of the map is this table.
    transformer_ : transformer or None
        Fitted `features`, if this is a transformer. The other attributes are of its output.
    numbers_, categories_ : list of str
        Names of the columns of numbers, and of the categorical columns.
    categorical_ : bool ndarray
        True for a categorical column.
    center_, scale_, fill_ : ndarray
        For each column of numbers, the center and the scale of its log, and the median of the
        feature. The scale is NaN for a column that is not transformed.
    missing_ : ndarray
        Numbers of the columns of numbers that have an indicator of NaN.
    estimates_ : MissingEstimates or None
        Estimates that replace NaN; None: the medians `fill_` replace NaN.
    encoders_ : list of (encoder, ndarray)
        OneHotEncoder and TargetEncoder, and the numbers of the categorical columns they encode.
    grade_deviation_ : float
        Standard deviation of grades inside queries; 0 without categorical columns.
    n_features_in_ : int
    feature_names_in_ : ndarray
        If `X` has names that are all strings.
    """

    def __init__(
        self,
        features: str | TransformerMixin = "auto",
        categorical_features: Sequence[str | int | bool] | None = None,
    ) -> None:
        self.features = features
        self.categorical_features = categorical_features

    def set_columns(self, X: Table, grades: np.ndarray) -> None:
        """Set the names and kinds of the columns of X, and fit `features` if it is a transformer.

        Only a transformer reads the rows of X, and their `grades`, which are centred by query.
        """
        self._check_parameters()
        validate_data(self, X, skip_check_array=True)
        names = list(getattr(self, "feature_names_in_", ())) or _default_names(X)
        self.transformer_ = None
        if isinstance(self.features, str):
            self.categorical_ = _categorical(X, self.categorical_features)
        else:
            self.transformer_ = clone(self.features).fit(X, grades)
            if hasattr(self.transformer_, "get_feature_names_out"):
                names = list(self.transformer_.get_feature_names_out())
            else:
                names = _default_names(self.transformer_.transform(_safe_indexing(X, [0])))
            self.categorical_ = np.zeros(len(names), dtype=bool)
        self.numbers_ = [names[number] for number in np.flatnonzero(~self.categorical_)]
        self.categories_ = [names[number] for number in np.flatnonzero(self.categorical_)]

    def fit_columns(self, rows: RowParts) -> EncoderFolds | None:
        """Fit the map of each column on the parts of `TrainingRows`.

        Returns the out-of-fold encoders of training rows; None without columns of many levels.
        """
        missing = rows.sum(TrainingRows.missing_sums)
        n_rows = missing[2].max(initial=1)  # the same for all columns; 1 without columns
        samples = rows.collect(TrainingRows.sample, int(np.ceil(n_rows / _SAMPLE_ROWS)))
        self._fit_numbers(stack_rows(samples), missing)
        self.encoders_: list[tuple[Encoder, np.ndarray]] = []
        self.grade_deviation_ = 0.0
        if not self.categorical_.any():
            return None
        categories, *vectors = zip(*rows.collect(TrainingRows.levels), strict=True)
        grades, queries = map(np.concatenate, vectors)
        self.grade_deviation_ = float(np.sqrt(np.mean(grades**2)))
        return self._fit_categories(stack_rows(categories), grades, queries)

    def transform(self, X: Table) -> Matrix:
        """The features of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The columns that the map was fitted on.

        Returns
        -------
        ndarray or csr_matrix of shape (n_rows, n_features_out)
            `X` itself, if no column is transformed.
        """
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.apply(X)

    def apply(self, X: Table) -> Matrix:
        """`transform` without a check of the number and the names of the columns."""
        numbers, categories = self.split(X)
        return self.features_of(numbers, categories)

    def features_of(
        self,
        numbers: Matrix,
        categories: Any,
        folds: EncoderFolds | None = None,
        queries: Any = None,
    ) -> Matrix:
        """Features of columns; with `folds` and `queries`, levels get out-of-fold mean grades."""
        parts = self._numbers(numbers)
        for encoder, columns in self.encoders_:
            block = columns_of(categories, columns)
            encoded = np.array(encoder.transform(block))
            if folds is not None and queries is not None and isinstance(encoder, TargetEncoder):
                folds.encode(block, queries, encoded)
            parts.append(encoded)
        return stack_columns(parts)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the features, such as "bm25", "bm25_missing" and "site_org"."""
        return self.table.index.to_numpy(dtype=object)

    def least_deviations(self) -> np.ndarray | float:
        """Lower bounds for the standard deviations by which training divides the features.

        The bound of a feature of mean grades is the standard deviation of grades. If the levels
        hardly tell documents apart, their mean grades hardly differ. Divided by their own standard
        deviation, these small differences, mostly noise, would count as much as other features.
        """
        if self.grade_deviation_ == 0:
            return 0.0
        return np.where(self.table["map"] == "mean grade", self.grade_deviation_, 0.0)

    def transferred(self, before: FeatureMap, weights: np.ndarray) -> np.ndarray:
        """Weights of another map, for features of the same name in this map; 0 for new features."""
        known = dict(zip(before.get_feature_names_out(), weights, strict=True))
        return np.array([known.get(name, 0.0) for name in self.get_feature_names_out()])

    @property
    def table(self) -> pd.DataFrame:
        """A row per feature: its column and its map."""
        import pandas as pd

        forms = np.where(np.isnan(self.scale_), "as it is", "log")
        center = np.where(np.isnan(self.scale_), np.nan, self.center_)
        fill = self.fill_ if self.estimates_ is None else ["estimate"] * len(forms)
        given = (self.numbers_, forms, center, self.scale_, fill)
        rows: list[tuple[object, ...]] = [(one[0], *one) for one in zip(*given, strict=True)]
        missing = [self.numbers_[number] for number in self.missing_]
        empty = (np.nan, np.nan, np.nan)
        rows += [(f"{name}_missing", name, "is NaN", *empty) for name in missing]
        for encoder, columns in self.encoders_:
            names = [self.categories_[number] for number in columns]
            if isinstance(encoder, OneHotEncoder):
                made = iter(encoder.get_feature_names_out(names))
                for name, levels in zip(names, encoder.categories_, strict=True):
                    rows += [(next(made), name, f"is {level}", *empty) for level in levels]
            else:
                rows += [(name, name, "mean grade", *empty) for name in names]
        heads = ["feature", "column", "map", "center", "scale", "for NaN"]
        return pd.DataFrame(rows, columns=heads).set_index("feature")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "encoders_"):
            return super().__repr__(N_CHAR_MAX)
        return self.table.to_string(na_rep="", float_format="{:.4g}".format)

    # columns --------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if isinstance(self.features, str):
            check.check_choice("features", self.features, ("auto", "standard", "log"))
        elif not hasattr(self.features, "transform") or isinstance(self.features, type):
            raise ValueError(
                f'features={self.features!r} must be "auto", "standard", "log", or a transformer '
                "of scikit-learn, such as QuantileTransformer()."
            )
        elif self.categorical_features is not None:
            raise ValueError(
                "features is a transformer of all columns, so that categorical_features has no "
                "effect: leave it unset, and encode categories by the transformer, such as "
                "make_column_transformer((OneHotEncoder(), ['site']), remainder='passthrough')."
            )

    def split(self, X: Table) -> tuple[Matrix, Any]:
        """Columns of numbers, and categorical columns or None."""
        if self.transformer_ is not None:
            X = self.transformer_.transform(X)
        if not self.categorical_.any():
            return check.feature_numbers(X, _REMEDY, who=self), None
        categories = columns_of(X, np.flatnonzero(self.categorical_))
        if issparse(categories):
            categories = categories.toarray()
        elif hasattr(categories, "notna"):  # encoders of scikit-learn do not accept pandas.NA
            categories = categories.astype(object).where(categories.notna(), np.nan)
        if self.categorical_.all():
            return np.empty((X.shape[0], 0)), categories
        numbers = columns_of(X, np.flatnonzero(~self.categorical_))
        return check.feature_numbers(numbers, _REMEDY, who=self), categories

    # numbers --------------------------------------------------------------------------------------

    def _fit_numbers(self, sample: Matrix, missing: np.ndarray) -> None:
        """Fit the map of each column of numbers on a sample of rows."""
        columns = np.arange(sample.shape[1])
        self.center_, self.scale_, self.fill_ = np.zeros((3, len(columns)))
        self.scale_[:] = np.nan
        self.missing_ = np.flatnonzero(informative_columns(missing))
        self.estimates_: MissingEstimates | None = None
        for column, values in known_values(sample):
            self.fill_[column] = np.median(values)
            if self.transformer_ is None and self.features != "standard":
                found = log_of(values, always=self.features == "log")
                self.center_[column], self.scale_[column] = found
        self.fill_ = self._logs(self.fill_, columns)
        if not is_sparse(sample) and len(columns) <= _MOST_ESTIMATED and missing[0].any():
            self.estimates_ = MissingEstimates(self._logs(sample, columns), self.fill_)

    def _numbers(self, X: Matrix) -> list[Matrix]:
        """Features of columns of numbers, and indicators of NaN."""
        if np.isnan(self.scale_).all() and not has_nan(X):
            mapped = X
        elif is_sparse(X):
            X = without_duplicates(X)
            entries = self._logs(X.data, X.indices)
            entries = np.where(np.isnan(entries), self.fill_[X.indices], entries)
            mapped = with_entries(X, entries.astype(X.dtype))
        else:
            mapped, columns = np.empty(X.shape, X.dtype), np.arange(X.shape[1])
            for rows in row_blocks(X):
                block = self._logs(X[rows], columns)
                if self.estimates_ is not None:
                    block = self.estimates_.filled(block)
                mapped[rows] = np.where(np.isnan(block), self.fill_, block)
        if not len(self.missing_):
            return [mapped]
        indicators = X[:, self.missing_]
        if not is_sparse(indicators):
            return [mapped, np.isnan(indicators)]
        indicators.data = np.isnan(indicators.data).astype(X.dtype)
        indicators.eliminate_zeros()
        return [mapped, indicators]

    def _logs(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values or their signed logs; the last axis runs over `columns`. NaN stays NaN."""
        found = np.array(values, dtype=np.float64)
        logs = np.isfinite(self.scale_[columns])
        center, scale = self.center_[columns][logs], self.scale_[columns][logs]
        found[..., logs] = signed_log(found[..., logs], center, scale)
        found[..., logs] -= signed_log(np.zeros(len(center)), center, scale)
        return found

    # categories -----------------------------------------------------------------------------------

    def _fit_categories(
        self, categories: Any, grades: np.ndarray, queries: np.ndarray
    ) -> EncoderFolds | None:
        """Fit an encoder of columns of few levels, and an encoder of columns of many levels."""
        counts = [len(levels) for levels in OneHotEncoder().fit(categories).categories_]
        few = np.array(counts) <= _FEW_LEVELS
        for encoder, columns in (
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), np.flatnonzero(few)),
            (TargetEncoder(target_type="continuous"), np.flatnonzero(~few)),
        ):
            if len(columns):
                encoder.fit(columns_of(categories, columns), grades)
                self.encoders_.append((encoder, columns))
        if few.all():
            return None
        return EncoderFolds.fit(columns_of(categories, np.flatnonzero(~few)), grades, queries)


def _default_names(X: Table) -> list[str]:
    return [f"x{number}" for number in range(X.shape[1])]


def _categorical(X: Table, given: Sequence[str | int | bool] | None) -> np.ndarray:
    """True for columns of the pandas dtype category, and for columns that the caller names."""
    dtypes = getattr(X, "dtypes", [None] * X.shape[1])
    categorical = np.array([str(one) == "category" for one in dtypes], dtype=bool)
    names = list(getattr(X, "columns", ()))
    chosen = [] if given is None else list(np.atleast_1d(np.asarray(given, dtype=object)))
    if chosen and all(isinstance(one, (bool, np.bool_)) for one in chosen):
        if len(chosen) != len(categorical):
            raise ValueError(
                f"categorical_features has {len(chosen)} entries, and X has {len(categorical)} "
                "columns: give one True or False per column, or names or numbers of columns."
            )
        chosen = list(np.flatnonzero(chosen))
    for one in chosen:
        number = names.index(one) if isinstance(one, str) and one in names else one
        if isinstance(number, str) or not 0 <= number < len(categorical):
            raise ValueError(
                f"categorical_features: X has no column {one!r}. Give names of columns of a "
                f"DataFrame, or numbers from 0 to {len(categorical) - 1}."
            )
        categorical[number] = True
    return categorical


class EncoderFolds(NamedTuple):
    """Out-of-fold target encoders: a training row is encoded without the grades of its query.

    Attributes
    ----------
    encoders : list of TargetEncoder
        The encoder of each fold of queries, fitted on the other folds; none for a single query.
    fold_of : ndarray
        Number of the fold of each query.
    """

    encoders: list[TargetEncoder]
    fold_of: np.ndarray

    @classmethod
    def fit(cls, categories: Any, grades: np.ndarray, queries: np.ndarray) -> EncoderFolds:
        """Fit the encoders on rows, with the number of the query of each row."""
        encoders: list[TargetEncoder] = []
        fold_of = np.full(queries.max() + 1, -1)
        n_folds = min(_FOLDS, len(np.unique(queries)))
        if n_folds > 1:
            for others, fold in GroupKFold(n_folds).split(queries, groups=queries):
                fold_of[queries[fold]] = len(encoders)
                encoder = TargetEncoder(target_type="continuous")
                encoders.append(encoder.fit(_safe_indexing(categories, others), grades[others]))
        return cls(encoders, fold_of)

    def encode(self, categories: Any, queries: np.ndarray, encoded: np.ndarray) -> None:
        """Overwrite `encoded`, features of training rows, by those of the encoder of their fold."""
        for number, encoder in enumerate(self.encoders):
            rows = np.flatnonzero(self.fold_of[queries] == number)
            if len(rows):
                encoded[rows] = encoder.transform(_safe_indexing(categories, rows))
