"""MetricAccumulator: metrics of queries that come in batches, in one or several processes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from skrank import _validation as check
from skrank.extending import Measured, Ranking, measure, plain_up_to, unique_metrics
from skrank.metrics import Metric
from skrank.torch._batch import Batch, Values, whole_numbers
from skrank.torch._ranks import gather_all

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
        self.process_group = process_group
        for metric in self.metrics.values():
            if metric.needs_scale and self.max_grade is None:
                raise ValueError(
                    f"{metric} needs max_grade, such as max_grade=4: a batch may lack it."
                )
        self.reset()

    def reset(self) -> None:
        """Remove all queries."""
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []  # values and weights of queries
        self._seen: set[int] = set()

    def update(
        self,
        scores: torch.Tensor,
        labels: Values,
        offsets: Values | None = None,
        *,
        mask: Values | None = None,
        weights: Values | None = None,
        ids: Values | None = None,
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
            weight = batch.weights(weights, highest=math.inf)
        seen = self._seen if ids is None else self._seen_with(ids, len(batch))
        if len(batch.labels):
            judgments = batch.judgments
            ranking = Ranking(judgments, batch.scores.double().numpy())
            metrics, mass = list(self.metrics.values()), weight[batch.filled]
            with plain_up_to(-1):  # compiled, as `update` is called for each batch
                measured = measure(judgments, [ranking], metrics, mass, max_grade=self.max_grade)
            self._parts.append((measured.values[0], measured.weights[0]))
        self._seen = seen

    def compute(self) -> dict[str, float]:
        """Mean of each metric over all queries; NaN if no query counts, see `empty` of the metric.

        Returns
        -------
        dict of str to float
        """
        none = np.empty((len(self.metrics), 0))  # of no query: hstack needs an array
        ranks = gather_all([(none, none), *self._parts], self.process_group)
        parts = (part for parts in ranks for part in parts)
        values, mass = map(np.hstack, zip(*parts, strict=True))
        empty = np.zeros(values.shape, np.bool_)
        measured = Measured(values[None], mass[None], empty, tuple(self.metrics.values()))
        return dict(zip(self.metrics, measured.means()[0].tolist(), strict=True))

    def _seen_with(self, ids: Values, n_queries: int) -> set[int]:
        """The numbers of all queries so far, after a check that those of a batch are new."""
        numbers = whole_numbers("ids", ids).tolist()
        if len(numbers) != n_queries:
            raise ValueError(
                f"ids has {len(numbers)} numbers for {n_queries} queries: give one each."
            )
        seen = set(self._seen)
        for query in numbers:
            if query in seen:
                raise ValueError(
                    f"query {query} of ids comes twice: batches must hold whole queries, each in "
                    "one batch. Call reset() between epochs."
                )
            seen.add(query)
        return seen
