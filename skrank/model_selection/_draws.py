"""Splitters that draw parts of queries at random, or by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils import _safe_indexing, check_consistent_length

from skrank import _validation as check
from skrank._engine.groups import require_groups, show
from skrank._typing import RandomState, Split, Table
from skrank.model_selection._parts import (
    QueryRows,
    QuerySplitter,
    Stratify,
    check_stratify,
    count_queries,
    draw_parts,
)


@dataclass(eq=False, repr=False)
class QueryShuffleSplit(QuerySplitter):
    """Random parts of whole queries.

    Parameters
    ----------
    n_splits : int, default=10
    test_size : float or int, default=0.1
        Share, or number, of the queries in the test part.
    train_size : float or int, optional
        Share, or number, of the queries in the training part. Default: all other queries.
    stratify : {"n_relevant", "max_grade", "size"}, callable or None, default=None
        See `QueryKFold`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryShuffleSplit
    >>> cv = QueryShuffleSplit(1, test_size=0.5, random_state=0)
    >>> for train, test in cv.split(np.zeros((6, 1)), groups=np.array([1, 1, 2, 2, 3, 4])):
    ...     print(len(set(train) & set(test)), len(train) + len(test))
    0 6
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: float | int = 0.1
    train_size: float | int | None = None
    stratify: Stratify = None
    random_state: RandomState = None

    def __post_init__(self) -> None:
        self.n_splits = check.check_count("n_splits", self.n_splits, "the number of splits")
        self.stratify = check_stratify(self.stratify)

    def _splits(self, rows: QueryRows, X: Table) -> Iterator[Split]:
        n_queries = len(rows.ids)
        n_test = count_queries("test_size", self.test_size, n_queries)
        n_train = n_queries - n_test
        if self.train_size is not None:
            n_train = count_queries("train_size", self.train_size, n_queries)
        rng = check.as_random_state("random_state", self.random_state)
        strata, sizes = rows.strata(self.stratify), rows.sizes
        for _ in range(self.n_splits):
            part = draw_parts([n_test, n_train], strata, sizes, rng)[rows.codes]
            yield np.flatnonzero(part == 1), np.flatnonzero(part == 0)


@dataclass(eq=False, repr=False)
class QueryTimeSeriesSplit(QuerySplitter):
    """Test parts of whole queries that are later than all queries of the training part.

    Queries of equal time are in the same part.

    Parameters
    ----------
    n_splits : int, default=5
    time : str, mapping, Series or array-like, optional
        Numbers or dates. A str: the name of a column of `X`. A dict, or a Series indexed by query:
        the time of each query. An array-like of shape (n_rows,): the time of each row. Rows of a
        query have one time. Default: the query ids.
    max_train_size : int, optional
        Largest number of different times in a training part, the latest. Default: no limit.
    test_size : int, optional
        Number of different times in a test part. Default: n_times // (n_splits + 1).
    gap : int, default=0
        Number of different times between a training part and its test part that are in neither.

    Notes
    -----
    Times must not be strings, since "10" sorts before "4"; nor must the ids of queries, if `time`
    is not given. In a search inside a fold, `time` must be a name, or a dict or a Series by query,
    because the search splits only some of the rows.
    The parameters are those of `sklearn.model_selection.TimeSeriesSplit`, for times in place of
    rows. They count queries if all queries have different times.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryTimeSeriesSplit
    >>> cv = QueryTimeSeriesSplit(2, time={"a": 3, "b": 1, "c": 2})
    >>> for train, test in cv.split(np.zeros((4, 1)), groups=["a", "a", "b", "c"]):
    ...     print(train, test)
    [2] [3]
    [2 3] [0 1]
    """

    n_splits: int = 5
    _: KW_ONLY
    time: Mapping[object, float] | ArrayLike | None = None
    max_train_size: int | None = None
    test_size: int | None = None
    gap: int = 0

    def __post_init__(self) -> None:
        check.check_count("n_splits", self.n_splits, "the number of splits", least=2)
        check.check_count("gap", self.gap, "the times left out before a test part", least=0)
        for name in ("max_train_size", "test_size"):
            if getattr(self, name) is not None:
                check.check_count(name, getattr(self, name), "a number of times")

    def _splits(self, rows: QueryRows, X: Table) -> Iterator[Split]:
        times, places = np.unique(self._times(rows, X), return_inverse=True)
        splitter = TimeSeriesSplit(
            self.n_splits, max_train_size=self.max_train_size, test_size=self.test_size,
            gap=self.gap,
        )  # fmt: skip
        # a list, so that `split` itself raises errors
        with check.about("n_splits, test_size and gap count different times (samples)"):
            parts = list(splitter.split(times))
        place = places[rows.codes]  # of the time of each row
        masks = ((np.isin(place, train), np.isin(place, test)) for train, test in parts)
        return ((np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks)

    def _times(self, rows: QueryRows, X: Table) -> np.ndarray:
        """Time of each query."""
        time: Any = self.time
        n_rows, n_queries = len(rows.codes), len(rows.ids)
        if isinstance(time, str):
            if time not in list(getattr(X, "column_names", getattr(X, "columns", ()))):
                raise ValueError(
                    f"X has no column {time!r}: give X as a frame with this column, or time as an "
                    "array with an entry per row."
                )
            time = check.as_column("time", X[time])
        if time is None:
            return check.check_times(rows.ids, "the query ids")
        if hasattr(time, "iloc"):
            if len(time) == n_rows == n_queries:
                raise ValueError(
                    "time is a Series of as many entries as there are queries and rows: give "
                    "dict(time) for times of queries, or an array with the time of each row."
                )
            if len(time) != n_rows and time.index.is_unique:
                time = dict(time)
        if isinstance(time, Mapping):
            missing = next((query for query in rows.ids if query not in time), None)
            if missing is not None:
                raise ValueError(
                    f"time has no entry for query {show(missing)}: give one for each query, or an "
                    f"array with one for each of the {n_rows} rows."
                )
            return check.check_times(np.array([time[query] for query in rows.ids]), "time")
        check.check_same_index(X=X, y=rows.y, time=time)
        times = check.check_times(check.as_column("time", time), "time")
        if len(times) != n_rows:
            raise ValueError(
                f"time has {len(times)} entries for {n_rows} rows: give one for each row, or a "
                "dict with one for each query."
            )
        first = np.unique(rows.codes, return_index=True)[1]
        if (row := check.first(times != times[first][rows.codes])) >= 0:
            code = rows.codes[row]
            raise ValueError(
                f"time differs inside query {show(rows.ids[code])}: {show(times[first[code]])} in "
                f"row {first[code]}, {show(times[row])} in row {row}. Give one time per query, "
                'such as time.groupby(qid).transform("min").'
            )
        return times[first]


def query_train_test_split(
    *arrays: Any,
    groups: ArrayLike | None = None,
    test_size: float | int = 0.25,
    valid_size: float | int | None = None,
    stratify: Stratify = None,
    random_state: RandomState = None,
) -> list[Any]:
    """Split arrays into random parts of whole queries: train and test, or train, valid and test.

    Parameters
    ----------
    *arrays : array-likes of n_rows
        `X`, then `y`, then any other arrays.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `y`, or of `X`.
    test_size : float or int, default=0.25
        Share, or number, of the queries in the test part.
    valid_size : float or int, optional
        Share, or number, of the queries in the validation part. Default: no validation part.
    stratify : {"n_relevant", "max_grade", "size"}, callable or None, default=None
        See `QueryKFold`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    list
        The parts of the first array, then the parts of the second array, as `train_test_split` of
        scikit-learn returns them. Rows keep their order.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.model_selection import query_train_test_split
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> parts = query_train_test_split(
    ...     data.X, data.relevance, data.qid, groups=data.qid, valid_size=4, test_size=6,
    ...     random_state=0,
    ... )
    >>> X_train, X_valid, X_test, y_train, y_valid, y_test, *qids = parts
    >>> [len(set(qid)) for qid in qids]
    [10, 4, 6]
    """
    if not arrays:
        raise ValueError("there is nothing to split: pass X, y, ...")
    check_consistent_length(*arrays)
    named = {f"array {number}": array for number, array in enumerate(arrays)}
    check.check_same_index(**named, groups=groups)
    y = arrays[1] if len(arrays) > 1 else None
    ids = require_groups(groups, y, arrays[0], who="query_train_test_split")
    rows = QueryRows.of(ids, y, "rows that are split")
    counts = [count_queries("test_size", test_size, len(rows.ids))]
    if valid_size is not None:
        counts.append(count_queries("valid_size", valid_size, len(rows.ids)))
    strata = rows.strata(check_stratify(stratify))
    counts.append(len(rows.ids) - sum(counts))
    rng = check.as_random_state("random_state", random_state)
    part = draw_parts(counts, strata, rows.sizes, rng)[rows.codes]
    rows_of_parts = [np.flatnonzero(part == number) for number in reversed(range(len(counts)))]
    return [_safe_indexing(array, chosen) for array in arrays for chosen in rows_of_parts]
