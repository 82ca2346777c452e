"""What the splitters of queries share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._typing import RandomState, Table
from skrank.model_selection._parts import (
    Stratify,
    check_stratify,
    deal,
    labels_of,
    query_codes,
    strata_of,
)

Split = tuple[np.ndarray, np.ndarray]


class QuerySplitter(BaseCrossValidator):
    """A splitter that finds the groups as everything in skrank does."""

    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    n_splits: int

    def get_n_splits(
        self, X: Table | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits

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
        """
        # not a generator: what is wrong with the groups is said before the first fit
        codes, ids = query_codes(require_groups(groups, y, X, who=type(self).__name__))
        return self._splits(codes, ids, y)

    @abstractmethod
    def _splits(self, codes: np.ndarray, ids: np.ndarray, y: ArrayLike | None) -> Iterator[Split]:
        """The splits of queries, given the number of each row's query."""

    def __repr__(self) -> str:
        defaults = type(self)().__dict__
        changed = [
            f"{name}={getattr(value, '__qualname__', repr(value))}"
            for name, value in self.__dict__.items()
            if name == "n_splits" or value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class FoldSplitter(QuerySplitter):
    """A splitter that deals queries to folds, each of which is the test part once."""

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
        """What queries are dealt by; None if not at random."""
        return check_random_state(self.random_state) if self.shuffle else None

    def _folds(
        self,
        codes: np.ndarray,
        ids: np.ndarray,
        y: ArrayLike | None,
        rng: np.random.RandomState | None,
    ) -> np.ndarray:
        """Fold of each query."""
        if len(ids) < self.n_splits:
            raise ValueError(f"{self!r} needs more than the {len(ids)} queries that there are.")
        strata = strata_of(self.stratify, codes, len(ids), y)
        sizes = np.bincount(codes, minlength=len(ids))
        return deal(len(ids), self.n_splits, strata, sizes, rng)

    def _tested(self, codes: np.ndarray, n_queries: int, y: ArrayLike | None) -> np.ndarray:
        """Whether the rows of each query may be in a test part."""
        if not self.drop_unjudged_test:
            return np.ones(n_queries, bool)
        judged = ~np.isnan(labels_of(y, "drop_unjudged_test"))
        return np.bincount(codes[judged], minlength=n_queries) > 0

    def _train_and_test(
        self,
        codes: np.ndarray,
        ids: np.ndarray,
        y: ArrayLike | None,
        rng: np.random.RandomState | None,
    ) -> Iterator[Split]:
        fold = self._folds(codes, ids, y, rng)
        tested = self._tested(codes, len(ids), y)
        for number in range(self.n_splits):
            train, test = fold != number, (fold == number) & tested
            yield np.flatnonzero(train[codes]), np.flatnonzero(test[codes])
