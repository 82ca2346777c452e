"""Batches of whole queries: flat rows with offsets, or one padded line per query with a mask."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from skrank import _validation as check
from skrank._engine.cached import cached_property
from skrank.torch._tensors import can_look, mask_of, numbers_of, offsets_of, scores_of


class Batch:
    """Documents of whole queries, in either layout.

    A document whose label is NaN is left out: it is padding, or was not judged. Where there is a
    mask, documents outside it are padding whatever their label and score.

    Parameters
    ----------
    scores : Tensor of shape (n_rows,), or (n_queries, n_documents) if padded
    labels : Tensor of the same shape
        In double precision where single would round them.
    offsets : int Tensor of shape (n_queries + 1,), for flat rows
        First row of each query, and the end.
    mask : bool Tensor of the shape of padded `scores`, optional
        Where there is a document. Default: where there is a label.
    unjudged : bool
        Keep documents without a label.
    """

    def __init__(
        self,
        scores: torch.Tensor,
        labels: Any,
        offsets: Any = None,
        mask: Any = None,
        *,
        unjudged: bool = False,
    ) -> None:
        self.scores = scores_of(scores)
        self.device = self.scores.device
        self.labels = numbers_of("labels", labels, self.scores)
        if mask is not None:
            mask = mask_of(mask, self.device)
        check.check_layout(
            tuple(self.scores.shape),
            tuple(self.labels.shape),
            offsets is not None,
            None if mask is None else tuple(mask.shape),
        )
        self.flat = self.scores.ndim == 1
        self._mask, self._unjudged = mask, unjudged
        if self.flat:
            offsets = offsets_of(offsets, len(self.scores))
            self.lengths = _sizes(offsets, len(self.scores))
            self.offsets = offsets.to(torch.int64)
        self._check_values()

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self.flat else len(self.scores)

    @cached_property
    def whole(self) -> bool:
        """Whether all documents are known to be kept, with good scores and labels: a quick look."""
        if not can_look(self.device) or self.labels.numel() == 0:
            return False
        if not (self.extremes[0] >= 0 and all(map(math.isfinite, self.extremes))):
            return False
        good = all(map(math.isfinite, _extremes(self.scores)))
        return good and (self._mask is None or bool(self._mask.all()))

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Least and highest label on the host; NaN if one is."""
        return _extremes(self.labels)

    @cached_property
    def kept(self) -> torch.Tensor:
        """Which documents count."""
        judged = ~torch.isnan(self.labels)
        if self._mask is not None:
            return self._mask if self._unjudged else self._mask & judged
        return torch.ones_like(judged) if self._unjudged and self.flat else judged

    @cached_property
    def row_query(self) -> torch.Tensor:
        """Number of the query of each flat row."""
        return self.spread(torch.arange(len(self), device=self.device))

    @property
    def first(self) -> torch.Tensor:
        """Place of the first document of each query among all."""
        if self.flat:
            return self.offsets[:-1]
        return torch.arange(len(self), device=self.device) * self.scores.shape[1]

    @cached_property
    def lengths(self) -> torch.Tensor:
        """Places from the first document of each query to its last, or on to the end of a line.

        Of flat rows, those that the offsets tell.
        """
        if self.whole:
            return torch.full((len(self),), self.scores.shape[1], device=self.device)
        numbers = torch.arange(1, self.scores.shape[1] + 1, device=self.device)
        return torch.where(self.kept, numbers, 0).amax(1)

    @property
    def longest(self) -> int:
        """Length of padded lines."""
        if not self.flat:
            return self.scores.shape[1]
        return int(self.lengths.max()) if len(self) else 0

    @cached_property
    def sizes(self) -> torch.Tensor:
        """Documents of each query."""
        if self.whole:
            return self.lengths.cpu()
        if not self.flat:
            return self.kept.sum(1)
        return torch.zeros(len(self), dtype=torch.int64, device=self.device).index_add_(
            0, self.row_query, self.kept.to(torch.int64)
        )

    @property
    def n_filled(self) -> int:
        """Number of queries that have documents, read on the host."""
        return int(np.count_nonzero(self.sizes.numpy(force=True)))

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values per query in the layout of the scores."""
        if not self.flat:
            return values[:, None]
        lengths = self.lengths.to(self.device)
        return torch.repeat_interleave(values, lengths, output_size=len(self.scores))

    def padded(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores, labels and `kept` as padded lines."""
        if not self.flat:
            return self.scores, self.labels, self.kept
        first, sizes = (
            one.to(self.device, non_blocking=True)[:, None] for one in (self.first, self.lengths)
        )
        steps = torch.arange(self.longest, device=self.device)
        inside = steps < sizes
        rows = torch.where(inside, first + steps, 0)
        return self.scores[rows], self.labels[rows], self.kept[rows] & inside

    def unpadded(self, values: torch.Tensor) -> torch.Tensor:
        """Values of padded lines in the layout of the scores."""
        if not self.flat:
            return values
        first = self.first.to(self.device, non_blocking=True)[self.row_query]
        return values[self.row_query, torch.arange(len(first), device=self.device) - first]

    def _check_values(self) -> None:
        """Finite scores and usable labels, where there is a document."""
        if self.whole:
            return
        bad_scores = ~torch.isfinite(self.scores) & self.kept
        labels = self.labels
        bad_labels = ((labels < 0) | torch.isinf(labels)) & self.kept
        if not can_look(self.device):
            torch._assert_async(~bad_scores.any(), "a score is NaN or infinite")
            torch._assert_async(~bad_labels.any(), "a label is negative or infinite")
            return
        for bad, values, error in (
            (bad_scores, self.scores, check.bad_batch_score),
            (bad_labels, labels, check.bad_batch_label),
        ):
            if bad.any():
                where = torch.nonzero(bad)[0].tolist()
                raise error(float(values[tuple(where)]), where)


def query_weights(weights: Any, batch: Batch, highest: float) -> torch.Tensor:
    """One weight per query of a batch, from 0 to the `highest`, on its device."""
    found = numbers_of("weights", weights, batch.scores)
    check.check_weight_shape(tuple(found.shape), len(batch))
    bad = ~((found >= 0) & torch.isfinite(found) & (found <= highest))
    if not can_look(batch.device):
        torch._assert_async(~bad.any(), "a weight is negative, NaN or too large")
    elif bad.any():
        query = int(torch.nonzero(bad)[0])
        raise check.bad_batch_weight(float(found[query]), query)
    return found


class QueryBatch(NamedTuple):
    """Some whole queries, as `skrank.torch.QueryDataset` gives them.

    Attributes
    ----------
    X : Tensor of shape (n_rows, n_features)
    labels : Tensor of shape (n_rows,)
    offsets : int64 Tensor of shape (n_queries + 1,)
        First row of each query, and the end.
    weights : Tensor of shape (n_queries,) or None
    ids : int64 Tensor of shape (n_queries,)
        Numbers of the queries in their data set.
    """

    X: torch.Tensor
    labels: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    ids: torch.Tensor

    def to(self, device: Any, *, non_blocking: bool = False) -> QueryBatch:
        """The batch on another device, but for the offsets, which are read on the host."""
        moved = [
            one if one is None or name == "offsets" else one.to(device, non_blocking=non_blocking)
            for name, one in zip(self._fields, self, strict=True)
        ]
        return QueryBatch(*moved)

    def padded(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features (n_queries, n_documents, n_features), labels and mask (n_queries, n_documents).

        Padding has features 0 and label NaN.
        """
        sizes = torch.diff(self.offsets).to(self.X.device)
        longest = int(sizes.max()) if len(sizes) else 0
        mask = torch.arange(longest, device=self.X.device) < sizes[:, None]
        X = self.X.new_zeros((*mask.shape, self.X.shape[1]))
        labels = self.labels.new_full(mask.shape, float("nan"))
        X[mask], labels[mask] = self.X, self.labels
        return X, labels, mask


def query_offsets(groups: Any) -> torch.Tensor:
    """Offsets of the queries of rows, from the query of each row.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Query of each row; the rows of a query are neighbours.

    Returns
    -------
    int64 Tensor of shape (n_queries + 1,)

    Raises
    ------
    ValueError
        If a query begins twice, for then the rows are cut or mixed, or if a row has no query.

    Examples
    --------
    >>> from skrank.torch import query_offsets
    >>> query_offsets(["a", "a", "b"])
    tensor([0, 2, 3])
    """
    return torch.from_numpy(check.check_contiguous(check.as_ids("groups", groups)))


def _extremes(values: torch.Tensor) -> tuple[float, float]:
    """Least and highest of some values on the host; NaN if one is."""
    array = values.numpy(force=True)
    return array.min(), array.max()


def _sizes(offsets: torch.Tensor, n_rows: int) -> torch.Tensor:
    """Sizes of the queries of flat rows."""
    if can_look(offsets.device):
        return torch.from_numpy(check.check_offsets(offsets.numpy(), n_rows))
    sizes = torch.diff(offsets.to(torch.int64))
    torch._assert_async(
        (offsets[0] == 0) & (offsets[-1] == n_rows) & (sizes >= 0).all(),
        "offsets do not cover the rows",
    )
    return sizes
