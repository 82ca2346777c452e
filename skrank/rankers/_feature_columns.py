"""Rows and columns on which a FeatureMap is fitted: all of them, or those of a Dask partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import _safe_indexing

from skrank._engine.judgments import Judgments
from skrank.rankers._feature_numbers import MissingSums
from skrank.rankers._linear_features import Matrix

_FOLDS = 5  # of queries, for out-of-fold target encoding


class TrainingRows(NamedTuple):
    """Labels and weights of all rows, or of the rows of one partition.

    Vectors with an entry per row are computed when they are used, since they need memory.

    Attributes
    ----------
    judgments : Judgments
    y : ndarray of shape (n_rows,)
        Labels in the caller's row order.
    weights : ndarray of shape (n_queries,)
        From 0 to 1; 0 for a query that is not trained on.
    numbers : ndarray of shape (n_queries,)
        Number of each query, by ascending query id of all partitions.
    used_before : int
        Number of used rows in previous partitions.
    """

    judgments: Judgments
    y: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray
    used_before: int = 0

    @property
    def grades(self) -> np.ndarray:
        """Grade of each row minus the mean grade of its query."""
        queries = self.judgments.queries
        return queries.scatter(queries.centered(queries.gather(self.y)))

    @property
    def row_numbers(self) -> np.ndarray:
        """Number of the query of each row."""
        queries = self.judgments.queries
        return queries.scatter(np.repeat(self.numbers, queries.sizes))

    @property
    def used(self) -> np.ndarray:
        """Numbers of the rows of weight above 0; the map of features does not depend on others."""
        queries = self.judgments.queries
        return np.flatnonzero(queries.scatter(np.repeat(self.weights > 0, queries.sizes)))


class TrainingColumns(NamedTuple):
    """Columns on which a FeatureMap is fitted, of all rows or of one partition."""

    numbers: Matrix
    categories: Any  # DataFrame, ndarray or None
    rows: TrainingRows

    def missing_sums(self) -> MissingSums:
        """Number of NaN and sum of their grades, for each column of numbers."""
        return MissingSums.of(self.numbers, self.rows.grades, self.rows.used)

    def sample(self, step: int) -> Matrix:
        """Numbers of every `step`-th used row, counted over all partitions."""
        return self.numbers[self.rows.used[-self.rows.used_before % step :: step]]

    def levels(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Categories, grades and queries of the used rows."""
        used = self.rows.used
        return rows_of(self.categories, used), self.rows.grades[used], self.rows.row_numbers[used]


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
