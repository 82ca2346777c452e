"""What native paths share: padded lists by label, and pairs of their documents block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from skrank import _validation as check
from skrank.torch._batch import Batch
from skrank.torch._tables import TensorTables

# Numbers in a block of pairs: as many as stay in the cache of a core, or keep a device busy.
_BLOCK_ON_HOST, _BLOCK_ON_DEVICE = 2**18, 2**26
_STRIPES = 4  # of documents, so that few pairs are met in both orders


@dataclass(frozen=True, eq=False)
class PaddedDocuments:
    """Padded documents of a batch.

    Attributes
    ----------
    scores : Tensor (n_queries, n_documents), 0 where there is no document
    labels : int64 Tensor of that shape, whole labels, 0 where there is no document
    valid : bool Tensor of that shape
    max_grade : int
    """

    scores: torch.Tensor
    labels: torch.Tensor
    valid: torch.Tensor
    max_grade: int

    @classmethod
    def of(cls, batch: Batch, max_grade: int | None) -> PaddedDocuments:
        """The documents of a batch; reads the highest label from it if none is given."""
        labels = torch.where(batch.kept, batch.labels, torch.zeros_like(batch.labels))
        if max_grade is None:
            max_grade = max(1, int(labels.max())) if labels.numel() else 1
        whole = labels.to(torch.int64)
        if not torch.compiler.is_compiling() and batch.device.type == "cpu":
            if (whole != labels).any():
                raise check.fractional_label(float(labels[whole != labels][0]))
        else:
            torch._assert_async((whole == labels).all(), "a label is no whole number")
        scores = batch.scores.detach().to(labels.dtype)
        return cls(
            batch.padded(scores),
            batch.padded(whole),
            batch.padded(torch.ones_like(batch.kept)) if batch.flat else batch.kept,
            max_grade,
        )

    def sort(self, order: torch.Tensor) -> PaddedDocuments:
        """The documents of each query in another order."""
        return PaddedDocuments(
            torch.gather(self.scores, 1, order),
            torch.gather(self.labels, 1, order),
            torch.gather(self.valid, 1, order),
            self.max_grade,
        )

    def classes(self, tables: TensorTables) -> torch.Tensor:
        """Class of each document; 0 for padding."""
        return tables.classes[self.labels]

    def members(self, classes: torch.Tensor, n_classes: int) -> torch.Tensor:
        """1 where a document is of a class: (n_classes, n_queries, n_documents)."""
        every = torch.arange(n_classes, device=classes.device)[:, None, None]
        return ((classes == every) & self.valid).to(self.scores.dtype)


def per_class(table: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Lines of a table at the class of each document: (n, n_classes) -> (n, n_queries, n)."""
    return (table @ members.flatten(1)).view(len(table), *members.shape[1:])


def blocks(
    shape: torch.Size, n_first: int, device: torch.device
) -> Iterator[tuple[slice, slice, slice]]:
    """Blocks that cover each pair of the first `n_first` documents with itself and those behind.

    `shape` is the number of queries and of their documents.

    Yields
    ------
    queries, first, second : slices
        `second` begins where `first` does and goes on to the end: pairs inside `first` are met in
        both orders.
    """
    n_queries, n_documents = shape
    if torch.compiler.is_compiling():  # which fuses the whole
        yield slice(0, n_queries), slice(0, n_first), slice(0, n_documents)
        return
    room = _BLOCK_ON_HOST if device.type == "cpu" else _BLOCK_ON_DEVICE
    stripe = max(8, -(-n_first // _STRIPES))
    stripe = max(1, min(stripe, room // max(n_documents, 1)))
    share = max(1, room // (stripe * max(n_documents, 1)))
    for start in range(0, n_queries, share):
        for low in range(0, n_first, stripe):
            yield (
                slice(start, start + share),
                slice(low, min(low + stripe, n_first)),
                slice(low, n_documents),
            )
