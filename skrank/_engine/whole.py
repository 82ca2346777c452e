"""What labels are a part of: all those of the call of `with_groups` that gave them their groups."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.cached import cached_property
from skrank._typing import Reduced

LEVEL = "qid"  # name of the index level (or column) that carries the groups


def highest_grade(labels: np.ndarray) -> int:
    """Highest label, rounded up, at least 1; NaN does not count."""
    return max(1, math.ceil(np.fmax.reduce(labels, initial=0)))


class Extent(NamedTuple):
    """Number of rows and highest label of each query; NaN where none has a label."""

    ids: np.ndarray
    sizes: np.ndarray
    tops: np.ndarray

    @classmethod
    def of(cls, ids: ArrayLike, labels: ArrayLike) -> Extent:
        """The extent of rows; labels that are no numbers have no highest one."""
        import pandas as pd

        codes, unique = pd.factorize(np.asarray(ids))
        tops = np.full(len(unique), np.nan)
        try:
            np.fmax.at(tops, codes, np.asarray(labels, dtype=np.float64))
        except (TypeError, ValueError):
            tops[:] = np.nan
        return cls(np.asarray(unique), np.bincount(codes, minlength=len(unique)), tops)


class WholeLevel(str):
    """The name "qid" of an index level, that knows of all rows how many and how high each query is.

    Slices of labels share the name of their index, so that parts of the same labels know each other
    (`is`) and what they are parts of.
    """

    def __new__(cls, ids: ArrayLike, labels: ArrayLike) -> WholeLevel:
        name = super().__new__(cls, LEVEL)
        name._rows = ids, labels
        return name

    _rows: tuple[ArrayLike, ArrayLike]

    @cached_property
    def extent(self) -> Extent:
        """Rows and highest label of each query."""
        return Extent.of(*self._rows)

    def _places(self, ids: np.ndarray) -> np.ndarray:
        import pandas as pd

        return pd.Index(self.extent.ids).get_indexer(pd.Index(ids))

    def sizes_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of queries in all."""
        places = self._places(ids)
        return np.where(places >= 0, self.extent.sizes[places], 0)

    def grade_of(self, part: Extent) -> int | None:
        """Highest grade of all labels; None if these are no part of them.

        Labels keep the name when they are changed, as in ``y > 0``. Then the highest label of some
        query rises, or falls although all of its rows are there.
        """
        places, known = self._places(part.ids), self.extent
        if np.any(places < 0) or np.isnan(known.tops).all():
            return None
        tops, complete = known.tops[places], part.sizes == known.sizes[places]
        same = (part.tops == tops) | (np.isnan(part.tops) & np.isnan(tops))
        if not np.all(same | (~complete & ~(part.tops > tops))):
            return None
        return highest_grade(known.tops)

    def __reduce__(self) -> Reduced:
        return _restored, tuple(self.extent)  # the workers of a search find the same scale

    def __deepcopy__(self, _: object) -> WholeLevel:
        return self


def _restored(*extent: np.ndarray) -> WholeLevel:
    name = WholeLevel((), ())
    name.__dict__["extent"] = Extent(*extent)
    return name


def index_level(data: object) -> Any:
    """The index level that carries the groups, if `data` has one."""
    index: Any = getattr(data, "index", None)
    if LEVEL in (getattr(index, "names", None) or ()):
        return index.get_level_values(LEVEL)
    return None


def whole_of(y: object) -> WholeLevel | None:
    """What labels are a part of, if `with_groups` gave them their groups."""
    names = getattr(getattr(y, "index", None), "names", None) or ()
    return next((name for name in names if isinstance(name, WholeLevel)), None)


def whole_grade(y: ArrayLike) -> int | None:
    """Highest grade of all labels that these are a part of, as far as that is known."""
    whole = whole_of(y)
    return None if whole is None else whole.grade_of(Extent.of(index_level(y), y))


def collection_grade(y: ArrayLike, labels: np.ndarray) -> int:
    """Highest grade of all labels that `y` is a part of, else of `labels`, which are `y` and more.

    What a ranker knows of its collection once it is trained.
    """
    return max(whole_grade(y) or 1, highest_grade(labels.astype(np.float64)))
