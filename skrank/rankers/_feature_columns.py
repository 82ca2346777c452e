"""Columns on which a FeatureMap is fitted: those of all rows, or those of one Dask partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import _safe_indexing

from skrank.rankers._feature_missing import MissingSums
from skrank.rankers._linear_features import Matrix, bytes_of, is_sparse

_FOLDS = 5  # of queries, for out-of-fold target encoding
_PRESENT = 0.01  # share of values other than 0 below which a column is not transformed


@dataclass(frozen=True, eq=False)
class TrainingColumns:
    """Columns and grades of all rows, or of the rows of one partition.

    Attributes
    ----------
    numbers : ndarray or csr_matrix
    categories : DataFrame or ndarray, or None
    grades : ndarray of shape (n_rows,)
        Grade of each row minus the mean grade of its query.
    queries : ndarray of shape (n_rows,)
        Number of the query of each row.
    used : ndarray
        Numbers of the rows of training queries; the map does not depend on other rows.
    before : int
        Number of used rows in previous partitions.
    """

    numbers: Matrix
    categories: Any
    grades: np.ndarray
    queries: np.ndarray
    used: np.ndarray
    before: int = 0

    def __sizeof__(self) -> int:
        return bytes_of(self.numbers) + 32 * len(self.grades)  # for Dask

    def missing_sums(self) -> MissingSums:
        """Number of NaN and sum of their grades, for each column of numbers."""
        return MissingSums.of(self.numbers, self.grades, self.used)

    def sample(self, step: int) -> Matrix:
        """Numbers of every `step`-th used row, counted over all partitions."""
        return self.numbers[self.used[-self.before % step :: step]]

    def levels(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Categories, grades and queries of the used rows."""
        return rows_of(self.categories, self.used), self.grades[self.used], self.queries[self.used]


class EncoderFolds(NamedTuple):
    """Out-of-fold target encoders: a training row is encoded without the grades of its query.

    Attributes
    ----------
    encoders : list of TargetEncoder
        The encoder of each fold of queries, fitted on the other folds.
    fold_of : ndarray
        Number of the fold of each query; -1 for a query without used rows.
    """

    encoders: list[TargetEncoder]
    fold_of: np.ndarray

    @classmethod
    def fit(cls, categories: Any, grades: np.ndarray, queries: np.ndarray) -> EncoderFolds:
        """Fit the encoders on the used rows."""
        encoders: list[TargetEncoder] = []
        fold_of = np.full(queries.max() + 1, -1)
        n_folds = min(_FOLDS, len(np.unique(queries)))
        if n_folds > 1:
            for others, fold in GroupKFold(n_folds).split(queries, groups=queries):
                fold_of[queries[fold]] = len(encoders)
                encoder = TargetEncoder(target_type="continuous")
                encoders.append(encoder.fit(rows_of(categories, others), grades[others]))
        return cls(encoders, fold_of)

    def encode(self, categories: Any, queries: np.ndarray, encoded: np.ndarray) -> None:
        """Overwrite `encoded` in the rows of used queries by the encoders of their folds."""
        known = queries < len(self.fold_of)
        folds = np.where(known, self.fold_of[np.where(known, queries, 0)], -1)
        for number, encoder in enumerate(self.encoders):
            rows = np.flatnonzero(folds == number)
            if len(rows):
                encoded[rows] = encoder.transform(rows_of(categories, rows))


def rows_of(X: Any, rows: np.ndarray) -> Any:
    return X if len(rows) == X.shape[0] else _safe_indexing(X, rows)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Concatenate frames, arrays or matrices along their rows."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def columns_of(X: Any, columns: np.ndarray) -> Any:
    return _safe_indexing(X, columns, axis=1)


def known_values(X: Matrix) -> Iterator[tuple[int, np.ndarray]]:
    """Number and known values of each column; omits columns with a share > 0.99 of zeros."""
    counts = np.bincount(X.indices, X.data != 0, X.shape[1]) if is_sparse(X) else (X != 0).sum(0)
    columns: Any = X.tocsc() if is_sparse(X) else X
    for column in np.flatnonzero(counts > _PRESENT * X.shape[0]).tolist():
        values = columns[:, [column]].toarray().ravel() if is_sparse(X) else columns[:, column]
        values = values[~np.isnan(values)].astype(np.float64)
        if len(values):
            yield column, values
