"""Tensors of what callers pass: real numbers, in a precision that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skrank import _validation as check

REALS = torch.float32, torch.float64  # precisions to compute in
_WITHOUT_DOUBLES = ("mps",)  # types of devices


def can_look(device: torch.device) -> bool:
    """Whether values can be read without waiting for a device or leaving a compiled graph."""
    return device.type == "cpu" and not torch.compiler.is_compiling()


def check_is_tensor(scores: Any) -> None:
    """Scores of a network."""
    if not isinstance(scores, torch.Tensor):
        raise ValueError(
            f"scores are of type {type(scores).__name__}: pass a torch.Tensor, as a network gives."
        )


def scores_of(scores: Any) -> torch.Tensor:
    """Scores in single or double precision; whole numbers in double."""
    check_is_tensor(scores)
    scores = _real("scores", scores.detach())
    if scores.dtype in REALS:
        return scores
    return scores.float() if scores.is_floating_point() else scores.double()


def numbers_of(name: str, values: Any, like: torch.Tensor) -> torch.Tensor:
    """`values` on the device of a tensor, in its precision, or in double where they need it."""
    if not isinstance(values, torch.Tensor):
        values = torch.from_numpy(np.array(check.as_numbers(name, values, "as a tensor")))
    values = _real(name, values.detach())
    size, single = values.dtype.itemsize, values.is_floating_point()
    exact = size <= 4 if single else size <= 2  # single precision has all 24-bit integers
    if exact or like.device.type in _WITHOUT_DOUBLES:
        return values.to(like.device, like.dtype)
    return values.to(like.device, torch.float64)


def mask_of(mask: Any, device: torch.device) -> torch.Tensor:
    """Truth values, also if they are given as 0 and 1."""
    if not isinstance(mask, torch.Tensor):
        mask = torch.from_numpy(np.array(check.as_numbers("mask", mask, "True or False")))
    mask = _real("mask", mask.detach())
    if mask.dtype != torch.bool:
        if can_look(mask.device) and not ((mask == 0) | (mask == 1)).all():
            raise ValueError(
                "mask holds numbers other than 0 and 1: it says of each place whether there is a "
                "document, True or False."
            )
        mask = mask != 0
    return mask.to(device)


def offsets_of(offsets: Any, n_rows: int) -> torch.Tensor:
    """Offsets of queries; what is no tensor is checked here."""
    if isinstance(offsets, torch.Tensor):
        offsets = _real("offsets", offsets.detach())
        if offsets.is_floating_point() or offsets.dtype == torch.bool:
            raise check.bad_offsets(tuple(offsets.shape), offsets.dtype)
        return offsets
    array = check.as_new_array("offsets", offsets)
    check.check_offsets(array, n_rows)
    return torch.from_numpy(array.astype(np.int64))


def _real(name: str, values: torch.Tensor) -> torch.Tensor:
    """A dense tensor of real numbers, which double precision does not round."""
    dense = values.layout == torch.strided and not (values.is_nested or values.is_quantized)
    if not dense or values.is_complex():
        raise ValueError(f"{name} must be a dense tensor of real numbers.")
    if values.dtype.itemsize == 8 and not values.is_floating_point() and can_look(values.device):
        array = values.numpy()
        if array.size and max(-int(array.min()), int(array.max())) >= check.EXACT:
            raise ValueError(
                f"{name} hold a whole number of 2**53 or more, which double precision may round to "
                "its neighbour: subtract an offset, or divide and pass floats."
            )
    return values
