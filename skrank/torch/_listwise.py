"""Squared error and cross-entropy of lists in operations of torch, on the device of the scores."""

from __future__ import annotations

import math

import numpy as np
import torch

from skrank._engine.gains import gain_per_code
from skrank.objectives import Softmax, SquaredError
from skrank.torch._lists import DocumentLists
from skrank.torch._tables import Place


def refuse_softmax(objective: Softmax) -> str | None:
    """Why there is no native form; else None."""
    return "random_gains are drawn by the kernels" if objective.random_gains else None


def gains(objective: Softmax, place: Place) -> torch.Tensor:
    """Gain of each label."""
    return place.put(gain_per_code(objective.gain, np.arange(place.max_grade + 1.0)))


def softmax(
    objective: Softmax, lists: DocumentLists, gains: torch.Tensor, round_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy of each query between shares in its gain and chances, and gradient."""
    gain = lists.look(gains)
    total = gain.sum(1, keepdim=True)
    some = total > 0
    share = gain / torch.where(some, total, torch.ones_like(total))
    scores = lists.fill(lists.scores, -math.inf)
    highest = scores.amax(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    mass = torch.exp(scores - highest)
    whole = mass.sum(1, keepdim=True)
    chance = lists.fill(mass / whole, 0.0)
    ahead = highest + torch.log(whole) - lists.scores
    losses = torch.where(some, share * ahead, torch.zeros_like(share)).sum(1)
    return losses, torch.where(some, chance - share, torch.zeros_like(share))


def targets(objective: SquaredError, place: Place) -> torch.Tensor:
    """What the score of a document of each label should be."""
    top = objective.max_grade or place.max_grade
    return place.put(objective.targets(np.arange(place.max_grade + 1.0), top))


def squared_error(
    objective: SquaredError, lists: DocumentLists, targets: torch.Tensor, round_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Half the sum of squares of each query, and gradient: scores less targets."""
    rest = lists.scores - lists.look(targets)
    if objective.centered:
        sizes = lists.fill(torch.ones_like(rest), 0.0).sum(1, keepdim=True).clamp(min=1)
        rest = lists.fill(rest - rest.sum(1, keepdim=True) / sizes, 0.0)
    return 0.5 * (rest**2).sum(1), rest
