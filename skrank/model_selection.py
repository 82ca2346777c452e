"""Splits that keep queries whole.

Which query falls where depends on the query ids, the labels and the seed only: not on the order of
the rows, nor on the version of scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from skrank import _validation as check
from skrank._parts import (
    Stratify,
    check_folds,
    check_seed,
    check_stratify,
    count_queries,
    deal,
    draw_parts,
    labels_of,
    query_codes,
    strata_of,
)
from skrank._queries import require_groups, show

__all__ = [
    "LETORFolds",
    "QueryKFold",
    "QueryShuffleSplit",
    "QueryTimeSeriesSplit",
    "RepeatedQueryKFold",
    "query_train_test_split",
]

Split = tuple[np.ndarray, np.ndarray]


class _QuerySplitter(BaseCrossValidator):
    """A splitter that finds the groups as everything in skrank does."""

    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    n_splits: int

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows of the training and of the test part of each split.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), optional
            Labels.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`, or of `X`.

        Returns
        -------
        iterator of (train, test)
            Ascending row numbers.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if there are too few queries.
        """
        # not a generator: what is wrong with the groups is said before the first fit
        codes, ids = query_codes(require_groups(groups, y, X, who=type(self).__name__))
        return self._splits(codes, ids, y)

    @abstractmethod
    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        """The splits of queries, given the number of each row's query."""

    def __repr__(self) -> str:
        defaults = type(self)().__dict__
        changed = [
            f"{name}={getattr(value, '__qualname__', repr(value))}"
            for name, value in self.__dict__.items()
            if name == "n_splits" or value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class _FoldSplitter(_QuerySplitter):
    """A splitter that deals queries to folds, each of which is the test part once."""

    stratify: Stratify
    drop_unjudged_test: bool

    def _folds(self, codes: np.ndarray, ids: np.ndarray, y: Any, rng: Any) -> np.ndarray:
        """Fold of each query."""
        if len(ids) < self.n_splits:
            raise ValueError(f"{self!r} needs more than the {len(ids)} queries that there are.")
        strata = strata_of(self.stratify, codes, len(ids), y)
        sizes = np.bincount(codes, minlength=len(ids))
        return deal(len(ids), self.n_splits, strata, sizes, rng)

    def _tested(self, codes: np.ndarray, n_queries: int, y: Any) -> np.ndarray:
        """Whether the rows of each query may be in a test part."""
        if not self.drop_unjudged_test:
            return np.ones(n_queries, bool)
        judged = ~np.isnan(labels_of(y, "drop_unjudged_test"))
        return np.bincount(codes[judged], minlength=n_queries) > 0

    def _train_and_test(
        self, codes: np.ndarray, ids: np.ndarray, y: Any, rng: Any
    ) -> Iterator[Split]:
        fold = self._folds(codes, ids, y, rng)
        tested = self._tested(codes, len(ids), y)
        for number in range(self.n_splits):
            train, test = fold != number, (fold == number) & tested
            yield np.flatnonzero(train[codes]), np.flatnonzero(test[codes])


class QueryKFold(_FoldSplitter):
    """K folds of whole queries.

    Queries that are alike by `stratify`, and among these alike in size, are dealt to the folds in
    turn. The numbers of queries of two folds differ by at most one.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    stratify : {"n_relevant", "max_grade", "size"}, callable or None, default=None
        What the folds have in like measure: queries with as many relevant documents (label above
        0), with the same highest label, or with as many documents, which balances the rows. A
        callable gets the labels of a query and returns a number.
    drop_unjudged_test : bool, default=False
        Leave queries without any label (all NaN) out of the test part.
    shuffle : bool, default=False
        Deal at random. By default the sorted query ids and the labels decide alone.
    random_state : int, RandomState instance or None, default=None
        Seed, with `shuffle`.

    Examples
    --------
    >>> import numpy as np
    >>> import skrank
    >>> from skrank.model_selection import QueryKFold
    >>> y = skrank.with_groups([1, 0, 2, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    >>> for train, test in QueryKFold(3).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 4 5] [2 3]
    [0 1 2 3] [4 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: Stratify = None,
        drop_unjudged_test: bool = False,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        check_seed(shuffle, random_state)
        self.n_splits = check_folds(n_splits)
        self.stratify = check_stratify(stratify)
        self.drop_unjudged_test = drop_unjudged_test
        self.shuffle = shuffle
        self.random_state = random_state

    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        rng = check_random_state(self.random_state) if self.shuffle else None
        return self._train_and_test(codes, ids, y, rng)


class RepeatedQueryKFold(_FoldSplitter):
    """K folds of whole queries, dealt at random several times.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    n_repeats : int, default=10
        How often the queries are dealt.
    stratify, drop_unjudged_test
        See `QueryKFold`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> from skrank.model_selection import RepeatedQueryKFold
    >>> RepeatedQueryKFold(5, n_repeats=3, random_state=0).get_n_splits()
    15
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 10,
        stratify: Stratify = None,
        drop_unjudged_test: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_splits = check_folds(n_splits)
        self.n_repeats = check.check_count("n_repeats", n_repeats, "how often queries are dealt")
        self.stratify = check_stratify(stratify)
        self.drop_unjudged_test = drop_unjudged_test
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits: folds times repeats.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits * self.n_repeats

    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            yield from self._train_and_test(codes, ids, y, rng)


class LETORFolds(_FoldSplitter):
    """The folds of LETOR collections: three parts of five train, one validates, one tests.

    The queries are dealt to parts; fold i trains on all parts but two. `split` gives the training
    and the test part, as scikit-learn expects, `rotate` all three.

    Parameters
    ----------
    n_splits : int, default=5
        Number of parts, and of folds, at least 3.
    stratify, shuffle, random_state
        See `QueryKFold`.

    See Also
    --------
    skrank.datasets.load_letor : Reads collections that come with their folds.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import LETORFolds
    >>> qid = np.arange(5)
    >>> for train, valid, test in LETORFolds().rotate(np.zeros((5, 1)), groups=qid):
    ...     print(train, valid, test)
    [0 1 2] [3] [4]
    [1 2 3] [4] [0]
    [2 3 4] [0] [1]
    [0 3 4] [1] [2]
    [0 1 4] [2] [3]
    """

    drop_unjudged_test = False

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: Stratify = None,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        check_seed(shuffle, random_state)
        self.n_splits = check_folds(n_splits, least=3)
        self.stratify = check_stratify(stratify)
        self.shuffle = shuffle
        self.random_state = random_state

    def rotate(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows of the training, validation and test part of each fold.

        Parameters
        ----------
        X, y, groups
            See `split`.

        Returns
        -------
        iterator of (train, valid, test)
            Ascending row numbers.
        """
        codes, ids = query_codes(require_groups(groups, y, X, who=type(self).__name__))
        return self._triples(codes, ids, y)

    def _triples(
        self, codes: np.ndarray, ids: np.ndarray, y: Any
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        rng = check_random_state(self.random_state) if self.shuffle else None
        part = self._folds(codes, ids, y, rng)[codes]
        for number in range(self.n_splits):
            turned = (part - number) % self.n_splits
            tests, validates = turned == self.n_splits - 1, turned == self.n_splits - 2
            yield tuple(map(np.flatnonzero, (~(tests | validates), validates, tests)))  # type: ignore[misc]

    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        for train, _, test in self._triples(codes, ids, y):
            yield train, test


class QueryShuffleSplit(_QuerySplitter):
    """Random parts of whole queries.

    Parameters
    ----------
    n_splits : int, default=10
    test_size : float or int, default=0.1
        Share, or number, of the queries in the test part.
    train_size : float or int, optional
        Share, or number, of the queries in the training part. Default: all others.
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

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | int = 0.1,
        train_size: float | int | None = None,
        stratify: Stratify = None,
        random_state: Any = None,
    ) -> None:
        self.n_splits = check.check_count("n_splits", n_splits, "the number of splits")
        self.test_size = test_size
        self.train_size = train_size
        self.stratify = check_stratify(stratify)
        self.random_state = random_state

    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        n_test = count_queries("test_size", self.test_size, len(ids))
        n_train = len(ids) - n_test
        if self.train_size is not None:
            n_train = count_queries("train_size", self.train_size, len(ids))
        rng = check_random_state(self.random_state)
        strata = strata_of(self.stratify, codes, len(ids), y)
        sizes = np.bincount(codes, minlength=len(ids))
        for _ in range(self.n_splits):
            part = draw_parts([n_test, n_train], strata, sizes, rng)[codes]
            yield np.flatnonzero(part == 1), np.flatnonzero(part == 0)


class QueryTimeSeriesSplit(_QuerySplitter):
    """Test parts of whole queries, each later than its training part.

    Parameters
    ----------
    n_splits : int, default=5
    time : mapping from query id to time, optional
        A dict, or a Series indexed by query. Default: the ids themselves, in sorted order.
    max_train_size : int, optional
        Most queries in a training part: the latest ones. Default: all earlier ones.
    test_size : int, optional
        Queries in a test part. Default: all but those of the first training part, in equal parts.
    gap : int, default=0
        Queries between a training and its test part that are in neither.

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

    def __init__(
        self,
        n_splits: int = 5,
        *,
        time: Any = None,
        max_train_size: int | None = None,
        test_size: int | None = None,
        gap: int = 0,
    ) -> None:
        self.n_splits = check.check_count("n_splits", n_splits, "the number of splits")
        self.time = time
        self.max_train_size = max_train_size
        self.test_size = test_size
        self.gap = gap

    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: Any) -> Iterator[Split]:
        place = np.empty(len(ids), np.int64)
        place[np.argsort(self._times(ids), kind="stable")] = np.arange(len(ids))
        row_place = place[codes]
        size = self.test_size or len(ids) // (self.n_splits + 1)
        first = len(ids) - self.n_splits * size
        if size < 1 or first - self.gap < 1:
            raise ValueError(
                f"{self!r} finds no training query for its first split among {len(ids)} queries: "
                "lower n_splits, test_size or gap."
            )
        for start in range(first, len(ids), size):
            end = start - self.gap
            begin = 0 if self.max_train_size is None else end - self.max_train_size
            train = (row_place >= begin) & (row_place < end)
            test = (row_place >= start) & (row_place < start + size)
            yield np.flatnonzero(train), np.flatnonzero(test)

    def _times(self, ids: np.ndarray) -> np.ndarray:
        if self.time is None:
            return np.arange(len(ids))
        missing = next((one for one in ids if one not in self.time), None)
        if missing is not None:
            raise ValueError(f"time has no entry for query {show(missing)}: give one for each.")
        return np.array([self.time[one] for one in ids])


def query_train_test_split(
    *arrays: Any,
    groups: Any = None,
    test_size: float | int = 0.25,
    valid_size: float | int | None = None,
    stratify: Stratify = None,
    random_state: Any = None,
) -> list[Any]:
    """Split arrays into random parts of whole queries: train and test, or train, valid and test.

    Parameters
    ----------
    *arrays : array-likes of n_rows
        `X`, then `y`, then any others.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `y`, or of `X`.
    test_size : float or int, default=0.25
        Share, or number, of the queries in the test part.
    valid_size : float or int, optional
        Share, or number, of the queries in the validation part. Default: there is none.
    stratify : {"n_relevant", "max_grade", "size"}, callable or None, default=None
        See `QueryKFold`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    list
        The parts of the first array, then those of the second, as in scikit-learn. Rows keep their
        order.

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
    y = arrays[1] if len(arrays) > 1 else None
    codes, ids = query_codes(require_groups(groups, y, arrays[0], who="query_train_test_split"))
    counts = [count_queries("test_size", test_size, len(ids))]
    if valid_size is not None:
        counts.append(count_queries("valid_size", valid_size, len(ids)))
    strata = strata_of(check_stratify(stratify), codes, len(ids), y)
    sizes = np.bincount(codes, minlength=len(ids))
    counts.append(len(ids) - sum(counts))
    part = draw_parts(counts, strata, sizes, check_random_state(random_state))[codes]
    rows = [np.flatnonzero(part == number) for number in reversed(range(len(counts)))]
    return [_safe_indexing(array, some) for array in arrays for some in rows]
