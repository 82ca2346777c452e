"""Processes of a distributed training: their number, and sums over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import distributed

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def n_ranks(group: ProcessGroup | None) -> int:
    """Number of processes in a group; 1 if torch.distributed is not initialised."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return max(1, distributed.get_world_size(group))  # -1 if this process is not in the group


def total_over(value: float, device: torch.device, group: ProcessGroup | None) -> float:
    """Sum of a number over the processes of a group."""
    total = torch.tensor(value, dtype=torch.float64, device=device)
    distributed.all_reduce(total, group=group)
    return total.item()
