"""Transformers of features: what a value is relative to those of the same query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank import _validation as check
from skrank._engine.collection import LEVEL
from skrank._engine.groups import groups_of_features, resolve_groups
from skrank._engine.queries import Queries
from skrank._fitted import restored_on_failure
from skrank._typing import Table

_BLOCK = 2**17  # values of a block: its arrays, of 1 MB each, stay in the cache


def _rank(values: np.ndarray) -> np.ndarray:
    """Mean rank of each value among those of its query, from the lowest, as a share of them."""
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    differs = ascending[..., 1:] != ascending[..., :-1]
    size, edge = values.shape[-1], np.ones((*values.shape[:-1], 1), bool)
    place = np.arange(size, dtype=np.float64)
    first = np.where(np.concatenate([edge, differs], axis=-1), place, 0)
    last = np.where(np.concatenate([differs, edge], axis=-1), place, size)
    np.maximum.accumulate(first, axis=-1, out=first)
    backwards = last[..., ::-1]
    np.minimum.accumulate(backwards, axis=-1, out=backwards)
    first += last
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, first / 2 + 1, axis=-1)  # NaN has the last ranks
    missing = np.isnan(values)
    ranks[missing] = np.nan
    return ranks / np.maximum(size - missing.sum(axis=-1, keepdims=True), 1)


def _zscore(values: np.ndarray) -> np.ndarray:
    """Value less the mean of its query, in standard deviations; 0 if all values are equal."""
    shares = _share(values)  # whose squares are finite
    missing = np.isnan(shares)
    counts = np.maximum(shares.shape[-1] - missing.sum(axis=-1, keepdims=True), 1)
    means = np.where(missing, 0, shares).sum(axis=-1, keepdims=True) / counts
    rest = shares - means
    squares = np.where(missing, 0, rest * rest).sum(axis=-1, keepdims=True)
    deviations = np.sqrt(squares / counts)
    highest, lowest = (one.reduce(shares, axis=-1, keepdims=True) for one in (np.fmax, np.fmin))
    rest[(highest == lowest) & ~missing] = 0  # the mean may be rounded
    return rest / np.where(deviations > 0, deviations, 1)


def _share(values: np.ndarray) -> np.ndarray:
    """Value divided by the largest absolute value of its query; 0 if that is 0."""
    largest = np.fmax.reduce(np.abs(values), axis=-1, keepdims=True)
    return values / np.where(largest > 0, largest, 1)


def _difference(values: np.ndarray) -> np.ndarray:
    """Value less the highest of its query."""
    return values - np.fmax.reduce(values, axis=-1, keepdims=True)


# of values in the shape (queries, features, documents); NaN stays NaN and counts for no other value
KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rank": _rank,
    "zscore": _zscore,
    "share": _share,
    "difference": _difference,
}


class QueryFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Add what the value of a feature is among the documents of the same query.

    A ranker compares documents of one query. A BM25 score of 12 is high for one query and low for
    another; that it is the highest of its query means the same everywhere.

    Parameters
    ----------
    kinds : str or sequence of str, default="rank"
        What to add of each feature:

        - "rank": mean rank of the value, counted from the lowest, divided by the number of values,
          so that a single highest value has 1;
        - "zscore": the value less the mean, divided by the standard deviation, 0 if all values are
          equal;
        - "share": the value divided by the largest absolute value, 0 if all values are 0. It keeps
          sparse `X` sparse;
        - "difference": the value less the highest value, at most 0.
    keep_original : bool, default=True
        Whether the output begins with the features themselves.

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
    NaN stays NaN, and does not count among the values of its query. Infinite values are refused.

    The query of each row comes from `groups`, from the index level "qid" of `X`, or from a column
    "qid" of `X`, which is then no feature, and not in the output. While fitting in a pipeline, the
    index level "qid" of `y` serves, too; as there is no `y` in `predict`, `X` needs the queries
    there. `set_output(transform="pandas")` keeps the index of `X` for the steps behind.

    All documents of a query must be in one call: what is added depends on which documents compete.
    Of a Dask frame with whole queries in its partitions, take
    ``frame.map_partitions(features.transform)``, after `fit` on some of its rows.

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

    __metadata_request__fit: ClassVar[dict[str, object]] = {"groups": True}
    __metadata_request__transform: ClassVar[dict[str, object]] = {"groups": True}

    def __init__(self, kinds: str | Sequence[str] = "rank", *, keep_original: bool = True) -> None:
        self.kinds = kinds
        self.keep_original = keep_original

    def fit(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> QueryFeatures:
        """Remember the number and the names of the features: nothing else is learned.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y, groups : ignored

        Returns
        -------
        QueryFeatures
            Itself, fitted.

        Raises
        ------
        ValueError
            If a parameter is wrong, a feature is infinite, or `X` is sparse and `kinds` has others
            than "share".
        """
        self._checked_kinds()
        with restored_on_failure(self):
            self._table(X, reset=True)
        return self

    def transform(
        self, X: Table, groups: ArrayLike | None = None
    ) -> np.ndarray | sparse.csr_matrix:
        """Add to the features what they are inside their queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            All documents of the queries.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" or the column "qid" of `X`.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            The features, if `keep_original`, then all features of the first of `kinds`, and so on.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if a feature is infinite; if
            `X` is sparse and `kinds` has others than "share".
        """
        check_is_fitted(self)
        kinds = self._checked_kinds()
        check.check_same_index(X=X, groups=groups)
        values = self._table(X, reset=False)
        if groups is None and LEVEL in list(getattr(X, "columns", ())):
            groups = X[LEVEL]
        ids = groups_of_features(groups, X, who="QueryFeatures.transform")
        queries = Queries.from_groups(ids)
        if sparse.issparse(values):
            shares = _sparse_shares(values, queries)
            return sparse.hstack([values, shares], format="csr") if self.keep_original else shares
        kept = bool(self.keep_original)
        width = values.shape[1]
        found = np.empty((len(values), width * (kept + len(kinds))), values.dtype)
        if kept:
            found[:, :width] = values
        for rows, columns in _blocks(queries, width):
            block = values[rows, columns].transpose(0, 2, 1).astype(np.float64, order="C")
            for number, kind in enumerate(kinds, start=kept):
                first = number * width
                with np.errstate(over="ignore"):
                    result = KINDS[kind](block).transpose(0, 2, 1).astype(values.dtype)
                # no difference of finite values is infinite
                np.maximum(result, np.finfo(values.dtype).min, out=result)
                found[rows, first + columns.start : first + columns.stop] = result
        return found

    def fit_transform(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray | sparse.csr_matrix:
        """Fit, and transform the same rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            All documents of the queries.
        y : array-like of shape (n_rows,), optional
            Labels, of which only an index level "qid" is used.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y` or of `X`, or the column "qid"
            of `X`.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features_out)
            As of `transform`.
        """
        return self.fit(X).transform(X, groups=resolve_groups(groups, y))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the features of the output, such as "bm25" and "bm25_rank".

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features of `X`, if it had none in `fit`. Default: x0, x1, ...

        Returns
        -------
        ndarray of str
        """
        given = super().get_feature_names_out(input_features)
        names = [name for name in given if name != LEVEL]
        added = [f"{name}_{kind}" for kind in self._checked_kinds() for name in names]
        return np.array(names * bool(self.keep_original) + added, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._keeps_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked_kinds(self) -> list[str]:
        kinds = check.several("kinds", self.kinds, (str,))
        for kind in kinds:
            check.check_choice("each of kinds", kind, tuple(KINDS))
        if not kinds or len(set(kinds)) < len(kinds):
            raise ValueError(f"kinds={self.kinds!r} must name at least one kind, and none twice.")
        check.check_flag("keep_original", self.keep_original)
        return kinds

    def _table(self, X: Table, *, reset: bool) -> np.ndarray | sparse.csr_matrix:
        """Features as an array or a CSR matrix of numbers, NaN allowed, without the queries."""
        if hasattr(X, "__dask_graph__"):
            raise ValueError(
                "X is a Dask collection: fit QueryFeatures on some rows, such as frame.head(), and "
                "transform partitions of whole queries with frame.map_partitions("
                "features.transform)."
            )
        if sparse.issparse(X) and not self._keeps_sparse:
            raise ValueError(
                f"X is sparse, and with kinds={self.kinds!r} most of the output is not 0: take "
                'QueryFeatures("share"), which keeps 0, or pass X.toarray().'
            )
        names = [name for name in getattr(X, "columns", ()) if name != LEVEL]
        table: Any = X if LEVEL not in getattr(X, "columns", ()) else X[names]
        if hasattr(X, "columns") and not names:
            raise ValueError("X has no column besides the queries: give it 1 feature at least.")
        remedy = "Encode the column, or choose the others with ColumnTransformer."
        values = check.feature_numbers(table, remedy, who=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return values

    @property
    def _keeps_sparse(self) -> bool:
        return np.ravel(np.array(self.kinds, object)).tolist() == ["share"]


def _blocks(queries: Queries, width: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Rows of queries of one size, as (queries, documents), and columns, until all were there."""
    sizes = queries.sizes
    by_size = np.argsort(sizes, kind="stable")
    edges = np.flatnonzero(np.diff(sizes[by_size])) + 1
    for alike in np.split(by_size, edges):
        size = int(sizes[alike[0]])
        columns = max(1, min(width, _BLOCK // size))
        step = max(1, _BLOCK // (size * columns))
        for start in range(0, len(alike), step):
            first = queries.indptr[alike[start : start + step]]
            rows = first[:, None] + np.arange(size)
            if queries.order is not None:
                rows = queries.order[rows]
            for column in range(0, width, columns):
                yield rows, slice(column, min(column + columns, width))


def _sparse_shares(values: sparse.csr_matrix, queries: Queries) -> sparse.csr_matrix:
    """Stored values divided by the largest absolute value of their feature in their query."""
    shares = values.copy()
    if shares.nnz == 0:
        return shares
    numbers = queries.scatter(queries.row_query)
    cells = np.repeat(numbers, np.diff(values.indptr)) * values.shape[1] + values.indices
    order = np.argsort(cells, kind="stable")
    first = np.append(True, np.diff(cells[order]) != 0)
    largest = np.fmax.reduceat(np.abs(values.data[order]), np.flatnonzero(first))
    divisors = np.where(largest > 0, largest, 1)[np.cumsum(first) - 1]
    shares.data[order] = values.data[order] / divisors
    return shares
