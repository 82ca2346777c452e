"""The features of a linear ranker: a ColumnTransformer of scikit-learn by default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import sklearn
from scipy.sparse import csr_matrix, issparse
from sklearn.base import TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, TargetEncoder
from sklearn.utils import _safe_indexing
from sklearn.utils.fixes import parse_version

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank._typing import Columns, Table
from skrank.preprocessing import RidgeImputer
from skrank.preprocessing._signed_log import center_and_scale, signed_log

# number up to which each level has a weight; weights of 20 levels lower nDCG@10 by .4 to 2.5 points
# on the collections of benchmarks/raw_features.py
_FEW_LEVELS = 4
_FOLDS = 5  # of rows, for the target encoding of training rows


def fit_features(
    features: str | TransformerMixin,
    X: Table,
    categorical: Columns | None,
    queries: Queries,
    grades: np.ndarray,
) -> tuple[TransformerMixin, np.ndarray | csr_matrix]:
    """The fitted transformer of `features`, a parameter of LinearRanker, and its output."""
    transformer = _unfitted(features, X, categorical)
    with np.errstate(over="ignore"):  # means of extreme values
        if not categorical_columns(X, categorical).any():
            return transformer, as_matrix(transformer.fit_transform(X, grades))
        # blocks of rows, which are the folds of the target encoder, have queries in random order
        places = np.random.RandomState(0).permutation(len(queries))
        rows = np.argsort(places[queries.row_query], kind="stable")
        unordered = transformer.fit_transform(_safe_indexing(X, rows), grades[rows])
        return transformer, as_matrix(unordered)[np.argsort(rows)]


def _unfitted(
    features: str | TransformerMixin, X: Table, categorical: Columns | None
) -> TransformerMixin:
    """The transformer of `features` for the columns of X."""
    if isinstance(features, str):
        check.check_choice("features", features, ("auto", "standard", "log"))
        return _default(features, X, categorical_columns(X, categorical))
    if not hasattr(features, "transform") or isinstance(features, type):
        raise ValueError(
            f'features={features!r} must be "auto", "standard", "log", or a transformer '
            "of scikit-learn, such as QuantileTransformer()."
        )
    if categorical is not None:
        raise ValueError(
            "features is a transformer of all columns, so that categorical_features has no "
            "effect: leave it unset, and encode categories by the transformer, such as "
            "make_column_transformer((OneHotEncoder(), ['site']), remainder='passthrough')."
        )
    return clone(features)


def _default(kind: str, X: Table, categorical: np.ndarray) -> TransformerMixin:
    if not categorical.any():
        return _of_numbers(kind, X)
    numbers = None
    if not categorical.all():
        numbers = _of_numbers(kind, _safe_indexing(X, np.flatnonzero(~categorical), axis=1))
    names = list(getattr(X, "columns", range(X.shape[1])))
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        names = list(range(len(names)))
    few = np.zeros(len(names), dtype=bool)
    levels = pd.DataFrame(_objects(_safe_indexing(X, np.flatnonzero(categorical), axis=1)))
    few[categorical] = levels.nunique(dropna=False).to_numpy() <= _FEW_LEVELS
    objects = FunctionTransformer(_objects, feature_names_out="one-to-one")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [
        ("numbers", numbers, ~categorical),
        ("levels", make_pipeline(objects, one_hot), few),
        ("means", make_pipeline(objects, _target_encoder()), categorical & ~few),
    ]
    transformers = [
        (name, step, [names[number] for number in np.flatnonzero(columns)])
        for name, step, columns in steps
        if columns.any()
    ]
    # with 1.0, the features of sparse rows stay sparse
    return ColumnTransformer(transformers, sparse_threshold=1.0, verbose_feature_names_out=False)


def _of_numbers(kind: str, X: Table) -> Pipeline:
    """Signed logarithms, with the constants of the columns of X, and estimates of NaN."""
    values = check.feature_numbers(X, check.MAKE_CATEGORY, who="LinearRanker")
    center, scale = np.zeros(values.shape[1]), np.full(values.shape[1], np.nan)
    if kind != "standard":
        center, scale = center_and_scale(values, only_heavy=kind == "auto")
    constants = {"center": center, "scale": scale}
    logs = FunctionTransformer(signed_log, feature_names_out="one-to-one", kw_args=constants)
    return make_pipeline(logs, RidgeImputer())


def _target_encoder() -> TargetEncoder:
    """Encodes training rows by the other folds, which are blocks of consecutive rows."""
    if parse_version(sklearn.__version__) >= parse_version("1.9"):
        return TargetEncoder(target_type="continuous", cv=KFold(_FOLDS))
    return TargetEncoder(target_type="continuous", cv=_FOLDS, shuffle=False)


def _objects(X: Any) -> Any:
    """Categories as encoders accept them: dense, with NaN in place of NA of pandas."""
    if issparse(X):
        return X.toarray()
    return X.astype(object).where(X.notna(), np.nan) if hasattr(X, "notna") else X


def categorical_columns(X: Table, named: Columns | None) -> np.ndarray:
    """True for columns of the pandas dtype category, and for columns that the caller names."""
    dtypes = getattr(X, "dtypes", [None] * X.shape[1])
    categorical = np.array([str(dtype) == "category" for dtype in dtypes], dtype=bool)
    names = list(getattr(X, "columns", ()))
    chosen = [] if named is None else list(np.atleast_1d(np.asarray(named, dtype=object)))
    for column in chosen:
        number = names.index(column) if isinstance(column, str) and column in names else column
        if isinstance(number, (str, bool, np.bool_)) or not 0 <= number < len(categorical):
            raise ValueError(
                f"categorical_features: X has no column {column!r}. Give names of columns of a "
                f"DataFrame, or numbers from 0 to {len(categorical) - 1}."
            )
        categorical[number] = True
    return categorical


def transformed(transformer: TransformerMixin, X: Table) -> np.ndarray | csr_matrix:
    """Features of rows, by a fitted transformer."""
    if getattr(transformer, "sparse_output_", False) and not issparse(X):
        X = csr_matrix(X)  # a ColumnTransformer that was fitted on sparse rows needs them
    return as_matrix(transformer.transform(X))


def as_matrix(features: Any) -> np.ndarray | csr_matrix:
    """The output of a transformer as an array or a CSR matrix of finite numbers."""
    matrix = check.feature_numbers(features, "encode it by features", who="LinearRanker")
    if np.isnan(matrix.data if issparse(matrix) else matrix).any():
        raise ValueError(
            "the output of features has NaN: impute by the transformer, such as by RidgeImputer()."
        )
    return matrix


def feature_names(transformer: TransformerMixin, n_features: int) -> list[str]:
    try:
        return list(transformer.get_feature_names_out())
    except (AttributeError, ValueError):
        # a step has no names, such as FunctionTransformer(np.sqrt), or two names are equal: a
        # column is called "site_a" like level "a" of the category "site"
        if getattr(transformer, "verbose_feature_names_out", True):
            return [f"x{number}" for number in range(n_features)]
    transformer.verbose_feature_names_out = True  # of a ColumnTransformer
    return feature_names(transformer, n_features)


def mean_columns(transformer: TransformerMixin, n_features: int) -> np.ndarray:
    """True for features that are mean grades of the levels of a category."""
    is_mean = np.zeros(n_features, dtype=bool)
    for name, part, _ in getattr(transformer, "transformers_", ()):
        last = part.steps[-1][1] if isinstance(part, Pipeline) else part
        if isinstance(last, TargetEncoder):
            is_mean[transformer.output_indices_[name]] = True
    return is_mean
