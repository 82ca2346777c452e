"""Batches of whole queries: flat rows with offsets, or one padded row of documents per query."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike

from skrank import _validation as check

_COMPUTED = torch.float32, torch.float64  # dtypes that losses are computed in
_NO_DOUBLES = ("mps",)  # types of devices without double precision


class Batch:
    """Documents of whole queries, in either layout.

    Bad values on the host raise an error. Checks of values on a device set `bad` instead, so that
    the host does not wait for the device.

    Parameters
    ----------
    scores : Tensor of shape (n_rows,), or (n_queries, n_documents) if padded
    labels : Tensor or array-like of the same shape
        NaN = padding, or not judged.
    offsets : int Tensor or array-like of shape (n_queries + 1,), for flat rows
        First row of each query, and the end.
    mask : bool Tensor or array-like of the shape of padded `scores`, optional
        False in the padding. Default: where the label is NaN.
    unjudged : bool
        Keep documents without a label that are not padding.

    Attributes
    ----------
    scores : Tensor
        In single or double precision.
    labels : Tensor
        In double precision if single precision could round them.
    offsets : int64 Tensor of shape (n_queries + 1,), or None if padded
    kept : bool Tensor of the shape of the scores
        Documents that count.
    sizes : int64 Tensor of shape (n_queries,)
        Number of kept documents of each query.
    bad : bool Tensor of shape ()
        True if a value on a device is bad.
    """

    def __init__(
        self,
        scores: torch.Tensor,
        labels: torch.Tensor | ArrayLike,
        offsets: torch.Tensor | ArrayLike | None = None,
        mask: torch.Tensor | ArrayLike | None = None,
        *,
        unjudged: bool = False,
    ) -> None:
        scores = as_tensor("scores", scores)
        real = torch.float32 if scores.is_floating_point() else torch.float64
        self.scores = scores if scores.dtype in _COMPUTED else scores.to(real)
        self.device = self.scores.device
        self.bad = torch.zeros((), dtype=torch.bool, device=self.device)
        self.labels = self._like_scores(as_tensor("labels", labels))
        inside = None if mask is None else as_tensor("mask", mask).to(self.device)
        check.check_layout(
            scores.shape, self.labels.shape, None if inside is None else inside.shape,
            has_offsets=offsets is not None,
        )  # fmt: skip
        self.offsets = None if offsets is None else self._checked_offsets(offsets)
        if inside is None and self._is_clean():
            self.kept = torch.ones_like(self.labels, dtype=torch.bool)
            self.sizes = self._sizes()
            return
        self.kept = self._kept(inside, unjudged=unjudged)
        self.sizes = self._sizes()
        good_scores = self.scores.abs() < torch.inf
        self.refuse(self.kept & ~good_scores, self.scores, check.bad_batch_score)
        bad_labels = (self.labels < 0) | (self.labels == torch.inf)
        self.refuse(self.kept & bad_labels, self.labels, check.bad_batch_label)

    def __len__(self) -> int:
        return len(self.scores) if self.offsets is None else len(self.offsets) - 1

    def refuse(
        self,
        bad: torch.Tensor,
        values: torch.Tensor,
        error: Callable[[float, list[int]], ValueError],
    ) -> None:
        """Raise the error of the first value that is bad; on a device, set `bad` instead."""
        if not can_look(self.device):
            self.bad = self.bad | bad.any()
        elif bad.any():
            place = torch.nonzero(bad)[0].tolist()
            raise error(float(values[tuple(place)]), place)

    def weights(self, given: torch.Tensor | ArrayLike, highest: float) -> torch.Tensor:
        """One weight per query, from 0 to `highest`."""
        weights = self._like_scores(as_tensor("weights", given))
        check.check_weight_shape(tuple(weights.shape), len(self))
        good = (weights >= 0) & (weights <= highest) & torch.isfinite(weights)
        self.refuse(~good, weights, check.bad_batch_weight)
        return weights

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values per query in the layout of the scores."""
        if self.offsets is None:
            return values[:, None]
        lengths = torch.diff(self.offsets).to(self.device, non_blocking=True)
        return torch.repeat_interleave(values, lengths, output_size=len(self.scores))

    @property
    def row_query(self) -> torch.Tensor:
        """Number of the query of each flat row."""
        return self.spread(torch.arange(len(self), device=self.device))

    def padded(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores, labels and `kept` as tensors (n_queries, n_documents)."""
        if self.offsets is None:
            return self.scores, self.labels, self.kept
        longest = int(torch.diff(self.offsets).max())
        offsets = self.offsets.to(self.device, non_blocking=True)[:, None]
        rows = offsets[:-1] + torch.arange(longest, device=self.device)
        inside = rows < offsets[1:]
        rows = rows.clamp(max=len(self.scores) - 1)
        return self.scores[rows], self.labels[rows], self.kept[rows] & inside

    def unpadded(self, values: torch.Tensor) -> torch.Tensor:
        """Values (n_queries, n_documents) in the layout of the scores."""
        if self.offsets is None:
            return values
        row_query = self.row_query
        first = self.offsets.to(self.device, non_blocking=True)[row_query]
        return values[row_query, torch.arange(len(first), device=self.device) - first]

    def _like_scores(self, values: torch.Tensor) -> torch.Tensor:
        """Values on the device of the scores and in their dtype, or in double precision."""
        n_bytes = values.dtype.itemsize  # float32 holds whole numbers of up to 24 bits
        exact = n_bytes <= 4 if values.is_floating_point() else n_bytes <= 2
        single = exact or self.device.type in _NO_DOUBLES
        return values.to(self.device, self.scores.dtype if single else torch.float64)

    def _is_clean(self) -> bool:
        """True if quick checks on the host prove that all documents count and are good."""
        if not can_look(self.device) or self.labels.numel() == 0:
            return False
        low, high = self.labels.aminmax()  # NaN if a label is NaN
        return 0 <= float(low) <= float(high) < math.inf and math.isfinite(self.scores.sum())

    def _sizes(self) -> torch.Tensor:
        """Number of kept documents of each query."""
        if self.offsets is None:
            return self.kept.sum(1)
        offsets = self.offsets.to(self.device, non_blocking=True)
        if can_look(self.device) and self.kept.all():
            return torch.diff(offsets)
        return torch.diff(torch.nn.functional.pad(self.kept.cumsum(0), (1, 0))[offsets])

    def _checked_offsets(self, given: torch.Tensor | ArrayLike) -> torch.Tensor:
        """Offsets in int64, after a check that they cover the rows."""
        n_rows = len(self.scores)
        if not isinstance(given, torch.Tensor):
            array = check.as_new_array("offsets", given)
            check.check_offsets(array, n_rows)
            return torch.from_numpy(array.astype(np.int64))
        offsets = as_tensor("offsets", given)
        if self.device.type == "cpu":
            offsets = offsets.cpu()
        if offsets.is_floating_point() or offsets.dtype == torch.bool or offsets.ndim != 1:
            raise check.bad_offsets(tuple(offsets.shape), offsets.dtype)
        if can_look(offsets.device):
            check.check_offsets(offsets.numpy(), n_rows)
            return offsets.to(torch.int64)
        falls = (torch.diff(offsets) < 0).any() | (offsets[0] != 0) | (offsets[-1] != n_rows)
        self.bad = self.bad | falls.to(self.device)
        return offsets.to(torch.int64)

    def _kept(self, mask: torch.Tensor | None, *, unjudged: bool) -> torch.Tensor:
        """True for documents that count."""
        judged = ~torch.isnan(self.labels)
        if mask is None:
            return torch.ones_like(judged) if unjudged and self.offsets is not None else judged
        if mask.dtype != torch.bool:
            self.refuse((mask != 0) & (mask != 1), mask, check.bad_mask)
            mask = mask != 0
        return mask if unjudged else mask & judged


def can_look(device: torch.device) -> bool:
    """Whether values can be read without waiting for a device or leaving a compiled graph."""
    return device.type == "cpu" and not torch.compiler.is_compiling()


def as_tensor(name: str, values: torch.Tensor | ArrayLike) -> torch.Tensor:
    """A dense tensor of real numbers that double precision can hold; scores must be a tensor."""
    if not isinstance(values, torch.Tensor):
        if name == "scores":
            raise check.not_a_tensor(values)
        what = "True or False" if name == "mask" else "as a tensor"
        values = torch.from_numpy(np.array(check.as_numbers(name, values, what)))
    values = values.detach()
    dense = values.layout == torch.strided and not (values.is_nested or values.is_quantized)
    if not dense or values.is_complex():
        raise ValueError(f"{name} must be a dense tensor of real numbers.")
    if values.dtype.itemsize == 8 and not values.is_floating_point() and can_look(values.device):
        array = values.numpy()
        if array.size and max(-int(array.min()), int(array.max())) >= check.EXACT:
            raise check.inexact_integers(name)
    return values
