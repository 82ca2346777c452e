"""Base class of splitters, and functions that assign queries to parts.

Parts depend on query ids, labels and the seed, never on the order of rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from skrank import _validation as check
from skrank._engine.groups import require_groups, warn_of_cut_queries
from skrank._typing import Split, Table

Stratify = str | Callable[[np.ndarray], float] | None


class QueryRows(NamedTuple):
    """Rows by their queries.

    Attributes
    ----------
    codes : int64 ndarray of shape (n_rows,)
        Place of the query of each row in `ids`.
    ids : ndarray of shape (n_queries,)
        Query ids, ascending.
    sizes : int64 ndarray of shape (n_queries,)
        Numbers of rows of the queries.
    y : array-like of shape (n_rows,) or None
        Labels.
    """

    codes: np.ndarray
    ids: np.ndarray
    sizes: np.ndarray
    y: ArrayLike | None

    @classmethod
    def of(cls, groups: np.ndarray, y: ArrayLike | None, where: str) -> QueryRows:
        """Rows of queries with these ids; `where` names the rows if some queries are cut."""
        import pandas as pd

        if len(groups) == 0:
            raise ValueError("groups is empty: there is no query to split.")
        # one entry per run of equal ids: far fewer than rows where queries are contiguous
        starts = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
        try:
            places, ids = pd.factorize(groups[starts], sort=True)
        except TypeError:
            raise ValueError("the query ids cannot be sorted: give ids of one type.") from None
        codes = np.repeat(places, np.diff(np.append(starts, len(groups))))
        rows = cls(codes, np.asarray(ids), np.bincount(codes), y)
        warn_of_cut_queries(y, rows.ids, rows.sizes, where)
        return rows

    def labels(self, who: str) -> np.ndarray:
        """Labels; raises if there are none, with `who` as the reason."""
        if self.y is None:
            raise ValueError(f"{who} needs the labels: pass y to split.")
        return check.as_vector("y", self.y)

    def strata(self, stratify: Stratify) -> np.ndarray | None:
        """A number per query whose distribution must be about equal in all parts."""
        if stratify is None:
            return None
        if stratify == "size":
            return self.sizes
        labels = self.labels(f"stratify={stratify!r}")
        if stratify == "n_relevant":
            return np.bincount(self.codes, weights=labels > 0, minlength=len(self.ids))
        if stratify == "max_grade":
            best = np.full(len(self.ids), -np.inf)
            np.fmax.at(best, self.codes, labels)
            return best
        assert callable(stratify)
        parts = np.split(labels[np.lexsort((labels, self.codes))], np.cumsum(self.sizes)[:-1])
        return np.array([stratify(part) for part in parts])


def query_order(
    strata: np.ndarray | None, sizes: np.ndarray, rng: np.random.RandomState | None
) -> np.ndarray:
    """Queries by stratum and size, or without strata by number; `rng` first shuffles them."""
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    return order if strata is None else order[np.lexsort((sizes[order], strata[order]))]


def draw_parts(
    counts: list[int], strata: np.ndarray | None, sizes: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Part number of each query; part i gets ``counts[i]`` random queries, -1 is no part."""
    n_queries = len(sizes)
    if min(counts) < 1 or sum(counts) > n_queries:
        raise ValueError(
            f"{n_queries} queries cannot be split into parts of {counts[::-1]}: every part needs "
            "at least one query, and no query can be in two."
        )
    order = query_order(strata, sizes, rng)
    parts = np.full(n_queries, -1)
    for number, count in enumerate(counts):
        # systematic sampling: equal distances from a random start sample strata proportionally
        positions = (np.arange(count) + rng.random_sample()) * (len(order) / count)
        chosen = np.zeros(len(order), bool)
        chosen[positions.astype(np.int64)] = True
        parts[order[chosen]] = number
        order = order[~chosen]
    return parts


def count_queries(name: str, size: float | int | None, n_queries: int) -> int:
    """Number of queries, from a number (int) or a share (float)."""
    if isinstance(size, (float, np.floating)):
        share = check.check_number(name, size, 0, 1, open_low=True)
        return max(1, round(share * n_queries))
    return check.check_count(name, size, "a number of queries, or a share below 1")


def check_stratify(stratify: object) -> Stratify:
    if callable(stratify):
        return stratify
    return check.check_choice("stratify", stratify, ("n_relevant", "max_grade", "size", None))


class QuerySplitter(BaseCrossValidator):
    """A splitter of queries; groups are an argument of `split`, or on the index of `y` or `X`."""

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
            If groups are missing, have the wrong length, or differ; if there are too few queries.

        Warns
        -----
        CutQueryWarning
            If a query of `y` has fewer rows than in the call of `skrank.with_groups`.
        """
        # not a generator, so that `split` itself raises errors, before the first fit
        ids = require_groups(groups, y, X, who=type(self).__name__)
        return self._splits(QueryRows.of(ids, y, "rows that are split"), X)

    @abstractmethod
    def _splits(self, rows: QueryRows, X: Table) -> Iterator[Split]:
        """Row numbers of the training and the test part of each split."""
