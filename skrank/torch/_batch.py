"""Batches of whole queries: flat rows with offsets, or one padded row of documents per query."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.extending import Judgments, Queries

Values: TypeAlias = "torch.Tensor | ArrayLike"


class Batch:
    """The documents of whole queries that count, in the order of either layout.

    Labels are on the host. Scores stay on their device, and are checked on the host only.

    Parameters
    ----------
    scores : Tensor of shape (n_rows,), or (n_queries, n_documents) if padded
    labels : Tensor or array-like of the same shape
        NaN = padding, or not judged: left out.
    offsets : int Tensor or array-like of shape (n_queries + 1,), for flat rows
        First row of each query, and the end.
    mask : bool Tensor or array-like of the shape of padded `scores`, optional
        False in the padding. Default: where the label is NaN.
    max_grade : int, optional
        Highest label that is allowed.

    Attributes
    ----------
    scores : Tensor of shape (n_kept,)
        In single or double precision.
    labels : float64 ndarray of shape (n_kept,)
    sizes : int64 ndarray of shape (n_queries,)
        Number of kept documents of each query.
    filled : bool ndarray of shape (n_queries,)
        True for queries with documents.
    rows : slice, or int64 ndarray of shape (n_kept,)
        Places of the kept documents in the flattened scores.
    """

    def __init__(
        self,
        scores: torch.Tensor,
        labels: Values,
        offsets: Values | None = None,
        mask: Values | None = None,
        *,
        max_grade: int | None = None,
    ) -> None:
        if (layout := getattr(scores, "layout", type(scores))) != torch.strided:
            raise ValueError(f"scores must be a dense torch.Tensor, not {layout}.")
        self.shape = scores.shape
        graded = on_host("labels", labels)
        present = None if mask is None else on_host("mask", mask)
        shapes = [tuple(self.shape), graded.shape, *([] if present is None else [present.shape])]
        if len(set(shapes)) > 1 or len(self.shape) != (2 if offsets is None else 1):
            raise ValueError(
                f"scores, labels and mask have the shapes {shapes}: pass equal shapes, (rows,) "
                "with offsets (see skrank.torch.query_offsets), or (queries, documents) without."
            )
        kept = np.ones(self.shape, np.bool_)
        if present is not None:
            self.refuse((present != 0) & (present != 1), "mask", present, "it must be 0 or 1")
            kept = present == 1
        kept &= ~np.isnan(graded)
        highest = np.finfo(np.float64).max if max_grade is None else max_grade
        limit = "" if max_grade is None else f" to {max_grade=}"
        self.refuse(
            kept & ((graded < 0) | (graded > highest)), "label", graded,
            f"labels must be finite, from 0{limit}, or NaN for padding and unjudged documents",
        )  # fmt: skip
        if offsets is None:
            self.sizes = kept.sum(axis=1)
        else:
            edges, n_rows = on_host("offsets", offsets), len(kept)
            are_whole = edges.ndim == 1 and len(edges) > 0 and (edges % 1 == 0).all()
            if not are_whole or [edges[0], edges[-1]] != [0, n_rows] or (np.diff(edges) < 0).any():
                raise ValueError(
                    f"offsets must be whole numbers in one dimension that begin with 0, never "
                    f"fall, and end with the number of rows, {n_rows}, such as "
                    "numpy.append(0, numpy.cumsum(sizes))."
                )
            self.sizes = np.diff(np.append(0, np.cumsum(kept))[edges.astype(np.int64)])
        self.filled = self.sizes > 0
        self.rows = slice(None) if kept.all() else np.flatnonzero(kept)
        self.labels = graded.ravel()[self.rows]
        flat = scores.detach().reshape(-1)
        if flat.dtype not in (torch.float32, torch.float64):  # half precision, or whole numbers
            flat = flat.float() if flat.is_floating_point() else flat.double()
        if flat.device.type == "cpu":  # elsewhere, reading a value would wait for the device
            values = flat.numpy().reshape(self.shape)
            self.refuse(
                kept & ~np.isfinite(values), "score", values,
                "lower the learning rate, clip gradients, or look for NaN among the features",
            )  # fmt: skip
        self.device = flat.device
        self.scores = flat if isinstance(self.rows, slice) else flat[self.put(self.rows)]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def judgments(self) -> Judgments:
        """The labels of the queries with documents."""
        return Judgments(self.labels, Queries.from_sizes(self.sizes[self.filled]))

    def put(self, values: np.ndarray) -> torch.Tensor:
        """Values on the device of the scores; real numbers in the dtype of the scores."""
        tensor = torch.from_numpy(values)
        if tensor.is_floating_point():
            tensor = tensor.to(self.scores.dtype)
        return tensor.to(self.device, non_blocking=True)

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values per query as values per kept document."""
        return values[self.put(np.repeat(np.arange(len(self)), self.sizes))]

    def unpacked(self, values: torch.Tensor) -> torch.Tensor:
        """Values per kept document in the layout of the scores, 0 elsewhere."""
        if not isinstance(self.rows, slice):
            out = values.new_zeros(self.shape.numel())
            out[self.put(self.rows)] = values
            values = out
        return values.view(self.shape)

    def weights(self, values: Values) -> np.ndarray:
        """One weight per query, from 0 to `HEAVIEST_QUERY`."""
        weights = on_host("weights", values)
        if weights.shape != (len(self),):
            raise ValueError(
                f"weights have shape {weights.shape} for {len(self)} queries: give one per query."
            )
        self.refuse(
            ~((weights >= 0) & (weights <= check.HEAVIEST_QUERY)), "weight", weights,
            f"weights must be from 0 to {check.HEAVIEST_QUERY:g}", of="query",
        )  # fmt: skip
        return weights

    def refuse(
        self, bad: np.ndarray, name: str, values: np.ndarray, remedy: str, *, of: str = "row"
    ) -> None:
        """Raise an error for the first value that is bad."""
        if bad.any():
            first, *column = index = tuple(np.argwhere(bad)[0].tolist())
            place = f"document {column[0]} of query {first}" if column else f"{of} {first}"
            raise ValueError(f"{name} of {place} is {values[index]:g}: {remedy}.")


def on_host(name: str, values: Values) -> np.ndarray:
    """Real numbers in double precision on the host, after a check that it can hold them."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu")
        values = (values.double() if values.is_floating_point() else values).numpy()
    array = check.unmasked(name, values, "numbers, as a tensor or an array")
    if array.size == 0:
        return np.zeros(array.shape)
    return check.as_vector(name, array.ravel()).reshape(array.shape)
