"""Objectives on one data set: what `Objective.bind` returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.tables import sum_in_order
from skrank._engine.threads import run_chunks, thread_count
from skrank._kernels.jit import Kernel
from skrank._typing import Weights

_BLOCK = 2**20  # rows of a block, or some more: smaller blocks need more time
_BLOCK_OF_A_THREAD = 2**15  # least rows of a block per thread, so that all threads have work


class BoundObjective:
    """An objective bound to a data set. Gradients are a function of the scores.

    A subclass defines `losses` if the gradient is the derivative of a loss, else `gradient`.
    """

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        """Loss of each query, times its weight; fills `grad` and `hess` as `gradient` does."""
        raise TypeError(f"{type(self).__name__} is not a loss function.")

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` (float32 or float64, contiguous rows) for float64 `scores`.

        Raises a ValueError if they would not be finite.
        """
        self.losses(scores, grad, hess)


class BoundFunction(BoundObjective):
    """A loss function of scores on a data set, with weights per query.

    Parameters
    ----------
    objective : Objective
    judgments : Judgments
    weights : ndarray of shape (n_queries,), optional
    fill : callable
        ``fill(weight, scores, grad, hess, losses)`` fills the loss of each query, times its weight,
        and the derivatives of their sum.
    """

    def __init__(
        self, objective: object, judgments: Judgments, weights: Weights, fill: Callable[..., None]
    ) -> None:
        self.objective, self.judgments = objective, judgments
        self.weight = check.check_training_weights(weights, judgments.queries)
        self.fill = fill

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        check.check_finite_scores(scores, self.judgments.queries)
        losses = np.empty(len(self.weight))
        self.fill(self.weight, scores, grad, hess, losses)
        check.check_gradients(grad, hess, self.objective)
        return losses


def fill_by(kernel: Kernel, judgments: Judgments, *arguments: object) -> Callable[..., None]:
    """The `fill` of a loss that sums over documents, by a kernel of `listwise`."""

    def fill(weight: np.ndarray, scores: np.ndarray, *out: np.ndarray) -> None:
        lists = judgments.codes, scores, weight
        run_chunks(kernel, judgments.indptr, lists, *arguments, out)

    return fill


class BoundMixture(BoundObjective):
    """A mixture of objectives bound to a data set: weights and bound objectives."""

    def __init__(self, objective: object, parts: list[tuple[float, BoundObjective]]) -> None:
        self.objective, self.parts = objective, parts

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        for _, bound, out in self._add(grad, hess):
            bound.gradient(scores, *out)

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        return sum_in_order(
            weight * bound.losses(scores, *out) for weight, bound, out in self._add(grad, hess)
        )

    def _add(
        self, grad: np.ndarray, hess: np.ndarray
    ) -> Iterator[tuple[float, BoundObjective, tuple[np.ndarray, np.ndarray]]]:
        """Yields each part with its weight and two arrays, which the caller fills.

        Then adds the two arrays, times the weight, to `grad` and `hess`.
        """
        part = np.empty_like(grad), np.empty_like(hess)
        grad[:], hess[:] = 0, 0
        for weight, bound in self.parts:
            yield weight, bound, part
            with np.errstate(over="ignore", invalid="ignore"):
                for total, values in zip((grad, hess), part, strict=True):
                    values *= weight  # in place, to save memory
                    total += values
        check.check_gradients(grad, hess, self.objective)


def query_blocks(judgments: Judgments) -> Iterator[tuple[slice, slice, Judgments]]:
    """Queries, rows and judgments of each block: whole queries, in their order."""
    indptr, n_rows = judgments.indptr, judgments.queries.n_rows
    size = max(_BLOCK, _BLOCK_OF_A_THREAD * thread_count())
    if n_rows <= size:
        yield slice(None), slice(None), judgments
        return
    ends = np.searchsorted(indptr, np.arange(size, n_rows, size))
    for first, last in pairwise(np.unique(np.r_[0, ends, len(indptr) - 1]).tolist()):
        queries = slice(first, last)
        yield queries, slice(int(indptr[first]), int(indptr[last])), judgments.block(queries)


class BoundBlocks(BoundObjective):
    """An objective bound to blocks of queries, so that the memory of a call is that of a block.

    `parts` has the rows of each block, and the objective bound to the block. Gradients equal those
    of the objective bound to all queries at once.
    """

    def __init__(self, parts: Sequence[tuple[slice, BoundObjective]]) -> None:
        self.parts = parts

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        for rows, bound in self.parts:
            bound.gradient(scores[rows], grad[rows], hess[rows])
