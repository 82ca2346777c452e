"""What native losses work on: lists of documents, as padded lines of about one length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from skrank import _validation as check
from skrank.torch._batch import Batch, can_look

_ROOM = 2**15  # documents of a part on the host: what is known of them stays in cache


@dataclass(frozen=True, eq=False)
class DocumentLists:
    """Some queries of a batch, as padded lines.

    Attributes
    ----------
    scores : Tensor (n_queries, n_documents), 0 where there is no document
    labels : int64 Tensor of that shape, whole labels, 0 where there is no document
    valid : bool Tensor of that shape, or None if there is no padding
    """

    scores: torch.Tensor
    labels: torch.Tensor
    valid: torch.Tensor | None

    def sort(self, order: torch.Tensor) -> DocumentLists:
        """The documents of each query in another order."""
        return DocumentLists(
            torch.gather(self.scores, 1, order),
            torch.gather(self.labels, 1, order),
            None if self.valid is None else torch.gather(self.valid, 1, order),
        )

    def fill(self, values: torch.Tensor, padding: float) -> torch.Tensor:
        """Values of the documents, with those of the padding."""
        return values if self.valid is None else values.masked_fill(~self.valid, padding)

    def look(self, table: torch.Tensor) -> torch.Tensor:
        """Lines of a table at the labels of the documents, and zeros at padding.

        Parameters
        ----------
        table : Tensor (n_labels, n)

        Returns
        -------
        Tensor (n, n_queries, n_documents)
        """
        lines = self.fill(self.labels, len(table)).reshape(-1)
        table = torch.cat((table, torch.zeros_like(table[:1]))).T.contiguous()
        return table.index_select(1, lines).view(-1, *self.labels.shape)

    def by_label(self) -> torch.Tensor:
        """Places of the documents of each query by falling label, padding last; in order else."""
        keys = -self.fill(self.labels, -1)
        if not can_look(keys.device):
            return torch.argsort(keys, dim=1, stable=True)
        if keys.numel() and keys.min() > -(2**15):
            keys = keys.to(torch.int16)  # which numpy sorts digit by digit
        return torch.from_numpy(np.argsort(keys.numpy(), axis=1, kind="stable"))

    def by_score(self, ties: Callable[[], torch.Tensor] | None = None) -> torch.Tensor:
        """Places of the documents of each query by falling score, padding last.

        Parameters
        ----------
        ties : function that gives a Tensor (n_documents,), optional
            The order of places that have the same score. Default: as they come.
        """
        keys = self.fill(-self.scores, math.inf)
        if can_look(keys.device):  # numpy takes a tenth of the time, unless order must be kept
            order = torch.from_numpy(np.argsort(keys.numpy(), axis=1))
            ranked = keys.gather(1, order)
            if not ((ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] < math.inf)).any():
                return order
        if ties is None:
            return torch.argsort(keys, dim=1, stable=True)
        places = ties().expand(keys.shape)
        return places.gather(1, torch.argsort(keys.gather(1, places), dim=1, stable=True))


def count_lines(chosen: torch.Tensor) -> int | list[int]:
    """How many are chosen in each line; where that cannot be read, how many may be at most."""
    return chosen.sum(1).tolist() if can_look(chosen.device) else chosen.shape[1]


class BatchPart(NamedTuple):
    """Queries of a batch, the places of their documents among all, and their lists.

    The place of padding is one behind the last.
    """

    queries: torch.Tensor | slice
    places: torch.Tensor
    lists: DocumentLists


class BatchInLists:
    """A batch that is worked on part by part.

    On the host, queries of about one length are a part, so that they are padded little, and those
    with as many relevant documents are neighbours. On a device, and compiled, all are one part.

    Parameters
    ----------
    batch : Batch
    max_grade : int, optional
        Highest grade of the collection. Default: the highest label, which is read from the batch.

    Attributes
    ----------
    max_grade : int
    longest : int
        Documents of the longest list.
    """

    def __init__(self, batch: Batch, max_grade: int | None) -> None:
        if can_look(batch.device):
            _keep_freed_memory()
        self.batch = batch
        self.longest = batch.longest
        labels = batch.labels
        if not batch.whole:
            labels = torch.where(batch.kept, labels, torch.zeros_like(labels))
        self.max_grade = max(1, int(labels.max())) if max_grade is None else max_grade
        whole = labels.to(torch.int64)
        if not can_look(batch.device):
            torch._assert_async((whole == labels).all(), "a label is no whole number")
        elif not torch.equal(whole.to(labels.dtype), labels):
            raise check.fractional_label(float(labels[whole != labels][0]))
        self._labels = whole.reshape(-1)
        self._scores = batch.scores.detach().to(labels.dtype).reshape(-1)

    def __iter__(self) -> Iterator[BatchPart]:
        first, lengths = self.batch.first, self.batch.lengths
        n_rows, device = len(self._scores), self.batch.device
        for queries, longest, even in self._split(first, lengths):
            steps = torch.arange(longest, device=device)
            places = first[queries, None].to(device) + steps
            row, valid = places.reshape(-1), None
            if not even:
                inside = steps < lengths[queries, None].to(device)
                row = torch.where(inside, places, 0).reshape(-1)
                valid = self.batch.kept.reshape(-1).index_select(0, row).view(places.shape) & inside
                places = torch.where(inside, places, n_rows)
            scores = self._scores.index_select(0, row).view(places.shape)
            labels = self._labels.index_select(0, row).view(places.shape)
            if valid is not None:
                scores, labels = scores.masked_fill_(~valid, 0.0), labels.masked_fill_(~valid, 0)
            lists = DocumentLists(scores, labels, valid)
            yield BatchPart(queries, places, lists)

    def _split(
        self, first: torch.Tensor, lengths: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor | slice, int, bool]]:
        """Queries of each part, the length of their lists, and whether none is padded."""
        if not can_look(self.batch.device):
            yield slice(None), self.longest, False
            return
        before = np.append(0, np.cumsum(self._labels.numpy() > 0))
        size, start = lengths.numpy(), first.numpy()
        order = np.lexsort((before[start + size] - before[start], size))
        size = size[order]
        at = int(np.searchsorted(size, 1))  # the first that has documents
        while at < len(order):
            filled = size[at:] * np.arange(1, len(size) - at + 1)
            stop = at + max(1, int(np.searchsorted(filled, _ROOM, side="right")))
            longest = int(size[stop - 1])
            even = self.batch.whole and longest == size[at]
            yield torch.from_numpy(order[at:stop]), longest, bool(even)
            at = stop


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Let malloc keep what is freed, as it does once a large block was.

    Otherwise glibc returns tensors of some hundred kilobytes to the system one by one; to get them
    anew, page by page, takes as long as all that is done in them.
    """
    torch.empty(2**24, dtype=torch.int8)
