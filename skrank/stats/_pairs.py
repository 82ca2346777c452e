"""Pairs of systems and their differences by query, in blocks that share their queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from skrank import _validation as check

# Differences below this share of the largest score are rounding, not differences.
_ROUNDING = 1e-12


class Pairs:
    """Pairs of systems on the queries where both have a value.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        NaN = no value.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
    grid : bool
        Round differences to multiples of what is negligible, so that equal ones are exactly equal.

    Attributes
    ----------
    index : int64 ndarray of shape (n_pairs, 2)
        Systems of each pair, in all pairs the first < second.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Topics with a value for both, and the others.
    """

    def __init__(
        self, scores: Any, pairs: Any = None, nan: str = "drop", *, grid: bool = False
    ) -> None:
        matrix = check.check_score_matrix(scores, nan)
        self.index = check.check_system_pairs(pairs, matrix.shape[1])
        self._scores = np.ascontiguousarray(matrix.T)
        self._present = ~np.isnan(self._scores)
        sizes = np.abs(self._scores).max(axis=1, where=self._present, initial=0)
        self._negligible = _ROUNDING * sizes[self.index].max(axis=1)
        self._grid = grid
        self.n_queries = self._shared_queries()
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

    def _shared_queries(self) -> np.ndarray:
        present = self._present.astype(np.float64)
        first, second = self.index.T
        return (present @ present.T).astype(np.int64)[first, second]

    def differences(self, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of at most `width` pairs, and their differences of shape (pairs, queries).

        Differences that are only rounding come as exact zeros, constant rows as exactly constant.
        """
        first, second = self.index.T
        for kept, members in self._groups():
            scores = self._scores[:, kept]
            for start in range(0, len(members), width):
                chosen = members[start : start + width]
                z = scores[first[chosen]] - scores[second[chosen]]
                yield chosen, _without_rounding(z, self._negligible[chosen, None], self._grid)

    def _groups(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Topics, and the pairs that have exactly these in common."""
        patterns = list(same_queries(self._present.T))
        pattern = np.empty(len(self._present), np.int64)
        for number, (_, systems) in enumerate(patterns):
            pattern[systems] = number
        codes = pattern[self.index] @ [len(patterns), 1]
        for code in np.unique(codes):
            a, b = (patterns[number][0] for number in divmod(code, len(patterns)))
            yield a & b, np.flatnonzero(codes == code)

    def measure(
        self, function: Callable[[np.ndarray], tuple[np.ndarray, ...]], n_values: int, width: int
    ) -> np.ndarray:
        """`n_values` numbers per pair, of shape (n_values, n_pairs), from `function` of blocks."""
        out = np.empty((n_values, len(self)))
        with one_thread():
            for chosen, z in self.differences(width):
                out[:, chosen] = function(z)
        return out


def one_thread() -> AbstractContextManager[Any]:
    """Keep matrix products to one thread.

    They are many and small: two threads that wait for each other gain nothing, and lose a factor
    of ten or more where other processes keep the cores busy.
    """
    return threadpool_limits(1, user_api="blas")


def same_queries(used: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Topics (a mask), and the columns of queries x columns that use exactly these."""
    members: dict[bytes, list[int]] = {}
    for number, column in enumerate(used.T):
        members.setdefault(column.tobytes(), []).append(number)
    for columns in members.values():
        yield used[:, columns[0]], np.array(columns)


def _without_rounding(z: np.ndarray, negligible: np.ndarray, grid: bool) -> np.ndarray:
    z[np.abs(z) <= negligible] = 0
    constant = np.ptp(z, axis=1) <= negligible[:, 0]
    z[constant] = z[constant, :1]
    if grid:
        unit = np.where(negligible > 0, negligible, 1)
        z = np.rint(z / unit) * unit
    return z


def moments(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row.

    Of a constant row they are exactly the constant and 0; differences that cancel have mean 0.
    """
    constant = (z == z[:, :1]).all(axis=1)
    mean = np.where(constant, z[:, 0], z.mean(axis=1))
    mean[np.abs(mean) <= _ROUNDING * np.abs(z).max(axis=1)] = 0
    return mean, np.where(constant, 0.0, z.std(axis=1, ddof=1))


def ratio(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``mean / spread``; for a spread of 0, 0 if the mean is 0 and else infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)
