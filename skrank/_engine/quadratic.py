"""Metrics as sums over documents and pairs of documents: DCG, nDCG, AP, GAP, precision, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank._engine.cached import cached_property
from skrank._engine.order import RankedCodes
from skrank._engine.tables import LambdaKernels, Tables
from skrank._engine.threads import run_chunks
from skrank._kernels.arguments import Quadratic, QuadraticSwaps, Ranked

if TYPE_CHECKING:
    from skrank._engine.judgments import Judgments

MOST_CLASSES = 64  # labels that pairs may tell apart


@dataclass(frozen=True, eq=False)
class PairWorth:
    """``w`` and ``K(a, b) = join(upper(a), lower(b))``.

    Parameters
    ----------
    weights : ndarray (longest,)
        w, the weight of the pairs that end at each rank.
    upper, lower : ndarrays (n_codes,)
        What a document of each code brings to a pair as the upper and as the lower one; equal for
        codes of equal gain.
    join : numpy.multiply or numpy.minimum
    """

    weights: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    join: np.ufunc

    def worth(self, codes: np.ndarray) -> np.ndarray:
        """K between codes."""
        return np.ascontiguousarray(self.join.outer(self.upper[codes], self.lower[codes]))


@dataclass(frozen=True, eq=False)
class QuadraticTables(Tables):
    """``sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r)``.

    Parameters
    ----------
    gain : ndarray (n_codes,)
        g per code. Codes of equal gain are one class: the metric cannot tell them apart.
    u : ndarray (longest,)
        Weight of the gain at each rank.
    pairs : PairWorth, optional
    offset : int64 ndarray (n_queries,), optional
        Place of the first rank of each query in u and w, where queries have weights of their own.
    ideal : (ndarray (n_codes,), ndarray (longest,)), optional
        Worth per code and weight per rank that, without pairs, give the sum of the best list;
        needed with pairs or offsets, else gain and u.
    """

    gain: np.ndarray
    u: np.ndarray
    pairs: PairWorth | None = None
    offset: np.ndarray | None = None
    ideal: tuple[np.ndarray, np.ndarray] | None = None

    @cached_property
    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        """A code of each class, and the class of each code; higher classes gain more."""
        _, first, classes = np.unique(self.gain, return_index=True, return_inverse=True)
        return first, classes.astype(np.int64).ravel()

    @cached_property
    def _pair_weights(self) -> np.ndarray:
        return np.zeros_like(self.u) if self.pairs is None else self.pairs.weights

    @cached_property
    def _depth(self) -> int:
        """Ranks that have a weight; all, where queries have weights of their own."""
        if self.offset is not None:
            return len(self.u)
        used = np.flatnonzero((self.u != 0) | (self._pair_weights != 0))
        return int(used[-1]) + 1 if len(used) else 0

    def _form(self, classes: np.ndarray, worth: np.ndarray, n_queries: int) -> Quadratic:
        offset = self._starts(n_queries)
        return Quadratic(self.gain, classes, worth, self.u, self._pair_weights, offset, self._depth)

    def _starts(self, n_queries: int) -> np.ndarray:
        return np.zeros(n_queries, np.int64) if self.offset is None else self.offset

    @property
    def relevant(self) -> np.ndarray:
        """Codes that are worth something."""
        return self.gain > 0

    @property
    def ordered(self) -> bool:
        """Whether the weights of ranks differ, so that the order of a whole list counts."""
        return any(np.ptp(weights) > 0 for weights in (self.u, self._pair_weights))

    def _worth(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of each code and K by class; one class will do when no pairs count."""
        if self.pairs is None:
            return np.zeros(len(self.gain), np.int64), np.zeros((1, 1))
        return self._all_classes()

    def _all_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of each code and K by class."""
        first, classes = self._classes
        if len(first) > MOST_CLASSES:
            raise ValueError(
                f"{len(first)} distinct labels are too many for pairs of documents (at most "
                f"{MOST_CLASSES}): bin the labels into grades, for example with numpy.digitize."
            )
        if self.pairs is None:
            return classes, np.zeros((len(first), len(first)))
        return classes, self.pairs.worth(first)

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        from skrank._kernels import quadratic

        out = np.empty(len(inverse))
        lists = Ranked(ranked.codes, ranked.tied, ranked.retrieved)
        form = self._form(*self._worth(), len(inverse))
        run_chunks(quadratic.values, ranked.indptr, lists, form, inverse, out)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sum of each query."""
        from skrank._kernels import quadratic

        gain, weights = self.ideal or (self.gain, self.u)
        if judgments.counts is None:
            best = judgments.best_lists(gain)
            return QuadraticTables(gain, weights).values(best, np.ones(len(best.retrieved)))
        best_first = np.argsort(-gain, kind="stable")
        before = np.concatenate(([0.0], np.cumsum(weights)))
        out = np.empty(len(judgments.counts))
        run_chunks(
            quadratic.ideals, judgments.indptr, judgments.counts, best_first, gain, before, out
        )
        return out

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Change of the sum for every swap of ranks a < b of one list of codes."""
        from skrank._kernels import quadratic

        out = np.zeros((len(codes), len(codes)))
        quadratic.deltas(codes, self._form(*self._all_classes(), 1), out)
        return out

    def lambda_kernels(self, judgments: Judgments) -> LambdaKernels:
        """What LambdaRank takes from here."""
        from skrank._kernels import quadratic, quadratic_lambdas

        classes, worth = self._all_classes()
        first, _ = self._classes
        ordered = np.array_equal(classes, np.arange(len(classes)))  # then codes say the class
        rows = judgments.codes if ordered else classes.astype(np.uint8)[judgments.codes]
        offset = self._starts(len(judgments.queries))
        form = QuadraticSwaps(self.gain[first], worth, self.u, self._pair_weights, offset)
        return LambdaKernels(quadratic_lambdas.lambdas, quadratic.adjacent_deltas, rows, form)
