"""Metrics that are sums over documents and pairs of documents: DCG, nDCG, AP, GAP, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Swaps, Tables
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import lambdaloss, quadratic, quadratic_lambdas
from skrank._kernels.lambdaloss import LambdaLossWeights
from skrank._kernels.quadratic import Quadratic, QuadraticSwaps

_PAIRS_OF_CLASSES = 25  # a tied row takes (pairs of classes) / 25 times the time of most kernels
# most different gains of labels whose pairs have a table; chosen freely: the time and the memory of
# kernels grow with the number of classes
MOST_CLASSES = 64


@dataclass(frozen=True, eq=False)
class PairWorth:
    """Weights ``w`` of pairs, and ``K(a, b) = join(upper(a), lower(b))``: see `QuadraticTables`.

    Parameters
    ----------
    weights : ndarray (longest,)
        w, the weight of the pairs that end at each rank.
    upper, lower : ndarrays (n_codes,)
        Argument of `join` for the code of the upper and of the lower document of a pair; equal for
        codes of equal gain.
    join : numpy.multiply or numpy.minimum

    Examples
    --------
    Average precision: a pair of relevant documents counts 1 / (rank of the lower one).

    >>> import numpy as np
    >>> from skrank.extending import PairWorth
    >>> relevant = np.array([0.0, 1.0])
    >>> PairWorth(1 / np.arange(1, 4), relevant, relevant, np.multiply).worth(np.array([0, 1]))
    array([[0., 0.],
           [0., 1.]])
    """

    weights: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    join: np.ufunc

    def __post_init__(self) -> None:
        if not any(self.join is ufunc for ufunc in (np.multiply, np.minimum)):
            raise ValueError("PairWorth.join must be numpy.multiply or numpy.minimum.")
        for name in ("weights", "upper", "lower"):
            array = check.as_table(f"PairWorth.{name}", getattr(self, name), 1)
            check.check_finite_table(f"PairWorth.{name}", array)
            object.__setattr__(self, name, array)
        upper, lower = (np.abs(worth).max(initial=0) for worth in (self.upper, self.lower))
        with np.errstate(over="ignore"):
            highest = self.join(upper, lower)
        check.check_finite_table("PairWorth.upper times PairWorth.lower", np.asarray(highest))

    def worth(self, codes: np.ndarray) -> np.ndarray:
        """K between codes."""
        return np.ascontiguousarray(self.join.outer(self.upper[codes], self.lower[codes]))


@dataclass(frozen=True, eq=False)
class QuadraticTables(Tables):
    """``sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r)``, for a list with the labels y_1, y_2, ...

    Parameters
    ----------
    gain : ndarray (n_codes,)
        g per code. Codes of equal gain are one class: they must have equal rows and columns in K.
    u : ndarray (longest,)
        Weight of the gain at each rank.
    pairs : PairWorth, optional
    offset : int64 ndarray (n_queries,), optional
        Index of the first rank of each query in u and w, if queries have different weights.
    ideal : (ndarray (n_codes,), ndarray (longest,)), optional
        Gain per code and weight per rank: the sum of the best list is ``sum_r weight_r gain(y_r)``.
        Default: (gain, u), for tables without pairs and offsets only.

    Raises
    ------
    ValueError
        If an entry is not finite; when a metric is bound, if a size does not fit the data, or codes
        of equal gain differ in `pairs.upper` or `pairs.lower`.

    Examples
    --------
    Tables of DCG, for grades 0 to 2 and lists of up to three documents:

    >>> import numpy as np
    >>> from skrank.extending import QuadraticTables
    >>> tables = QuadraticTables(gain=[0, 1, 3], u=1 / np.log2(np.arange(2, 5)))
    >>> tables.relevant
    array([False,  True,  True])
    """

    axes: ClassVar = {"gain": ("codes",), "u": ("ranks",)}

    gain: np.ndarray
    u: np.ndarray
    pairs: PairWorth | None = None
    offset: np.ndarray | None = None
    ideal: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        # with offsets, kernels add all retrieved ranks, by blocks if any are tied: a tie below the
        # cut-off, which a cut list lacks, may change the last bit of the value
        object.__setattr__(self, "cut", self.offset is None)
        if self.offset is None:
            check.check_falling("QuadraticTables.u", self.u)
        else:
            offset = check.as_table("QuadraticTables.offset", self.offset, 1, np.int64)
            object.__setattr__(self, "offset", offset)
        if self.ideal is not None:
            both = tuple(check.as_table("QuadraticTables.ideal", table, 1) for table in self.ideal)
            check.check_finite_table("QuadraticTables.ideal", np.concatenate(both))
            object.__setattr__(self, "ideal", both)

    def check_fit(self, judgments: Judgments) -> None:
        """Refuse tables of a wrong size for the data, and codes of equal gain that differ in K."""
        super().check_fit(judgments)
        entries, queries = judgments.entries, judgments.queries
        if self.offset is not None:
            name, ranks = "QuadraticTables.offset", len(self.u)
            check.check_entries(name, self.offset, ("queries",), entries)
            last = self.offset + queries.sizes
            check.check_within(name, self.offset, 0, ranks)
            check.check_within(f"{name}, with the documents of its query,", last, 0, ranks)
        if self.ideal is not None:
            for axis, array in zip(("codes", "ranks"), self.ideal, strict=True):
                check.check_entries("QuadraticTables.ideal", array, (axis,), entries)
        if self.pairs is not None:
            # queries with offsets read the weights of all ranks of `u`
            ranks = queries.longest if self.offset is None else len(self.u)
            weights = self.pairs.weights
            check.check_entries("PairWorth.weights", weights, ("ranks",), {"ranks": ranks})
            first, classes = self._classes
            for name, worth in (("upper", self.pairs.upper), ("lower", self.pairs.lower)):
                check.check_entries(f"PairWorth.{name}", worth, ("codes",), entries)
                check.check_classes(f"PairWorth.{name}", worth, first[classes], judgments.labels)

    @cached_property
    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        """One code of each class, and the class of each code; classes ascend by gain."""
        _, first, classes = np.unique(self.gain, return_index=True, return_inverse=True)
        return first, classes.astype(np.int64)

    @cached_property
    def _pair_weights(self) -> np.ndarray:
        return np.zeros_like(self.u) if self.pairs is None else self.pairs.weights

    @cached_property
    def _depth(self) -> int:
        """Number of ranks down to the last with a weight; len(u) if queries differ in weights."""
        if self.offset is not None:
            return len(self.u)
        return len(np.trim_zeros((self.u != 0) | (self._pair_weights != 0), "b"))

    def _starts(self, n_queries: int) -> np.ndarray:
        return np.zeros(n_queries, np.int64) if self.offset is None else self.offset

    @property
    def relevant(self) -> np.ndarray:
        return self.gain > 0

    @property
    def ordered(self) -> bool:
        """Whether the weights of ranks differ, so that the order of a whole list matters."""
        return any(np.ptp(weights) > 0 for weights in (self.u, self._pair_weights))

    def _worth(self) -> tuple[np.ndarray, np.ndarray]:
        """Class of each code, and K between classes."""
        first, classes = self._classes
        if len(first) > MOST_CLASSES:
            raise ValueError(
                f"{len(first)} distinct labels are too many for pairs of documents (at most "
                f"{MOST_CLASSES}): bin the labels into grades, for example with numpy.digitize, or "
                "choose a sum over documents, such as ndcg(gain=linear), dcg(gain=linear) or rbp, "
                "which takes any labels."
            )
        if self.pairs is None:
            return classes, np.zeros((len(first), len(first)))
        return classes, self.pairs.worth(first)

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.empty(len(inverse))
        tables = self._value_tables._replace(offset=self._starts(len(inverse)))
        # a block of ties takes time for each pair of classes
        cost = None if ranked.without_ties else max(1, tables.worth.size / _PAIRS_OF_CLASSES)
        lists = ranked.indptr, ranked.lists, ranked.first_tie
        run_chunks(quadratic.values, *lists, tables, inverse, out, row_cost=cost)
        return out

    @cached_property
    def _value_tables(self) -> Quadratic:
        """Tables with an empty `offset`. Without pairs, all codes are one class."""
        classes, worth = np.zeros(len(self.gain)), np.zeros((1, 1))
        if self.pairs is not None:
            classes, worth = self._worth()
        paired = np.any(worth, axis=0) | np.any(worth, axis=1)
        classes = classes.astype(np.uint8)
        contributes = (self.gain != 0) | paired[classes]
        return Quadratic(
            self.gain, contributes, classes, worth, self.u, self._pair_weights, self._starts(0),
            self._depth,
        )  # fmt: skip

    def ideals(self, judgments: Judgments) -> np.ndarray:
        if self.ideal is None and (self.pairs is not None or self.offset is not None):
            raise ValueError(
                "QuadraticTables with pairs or offsets can be divided by the best list only if "
                "`ideal` has its gain per code and weight per rank."
            )
        gain, weights = self.ideal or (self.gain, self.u)
        return judgments.best_sums(gain, weights)

    def swaps(self, judgments: Judgments) -> Swaps:
        if self.pairs is None and self.offset is None and len(self._classes[0]) > MOST_CLASSES:
            # O(n^2) swaps of documents, in place of swaps of classes
            flat = np.zeros_like(self.u)
            form = LambdaLossWeights(self.gain, self.u, flat, flat, flat)
            return lambdaloss.lambdas, judgments.codes, form
        classes, tables = self._swap_tables
        rows = classes[judgments.codes]
        tables = tables._replace(offset=self._starts(len(judgments.queries)))
        return quadratic_lambdas.lambdas, rows, tables

    @cached_property
    def _swap_tables(self) -> tuple[np.ndarray, QuadraticSwaps]:
        """Class of each code, and tables with an empty `offset`."""
        classes, worth = self._worth()
        gain = self.gain[self._classes[0]]
        tables = QuadraticSwaps(gain, worth, self.u, self._pair_weights, self._starts(0))
        return classes.astype(np.uint8), tables
