"""MetricAccumulator: metrics over batches and processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank.evaluation._evaluate import unique_metrics
from skrank.metrics import Metric
from skrank.torch._batch import Batch
from skrank.torch._ranks import gather_all


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
        self.process_group = process_group
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
        """Take in a batch of whole queries.

        Parameters
        ----------
        scores, labels, offsets, mask, weights
            As in a call of `RankingLoss`, but that documents with a label NaN, where they are not
            padding, stay in the list as documents that were not judged. Without a mask, NaN in
            padded labels is padding.
        ids : Tensor of shape (n_queries,), optional
            Numbers of the queries: one that comes twice is an error.
        """
        unjudged = offsets is not None or mask is not None
        batch = Batch(scores.detach(), labels, offsets, mask, unjudged=unjudged)
        if weights is not None:
            check.check_query_weights(weights, len(batch))
        if ids is not None:
            self._see(torch.as_tensor(ids).tolist())
        sizes, kept = batch.sizes.cpu().numpy(), batch.kept.cpu().numpy()
        some = sizes > 0
        if not some.any():
            return
        judgments = Judgments(
            batch.labels.to("cpu", torch.float64).numpy()[kept], Queries.from_sizes(sizes[some])
        )
        ranking = Ranking(judgments, batch.scores.to("cpu", torch.float64).numpy()[kept])
        weight = 1.0 if weights is None else torch.as_tensor(weights).cpu().double().numpy()[some]
        plans = [one.bind(judgments, max_grade=self.max_grade) for one in self.metrics.values()]
        self._values.append(np.stack([plan.values(ranking) for plan in plans]))
        self._mass.append(np.stack([plan.mass(ranking) * weight for plan in plans]))

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

    def _see(self, ids: list[int]) -> None:
        for one in ids:
            if one in self._seen:
                raise ValueError(
                    f"query {one} came before: batches must hold whole queries, each once. Call "
                    "reset() between epochs."
                )
            self._seen.add(one)
