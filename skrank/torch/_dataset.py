"""Queries as a Dataset of torch, and batches of whole queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from torch.utils.data import Dataset

from skrank import _validation as check
from skrank._typing import Table
from skrank.extending import Queries, require_groups


class QueryBatch(NamedTuple):
    """Whole queries, from `skrank.torch.QueryDataset`.

    Move `X` to a device, and leave the rest on the host, where losses and metrics read it.

    Attributes
    ----------
    X : Tensor of shape (n_rows, n_features)
    labels : float64 Tensor of shape (n_rows,)
    offsets : int64 Tensor of shape (n_queries + 1,)
        First row of each query, then the number of rows.
    weights : float64 Tensor of shape (n_queries,) or None
    ids : int64 Tensor of shape (n_queries,)
        Index of each query in the `QueryDataset`, which is not its query id.
    """

    X: torch.Tensor
    labels: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    ids: torch.Tensor

    def padded(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features (n_queries, n_documents, n_features), labels and mask (n_queries, n_documents).

        Padding has features 0 and label NaN.
        """
        sizes = torch.diff(self.offsets)
        mask = torch.arange(int(sizes.max()) if len(sizes) else 0) < sizes[:, None]
        X = self.X.new_zeros((*mask.shape, self.X.shape[1]))
        labels = self.labels.new_full(mask.shape, float("nan"))
        X[mask.to(X.device)], labels[mask] = self.X, self.labels
        return X, labels, mask


def query_offsets(groups: ArrayLike) -> torch.Tensor:
    """First row of each query, then the number of rows, from the query of each row.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Query of each row; the rows of a query are adjacent.

    Returns
    -------
    int64 Tensor of shape (n_queries + 1,)

    Raises
    ------
    ValueError
        If the rows of a query are not adjacent, or a row has no query.

    Examples
    --------
    >>> from skrank.torch import query_offsets
    >>> query_offsets(["a", "a", "b"])
    tensor([0, 2, 3])
    """
    ids = check.as_ids("groups", groups)
    if len(ids) == 0:
        return torch.zeros(1, dtype=torch.int64)
    queries = Queries.from_groups(ids)
    if queries.order is not None:
        row = queries.order[np.argmax(queries.order != np.arange(len(ids)))]  # moved up first
        raise ValueError(f"query {check.show(ids[row])} begins again in row {row}: sort by query.")
    return torch.from_numpy(queries.indptr)


class QueryDataset(Dataset):
    """Queries with their documents, in the layout of `skrank.torch.RankingLoss`.

    Item i is a `QueryBatch` of query i. `torch.utils.data.DataLoader` calls `__getitems__` with the
    indexes of the queries of a batch. `__getitems__` returns one `QueryBatch`. Pass `collate` to
    the DataLoader, so that it does not change the batch.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows of a sparse matrix become dense in a batch.
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance` or `X`, or
        the column "qid" of a frame `X`, which is never a feature.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.
    dtype : torch.dtype, default=torch.float32
        Dtype of the features in batches.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Query ids.
    sizes : int64 ndarray of shape (n_queries,)
        Documents of each query.

    Raises
    ------
    ValueError
        If groups are missing or lengths differ, a label is negative, weights vary inside a query,
        or `dtype` cannot hold a feature.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from skrank.datasets import make_ranking
    >>> from skrank.torch import QueryDataset
    >>> data = make_ranking(n_queries=9, random_state=0)
    >>> queries = QueryDataset(data.X, data.relevance, data.qid)
    >>> loader = DataLoader(queries, batch_size=4, shuffle=True, collate_fn=queries.collate)
    >>> [len(batch.ids) for batch in loader]
    [4, 4, 1]
    """

    def __init__(
        self,
        X: Table,
        relevance: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check.check_same_index(X=X, relevance=relevance, groups=groups, sample_weight=sample_weight)
        if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise ValueError(f"dtype={dtype!r} must be a floating dtype, such as torch.float32.")
        ids = require_groups(groups, relevance, X, who="QueryDataset")
        shape = "an array of shape (n_rows, n_features)"
        X = check.without_queries(X)
        self.X = csr_matrix(X) if issparse(X) else check.unmasked("X", X, shape)
        self.labels = check.as_vector("relevance", check.without_index(relevance))
        if (row := check.first(check.are_no_labels(self.labels))) >= 0:
            raise check.bad_label(float(self.labels[row]), row)
        n_rows = len(self.labels)
        if self.X.ndim != 2 or self.X.shape[0] != n_rows or self.X.dtype.kind not in "fiub":
            raise ValueError(
                f"X has shape {self.X.shape} and type {self.X.dtype}: it must have one row of "
                f"numbers for each of the {n_rows} labels."
            )
        self.dtype = dtype
        self.queries = queries = Queries.from_groups(ids)
        self.ids, self.sizes = queries.ids, queries.sizes
        self.weights = check.query_weights(sample_weight, queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, query: int) -> QueryBatch:
        return self.__getitems__([query])

    def __getitems__(self, indexes: Sequence[int]) -> QueryBatch:
        """One batch of the queries at these indexes."""
        chosen = np.arange(len(self))[list(indexes)]
        sizes = self.sizes[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        shifts = self.queries.indptr[chosen] - offsets[:-1]
        rows = np.arange(offsets[-1]) + np.repeat(shifts, sizes)
        if self.queries.order is not None:
            rows = self.queries.order[rows]
        features = self.X[rows]
        features = features.toarray() if issparse(features) else features
        numpy_dtype = np.float64 if self.dtype == torch.float64 else np.float32
        with np.errstate(over="ignore"):
            X = torch.from_numpy(np.ascontiguousarray(features, dtype=numpy_dtype)).to(self.dtype)
        overflows = X.isinf().numpy() & np.isfinite(features)
        if overflows.any():
            row, column = np.argwhere(overflows)[0]
            raise ValueError(
                f"feature {column} of row {rows[row]} is {features[row, column]:g}, too large for "
                f"{self.dtype}: choose dtype=torch.float64, or scale the feature."
            )
        weights = None if self.weights is None else torch.from_numpy(self.weights[chosen])
        labels = torch.from_numpy(self.labels[rows])
        return QueryBatch(X, labels, torch.from_numpy(offsets), weights, torch.from_numpy(chosen))

    @staticmethod
    def collate(batch: QueryBatch) -> QueryBatch:
        """The batch unchanged: the `collate_fn` of a DataLoader."""
        return batch
