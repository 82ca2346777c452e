"""Processes of a distributed training: their number, and sums over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import distributed

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

T = TypeVar("T")


def n_ranks(group: ProcessGroup | None = None) -> int:
    """Number of processes in a group; 1 if torch.distributed is not initialised."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return distributed.get_world_size(group)


def check_group(group: object) -> ProcessGroup | None:
    """A process group with this process in it, or None for the default group."""
    if group is None:
        return None
    if distributed.is_available() and isinstance(group, distributed.ProcessGroup):
        return group
    raise ValueError(
        f"process_group={group!r} is not a process group of torch.distributed with this process "
        "in it: leave process_group out for the default group."
    )


def this_rank() -> int:
    """Rank of this process; 0 if torch.distributed is not initialised."""
    return 0 if n_ranks() == 1 else distributed.get_rank()


def total_over(value: torch.Tensor, group: ProcessGroup | None = None) -> torch.Tensor:
    """Sum of a number over the processes of a group."""
    value = value.to(torch.float64, copy=True)  # processes may differ in dtype
    distributed.all_reduce(value, group=group)
    return value


def gather_all(value: T, group: ProcessGroup | None = None) -> list[T]:
    """Values of all processes of a group."""
    if n_ranks(group) == 1:
        return [value]
    values = [value] * n_ranks(group)
    distributed.all_gather_object(values, value, group=group)
    return values
