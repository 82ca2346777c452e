"""QueryKFold: folds of whole queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank import _validation as check
from skrank._typing import RandomState, Split, Table
from skrank.model_selection._parts import (
    QueryRows,
    QuerySplitter,
    Stratify,
    check_stratify,
    query_order,
)


@dataclass(eq=False, repr=False)
class QueryKFold(QuerySplitter):
    """K folds of whole queries.

    Queries are sorted by `stratify` and size, or by their ids if `stratify` is None, and assigned
    to the folds in turn. The numbers of queries of two folds differ by at most one. Every query is
    tested once per repetition.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    n_repeats : int, default=1
        Number of times that the queries are assigned to folds. More than 1 needs `shuffle`.
    stratify : {"n_relevant", "max_grade", "size"}, callable or None, default=None
        Property of queries whose distribution is about equal in all folds: the number of relevant
        documents (label above 0), the highest label, or the number of documents. A callable gets
        the labels of a query and returns a number.
    drop_unjudged_test : bool, default=False
        Leave queries without any label (all NaN) out of the test part.
    shuffle : bool, default=False
        Assign queries at random. By default, folds depend only on the query ids and the labels.
    random_state : int, RandomState instance or None, default=None
        Seed; needs `shuffle`.

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
    >>> QueryKFold(5, n_repeats=3, shuffle=True, random_state=0).get_n_splits()
    15
    """

    n_splits: int = 5
    _: KW_ONLY
    n_repeats: int = 1
    stratify: Stratify = None
    drop_unjudged_test: bool = False
    shuffle: bool = False
    random_state: RandomState = None

    def __post_init__(self) -> None:
        check.check_flag("shuffle", self.shuffle)
        check.check_flag("drop_unjudged_test", self.drop_unjudged_test)
        if (self.random_state is not None or self.n_repeats != 1) and not self.shuffle:
            raise ValueError(
                f"{self!r}: random_state and n_repeats have no effect without shuffle=True."
            )
        self.n_splits = check.check_count("n_splits", self.n_splits, "the folds", least=2)
        self.n_repeats = check.check_count("n_repeats", self.n_repeats, "repetitions of the folds")
        self.stratify = check_stratify(self.stratify)

    def _folds(self, rows: QueryRows) -> Iterator[np.ndarray]:
        """Yield the fold of each query, once for each repetition.

        Each round assigns the next `n_splits` queries in the order of `query_order`, one query to
        each fold.
        """
        n_queries = len(rows.ids)
        if n_queries < self.n_splits:
            raise ValueError(
                f"{self!r} needs at least {self.n_splits} queries, and there are {n_queries}."
            )
        strata, sizes = rows.strata(self.stratify), rows.sizes
        rng = check.as_random_state("random_state", self.random_state) if self.shuffle else None
        n_rounds = -(-n_queries // self.n_splits)
        for _ in range(self.n_repeats):
            order = query_order(strata, sizes, rng)
            if rng is None:
                rounds = np.tile(np.arange(self.n_splits), (n_rounds, 1))
                rounds[1::2] = rounds[1::2, ::-1]  # else the last fold gets the highest strata
            else:
                rounds = rng.random_sample((n_rounds, self.n_splits)).argsort(axis=1, kind="stable")
            folds = np.empty(n_queries, np.int64)
            folds[order] = rounds.ravel()[:n_queries]
            yield folds

    def _splits(self, rows: QueryRows, X: Table) -> Iterator[Split]:
        tested = np.ones(len(rows.ids), bool)  # queries that may be in a test part
        if self.drop_unjudged_test:
            judged = ~np.isnan(rows.labels("drop_unjudged_test"))
            tested = np.bincount(rows.codes[judged], minlength=len(rows.ids)) > 0
        for folds in self._folds(rows):
            for fold in range(self.n_splits):
                train, test = folds != fold, (folds == fold) & tested
                yield np.flatnonzero(train[rows.codes]), np.flatnonzero(test[rows.codes])
