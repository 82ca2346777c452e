"""MetricAccumulator: metrics over batches and processes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank.evaluation._evaluate import unique_metrics
from skrank.metrics import Metric
from skrank.torch._batch import Batch, query_weights
from skrank.torch._ranks import check_group, gather_all


class MetricAccumulator:
    """Metrics of queries that come batch by batch, also in several processes.

    Values are those of `skrank.evaluate` on all queries together: means over queries, not over
    batches. Kept are the values of each query, not its documents.

    Parameters
    ----------
    *metrics : str or Metric
    max_grade : int, optional
        Highest grade of the collection. Metrics such as ERR need it, for a batch does not tell it.
    process_group : torch.distributed process group, optional
        `compute` takes the queries of all its processes together, where a process group is
        initialised. Default: the default group.

    Examples
    --------
    >>> import torch
    >>> from skrank.torch import MetricAccumulator
    >>> found = MetricAccumulator("gap", "ndcg@10")
    >>> found.update(torch.tensor([2.0, 1.0]), torch.tensor([0, 1]), torch.tensor([0, 2]))
    >>> found.update(torch.tensor([2.0, 1.0]), torch.tensor([1, 0]), torch.tensor([0, 2]))
    >>> found.compute()["gap"]
    0.75
    """

    def __init__(
        self, *metrics: str | Metric, max_grade: int | None = None, process_group: Any = None
    ) -> None:
        self.metrics = unique_metrics(metrics)
        self.max_grade = check.check_max_grade(max_grade)
        self.process_group = check_group(process_group)
        for one in self.metrics.values():
            if one.needs_scale and self.max_grade is None:
                raise check.needs_max_grade(one)
        self.reset()

    def reset(self) -> None:
        """Forget all queries."""
        self._values: list[np.ndarray] = []
        self._mass: list[np.ndarray] = []
        self._seen: set[int] = set()

    def update(
        self,
        scores: torch.Tensor,
        labels: torch.Tensor,
        offsets: torch.Tensor | None = None,
        *,
        mask: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
        ids: torch.Tensor | None = None,
    ) -> None:
        """Take in a batch of whole queries; a batch that is refused changes nothing.

        Parameters
        ----------
        scores, labels, offsets, mask
            As in a call of `RankingLoss`, but that documents with a label NaN, where they are not
            padding, stay in the list as documents that were not judged. Without a mask, NaN in
            padded labels is padding.
        weights : Tensor of shape (n_queries,), optional
            Weight of each query, at least 0.
        ids : int Tensor of shape (n_queries,), optional
            Numbers of the queries: one that comes twice is an error.

        Raises
        ------
        ValueError
            If shapes or offsets do not fit, a score is NaN or infinite, a label or a weight is
            negative or infinite, or a query came before.
        """
        unjudged = offsets is not None or mask is not None
        batch = Batch(scores, labels, offsets, mask, unjudged=unjudged)
        weight = np.ones(len(batch))
        if weights is not None:
            weight = query_weights(weights, batch, math.inf).double().numpy(force=True)
        seen = set() if ids is None else self._unseen(ids, len(batch))
        if batch.n_filled:
            values, mass = self._measured(batch, weight)
            self._values.append(values)
            self._mass.append(mass)
        self._seen |= seen

    def _measured(self, batch: Batch, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the queries that have documents, by metric, and what each counts for."""
        sizes, kept = batch.sizes.numpy(force=True), batch.kept.numpy(force=True)
        some = sizes > 0
        labels, scores = (
            one.double().numpy(force=True)[kept] for one in (batch.labels, batch.scores)
        )
        judgments = Judgments(labels, Queries.from_sizes(sizes[some]))
        ranking = Ranking(judgments, scores)
        plans = [one.bind(judgments, max_grade=self.max_grade) for one in self.metrics.values()]
        values = np.stack([plan.values(ranking) for plan in plans])
        return values, np.stack([plan.mass(ranking) * weight[some] for plan in plans])

    def compute(self) -> dict[str, float]:
        """Mean over all queries of each metric; NaN where no query has a relevant document.

        Returns
        -------
        dict of str to float
        """
        nothing = np.empty((len(self.metrics), 0))
        mine = np.hstack([nothing, *self._values]), np.hstack([nothing, *self._mass])
        every = gather_all(mine, self.process_group)
        values, mass = (np.hstack(parts) for parts in zip(*every, strict=True))
        one_row = Judgments([0.0], Queries.single(1))
        return {
            name: one.bind(one_row, max_grade=self.max_grade).average(values[i], mass[i])
            for i, (name, one) in enumerate(self.metrics.items())
        }

    def _unseen(self, ids: Any, n_queries: int) -> set[int]:
        """Numbers of queries, none of which came before."""
        if isinstance(ids, torch.Tensor):
            ids = ids.numpy(force=True)
        found: set[int] = set()
        for one in check.check_query_numbers(check.as_new_array("ids", ids), n_queries).tolist():
            if one in self._seen or one in found:
                raise ValueError(
                    f"query {one} came before: batches must hold whole queries, each once. Call "
                    "reset() between epochs."
                )
            found.add(one)
        return found
