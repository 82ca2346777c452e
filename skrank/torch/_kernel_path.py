"""Losses from the compiled kernels: any objective, without tensors of pairs of documents."""

from __future__ import annotations

import math

import numpy as np
import torch

from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.objectives import LambdaRank, Objective
from skrank.objectives._pairs import PairRounds
from skrank.objectives.base import BoundFunction
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
        Highest grade of the collection. None: the highest label of the batch, rounded up.
    round_ : int Tensor of shape ()
        Number of the round, which random draws depend on.
    """
    sizes, kept = batch.sizes.numpy(force=True), batch.kept.numpy(force=True).ravel()
    filled, rows = sizes > 0, slice(None) if kept.all() else kept
    real = np.float64 if batch.scores.dtype == torch.float64 else np.float32
    losses, gradient = np.zeros(len(sizes), real), np.zeros(len(kept), real)
    if filled.any():
        labels = batch.labels.double().numpy(force=True).ravel()[rows]
        scores = batch.scores.double().numpy(force=True).ravel()[rows]
        judgments = Judgments(labels, Queries.from_sizes(sizes[filled]))
        slopes: np.ndarray = np.zeros(len(labels), real)
        top = max_grade or max(1, math.ceil(labels.max()))
        for weight, one in objective.terms:
            value, slope = _losses(one, judgments, scores, top, int(round_), real)
            losses[filled] += weight * value
            slopes += weight * slope
        gradient[rows] = slopes
    return (
        torch.from_numpy(losses).to(batch.device),
        torch.from_numpy(gradient).view(batch.kept.shape).to(batch.device),
    )


def _losses(
    objective: Objective,
    judgments: Judgments,
    scores: np.ndarray,
    max_grade: int,
    round_: int,
    real: type[np.floating],
) -> tuple[np.ndarray, np.ndarray]:
    """Loss of each query, and gradient of each document, of an objective that is not a mixture."""
    grad, hess = np.empty(len(scores), real), np.empty(len(scores), real)
    bound = objective.bind(judgments, max_grade=max_grade)
    bound.round = round_
    if isinstance(bound, BoundFunction):
        return bound.losses(scores, grad, hess), grad
    bound.gradient(scores, grad, hess)
    if isinstance(objective, LambdaRank):
        assert isinstance(bound, PairRounds)
        total = np.log2(1.0 + bound.totals) if bound.sum_norm else bound.totals
        return total / (2.0 * objective.sigmoid), grad
    return 0.5 * np.add.reduceat(np.abs(grad, dtype=np.float64), judgments.indptr[:-1]), grad
