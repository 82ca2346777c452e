"""Rows of training data: checked, sorted by query, and chosen by whole queries."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_string_dtype
from sklearn.utils import _safe_indexing, column_or_1d

from skrank import _validation as check
from skrank._engine.groups import collection_grade, show
from skrank._engine.queries import Queries
from skrank._typing import Options, RandomState, Table
from skrank.model_selection._parts import QueryRows, count_queries, draw_parts

VALIDATION_ROWS = "validation rows (X_val, y_val, groups_val)"  # in errors that name X, y or groups
# Scores with (standard deviation) / (largest |score|) below it are constant: more than subtracting
# a mean in double precision leaves (1e-16), less than the last bit of float32 scores (6e-8).
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Part:
    """Training or validation rows, sorted by query if the queries are known.

    Attributes
    ----------
    X, y : features and labels
    weights : ndarray of shape (n_rows,) or None
    params : dict
        Further arguments of `fit` of the estimator.
    known : Queries or None
        None if the estimator needs no queries.
    start : ndarray of shape (n_rows,) or None
        Scores that boosting starts from.
    loaded : Loaded (see _dask) or None
        Rows of Dask collections; y is then empty.
    """

    X: Table
    y: np.ndarray
    weights: np.ndarray | None = None
    params: Options = field(default_factory=dict)
    known: Queries | None = None
    start: np.ndarray | None = None
    loaded: Any = None

    @property
    def queries(self) -> Queries:
        """The queries, for estimators that need them."""
        assert self.known is not None
        return self.known

    @property
    def query_weights(self) -> np.ndarray | None:
        """One weight per query."""
        return check.query_weights(self.weights, self.queries)

    def spread(self, scores: np.ndarray) -> float:
        """Weighted standard deviation of scores inside queries; without queries, of all scores.

        Constant scores, up to rounding, have 0.
        """
        largest = float(np.abs(scores).max()) or 1.0
        scores = scores / largest  # so that squares do not overflow
        if self.known is None:
            rest = scores - np.average(scores, weights=self.weights)
        else:
            rest = self.known.centered(scores)
        spread = float(np.sqrt(np.average(rest**2, weights=self.weights)))
        return spread * largest if spread > _ROUNDING else 0.0


def categories_of(X: Table) -> dict[object, Any]:
    """Dtypes of the columns of a frame that are categories; empty for arrays."""
    dtypes = dict(getattr(X, "dtypes", {}))
    return {name: dtype for name, dtype in dtypes.items() if str(dtype) == "category"}


def with_categories(X: pd.DataFrame, known: Mapping[object, Any], *, as_text: bool) -> pd.DataFrame:
    """The frame with the categories of the training rows, for boosters.

    Levels that are not in the training rows become missing values. Boosters would raise errors that
    do not name the column, or read the numbers of other levels. A column without any value has no
    dtype of its own (JSON has null): all its values are missing. Levels that are neither text nor
    numbers, such as dates, become text. With `as_text`, for CatBoost, all levels are text, and
    missing values have the level "nan"; the dtype remains category, by which the training finds the
    columns.
    """
    X = X.copy(deep=False)
    for name, dtype in X.dtypes.items():
        if name not in known and str(dtype) == "category":
            if not X[name].isna().all():
                raise ValueError(
                    f"column {name!r} of X is a category and was a number in fit: convert it, "
                    f"X[{name!r}] = pandas.to_numeric(X[{name!r}])."
                )
            X[name] = float("nan")
    for name, dtype in known.items():
        column, levels = X[name], dtype.categories
        # the values of a category, since levels may be unused
        values = pd.Series(np.asarray(column)) if str(column.dtype) == "category" else column
        kinds = values.dtype.kind, levels.dtype.kind
        differs = any(kinds[0] in alike and kinds[1] not in alike for alike in ("biuf", "m", "M"))
        is_text, has_text = (check.first_text(np.asarray(v)) is not None for v in (values, levels))
        if (differs or (is_text and not has_text)) and len(levels) and column.notna().any():
            raise ValueError(
                f"column {name!r} of X has {values.dtype} values and was a category in fit, with "
                f"levels such as {show(levels[0])}: give the same levels."
            )
        X[name] = column.where(column.isin(levels)).astype(dtype)
        if as_text:
            text = X[name].astype(object).where(X[name].notna(), "nan").astype(str)
            X[name] = text.astype("category")
        elif not (is_numeric_dtype(levels) or is_string_dtype(levels)) or is_bool_dtype(levels):
            X[name] = X[name].cat.rename_categories(levels.astype(str))
    return X


@dataclass(eq=False)
class Rows:
    """Training or validation rows that a caller passes to `fit`.

    Parameters
    ----------
    X, y, groups, sample_weight
        As the caller gives them; Dask collections are not checked. `groups` may be None if the
        estimator needs no queries.
    params : dict
        Further arguments of `GroupedRanker.fit`, for `fit` of the estimator.

    Attributes
    ----------
    labels, weights : ndarray of shape (n_rows,) or None
        After `check`, with label 0 for unjudged documents that count as not relevant.
    codes : int64 ndarray of shape (n_rows,)
        Number of the query of each row, by ascending query id; only with `groups`.
    ids, sizes : ndarray of shape (n_queries,)
        Query ids, and numbers of rows of the queries; only with `groups`.
    order : int64 ndarray
        Numbers of the rows, without those that `unjudged` drops, sorted by query.
    """

    X: Table
    y: ArrayLike
    groups: ArrayLike | None = None
    sample_weight: ArrayLike | None = None
    params: Options = field(default_factory=dict)
    labels: np.ndarray = field(init=False)
    weights: np.ndarray | None = field(init=False, default=None)
    codes: np.ndarray = field(init=False)
    ids: np.ndarray = field(init=False)
    sizes: np.ndarray = field(init=False)
    order: np.ndarray = field(init=False)

    def check(self, *, unjudged: str = "raise", graded: bool = True) -> Rows:
        """Check labels and weights, and find the rows of each query.

        `unjudged` is the parameter of `GroupedRanker`. With `graded`, labels below 0 raise an
        error.
        """
        # warns of the shape (n_rows, 1), as scikit-learn expects
        self.labels = column_or_1d(check.without_index(self.y), warn=True)
        check.refuse_text("y", self.labels)
        if self.labels.dtype == object:  # such as the dtype boolean of pandas: NA becomes NaN
            self.labels = check.as_vector("y", self.y)
        judged = check.check_training_labels(self.labels, unjudged, graded)
        if unjudged == "zero" and not judged.all():
            self.labels = np.where(judged, self.labels, 0.0)
        n_rows = len(self.labels)
        if self.sample_weight is not None:
            self.weights = check.as_vector("sample_weight", self.sample_weight)
            if len(self.weights) != n_rows:
                raise ValueError(
                    f"sample_weight has {len(self.weights)} entries for {n_rows} rows: give a "
                    "weight per row, the same for all rows of a query. From one weight per query, "
                    "by ascending id: weights[numpy.unique(groups, return_inverse=True)[1]]."
                )
        self.order = np.flatnonzero(judged | (unjudged == "zero"))
        if self.groups is not None:
            rows = QueryRows.of(np.asarray(self.groups), self.y, "rows that are given to fit")
            self.codes, self.ids, self.sizes = rows.codes, rows.ids, rows.sizes
            if np.any(rows.codes[1:] < rows.codes[:-1]):
                self.order = self.order[np.argsort(rows.codes[self.order], kind="stable")]
        return self

    def refuse_single_rows(self) -> None:
        """Refuse two or more rows, each of which is a query of its own."""
        if len(self.ids) == len(self.labels) > 1:
            raise ValueError(
                f"each of the {len(self.ids)} rows is a query of its own (such as query "
                f"{show(self.ids[0])}), so that there is nothing to rank: give the id of the "
                "query, not of the document, as groups."
            )

    def choose(
        self, max_queries: int | None, held_out: float | None, random_state: RandomState
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Draw the numbers (`codes`) of the training queries and of the validation queries.

        At most `max_queries` queries are drawn; the share `held_out` of these is for validation,
        stratified by numbers of relevant documents. At least one query is for training. Without
        `max_queries` and `held_out`, nothing is drawn: None stands for all queries.
        """
        if max_queries is None and held_out is None:
            return None, np.empty(0, np.int64)
        rng = check.as_random_state("random_state", random_state)
        used = np.unique(self.codes[self.order])
        if max_queries is not None:
            check.check_count("max_queries", max_queries, "training queries to use")
            # the first queries of one permutation: a larger `max_queries` adds queries
            used = np.sort(rng.permutation(used)[:max_queries])
        if held_out is None:
            return used, used[:0]
        check.check_share("validation_fraction", held_out)
        count = min(count_queries("validation_fraction", held_out, len(used)), len(used) - 1)
        if len(used) < 2:
            raise ValueError(
                f"validation_fraction={held_out} needs at least 2 training queries, and there is "
                f"{len(used)}: leave it unset, or give X_val, y_val and groups_val to fit."
            )
        relevant = QueryRows(self.codes, self.ids, self.sizes, self.labels).strata("n_relevant")
        assert relevant is not None
        parts = draw_parts([count, len(used) - count], relevant[used], self.sizes[used], rng)
        return used[parts == 1], used[parts == 0]

    def max_grade(self, valid: Part | None = None) -> int:
        """Highest grade of the collection, of all labels and of those of a validation part."""
        labels = self.labels if valid is None else np.append(self.labels, valid.y)
        return collection_grade(self.y, labels)

    def part(self, chosen: np.ndarray | None = None, *, slices_params: bool = False) -> Part:
        """The rows of the chosen queries, by default of all queries.

        With `slices_params`, arguments of `fit` with as many entries as rows follow their rows.
        """
        rows = self.order
        if chosen is not None:
            rows = rows[np.isin(self.codes[rows], chosen)]
        queries = None
        if self.groups is not None:
            by_code = Queries.from_groups(self.codes[rows])  # whose ids are the codes, ascending
            queries = replace(by_code, ids=self.ids[by_code.ids])
        X, labels, weights, params = self.X, self.labels, self.weights, self.params
        n_rows = len(labels)
        if len(rows) < n_rows or np.any(rows[1:] < rows[:-1]):
            X, labels = _safe_indexing(X, rows), labels[rows]
            weights = None if weights is None else weights[rows]
            if slices_params:
                params = {name: _of_rows(value, rows, n_rows) for name, value in params.items()}
        return Part(X, labels, weights, params, queries)


def _of_rows(value: Any, rows: np.ndarray, n_rows: int) -> Any:
    """The entries of some rows, if a value has as many entries as there are rows."""
    is_sized = isinstance(value, Sized) and not isinstance(value, (str, dict))
    return _safe_indexing(value, rows) if is_sized and len(value) == n_rows else value
