"""Splitters that draw parts of queries at random, or by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, check_consistent_length

from skrank import _validation as check
from skrank._engine.groups import index_level, require_groups, show
from skrank._typing import RandomState, Table
from skrank.model_selection._parts import (
    QueryRows,
    QuerySplitter,
    Split,
    Stratify,
    check_stratify,
    count_queries,
    draw_parts,
)

if TYPE_CHECKING:
    import pandas as pd


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
    """Test parts of whole queries that are not earlier than the queries of the training part.

    Queries of equal time are in the order of their ids.

    Parameters
    ----------
    n_splits : int, default=5
    time : mapping, Series or array-like, optional
        Numbers or dates. A dict or a Series indexed by query: the time of each query. A Series
        indexed like `X` or `y`, or an array of shape (n_rows,): the time of each row, equal inside
        a query. Default: the query ids.
    max_train_size : int, optional
        Largest number of queries in a training part, the latest queries. Default: no limit.
    test_size : int, optional
        Number of queries in a test part. Default: n_queries // (n_splits + 1).
    gap : int, default=0
        Number of queries between a training part and its test part that are in neither part.

    Notes
    -----
    Strings are refused as ids and as times, since "10" sorts before "4".

    A Series has times of queries if its index has the query ids and nothing else, or has the query
    ids and is not that of the rows. It has times of rows if it has the index or the length of the
    rows. If both are possible, it is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryTimeSeriesSplit
    >>> cv = QueryTimeSeriesSplit(2, time={"a": 3, "b": 1, "c": 2})
    >>> for train, test in cv.split(np.zeros((4, 1)), groups=["a", "a", "b", "c"]):
    ...     print(train, test)
    [2] [3]
    [2 3] [0 1]
    >>> cv = QueryTimeSeriesSplit(2, time=[3, 3, 1, 2])
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
        self.n_splits = check.check_count("n_splits", self.n_splits, "the number of splits")

    def _splits(self, rows: QueryRows, X: Table) -> Iterator[Split]:
        if self.time is None:
            times = check.check_times(rows.ids, "the query ids")
        elif isinstance(self.time, Mapping):
            times = _mapped(self.time, rows)
        elif hasattr(self.time, "iloc"):
            times = _of_series(self.time, rows, X)
        else:
            times = _of_rows(check.as_column("time", self.time), rows)
        return self._in_time(rows.codes, times)

    def _in_time(self, codes: np.ndarray, times: np.ndarray) -> Iterator[Split]:
        """A generator of the splits, for times that are checked already."""
        n_queries = len(times)
        time_order = np.empty(n_queries, np.int64)
        time_order[np.argsort(times, kind="stable")] = np.arange(n_queries)
        row_order = time_order[codes]
        gap = check.check_count("gap", self.gap, "the queries left out before a test part", 0)
        for name in ("max_train_size", "test_size"):
            if getattr(self, name) is not None:
                check.check_count(name, getattr(self, name), "a number of queries")
        size = self.test_size or n_queries // (self.n_splits + 1)
        first = n_queries - self.n_splits * size
        if size < 1 or first - gap < 1:
            raise ValueError(
                f"{self!r} finds no training query for its first split among {n_queries} queries: "
                "lower n_splits, test_size or gap."
            )
        for start in range(first, n_queries, size):
            end = start - gap
            begin = 0 if self.max_train_size is None else end - self.max_train_size
            train = (row_order >= begin) & (row_order < end)
            test = (row_order >= start) & (row_order < start + size)
            yield np.flatnonzero(train), np.flatnonzero(test)


def _mapped(times: Mapping[object, float], rows: QueryRows) -> np.ndarray:
    """Time of each query, from a mapping."""
    missing = next((one for one in rows.ids if one not in times), None)
    if missing is not None:
        raise ValueError(f"time has no entry for query {show(missing)}: add its time.")
    return check.check_times(np.array([times[one] for one in rows.ids]), "time")


def _of_rows(times: np.ndarray, rows: QueryRows) -> np.ndarray:
    """Time of each query, from the times of rows."""
    if len(times) != len(rows.codes):
        raise ValueError(
            f"time has {len(times)} entries for {len(rows.codes)} rows of {len(rows.ids)} queries: "
            "give one per row, or a mapping or a Series indexed by query."
        )
    check.check_times(times, "time")
    first = np.empty(len(rows.ids), np.int64)
    first[rows.codes[::-1]] = np.arange(len(times))[::-1]
    of_queries = times[first]
    bad = np.flatnonzero(times != of_queries[rows.codes])
    if len(bad):
        code = rows.codes[bad[0]]
        raise ValueError(
            f"time differs inside query {show(rows.ids[code])}: {show(of_queries[code])} in row "
            f"{first[code]}, {show(times[bad[0]])} in row {bad[0]}. Give one time per query, such "
            'as time.groupby(qid).transform("min").'
        )
    return of_queries


def _of_series(time: pd.Series, rows: QueryRows, X: Table) -> np.ndarray:
    """Time of each query, from a Series of times of rows or of queries."""
    import pandas as pd

    if time.ndim > 1:
        time = time.squeeze(axis=1)
    values, level, n_rows = time.to_numpy(), index_level(time), len(rows.codes)
    codes = pd.Index(rows.ids).get_indexer(pd.Index(time.index if level is None else level))
    known = codes >= 0
    has_queries = len(np.unique(codes[known])) == len(rows.ids)
    places = _places(time.index, rows, X) if level is None else None
    if has_queries and (known.all() or places is None):
        found = _of_rows(values[known], QueryRows(codes[known], rows.ids, rows.sizes, None))
        both = places is not None and len(time) == n_rows == len(rows.ids)
        if not both or np.array_equal(found, _of_rows(values[places], rows)):
            return found
    elif places is None:
        missing = rows.ids[np.isin(np.arange(len(rows.ids)), codes, invert=True)][0]
        raise ValueError(
            f"time is a Series of {len(time)} entries for {n_rows} rows and has no entry for query "
            f"{show(missing)}: give one entry per row, or index the Series by query."
        )
    elif not has_queries or len(time) == n_rows:
        return _of_rows(values[places], rows)
    raise ValueError(
        "the index of time has the query ids and the index of the rows: give dict(time) for times "
        "of queries, or an array with the time of each row."
    )


def _places(index: pd.Index, rows: QueryRows, X: Table) -> np.ndarray | None:
    """Place in `index` of each row, by the index of the rows or by order; None without either."""
    for data in (X, rows.y):
        named = check.row_index(data)
        if named is not None and index.is_unique and named.isin(index).all():
            return index.get_indexer(named)
    return np.arange(len(index)) if len(index) == len(rows.codes) else None


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
    for number, array in enumerate(arrays):
        if array is None:
            raise ValueError(f"array {number} is None: leave it out.")
    check_consistent_length(*arrays)
    names = ("X", "y", *map("array {}".format, range(2, len(arrays))))
    check.check_same_index(**dict(zip(names, arrays, strict=False)), groups=groups)
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
