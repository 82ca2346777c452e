"""Base classes of the splitters of queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from skrank import _validation as check
from skrank._typing import RandomState, Table
from skrank.model_selection._parts import QueryRows, Stratify, check_stratify, deal

Split = tuple[np.ndarray, np.ndarray]


class QuerySplitter(BaseCrossValidator):
    """A splitter of queries, which it gets as groups or on the index of `y` or `X`."""

    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    n_splits: int
    n_repeats: int = 1

    def get_n_splits(
        self, X: Table | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Number of splits: folds times repeats.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits * self.n_repeats

    def split(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
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

        Warns
        -----
        CutQueryWarning
            If a query of `y` has fewer rows than in the call of `skrank.with_groups`.
        """
        # not a generator, so that wrong groups raise before the first fit
        return self._splits(QueryRows.of(groups, y, X, who=type(self).__name__))

    @abstractmethod
    def _splits(self, rows: QueryRows) -> Iterator[Split]:
        """The splits of rows by their queries."""

    def __repr__(self) -> str:
        defaults = type(self)().__dict__
        changed = [
            f"{name}={getattr(value, '__qualname__', repr(value))}"
            for name, value in self.__dict__.items()
            if name == "n_splits" or value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class FoldSplitter(QuerySplitter):
    """A splitter that deals queries to folds. Each fold is the test part once."""

    fewest: ClassVar[int] = 2
    stratify: Stratify
    drop_unjudged_test: bool
    shuffle: bool
    random_state: RandomState

    def __post_init__(self) -> None:
        if self.random_state is not None and not self.shuffle:
            raise ValueError(
                "random_state has no effect without shuffle=True: set it, or drop one."
            )
        self.n_splits = check.check_count("n_splits", self.n_splits, "the number of folds")
        if self.n_splits < self.fewest:
            raise ValueError(
                f"n_splits={self.n_splits}: there must be at least {self.fewest} folds."
            )
        self.stratify = check_stratify(self.stratify)

    def _random(self) -> np.random.RandomState | None:
        """Random numbers to deal by; None without `shuffle`."""
        return check.as_random_state("random_state", self.random_state) if self.shuffle else None

    def _folds(self, rows: QueryRows, rng: np.random.RandomState | None) -> np.ndarray:
        """Fold of each query."""
        n_queries = len(rows.ids)
        if n_queries < self.n_splits:
            raise ValueError(
                f"{self!r} needs at least {self.n_splits} queries, and there are {n_queries}."
            )
        return deal(self.n_splits, rows.strata(self.stratify), rows.sizes, rng)

    def _tested(self, rows: QueryRows) -> np.ndarray:
        """Mask of the queries that may be in a test part."""
        if not self.drop_unjudged_test:
            return np.ones(len(rows.ids), bool)
        judged = ~np.isnan(rows.labels("drop_unjudged_test"))
        return np.bincount(rows.codes[judged], minlength=len(rows.ids)) > 0

    def _train_and_test(
        self, rows: QueryRows, rng: np.random.RandomState | None
    ) -> Iterator[Split]:
        fold, tested = self._folds(rows, rng), self._tested(rows)
        for number in range(self.n_splits):
            train, test = fold != number, (fold == number) & tested
            yield np.flatnonzero(train[rows.codes]), np.flatnonzero(test[rows.codes])
