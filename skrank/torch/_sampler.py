"""QueryBatchSampler: the queries of each batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from torch.utils.data import Sampler

from skrank import _validation as check
from skrank.torch._batch import whole_numbers
from skrank.torch._dataset import QueryDataset
from skrank.torch._ranks import n_ranks, this_rank


class QueryBatchSampler(Sampler[list[int]]):
    """Batches of whole queries with a maximum number of documents.

    Parameters
    ----------
    data : QueryDataset or array-like of shape (n_queries,)
        The data set, or the number of documents of each query.
    max_documents : int, default=4096
        Maximum number of documents of a batch. A longer query is a batch of its own.
    max_queries : int, optional
        Maximum number of queries of a batch.
    shuffle : bool, default=True
        Draw another order in each epoch (see `set_epoch`). Otherwise, keep the order of `data`.
    random_state : int, default=0
        Seed of the orders.
    rank, world_size : int, optional
        Rank of this process and number of processes. All processes get the same number of
        batches, some of which may be empty, and no query twice. Give both, or neither. Default:
        those of `torch.distributed` if it is initialised, else one process.

    Examples
    --------
    >>> from skrank.torch import QueryBatchSampler
    >>> list(QueryBatchSampler([3, 2, 4, 1], max_documents=5, shuffle=False))
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        data: QueryDataset | ArrayLike,
        *,
        max_documents: int = 4096,
        max_queries: int | None = None,
        shuffle: bool = True,
        random_state: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        self.sizes = data.sizes if isinstance(data, QueryDataset) else _checked_sizes(data)
        self.max_documents = check.check_count(
            "max_documents", max_documents, "documents of a batch"
        )
        if max_queries is not None:
            max_queries = check.check_count("max_queries", max_queries, "queries of a batch")
        self.max_queries = max_queries
        self.shuffle = check.check_flag("shuffle", shuffle)
        self.random_state = check.check_seed("random_state", random_state)
        if rank is world_size is None:
            rank, world_size = this_rank(), n_ranks()
        if rank is None or world_size is None:
            raise ValueError(
                f"rank={rank} and world_size={world_size} belong together: give both, or neither."
            )
        self.world_size = check.check_count("world_size", world_size, "processes")
        self.rank = check.check_count("rank", rank, "the number of this process", least=0)
        if rank >= world_size:
            raise ValueError(
                f"rank={rank} is too high for world_size={world_size}: ranks go from 0 to "
                f"{world_size - 1}."
            )
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, from 0 on, which the order depends on; the same in all processes."""
        self.epoch = check.check_count("epoch", epoch, "the number of an epoch", least=0)

    def __len__(self) -> int:
        return -(-len(self._batches()) // self.world_size)

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches()
        for first in range(0, len(batches), self.world_size):
            mine = first + self.rank
            yield batches[mine] if mine < len(batches) else []

    def _batches(self) -> list[list[int]]:
        """Fill batches in order; a query that does not fit begins a new batch."""
        order = np.arange(len(self.sizes))
        if self.shuffle:
            order = np.random.default_rng((self.random_state % 2**63, self.epoch)).permutation(
                order
            )
        batches: list[list[int]] = []
        documents, queries = 0, 0  # that the last batch has space for
        for query in order.tolist():
            size = int(self.sizes[query])
            if size > documents or queries == 0:
                batches.append([])
                documents, queries = self.max_documents, self.max_queries or len(self.sizes)
            batches[-1].append(query)
            documents, queries = documents - size, queries - 1
        return batches


def _checked_sizes(sizes: ArrayLike) -> np.ndarray:
    """Numbers of documents, one per query, after a check."""
    remedy = "pass a QueryDataset, or the number of documents of each query"
    found = whole_numbers("data", sizes, remedy)
    if found.min(initial=0) < 0:
        raise ValueError(f"query {np.argmin(found)} of data has {found.min()} documents: {remedy}.")
    return found
