"""Batches of whole queries: flat rows with offsets, or one padded row of documents per query."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from skrank import _validation as check

_COMPUTED = torch.float32, torch.float64  # dtypes that losses are computed in
_WHOLE = torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8
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
        # elsewhere, reading a value would wait for a device, or leave a compiled graph
        self.readable = self.device.type == "cpu" and not torch.compiler.is_compiling()
        self.bad = torch.zeros((), dtype=torch.bool, device=self.device)
        self.labels = as_tensor("labels", labels, like=self.scores)
        present = None if mask is None else as_tensor("mask", mask).to(self.device)
        self._check_layout(present, flat=offsets is not None)
        self.offsets = None if offsets is None else self._checked_offsets(offsets)
        if present is None:
            self.kept = torch.ones_like(self.labels, dtype=torch.bool)
        else:
            self.refuse(
                (present != 0) & (present != 1), present,
                "mask is {value:g} in {place}: a mask is True where there is a document, and "
                "False in the padding.",
            )  # fmt: skip
            self.kept = present != 0
        if not unjudged or (present is None and offsets is None):  # NaN may be padding
            self.kept = self.kept & ~torch.isnan(self.labels)
        self.refuse(
            self.kept & ~(self.scores.abs() < torch.inf), self.scores,
            "score of {place} is {value}: gradients need finite scores. Lower the learning rate, "
            "clip gradients, or look for NaN among the features.",
        )  # fmt: skip
        highest = torch.finfo(self.labels.dtype).max if max_grade is None else max_grade
        top = "finite" if max_grade is None else f"at most max_grade={max_grade}"
        self.refuse(
            self.kept & ((self.labels < 0) | (self.labels > highest)), self.labels,
            f"label of {{place}} is {{value:g}}: labels must be at least 0 and {top}, or NaN for "
            "padding and documents that were not judged.",
        )  # fmt: skip
        if self.offsets is None:
            self.sizes = self.kept.sum(1)
        else:
            kept_before = torch.nn.functional.pad(self.kept.cumsum(0), (1, 0))
            self.sizes = torch.diff(kept_before[self.offsets.to(self.device, non_blocking=True)])

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
        if not self.readable:
            self.bad = self.bad | bad.any()
        elif bad.any():
            index, *column = torch.nonzero(bad)[0].tolist()
            place = f"document {column[0]} of query {index}" if column else f"row {index}"
            value = float(values[(index, *column)])
            raise ValueError(message.format(value=value, place=place, index=index))

    def weights(self, given: torch.Tensor | ArrayLike, *, highest: float) -> torch.Tensor:
        """One weight per query, from 0 to `highest`."""
        weights = as_tensor("weights", given, like=self.scores)
        if weights.shape != (len(self),):
            raise ValueError(
                f"weights have shape {tuple(weights.shape)} for {len(self)} queries: give one per "
                "query."
            )
        self.refuse(
            ~((weights >= 0) & (weights <= highest) & weights.isfinite()), weights,
            "weight of query {index} of the batch is {value:g}: weights must be finite, and from "
            f"0 to {highest:g}.",
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
        if not isinstance(given, torch.Tensor):
            given = torch.from_numpy(whole_numbers("offsets", given, remedy))
        if given.dtype not in _WHOLE or given.ndim != 1 or len(given) == 0:
            raise ValueError(
                f"offsets have shape {tuple(given.shape)} and type {given.dtype}: {remedy}."
            )
        offsets, n_rows = given.to(torch.int64), len(self.scores)
        if self.device.type == "cpu":
            offsets = offsets.cpu()
        bad = (torch.diff(offsets) < 0).any() | (offsets[0] != 0) | (offsets[-1] != n_rows)
        if offsets.device.type != "cpu" or torch.compiler.is_compiling():
            self.bad = self.bad | bad.to(self.device)
        elif bad:
            hint = ""
            if offsets.sum() == n_rows:
                hint = " They look like sizes: take numpy.append(0, numpy.cumsum(sizes))."
            raise ValueError(
                f"offsets go from {offsets[0]} to {offsets[-1]} and there are {n_rows} rows: "
                "offsets must begin with 0, never fall, and end with the number of rows, as each "
                f"is the first row of a query.{hint}"
            )
        return offsets


def as_tensor(
    name: str, values: torch.Tensor | ArrayLike, *, like: torch.Tensor | None = None
) -> torch.Tensor:
    """A dense tensor of real numbers that double precision can hold, without its gradient graph.

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
    if values.layout != torch.strided or values.is_complex():
        raise ValueError(f"{name} must be a dense tensor of real numbers.")
    on_host = values.device.type == "cpu" and not torch.compiler.is_compiling()
    if values.dtype == torch.int64 and values.numel() and on_host:
        check.as_vector(name, values.numpy().ravel())  # refuses numbers that it would round
    if like is None:
        return values
    n_bytes = values.dtype.itemsize  # float32 holds whole numbers of up to 24 bits
    exact = n_bytes <= 4 if values.is_floating_point() else n_bytes <= 2
    single = exact or like.device.type in _NO_DOUBLES
    return values.to(like.device, like.dtype if single else torch.float64)


def whole_numbers(name: str, values: torch.Tensor | ArrayLike, remedy: str) -> np.ndarray:
    """A copy of `values` in int64, after a check that they are whole numbers in one dimension.

    `remedy` says in errors what to pass.
    """
    try:
        tensor = isinstance(values, torch.Tensor)
        array = np.array(values.numpy(force=True) if tensor else values)  # type: ignore[union-attr]
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be whole numbers in one dimension: {remedy}.") from None
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(
            f"{name} must be whole numbers in one dimension, and not of shape {array.shape} and "
            f"type {array.dtype}: {remedy}."
        )
    return array.astype(np.int64) if len(array) else np.empty(0, np.int64)


def needs_max_grade(what: object) -> ValueError:
    """The error for a missing `max_grade`."""
    return ValueError(
        f"{what} depends on the highest grade of the collection, which may be missing from a "
        "batch: give max_grade."
    )
