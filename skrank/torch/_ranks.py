"""What the processes of a distributed training share."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed


def n_ranks(group: Any = None) -> int:
    """Processes in a group; 1 where there is none."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return distributed.get_world_size(group)


def check_group(group: Any) -> Any:
    """A process group that this process belongs to, or None for the default group."""
    if group is None:
        return None
    if distributed.is_available() and isinstance(group, distributed.ProcessGroup):
        return group
    raise ValueError(
        f"process_group={group!r} is no process group of torch.distributed that this process "
        "belongs to: leave it out for the default group."
    )


def this_rank(group: Any = None) -> int:
    """Number of this process in a group."""
    return 0 if n_ranks(group) == 1 else distributed.get_rank(group)


def total_over(value: torch.Tensor, group: Any = None) -> torch.Tensor:
    """Sum of a tensor over the processes of a group, in each of them."""
    if n_ranks(group) > 1:
        value = value.clone()
        distributed.all_reduce(value, group=group)
    return value


def gather_all(value: Any, group: Any = None) -> list[Any]:
    """The value of each process of a group, in each of them."""
    if n_ranks(group) == 1:
        return [value]
    values = [None] * n_ranks(group)
    distributed.all_gather_object(values, value, group=group)
    return values
