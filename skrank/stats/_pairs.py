"""Score differences of pairs of systems, and their means and standard errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from skrank import _validation as check
from skrank._progress import progress as progress_bar
from skrank._typing import Weights

ROUNDING = 1e-12  # differences of at most this share of the largest |score| are set to 0
EQUAL = 1 - 1e-9  # t >= EQUAL * u counts as t >= u, so that rounding does not break ties

# (values of shape (n_rows, n_queries), weights) -> arrays of shape (n_rows,), or numbers
PairFunction = Callable[[np.ndarray, Weights], tuple[np.ndarray | float, ...]]


class Block(NamedTuple):
    """Differences of pairs of systems that are compared on the same queries."""

    pairs: np.ndarray  # of shape (n_block,): rows of the pairs in `SystemPairs.index`
    kept: np.ndarray  # of shape (n_all_queries,): True for queries with a value for both systems
    z: np.ndarray  # of shape (n_block, n_queries): first system minus second, on the kept queries
    weights: Weights  # of the kept queries


class SystemPairs:
    """Pairs of systems on the queries where both have a value; the parameters of `paired_t`.

    Queries of weight 0 are dropped. With `grid`, differences are rounded to multiples of `ROUNDING`
    times the largest score, so that differences that are equal up to rounding tie exactly.
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
        self.systems = names_of_columns(scores, matrix.shape[1])
        self.index = check.check_system_pairs(pairs, matrix.shape[1])
        self._weights = check.check_test_weights(weights, len(matrix))
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
            a, b = (self.systems[column] for column in self.index[few[0]])
            number = check.counted(self.n_queries[few[0]], "query", "queries")
            raise ValueError(
                f"systems {a} and {b} both have a value on {number}: a comparison needs at least 2 "
                "queries. Leave out one of these systems, or fill in its NaNs."
            )

    def __len__(self) -> int:
        return len(self.index)

    @property
    def described(self) -> dict[str, Any]:
        """The fields of `PairedTest` that do not depend on the test."""
        return {
            "systems": self.systems, "pairs": self.index, "n_queries": self.n_queries,
            "n_dropped": self.n_dropped,
        }  # fmt: skip

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

    def apply(
        self, function: PairFunction, n_values: int, width: int = 256, progress: bool | None = False
    ) -> np.ndarray:
        """Values of `function`, which returns `n_values` per pair; shape (n_values, n_pairs)."""
        out = np.empty((n_values, len(self)))
        with progress_bar(progress, len(self), "pairs") as bar:
            for block in self.blocks(width):
                for row, values in zip(out, function(block.z, block.weights), strict=True):
                    row[block.pairs] = values
                bar.update(len(block.pairs))
        return out


def names_of_columns(values: Any, n_columns: int) -> list[Hashable]:
    """Names of the columns of a frame; of other values, their numbers."""
    # of a series, `columns` is the entry of this name
    is_frame = hasattr(values, "columns") and np.ndim(values) == 2
    return list(values.columns if is_frame else range(n_columns))


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


def moments(z: np.ndarray, weights: Weights = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row of `z`, of shape (n_rows, n_queries).

    A constant row has exactly this constant as mean, and exactly 0 as standard deviation. A mean
    that is 0 up to rounding is exactly 0.

    With weights, the variance is the mean of the weighted estimate by `variance_factors` and of the
    unweighted variance. The weighted estimate allows for a variance that depends on the weight, but
    is noisy where few queries have most of the weight.
    """
    constant = (z == z[:, :1]).all(axis=1)
    if weights is None:
        mean, std = z.mean(axis=1), z.std(axis=1, ddof=1)
    else:
        mean = z @ weights / weights.sum()
        corrected = (z - mean[:, None]) ** 2 @ variance_factors(weights)
        std = np.sqrt((corrected + z.var(axis=1, ddof=1)) / 2)
    mean = np.where(constant, z[:, 0], mean)
    mean[np.abs(mean) <= ROUNDING * np.abs(z).max(axis=1)] = 0
    return mean, np.where(constant, 0.0, std)


def variance_factors(weights: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    r"""Factors f: ``f @ (z - weighted_mean)**2`` estimates the variance of a single difference.

    With :math:`h_i = w_i / \sum_j w_j`, the deviation of query i from the weighted mean has the
    variance :math:`\sigma^2 c_i`, with :math:`c_i = 1 - 2 h_i + \sum_j h_j^2`. The factor is
    :math:`f_i = h_i^2 / (c_i \sum_j h_j^2)`: dividing by :math:`c_i` is the leverage correction HC2
    (MacKinnon and White, 1985). Equal weights give 1 / (n - 1).

    With `counts` of shape (n_draws, n_queries), a query occurs that often in each draw.
    """
    counts = np.ones_like(weights) if counts is None else counts
    total, square = (counts @ weights)[..., None], (counts @ weights**2)[..., None]
    factor = 1 - 2 * weights / total + square / total**2
    # The factor is 0 if a query has all the weight, and may be 0 for a query that is not drawn,
    # whose share is 0: a divisor of 1 avoids NaN.
    return counts * weights**2 / square / np.where(factor > ROUNDING, factor, 1.0)


def effective_size(n_queries: int, weights: Weights) -> float:
    """Kish's effective number of queries, ``sum(w)**2 / sum(w**2)``."""
    return n_queries if weights is None else weights.sum() ** 2 / (weights**2).sum()


def standardised(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``mean / spread``, where 0 / 0 is 0 and any other mean over 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def t_bounds(
    mean: np.ndarray, error: np.ndarray, freedom: np.ndarray | float, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Student's confidence intervals."""
    half = stdtrit(freedom, (1 + confidence) / 2) * error  # quantile of Student's t
    return mean - half, mean + half


def t_p_value(t: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """P-values of Student's two-sided test."""
    return 2 * scipy.stats.t.sf(np.abs(t), freedom)


def student_t(z: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Mean, standard error of the mean, t and degrees of freedom of each row.

    The degrees of freedom are n_queries - 1: half of the variance of `moments` uses all queries.
    """
    mean, std = moments(z, weights)
    error = std / np.sqrt(effective_size(z.shape[1], weights))
    return mean, error, standardised(mean, error), z.shape[1] - 1
