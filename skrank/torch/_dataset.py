"""Queries as a Dataset of torch, and batches of whole queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from torch.utils.data import Dataset

from skrank import _validation as check
from skrank._engine.groups import require_groups, show
from skrank._engine.queries import Queries, slices
from skrank._typing import Table


class QueryBatch(NamedTuple):
    """Whole queries, from `skrank.torch.QueryDataset`.

    Attributes
    ----------
    X : Tensor of shape (n_rows, n_features)
    labels : Tensor of shape (n_rows,)
    offsets : int64 Tensor of shape (n_queries + 1,)
        First row of each query, and the number of rows.
    weights : Tensor of shape (n_queries,) or None
    ids : int64 Tensor of shape (n_queries,)
        Numbers of the queries in their data set.
    """

    X: torch.Tensor
    labels: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    ids: torch.Tensor

    def to(self, device: str | torch.device, *, non_blocking: bool = False) -> QueryBatch:
        """The batch on another device. The offsets stay on the host, where they are read."""
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


def query_offsets(groups: ArrayLike) -> torch.Tensor:
    """Offsets of the queries of rows, from the query of each row.

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
    return torch.from_numpy(_contiguous(ids).indptr)


_DTYPES = torch.float32, torch.float64, torch.float16, torch.bfloat16


class QueryDataset(Dataset):
    """Queries with their documents, in the layout of `skrank.torch.RankingLoss`.

    Item i is a `QueryBatch` of query i. `torch.utils.data.DataLoader` calls `__getitems__` with the
    numbers of all queries of a batch, which returns one `QueryBatch`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows of a sparse matrix become dense in a batch.
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance` or `X`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query.
    dtype : torch.dtype, default=torch.float32
        Dtype of features, labels and weights in batches. Features and fractional labels are
        rounded. Choose torch.float64 if the last digits of labels matter, as for ``ap(rel=0.7)``.

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
        or `dtype` cannot hold a label, a weight or a feature.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from skrank.datasets import make_ranking
    >>> from skrank.torch import QueryBatchSampler, QueryDataset, keep_batch
    >>> data = make_ranking(n_queries=9, random_state=0)
    >>> queries = QueryDataset(data.X, data.relevance, data.qid)
    >>> loader = DataLoader(
    ...     queries, batch_sampler=QueryBatchSampler(queries), collate_fn=keep_batch
    ... )
    >>> [batch.X.shape[1] for batch in loader]
    [20]
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
        _check_dtype(dtype)
        ids = require_groups(groups, relevance, X, who="QueryDataset")
        shape = "an array of shape (n_rows, n_features)"
        self.X = csr_matrix(X) if issparse(X) else check.unmasked("X", X, shape)
        self.labels = check.as_vector("relevance", check.without_index(relevance))
        bad = np.flatnonzero(check.are_no_labels(self.labels))
        if len(bad):
            raise check.bad_label(float(self.labels[bad[0]]), int(bad[0]))
        if self.X.ndim != 2 or self.X.shape[0] != len(self.labels):
            raise ValueError(
                f"X has shape {self.X.shape} and relevance {len(self.labels)} rows: X must have "
                "one row of features per label."
            )
        if self.X.dtype.kind not in "fiub":
            raise ValueError(f"X has type {self.X.dtype}: features must be numbers.")
        self.dtype = dtype
        self.queries = queries = Queries.from_groups(ids)
        self.ids, self.sizes = queries.ids, queries.sizes
        self.weights = check.query_weights(sample_weight, queries)
        if self.weights is not None:
            narrow = self._narrow(self.weights).double().numpy()
            lost = np.isinf(narrow) | ((narrow == 0) & (self.weights > 0))
            check_kept(lost, self.weights, narrow, lambda i: f"weight of query {queries.name(i)}")

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, query: int) -> QueryBatch:
        return self.__getitems__([query])

    def __getitems__(self, numbers: Sequence[int]) -> QueryBatch:
        """The queries of these numbers as one batch."""
        chosen = np.arange(len(self))[list(numbers)]
        offsets, rows = slices(self.queries.indptr[chosen], self.sizes[chosen])
        if self.queries.order is not None:
            rows = self.queries.order[rows]
        values, graded = self.X[rows], self.labels[rows]
        values = values.toarray() if issparse(values) else values
        X, labels = self._narrow(values), self._narrow(graded)
        if self.dtype != torch.float64:
            narrow = labels.double().numpy()
            lost = np.isinf(narrow) | ((narrow != graded) & (graded == np.rint(graded)))
            check_kept(lost, graded, narrow, lambda i: f"label of row {rows[i]}")
            narrow = X.float().numpy()
            lost = np.isinf(narrow) & np.isfinite(values)
            check_kept(lost, values, narrow, lambda i, j: f"feature {j} of row {rows[i]}")
        weights = None if self.weights is None else self._narrow(self.weights[chosen])
        return QueryBatch(X, labels, torch.from_numpy(offsets), weights, torch.from_numpy(chosen))

    def _narrow(self, values: np.ndarray) -> torch.Tensor:
        """Values in the dtype of batches."""
        with np.errstate(over="ignore"):  # infinite values are refused by the caller
            array = np.ascontiguousarray(values, dtype=_numpy_type(self.dtype))
        return torch.from_numpy(array).to(self.dtype)


def keep_batch(batch: QueryBatch) -> QueryBatch:
    """Return the batch of a `QueryDataset` unchanged: the `collate_fn` of a DataLoader.

    Parameters
    ----------
    batch : QueryBatch

    Returns
    -------
    QueryBatch

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from skrank.torch import QueryDataset, keep_batch
    >>> queries = QueryDataset([[0.5], [0.1], [0.3]], [1, 0, 2], ["a", "a", "b"])
    >>> next(iter(DataLoader(queries, batch_size=2, collate_fn=keep_batch))).offsets
    tensor([0, 2, 3])
    """
    return batch


def check_kept(
    lost: np.ndarray, values: np.ndarray, narrow: np.ndarray, place: Callable[..., str]
) -> None:
    """Raise if `lost` is True for a value, which another dtype makes `narrow`.

    `place` names the value at an index in the error.
    """
    if lost.any():
        index = tuple(int(number) for number in np.argwhere(lost)[0])
        raise ValueError(
            f"{place(*index)} is {values[index]}, which is {narrow[index]} in the dtype of "
            "batches: choose dtype=torch.float64, or scale or bin the values."
        )


def _check_dtype(dtype: object) -> torch.dtype:
    """A dtype of features, after a check."""
    if not isinstance(dtype, torch.dtype) or dtype not in _DTYPES:
        known = ", ".join(map(str, _DTYPES))
        raise ValueError(f"dtype={dtype!r} is not a dtype of features: choose one of {known}.")
    return dtype


def _numpy_type(dtype: torch.dtype) -> np.dtype:
    """The dtype of numpy from which batches are converted: float32 for half precision, too."""
    return np.dtype(np.float64 if dtype == torch.float64 else np.float32)


def _contiguous(groups: np.ndarray) -> Queries:
    """Queries of rows, after a check that the rows of each query are adjacent."""
    queries = Queries.from_groups(groups)
    if queries.order is not None:
        numbers = queries.scatter(queries.row_query)
        row = int(np.argmax(numbers < np.maximum.accumulate(numbers)))
        raise ValueError(
            f"query {show(groups[row])} begins again in row {row}: sort the rows by query, so that "
            "the rows of each query are adjacent."
        )
    return queries
