"""MetricAccumulator: metrics of queries that come in batches, in one or several processes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.names import unique_metrics
from skrank._engine.plan import average, measure
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank.metrics import Metric
from skrank.torch._batch import Batch, needs_max_grade, whole_numbers
from skrank.torch._ranks import check_group, gather_all

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class MetricAccumulator:
    """Metrics of queries that come batch by batch, in one or several processes.

    Values are those of `skrank.evaluate` on all queries together: means over queries, not over
    batches. The accumulator stores the values of each query, not its documents.

    Parameters
    ----------
    *metrics : str or Metric
    max_grade : int, optional
        Highest grade of the collection. Metrics such as ERR need it, as a batch may lack the
        highest grade.
    process_group : torch.distributed process group, optional
        If torch.distributed is initialised, `compute` takes the queries of all processes of this
        group. Default: the default group.

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
        self,
        *metrics: str | Metric,
        max_grade: int | None = None,
        process_group: ProcessGroup | None = None,
    ) -> None:
        self.metrics = unique_metrics(metrics)
        self.max_grade = check.check_max_grade(max_grade)
        self.process_group = check_group(process_group)
        for one in self.metrics.values():
            if one.needs_scale and self.max_grade is None:
                raise needs_max_grade(one)
        self.reset()

    def reset(self) -> None:
        """Remove all queries."""
        self._values: list[np.ndarray] = []
        self._mass: list[np.ndarray] = []
        self._seen: set[int] = set()

    def update(
        self,
        scores: torch.Tensor,
        labels: torch.Tensor | ArrayLike,
        offsets: torch.Tensor | ArrayLike | None = None,
        *,
        mask: torch.Tensor | ArrayLike | None = None,
        weights: torch.Tensor | ArrayLike | None = None,
        ids: torch.Tensor | ArrayLike | None = None,
    ) -> None:
        """Add a batch of whole queries. An error leaves the accumulator unchanged.

        Parameters
        ----------
        scores, labels, offsets, mask
            As in a call of `RankingLoss`, but for the label NaN: in padded labels without a mask it
            is padding; elsewhere the document is not judged, and stays in the list.
        weights : Tensor of shape (n_queries,), optional
            Weight of each query, at least 0.
        ids : int Tensor of shape (n_queries,), optional
            Numbers of the queries. A number that comes twice in a process is an error.

        Raises
        ------
        ValueError
            If shapes or offsets do not fit, a score is NaN or infinite, a label or a weight is
            negative or infinite, or a query comes twice.
        """
        unjudged = offsets is not None or mask is not None
        if isinstance(scores, torch.Tensor):
            scores = scores.cpu()
        batch = Batch(scores, labels, offsets, mask, unjudged=unjudged)
        weight = np.ones(len(batch))
        if weights is not None:
            weight = batch.weights(weights, highest=math.inf).double().numpy()
        seen = set() if ids is None else self._unseen(ids, len(batch))
        if batch.kept.any():
            values, mass = self._measured(batch, weight)
            self._values.append(values)
            self._mass.append(mass)
        self._seen |= seen

    def _measured(self, batch: Batch, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value and weight by metric (row) and query with documents (column)."""
        sizes, kept = batch.sizes.numpy(), batch.kept.numpy()
        filled = sizes > 0
        labels, scores = (one.double().numpy()[kept] for one in (batch.labels, batch.scores))
        judgments = Judgments(labels, Queries.from_sizes(sizes[filled]))
        ranking = Ranking(judgments, scores)
        metrics = list(self.metrics.values())
        found = measure(judgments, [ranking], metrics, weight[filled], max_grade=self.max_grade)
        return found.values[0], found.weights[0]

    def compute(self) -> dict[str, float]:
        """Mean of each metric over all queries; NaN if no query counts, see `empty` of the metric.

        Returns
        -------
        dict of str to float
        """
        none = np.empty((len(self.metrics), 0))  # of no query: hstack needs an array
        mine = np.hstack([none, *self._values]), np.hstack([none, *self._mass])
        ranks = gather_all(mine, self.process_group)
        values, mass = (np.hstack(parts) for parts in zip(*ranks, strict=True))
        return {
            name: average(one, values[i], mass[i], stacklevel=4)
            for i, (name, one) in enumerate(self.metrics.items())
        }

    def _unseen(self, ids: torch.Tensor | ArrayLike, n_queries: int) -> set[int]:
        """The numbers of queries, after a check that all are new."""
        remedy = "give one whole number per query, such as the ids of a QueryBatch"
        numbers = whole_numbers("ids", ids, remedy)
        if len(numbers) != n_queries:
            raise ValueError(f"there are {len(numbers)} ids for {n_queries} queries: {remedy}.")
        found: set[int] = set()
        for one in numbers.tolist():
            if one in self._seen or one in found:
                raise ValueError(
                    f"query {one} comes twice: batches must hold whole queries, each query in one "
                    "batch. Call reset() between epochs."
                )
            found.add(one)
        return found
