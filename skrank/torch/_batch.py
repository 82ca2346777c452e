"""Batches of whole queries: flat rows with offsets, or one padded row of documents per query."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.torch._checks import whole_numbers

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
    max_grade : int, optional
        Highest label that is allowed.

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
        max_grade: int | None = None,
    ) -> None:
        scores = as_tensor("scores", scores)
        if scores.dtype in _COMPUTED:
            self.scores = scores
        else:  # half precision, or whole numbers
            self.scores = scores.float() if scores.is_floating_point() else scores.double()
        self.device = self.scores.device
        self.bad = torch.zeros((), dtype=torch.bool, device=self.device)
        self.labels = as_tensor("labels", labels, like=self.scores)
        mask = None if mask is None else as_tensor("mask", mask).to(self.device)
        self._check_layout(mask, flat=offsets is not None)
        self.offsets = None if offsets is None else self._checked_offsets(offsets)
        clean = mask is None and readable(self.device) and self.labels.numel() > 0
        if clean:  # a pass over the labels and one over the scores may prove that all are good
            low, high = map(float, self.labels.aminmax())  # NaN if a label is NaN
            clean = 0 <= low <= high < math.inf and (max_grade is None or high <= max_grade)
            clean = clean and math.isfinite(self.scores.sum())
        if clean:
            self.kept = torch.ones_like(self.labels, dtype=torch.bool)
        else:
            self.kept = self._kept(mask, unjudged=unjudged)
            self._check_values(max_grade)
        if self.offsets is None:
            self.sizes = self.kept.sum(1)
        else:
            before = self.offsets.to(self.device, non_blocking=True)  # rows before each query
            if not clean:  # kept rows
                before = torch.nn.functional.pad(self.kept.cumsum(0), (1, 0))[before]
            self.sizes = torch.diff(before)

    def __len__(self) -> int:
        return len(self.scores) if self.offsets is None else len(self.offsets) - 1

    def refuse(self, bad: torch.Tensor, values: torch.Tensor, message: str) -> None:
        """Raise an error for the first value that is bad; on a device, set `bad` instead.

        Parameters
        ----------
        bad : bool Tensor of the shape of `values`
        values : Tensor
            One value per query, or in the layout of the scores.
        message : str
            May contain ``{value}``; ``{place}``, such as "row 3"; and ``{index}``, the first index.
        """
        if not readable(self.device):
            self.bad = self.bad | bad.any()
        elif bad.any():
            index, *column = torch.nonzero(bad)[0].tolist()
            place = f"document {column[0]} of query {index}" if column else f"row {index}"
            value = float(values[(index, *column)])
            raise ValueError(message.format(value=value, place=place, index=index))

    def weights(self, given: torch.Tensor | ArrayLike, highest: float) -> torch.Tensor:
        """One weight per query, from 0 to `highest`."""
        weights = as_tensor("weights", given, like=self.scores)
        if weights.shape != (len(self),):
            raise ValueError(
                f"weights have shape {tuple(weights.shape)} for {len(self)} queries: give one per "
                "query."
            )
        good = (weights >= 0) & torch.isfinite(weights)
        which = "weight of query {index} of the batch is {value:g}: "
        self.refuse(~good, weights, which + "it must be finite and not negative.")
        self.refuse(
            weights > highest, weights,
            f"{which}gradients in single precision allow weights of no more than {highest:g}. "
            "Scale the weights down.",
        )  # fmt: skip
        return weights

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values per query, in a shape that broadcasts to the scores."""
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
        """Values as from `padded`, back in the layout of the scores."""
        if self.offsets is None:
            return values
        row_query = self.row_query
        first = self.offsets.to(self.device, non_blocking=True)[row_query]
        return values[row_query, torch.arange(len(first), device=self.device) - first]

    def _check_layout(self, mask: torch.Tensor | None, *, flat: bool) -> None:
        """Check that the shapes of scores, labels and a mask are those of one layout."""
        scores, labels = tuple(self.scores.shape), tuple(self.labels.shape)
        if len(scores) not in (1, 2):
            hint = " Drop the last axis: scores.squeeze(-1)." if scores[-1:] == (1,) else ""
            raise ValueError(
                f"scores have shape {scores}: pass (rows,) with offsets, or (queries, documents)."
                f"{hint}"
            )
        if labels != scores:
            raise ValueError(
                f"labels have shape {labels} and scores {scores}: both must have the same shape."
            )
        if flat and len(scores) == 2:
            raise ValueError(
                "offsets are for flat rows, and scores are padded, (queries, documents): leave out "
                "the offsets, or pass scores.squeeze(-1) if each row of scores is one document."
            )
        if not flat and len(scores) == 1:
            raise ValueError(
                "scores are flat rows: give the offsets of their queries, 0, the first row of the "
                "second query, ..., the number of rows (skrank.torch.query_offsets makes them)."
            )
        if mask is not None and (flat or mask.shape != scores):
            raise ValueError(
                f"mask has shape {tuple(mask.shape)} and scores {scores}: a mask has the shape of "
                "padded scores."
            )

    def _checked_offsets(self, given: torch.Tensor | ArrayLike) -> torch.Tensor:
        """Offsets in int64, after a check that they cover the rows."""
        remedy = "give one whole number more than there are queries"
        if isinstance(given, torch.Tensor):
            offsets = as_tensor("offsets", given)
            offsets = offsets.cpu() if self.device.type == "cpu" else offsets
        else:
            offsets = torch.from_numpy(whole_numbers("offsets", given, remedy))
        shape, dtype, n_rows = tuple(offsets.shape), offsets.dtype, len(self.scores)
        if dtype.is_floating_point or dtype == torch.bool or len(shape) != 1 or shape == (0,):
            raise ValueError(f"offsets have shape {shape} and type {dtype}: {remedy}.")
        offsets = offsets.to(torch.int64)
        if readable(offsets.device):
            first = offsets.numpy()
            if first[0] != 0 or first[-1] != n_rows or (first[1:] < first[:-1]).any():
                raise _bad_offsets(first, n_rows)
        else:
            falls = (torch.diff(offsets) < 0).any() | (offsets[0] != 0) | (offsets[-1] != n_rows)
            self.bad = self.bad | falls.to(self.device)
        return offsets

    def _kept(self, mask: torch.Tensor | None, *, unjudged: bool) -> torch.Tensor:
        """True for documents that count."""
        judged = ~torch.isnan(self.labels)
        if mask is None:
            return torch.ones_like(judged) if unjudged and self.offsets is not None else judged
        if mask.dtype != torch.bool:
            self.refuse(
                (mask != 0) & (mask != 1), mask,
                "mask holds numbers other than 0 and 1, such as {value:g} in {place}: a mask is "
                "True where there is a document, and False in the padding.",
            )  # fmt: skip
            mask = mask != 0
        return mask if unjudged else mask & judged

    def _check_values(self, max_grade: int | None) -> None:
        """Refuse scores that are not finite, and labels out of range, of kept documents."""
        bad = self.kept & ~(self.scores.abs() < torch.inf)
        self.refuse(
            bad, self.scores,
            "score of {place} is {value}: gradients need finite scores. Lower the learning rate, "
            "clip gradients, or look for NaN among the features.",
        )  # fmt: skip
        bad = self.kept & ((self.labels < 0) | (self.labels == torch.inf))
        self.refuse(
            bad, self.labels,
            "label of {place} is {value:g}: labels must be at least 0 and finite, or NaN for "
            "padding and documents that were not judged.",
        )  # fmt: skip
        if max_grade is not None:
            self.refuse(
                self.kept & (self.labels > max_grade), self.labels,
                f"label {{value:g}} is above max_grade={max_grade}: give the highest grade of the "
                "collection.",
            )  # fmt: skip


def _bad_offsets(offsets: np.ndarray, n_rows: int) -> ValueError:
    """The error for offsets that do not cover all rows, from the first to the last."""
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        return ValueError(
            f"offsets fall after query {np.argmax(falls)}: they are the first row of each query in "
            "turn."
        )
    hint = ""
    if offsets.sum() == n_rows:
        hint = " They look like sizes: take numpy.append(0, numpy.cumsum(sizes))."
    return ValueError(
        f"offsets go from {offsets[0]} to {offsets[-1]} and there are {n_rows} rows: offsets must "
        f"begin with 0 and end with the number of rows.{hint}"
    )


def readable(device: torch.device) -> bool:
    """True if values can be read without waiting for a device or leaving a compiled graph."""
    return device.type == "cpu" and not torch.compiler.is_compiling()


def as_tensor(
    name: str, values: torch.Tensor | ArrayLike, *, like: torch.Tensor | None = None
) -> torch.Tensor:
    """A dense tensor of real numbers that double precision can hold; scores must be a tensor.

    With `like`, on its device and in its dtype, or in double precision if its dtype may round.
    """
    if not isinstance(values, torch.Tensor):
        if name == "scores":
            raise ValueError(
                f"scores are of type {type(values).__name__}: pass a torch.Tensor, as a network "
                "gives."
            )
        what = "True or False" if name == "mask" else "as a tensor"
        values = torch.from_numpy(np.array(check.as_numbers(name, values, what)))
    values = values.detach()
    dense = values.layout == torch.strided and not (values.is_nested or values.is_quantized)
    if not dense or values.is_complex():
        raise ValueError(f"{name} must be a dense tensor of real numbers.")
    if values.dtype.itemsize == 8 and not values.is_floating_point() and readable(values.device):
        array = values.numpy()
        if array.size and max(-int(array.min()), int(array.max())) >= check.EXACT:
            raise ValueError(
                f"{name} hold a whole number of 2**53 or more, which double precision may round "
                "to its neighbour: subtract an offset, or divide and pass floats."
            )
    if like is None:
        return values
    n_bytes = values.dtype.itemsize  # float32 holds whole numbers of up to 24 bits
    exact = n_bytes <= 4 if values.is_floating_point() else n_bytes <= 2
    single = exact or like.device.type in _NO_DOUBLES
    return values.to(like.device, like.dtype if single else torch.float64)
