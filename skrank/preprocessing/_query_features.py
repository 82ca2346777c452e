"""Transformers that compare the features of documents inside a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank import _validation as check
from skrank._engine.groups import LEVEL, require_groups, resolve_groups, without_queries
from skrank._typing import Table

RowQuery: TypeAlias = np.ndarray  # number of the query of each row


def _rank(table: pd.DataFrame, row_query: RowQuery) -> pd.DataFrame:
    """Mean rank of each value in its query (lowest: 1), divided by the number of known values."""
    return table.groupby(row_query).rank(pct=True)


def _zscore(table: pd.DataFrame, row_query: RowQuery) -> pd.DataFrame:
    """Value minus the mean of its query, in standard deviations; 0 if all values are equal."""
    shares = _share(table, row_query)  # at most 1, so that squares do not overflow
    queries = shares.groupby(row_query)
    rest = shares - queries.transform("mean")
    deviations = np.sqrt((rest**2).groupby(row_query).transform("mean"))
    # equal values may differ from a rounded mean, and deviations of tiny values may be 0
    equal = (queries.transform("max") == queries.transform("min")) & shares.notna()
    return (rest / deviations.where(deviations > 0, 1)).mask(equal, 0)


def _share(table: pd.DataFrame, row_query: RowQuery) -> pd.DataFrame:
    """Value divided by the largest absolute value of its query; 0 if all values are 0."""
    largest = table.abs().groupby(row_query).transform("max")
    return table / largest.where(largest > 0, 1)


def _difference(table: pd.DataFrame, row_query: RowQuery) -> pd.DataFrame:
    """Value minus the highest value of its query."""
    return table - table.groupby(row_query).transform("max")


# functions of numbers and the queries of their rows; NaN stays NaN and is ignored
KINDS: dict[str, Callable[[pd.DataFrame, RowQuery], pd.DataFrame]] = {
    "rank": _rank,
    "zscore": _zscore,
    "share": _share,
    "difference": _difference,
}


class QueryFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Add ranks or standardised values of each feature inside its query.

    A BM25 score of 12 may be high in one query and low in another. With "rank", the highest score
    of a query has the value 1 in every query, unless it is tied.

    Parameters
    ----------
    kinds : str or sequence of str, default="rank"
        What to add for each feature:

        - "rank": mean rank of the value, counted from the lowest, divided by the number of values,
          so that a single highest value has 1;
        - "zscore": the value minus the mean, divided by the standard deviation (of divisor n), 0 if
          all values are equal;
        - "share": the value divided by the largest absolute value, 0 if all values are 0;
        - "difference": the value minus the highest value, at most 0.
    keep_original : bool, default=True
        True: the output begins with the features of `X`.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    skrank.with_groups : puts the query of each row on the index of the labels.

    Notes
    -----
    NaN stays NaN, and is ignored in the values of other documents. Infinite values are an error.

    The query of each row comes from `groups`, from the index level "qid" of `X`, or from a column
    "qid" of `X`, which is then neither a feature nor in the output. `fit` of a pipeline can also
    read the index level "qid" of `y`; `predict` has no `y`, so that `X` must have the queries.
    Rankers that contain the pipeline leave out a column "qid": then the index must have the level.
    `set_output(transform="pandas")` keeps the index of `X` for the next steps of a pipeline.

    All documents of a query must be in one call. For a Dask frame with whole queries in its
    partitions, call `fit` on some rows, and then ``frame.map_partitions(features.transform)``.

    Examples
    --------
    >>> from skrank import QueryFeatures
    >>> X = [[3.0], [1.0], [2.0], [20.0], [50.0]]
    >>> features = QueryFeatures(["rank", "difference"]).fit(X)
    >>> features.transform(X, groups=["a", "a", "a", "b", "b"]).round(2)
    array([[  3.  ,   1.  ,   0.  ],
           [  1.  ,   0.33,  -2.  ],
           [  2.  ,   0.67,  -1.  ],
           [ 20.  ,   0.5 , -30.  ],
           [ 50.  ,   1.  ,   0.  ]])
    >>> features.get_feature_names_out()
    array(['x0', 'x0_rank', 'x0_difference'], dtype=object)
    """

    # `fit` ignores groups, but a pipeline passes `fit_transform` what both methods request
    __metadata_request__fit: ClassVar[dict[str, object]] = {"groups": True}
    __metadata_request__transform: ClassVar[dict[str, object]] = {"groups": True}

    def __init__(self, kinds: str | Sequence[str] = "rank", *, keep_original: bool = True) -> None:
        self.kinds = kinds
        self.keep_original = keep_original

    def fit(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> QueryFeatures:
        """Store the number and the names of the features; nothing else is learned.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y, groups : ignored

        Returns
        -------
        QueryFeatures
            Itself, fitted.

        Raises
        ------
        ValueError
            If a parameter is wrong, a feature is infinite, or `X` is sparse.
        """
        self._checked_kinds()
        self._table(check.feature_table(X), reset=True)
        return self

    def transform(self, X: Table, groups: ArrayLike | None = None) -> np.ndarray:
        """Add the values of `kinds` to the features.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            All documents of the queries.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" or the column "qid" of `X`.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The features, if `keep_original`, then all features of the first of `kinds`, and so on.

        Raises
        ------
        ValueError
            If groups are missing, have the wrong length, or differ between two sources; if a
            feature is infinite; if `X` is sparse.
        """
        check_is_fitted(self)
        kinds = self._checked_kinds()
        X = check.feature_table(X)
        values = self._table(X, reset=False)
        ids = require_groups(groups, X=X, who="QueryFeatures.transform")
        row_query = pd.factorize(ids)[0]
        table, lowest = pd.DataFrame(values, dtype=np.float64), np.finfo(values.dtype).min
        parts = [values] if self.keep_original else []
        with np.errstate(over="ignore"):
            for kind in kinds:
                block = KINDS[kind](table, row_query).to_numpy().astype(values.dtype)
                # a difference that overflows to -inf becomes the lowest finite number
                parts.append(np.maximum(block, lowest))
        return np.hstack(parts)

    def fit_transform(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Fit, and transform the same rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            All documents of the queries.
        y : array-like of shape (n_rows,), optional
            Labels, of which only an index level "qid" is used.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y` or of `X`, or the column "qid"
            of `X`.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The result of `transform`.
        """
        X = check.feature_table(X)
        return self.fit(X).transform(X, groups=resolve_groups(groups, y, X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the features of the output, such as "bm25" and "bm25_rank".

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features of `X`, if `X` had no names in `fit`. Default: x0, x1, ...

        Returns
        -------
        ndarray of str

        Raises
        ------
        ValueError
            If a name repeats, as if `X` has columns "bm25" and "bm25_rank".
        """
        if input_features is not None:  # of all columns, as a ColumnTransformer names them
            input_features = [name for name in np.asarray(input_features) if name != LEVEL]
        names = super().get_feature_names_out(input_features).tolist()
        added = [f"{name}_{kind}" for kind in self._checked_kinds() for name in names]
        output = [*names, *added] if self.keep_original else added
        repeated = next((name for name in output if output.count(name) > 1), None)
        if repeated is not None:
            # a name of X that repeats would repeat without the original columns, too
            remedy = ", or set keep_original=False" if repeated in {*names} & {*added} else ""
            raise ValueError(
                f"two columns of the output would be called {repeated!r}: rename or drop a column "
                f"of X{remedy}."
            )
        return np.array(output, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked_kinds(self) -> list[str]:
        kinds = check.several("kinds", self.kinds, (str,))
        for kind in kinds:
            check.check_choice("each of kinds", kind, tuple(KINDS))
        if not kinds or len(set(kinds)) < len(kinds):
            raise ValueError(
                f"kinds={check.brief(self.kinds)} must name at least one kind, no kind twice."
            )
        check.check_flag("keep_original", self.keep_original)
        return kinds

    def _table(self, X: Table, *, reset: bool) -> np.ndarray:
        """Features as an array of numbers, NaN allowed, without the queries."""
        if hasattr(X, "__dask_graph__"):
            raise ValueError(
                "X is a Dask collection: fit QueryFeatures on some rows, such as frame.head(), and "
                "transform partitions of whole queries with frame.map_partitions("
                "features.transform)."
            )
        if sparse.issparse(X):
            raise ValueError("X is sparse, and most of the output is not 0: pass X.toarray().")
        table = without_queries(X)
        if table is not X and table.shape[1] == 0:  # the queries were the only column
            raise ValueError("X has no column besides the queries: it needs at least 1 feature.")
        remedy = "encode it, or choose the other columns with ColumnTransformer"
        values = check.feature_numbers(table, remedy, who=self)
        # last, so that a `fit` that raises an error sets no attribute
        validate_data(self, table, reset=reset, skip_check_array=True)
        return values
