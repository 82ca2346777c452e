"""The collection that labels are a part of: all labels of one call of `with_groups`.

It travels in `Series.attrs`, pandas' place for metadata, which survives slices, arithmetic and
pickles. Conversions to NumPy arrays lose it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

LEVEL = "qid"  # name of the index level (or column) that has the query of each row
ATTRS_KEY = "skrank"  # of the collection in `Series.attrs`


def highest_grade(labels: np.ndarray) -> int:
    """Highest label, rounded up, at least 1; NaN does not count."""
    return max(1, math.ceil(np.fmax.reduce(labels, initial=0)))


class Collection(dict[str, int]):
    """Number of rows and highest label of each query.

    The dictionary has the totals, since `DataFrame.to_parquet` writes attrs as JSON. Nothing
    changes a collection: copies share it, so that a slice of labels costs no more with it.

    Parameters
    ----------
    ids, sizes : ndarray of shape (n_queries,)
        Queries and their numbers of rows.
    tops : float64 ndarray of shape (n_queries,)
        Highest labels; NaN for a query without labels.
    """

    def __init__(self, ids: np.ndarray, sizes: np.ndarray, tops: np.ndarray) -> None:
        self.ids, self.sizes, self.tops = ids, sizes, tops
        self.max_grade = highest_grade(tops)
        super().__init__(queries=len(ids), rows=int(sizes.sum()), max_grade=self.max_grade)

    @classmethod
    def of(cls, ids: ArrayLike, labels: ArrayLike) -> Collection:
        """The collection of rows. Labels that are not finite numbers count as missing."""
        import pandas as pd

        codes, unique = pd.factorize(np.asarray(ids))
        tops = np.full(len(unique), np.nan)
        try:
            np.fmax.at(tops, codes, np.asarray(labels, dtype=np.float64))
        except (TypeError, ValueError):
            tops[:] = np.nan
        tops[np.isinf(tops)] = np.nan
        return cls(np.asarray(unique), np.bincount(codes, minlength=len(unique)), tops)

    def _places(self, ids: np.ndarray) -> np.ndarray:
        import pandas as pd

        return pd.Index(self.ids).get_indexer(pd.Index(ids))

    def sizes_of(self, ids: np.ndarray) -> np.ndarray:
        """Number of rows of each query in the collection, 0 for unknown queries."""
        places = self._places(ids)
        return np.where(places >= 0, self.sizes[places], 0)

    def grade_of(self, part: Collection) -> int | None:
        """Highest grade of the collection; None if these labels cannot be a part of it.

        Labels keep their attrs when they are changed, as in ``y > 0``. Then the highest label of
        some query rises, or falls although all rows of the query are there.
        """
        places = self._places(part.ids)
        if np.any(places < 0) or np.isnan(self.tops).all():
            return None
        tops, complete = self.tops[places], part.sizes == self.sizes[places]
        same = (part.tops == tops) | (np.isnan(part.tops) & np.isnan(tops))
        lower = ~complete & ~(part.tops > tops)
        return self.max_grade if np.all(same | lower) else None

    def __deepcopy__(self, memo: dict[int, object]) -> Collection:
        return self  # pandas copies attrs with every slice

    def __eq__(self, other: object) -> bool:
        return self is other  # pandas.concat keeps attrs that are equal in all parts

    __ne__ = object.__ne__
    __hash__ = None


def index_level(data: object) -> ArrayLike | None:
    """The index level that has the query of each row, if `data` has one."""
    index = getattr(data, "index", None)
    names = getattr(index, "names", None) or ()
    return index.get_level_values(LEVEL) if index is not None and LEVEL in names else None


def collection_of(y: object) -> Collection | None:
    """The collection of labels whose index has the queries that `with_groups` gave them."""
    found = (getattr(y, "attrs", None) or {}).get(ATTRS_KEY)
    return found if isinstance(found, Collection) and index_level(y) is not None else None


def collection_grade(y: ArrayLike, labels: np.ndarray) -> int:
    """Highest grade of a collection, which a ranker keeps for scorers.

    Parameters
    ----------
    y : labels, maybe a part of a collection
    labels : ndarray
        `y` and further labels, those of a validation part.
    """
    collection, ids = collection_of(y), index_level(y)
    known = None
    if collection is not None and ids is not None:
        known = collection.grade_of(Collection.of(ids, y))
    return max(known or 1, highest_grade(labels.astype(np.float64)))
