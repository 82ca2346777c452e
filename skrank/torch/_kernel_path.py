"""Losses from the compiled kernels: no tensor of pairs, whatever the objective."""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

import numpy as np
import torch

from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.objectives import LambdaRank, Objective
from skrank.torch._batch import Batch


@torch.compiler.disable
def kernel_losses(
    objective: Objective, batch: Batch, max_grade: int | None, round_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of each query, and gradient in the layout of the scores.

    Parameters
    ----------
    objective : Objective
    batch : Batch
    max_grade : int or None
        Highest grade of the collection.
    round_ : int Tensor of shape ()
        Number of the round, for what is drawn anew each round.
    """
    real = np.float64 if batch.scores.dtype == torch.float64 else np.float32
    some, queries = _queries_of(batch.sizes.numpy(force=True).tobytes())
    kept = slice(None) if batch.whole else batch.kept.reshape(-1).cpu().numpy()
    losses: np.ndarray = np.zeros(len(batch), real)
    gradient: np.ndarray = np.zeros(0, real)
    if len(queries):
        judgments = Judgments(_rows(batch.labels, kept), queries)
        scores = _rows(batch.scores, kept)
        parts = []
        for weight, one in objective.terms:
            grad: np.ndarray = np.empty(len(scores), real)
            bound: Any = one.bind(judgments, max_grade=max_grade)
            bound.round = int(round_)
            losses[some] += weight * _losses(one, bound, scores, grad)
            grad *= weight
            parts.append(grad)
        gradient = reduce(np.add, parts)
    if not batch.whole:
        slopes, gradient = gradient, np.zeros(batch.labels.numel(), real)
        gradient[kept] = slopes
    return (
        torch.from_numpy(losses).to(batch.device),
        torch.from_numpy(gradient).to(batch.device).view(batch.labels.shape),
    )


@lru_cache(maxsize=8)
def _queries_of(sizes: bytes) -> tuple[Any, Queries]:
    """Which queries have documents, and these: lists of the next batch are often as long."""
    every = np.frombuffer(sizes, np.int64)
    some: Any = every.nonzero()[0]
    some = slice(None) if len(some) == len(every) else some
    return some, Queries.from_sizes(every[some])


def _rows(values: torch.Tensor, kept: Any) -> np.ndarray:
    """Values of the documents that are kept, in double precision on the host."""
    return values.numpy(force=True).reshape(-1)[kept].astype(np.float64)


def _losses(objective: Objective, bound: Any, scores: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Loss of each query; fills `grad`."""
    hess = np.empty_like(grad)
    if hasattr(bound, "losses"):
        return bound.losses(scores, grad, hess)
    bound.gradient(scores, grad, hess)
    if isinstance(objective, LambdaRank):
        pulls = np.log2(1.0 + bound.totals) if bound.sum_norm else bound.totals
        return pulls / (2.0 * objective.sigmoid)
    return 0.5 * np.add.reduceat(np.abs(grad, dtype=np.float64), bound.queries.indptr[:-1])
