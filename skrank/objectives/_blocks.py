"""Objectives on blocks of queries, which bound the memory of a round of gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.threads import thread_count
from skrank.objectives._bound import BoundObjective, SharedRounds
from skrank.objectives.base import Objective

_ROWS = 2**18  # least rows of a block: its memory is small compared with large data
_ROWS_OF_A_THREAD = 2**15  # least rows of a block per thread, so that all threads have work


def blocks(judgments: Judgments) -> Iterator[tuple[slice, slice, Judgments]]:
    """Queries, rows and judgments of each block: whole queries, in their order."""
    indptr, n_rows = judgments.indptr, judgments.queries.n_rows
    size = max(_ROWS, _ROWS_OF_A_THREAD * thread_count())
    ends = np.searchsorted(indptr, np.arange(size, n_rows, size))
    for first, last in pairwise(np.unique(np.r_[0, ends, len(indptr) - 1]).tolist()):
        queries = slice(first, last)
        yield queries, slice(int(indptr[first]), int(indptr[last])), judgments.block(queries)


class BoundBlocks(SharedRounds):
    """An objective bound to blocks of queries, which count their rounds together.

    Gradients equal the gradients of the objective bound to all queries at once.

    Parameters
    ----------
    objective : Objective
        There is one block of all queries unless `objective.by_query` is True.
    judgments : Judgments
    weights : ndarray (n_queries,), optional
    max_grade : int, optional
        Highest grade of the collection.
    """

    def __init__(
        self,
        objective: Objective,
        judgments: Judgments,
        weights: np.ndarray | None,
        max_grade: int | None,
    ) -> None:
        everything = slice(None), slice(None), judgments
        self.parts: list[tuple[slice, BoundObjective]] = []
        for queries, rows, block in blocks(judgments) if objective.by_query else [everything]:
            some = None if weights is None else weights[queries]
            self.parts.append((rows, objective.bind(block, some, max_grade=max_grade)))
        self.bounds = [bound for _, bound in self.parts]

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        self.round = self.round  # after an interrupted round, all blocks repeat it
        for rows, bound in self.parts:
            bound.gradient(scores[rows], grad[rows], hess[rows])
