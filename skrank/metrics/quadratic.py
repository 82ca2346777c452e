"""Metrics as sums over documents and pairs of documents: DCG, nDCG, AP, GAP, precision, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._parallel import run_chunks

if TYPE_CHECKING:
    from skrank.metrics.plan import RankedCodes

MOST_CLASSES = 64  # labels that pairs may tell apart


@dataclass(frozen=True, eq=False)
class QuadraticTables:
    """``sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r)``.

    Parameters
    ----------
    gain : ndarray (n_codes,)
        g per code. Codes of equal gain are one class: the metric cannot tell them apart.
    u : ndarray (longest,)
        Weight of the gain at each rank.
    pairs : (ndarray (longest,), ndarray (n_codes, n_codes)), optional
        w, the weight of the pairs that end at each rank, and K, which must be equal for codes of
        equal gain.
    """

    gain: np.ndarray
    u: np.ndarray
    pairs: tuple[np.ndarray, np.ndarray] | None = None

    w: np.ndarray = field(init=False)
    classes: np.ndarray = field(init=False)
    kernel: np.ndarray = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        _, first, classes = np.unique(self.gain, return_index=True, return_inverse=True)
        if self.pairs is None:
            w, kernel = np.zeros_like(self.u), np.zeros((len(first), len(first)))
        else:
            w, kernel = self.pairs[0], self.pairs[1][np.ix_(first, first)]
        used = np.flatnonzero((self.u != 0) | (w != 0))
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "classes", classes.astype(np.int64).ravel())
        object.__setattr__(self, "kernel", np.ascontiguousarray(kernel))
        object.__setattr__(self, "depth", int(used[-1]) + 1 if len(used) else 0)

    @property
    def relevant(self) -> np.ndarray:
        """Codes that are worth something."""
        return self.gain > 0

    def _pair_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Classes and their kernel; one class when no pairs count."""
        if self.pairs is None:
            return np.zeros_like(self.classes), np.zeros((1, 1))
        self._check_classes()
        return self.classes, self.kernel

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        from skrank._kernels import quadratic

        out = np.empty(len(inverse))
        run_chunks(
            quadratic.values, ranked.indptr, ranked.codes, ranked.tied, ranked.retrieved,
            self.gain, *self._pair_classes(), self.u, self.w, _shared(len(inverse)), self.depth,
            inverse, out,
        )  # fmt: skip
        return out

    def ideals(self, indptr: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The best sum of each query, from its number of documents per code."""
        from skrank._kernels import quadratic

        best_first = np.argsort(-self.gain, kind="stable")
        u = _prefix_sums(self.u)
        w = np.stack([_prefix_sums(self.w), _prefix_sums(self.w * np.arange(len(self.w)))])
        out = np.empty(len(counts))
        run_chunks(
            quadratic.ideals, indptr, counts, best_first,
            self.gain, *self._pair_classes(), u, w, _shared(len(counts)), out,
        )  # fmt: skip
        return out

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Change of the sum for every swap of ranks a < b of one list of codes."""
        from skrank._kernels import quadratic

        out = np.zeros((len(codes), len(codes)))
        quadratic.deltas(codes, self.gain, self.classes, self.kernel, self.u, self.w, out)
        return out

    def lambda_kernel(self, n_queries: int) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The kernel of LambdaRank gradients and the arrays that it takes from here."""
        from skrank._kernels import quadratic

        self._check_classes()
        arrays = (self.gain, self.classes, self.kernel, self.u, self.w, _shared(n_queries))
        return quadratic.lambdas, arrays

    def _check_classes(self) -> None:
        if len(self.kernel) > MOST_CLASSES:
            raise ValueError(
                f"{len(self.kernel)} distinct labels are too many for pairs of documents (at most "
                f"{MOST_CLASSES}): bin the labels into grades, for example with numpy.digitize."
            )


def _prefix_sums(weights: np.ndarray) -> np.ndarray:
    """Sum of the weights before each position."""
    return np.concatenate(([0.0], np.cumsum(weights)))


def _shared(n_queries: int) -> np.ndarray:
    """Offsets into rank weights that all queries share."""
    return np.zeros(n_queries, np.int64)
