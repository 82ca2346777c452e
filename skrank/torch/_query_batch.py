"""QueryBatch: features, labels and offsets of whole queries."""

from __future__ import annotations

from typing import NamedTuple

import torch
from numpy.typing import ArrayLike

from skrank import _validation as check


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
    return torch.from_numpy(check.check_contiguous(check.as_ids("groups", groups)))
