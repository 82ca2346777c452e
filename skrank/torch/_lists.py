"""What native losses work on: lists of documents, as padded lines of about one length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from skrank import _validation as check
from skrank.torch._batch import Batch
from skrank.torch._tensors import can_look

_ROOM = 2**15  # documents of a part on the host: what is known of them stays in cache


@dataclass(frozen=True, eq=False)
class DocumentLists:
    """Some queries of a batch, as padded lines.

    Attributes
    ----------
    scores : Tensor (n_queries, n_documents), 0 where there is no document
    labels : Tensor of that shape and type, whole numbers, -1 where there is no document
    valid : bool Tensor of that shape, or None if there is no padding
    """

    scores: torch.Tensor
    labels: torch.Tensor
    valid: torch.Tensor | None

    def fill(self, values: torch.Tensor, padding: float) -> torch.Tensor:
        """Values of the documents, with those of the padding."""
        return values if self.valid is None else values.masked_fill(~self.valid, padding)

    def sort(self, order: torch.Tensor) -> DocumentLists:
        """The documents of each query in another order."""
        return DocumentLists(
            torch.gather(self.scores, 1, order),
            torch.gather(self.labels, 1, order),
            None if self.valid is None else torch.gather(self.valid, 1, order),
        )

    def sizes(self) -> torch.Tensor:
        """Documents of each query."""
        if self.valid is None:
            return torch.full(
                self.labels.shape[:1], self.labels.shape[1], device=self.labels.device
            )
        return self.valid.sum(1)

    def look(self, table: torch.Tensor) -> torch.Tensor:
        """Values of a table (n_labels,) at the labels of the documents, and 0 at padding."""
        places = self.labels.clamp(min=0).to(torch.int64).reshape(-1)
        return self.fill(table.index_select(0, places).view(self.labels.shape), 0.0)

    def reach(self, floors: torch.Tensor) -> torch.Tensor:
        """1 where the label is at least each of `floors`, else 0, as at padding.

        Parameters
        ----------
        floors : Tensor (n,)

        Returns
        -------
        Tensor (n, n_queries, n_documents)
        """
        if torch.compiler.is_compiling():
            return (self.labels >= floors[:, None, None]).to(self.labels.dtype)
        room = self.labels.new_empty((len(floors), *self.labels.shape))
        return torch.ge(self.labels, floors[:, None, None], out=room)

    def by_label(self) -> torch.Tensor:
        """Places of the documents of each query by falling label, padding last; in order else."""
        keys = -self.labels
        if can_look(keys.device):
            return _places(keys.numpy().astype(np.int64))[0]
        return torch.argsort(keys, dim=1, stable=True)

    def by_score(self, ties: Callable[[], torch.Tensor] | None = None) -> torch.Tensor:
        """Places of the documents of each query by falling score, padding last.

        Parameters
        ----------
        ties : function that gives a Tensor (n_documents,), optional
            The order of places that have the same score. Default: as they come.
        """
        keys = self.fill(-self.scores, math.inf)
        if can_look(keys.device) and keys.dtype == torch.float32:
            order, ranked = _places(_as_integers(keys.numpy()))
            tied = ranked[:, 1:] == ranked[:, :-1]
            if (
                ties is None
                or not (tied & (ranked[:, 1:] < _as_integers(np.float32(np.inf)))).any()
            ):
                return order
            places = ties()
            return places[_places(_as_integers(keys.index_select(1, places).numpy()))[0]]
        if ties is None:
            return torch.argsort(keys, dim=1, stable=True)
        places = ties().expand(keys.shape)
        return places.gather(1, torch.argsort(keys.gather(1, places), dim=1, stable=True))


def _as_integers(values: Any) -> Any:
    """Integers in the order of numbers in single precision."""
    bits = (values + np.float32(0.0)).view(np.int32)  # where -0 is 0
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64)


def _places(keys: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
    """Places of keys (n_lines, n) of 32 bits in the order of each line, and the keys in order.

    Numbers are sorted in a fraction of the time of places: so the place is the end of the number.
    """
    ranked = np.sort((keys << 32) + np.arange(keys.shape[1]), axis=1)
    return torch.from_numpy(ranked & 0xFFFFFFFF), ranked >> 32


@dataclass(frozen=True, eq=False)
class BatchPart:
    """Queries of a batch, the places of their documents among all, and their lists.

    Attributes
    ----------
    queries : Tensor or slice
    places : Tensor (n_queries, n_documents), or None
        That of padding is one behind the last. None: the lists are lines of all documents.
    lists : DocumentLists
    """

    queries: torch.Tensor | slice
    places: torch.Tensor | None
    lists: DocumentLists

    def put(self, values: torch.Tensor, where: torch.Tensor) -> None:
        """Put values of documents `where` those of all are, one for padding behind the last."""
        if self.places is None:
            where[:-1].view(-1, values.shape[1]).index_copy_(0, self.queries, values)
        else:
            where.scatter_(0, self.places.reshape(-1), values.reshape(-1))


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
        whole = labels.round()
        if not can_look(batch.device):
            torch._assert_async((whole == labels).all(), "a label is no whole number")
        elif not torch.equal(whole, labels):
            raise check.fractional_label(float(labels[whole != labels][0]))
        if max_grade is None:
            max_grade = check.check_table_size(max(1, int(labels.max())))
        self.max_grade = max_grade
        self._labels = labels.to(batch.scores.dtype).reshape(-1)
        self._scores = batch.scores.reshape(-1)

    def __iter__(self) -> Iterator[BatchPart]:
        first, lengths = self.batch.first, self.batch.lengths
        n_rows, device = len(self._scores), self.batch.device
        for queries, longest, even in self._split(first, lengths):
            if even and n_rows == longest * len(lengths):
                scores, labels = (
                    values.view(-1, longest).index_select(0, queries)
                    for values in (self._scores, self._labels)
                )
                yield BatchPart(queries, None, DocumentLists(scores, labels, None))
                continue
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
                scores, labels = scores.masked_fill_(~valid, 0.0), labels.masked_fill_(~valid, -1.0)
            yield BatchPart(queries, places, DocumentLists(scores, labels, valid))

    def _split(
        self, first: torch.Tensor, lengths: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor | slice, int, bool]]:
        """Queries of each part, the length of their lists, and whether none is padded."""
        if not can_look(self.batch.device):
            yield slice(None), self.longest, False
            return
        size, start = lengths.numpy(), first.numpy()
        before = np.zeros(len(self._labels) + 1, np.int64)
        np.cumsum(self._labels.numpy() > 0, out=before[1:])
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
