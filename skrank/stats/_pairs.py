"""Pairs of systems and their differences by query, in blocks that share their queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import ROUNDING, Weights

# (values by row and query, weights) -> numbers by row
Measure = Callable[[np.ndarray, Weights], tuple[np.ndarray | float, ...]]


class Block(NamedTuple):
    """Differences of pairs that share their queries.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_block,)
        Numbers of the pairs.
    kept : bool ndarray of shape (n_all_queries,)
        Queries with a value for both systems.
    z : ndarray of shape (n_block, n_queries)
        Differences on these.
    weights : ndarray of shape (n_queries,) or None
        Weights of these; None: all the same.
    """

    pairs: np.ndarray
    kept: np.ndarray
    z: np.ndarray
    weights: Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class PairResult:
    """Pairs of systems that were compared, and on which queries."""

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
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
    weights : array-like of shape (n_queries,), optional
        Weight of each query; a query of weight 0 has no value for any system.
    grid : bool
        Round differences to multiples of what is negligible, so that equal ones are exactly equal.

    Attributes
    ----------
    index : int64 ndarray of shape (n_pairs, 2)
        Systems of each pair, in all pairs the first < second.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Queries with a value for both, and the others.
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
        # systems with values on the same queries share a mask; mostly all systems share one
        self._masks, self._pattern = unique_rows(present)
        counts = self._masks.astype(np.int64)
        self.n_queries = (counts @ counts.T)[tuple(self._pattern[self.index].T)]
        self.n_dropped = len(matrix) - self.n_queries
        few = np.flatnonzero(self.n_queries < 2)
        if len(few):
            a, b = self.index[few[0]]
            raise ValueError(
                f"systems {a} and {b} both have a value on {self.n_queries[few[0]]} query(s): a "
                "comparison needs at least 2. Leave out one of them, or fill in its NaNs."
            )

    def __len__(self) -> int:
        return len(self.index)

    @property
    def described(self) -> dict[str, Any]:
        """Fields of a `PairResult` that do not depend on the test."""
        return {"pairs": self.index, "n_queries": self.n_queries, "n_dropped": self.n_dropped}

    def blocks(self, width: int = 256) -> Iterator[Block]:
        """The differences of at most `width` pairs at a time.

        Differences that are only rounding come as exact zeros, constant rows as exactly constant.
        """
        first, second = self.index.T
        codes = self._pattern[self.index] @ [len(self._masks), 1]
        for code in np.unique(codes):  # pairs that have the same queries in common
            a, b = divmod(code, len(self._masks))
            kept, members = self._masks[a] & self._masks[b], np.flatnonzero(codes == code)
            scores = self._scores[:, kept]
            weights = None if self._weights is None else self._weights[kept]
            for start in range(0, len(members), width):
                chosen = members[start : start + width]
                z = scores[first[chosen]] - scores[second[chosen]]
                z = _without_rounding(z, self._negligible[chosen, None], self._grid)
                yield Block(chosen, kept, z, weights)

    def measure(self, function: Measure, n_values: int, width: int = 256) -> np.ndarray:
        """`n_values` numbers per pair, of shape (n_values, n_pairs), from `function` of blocks."""
        out = np.empty((n_values, len(self)))
        for block in self.blocks(width):
            for row, values in zip(out, function(block.z, block.weights), strict=True):
                row[block.pairs] = values
        return out


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows, and the number of the one that each row equals; numpy.unique would sort."""
    numbers: dict[bytes, int] = {}
    codes = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows])
    return rows[np.unique(codes, return_index=True)[1]], codes


def _without_rounding(z: np.ndarray, negligible: np.ndarray, grid: bool) -> np.ndarray:
    """Differences of which negligible ones are 0, and rows that hardly vary are constant."""
    z[np.abs(z) <= negligible] = 0
    constant = np.ptp(z, axis=1) <= negligible[:, 0]
    z[constant] = z[constant, :1]
    if grid:
        unit = np.where(negligible > 0, negligible, 1)
        z = np.rint(z / unit) * unit
    return z
