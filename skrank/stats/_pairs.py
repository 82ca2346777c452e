"""Score differences of pairs of systems, in blocks of pairs compared on the same queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import ROUNDING, Weights

# (values of shape (n_rows, n_queries), weights) -> arrays of shape (n_rows,), or numbers
Measure = Callable[[np.ndarray, Weights], tuple[np.ndarray | float, ...]]


class Block(NamedTuple):
    """Differences of pairs of systems that are compared on the same queries.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_block,)
        Rows of the pairs in `SystemPairs.index`.
    kept : bool ndarray of shape (n_all_queries,)
        True for queries with a value for both systems.
    z : ndarray of shape (n_block, n_queries)
        Score of the first system minus that of the second, on the kept queries.
    weights : ndarray of shape (n_queries,) or None
        Weights of the kept queries; None: equal weights.
    """

    pairs: np.ndarray
    kept: np.ndarray
    z: np.ndarray
    weights: Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class PairResult:
    """Fields that the results of all tests of pairs have in common."""

    pairs: np.ndarray
    difference: np.ndarray
    n_queries: np.ndarray
    n_dropped: np.ndarray


class SystemPairs:
    """Pairs of systems on the queries where both have a value.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        NaN = no value.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int c compares every other column with column c. Default: all pairs.
    nan : {"drop", "raise"}
    weights : array-like of shape (n_queries,), optional
        Weight of each query; queries of weight 0 are dropped.
    grid : bool
        Round differences to multiples of `ROUNDING` times the largest score, so that differences
        that are equal up to rounding tie exactly.

    Attributes
    ----------
    index : int64 ndarray of shape (n_pairs, 2)
        Columns of each pair, first < second if `pairs` is None.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Numbers of queries with a value for both systems, and of other queries.
    """

    def __init__(
        self,
        scores: ArrayLike,
        pairs: int | ArrayLike | None = None,
        nan: str = "drop",
        *,
        weights: ArrayLike | None = None,
        grid: bool = False,
    ) -> None:
        check.check_same_index(scores=scores, weights=weights)
        matrix = check.check_score_matrix(scores, nan)
        self.index = check.check_system_pairs(pairs, matrix.shape[1])
        self._weights = check.check_importance(weights, len(matrix))
        self._scores = np.ascontiguousarray(matrix.T)
        present = ~np.isnan(self._scores)
        if self._weights is not None:
            present &= self._weights > 0
        sizes = np.abs(self._scores).max(axis=1, where=present, initial=0)
        self._negligible = ROUNDING * sizes[self.index].max(axis=1)
        self._grid = grid
        # distinct masks of the queries with a value: usually a single mask, shared by all systems
        self._masks, self._pattern = unique_rows(present)
        counts = self._masks.astype(np.int64)
        self.n_queries = (counts @ counts.T)[tuple(self._pattern[self.index].T)]
        self.n_dropped = len(matrix) - self.n_queries
        few = np.flatnonzero(self.n_queries < 2)
        if len(few):
            a, b = self.index[few[0]]
            raise ValueError(
                f"systems {a} and {b} both have a value on {self.n_queries[few[0]]} query(s): a "
                "comparison needs at least 2. Leave out one of these systems, or fill in its NaNs."
            )

    def __len__(self) -> int:
        return len(self.index)

    @property
    def described(self) -> dict[str, Any]:
        """Fields of a `PairResult` that do not depend on the test."""
        return {"pairs": self.index, "n_queries": self.n_queries, "n_dropped": self.n_dropped}

    def blocks(self, width: int = 256) -> Iterator[Block]:
        """Yield the differences of at most `width` pairs at a time.

        Differences that are 0 up to rounding are exactly 0, and rows that are constant up to
        rounding are exactly constant.
        """
        first, second = self.index.T
        codes = self._pattern[self.index] @ [len(self._masks), 1]
        for code in np.unique(codes):  # one code per pair of masks
            a, b = divmod(code, len(self._masks))
            kept, members = self._masks[a] & self._masks[b], np.flatnonzero(codes == code)
            scores = self._scores[:, kept]
            weights = None if self._weights is None else self._weights[kept]
            for start in range(0, len(members), width):
                chosen = members[start : start + width]
                z = scores[first[chosen]] - scores[second[chosen]]
                z = _without_rounding(z, self._negligible[chosen, None], grid=self._grid)
                yield Block(chosen, kept, z, weights)

    def measure(self, function: Measure, n_values: int, width: int = 256) -> np.ndarray:
        """Values of `function`, which returns `n_values` per pair; shape (n_values, n_pairs)."""
        out = np.empty((n_values, len(self)))
        for block in self.blocks(width):
            for row, values in zip(out, function(block.z, block.weights), strict=True):
                row[block.pairs] = values
        return out


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in the order of their first occurrence, and the index of each row in them."""
    index: dict[bytes, int] = {}
    codes = np.array([index.setdefault(row.tobytes(), len(index)) for row in rows])
    return rows[np.unique(codes, return_index=True)[1]], codes


def _without_rounding(z: np.ndarray, negligible: np.ndarray, *, grid: bool) -> np.ndarray:
    """Set negligible differences to 0, and rows of negligible range to their first value."""
    z[np.abs(z) <= negligible] = 0
    constant = np.ptp(z, axis=1) <= negligible[:, 0]
    z[constant] = z[constant, :1]
    if grid:
        unit = np.where(negligible > 0, negligible, 1)
        z = np.rint(z / unit) * unit
    return z
