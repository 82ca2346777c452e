"""Padded queries, and the sums of metrics over their documents: the input of native losses."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from skrank._engine.judgments import Judgments
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.tables import Lists
from skrank.metrics import Metric


class DenseQueries(NamedTuple):
    """Tensors (n_queries, n_documents) of queries, padded to the length of the longest.

    In the padding, scores are 0, labels (int64) are ``max_grade + 1`` and `valid` is False.
    """

    scores: torch.Tensor
    labels: torch.Tensor
    valid: torch.Tensor
    max_grade: int

    def fill(self, values: torch.Tensor, padding: float) -> torch.Tensor:
        """The values, replaced by one value in the padding."""
        return values.masked_fill(~self.valid, padding)

    @torch.compiler.disable
    def look_up(self, table: np.ndarray) -> torch.Tensor:
        """Entries of a table of the labels 0 to max_grade, and 0 in the padding."""
        return self._put(np.append(table[: self.max_grade + 1], 0.0))[self.labels]

    @torch.compiler.disable
    def bind(self, metric: Metric, cutoff: int | None) -> QuadraticSum:
        """The sum of a metric for these queries; their best lists are cut at `cutoff`."""
        n = self.labels.shape[1]
        longest = 1 << (n - 1).bit_length()  # a power of 2, so that batches share cached tables
        found = quadratic_tables(metric, cutoff, self.max_grade, longest)
        assert found is not None
        tables, worth, ideal = found
        relevant = self.look_up(tables.relevant).sum(1)
        inverse = self._slope(metric, relevant)
        if metric.ideal_cutoff != 0:
            best = self.look_up(worth).sort(1, descending=True).values * self._put(ideal[:n])
            inverse = torch.where(best.sum(1) > 0, inverse / best.sum(1), 0.0)
        if metric.needs_relevant:
            inverse = torch.where(relevant > 0, inverse, 0.0)
        w = k = None
        if tables.pairs is not None:
            upper, lower = self.look_up(tables.pairs.upper), self.look_up(tables.pairs.lower)
            join = torch.minimum if tables.pairs.join is np.minimum else torch.mul
            w, k = self._put(tables.pairs.weights[:n]), join(upper[:, :, None], lower[:, None])
        return QuadraticSum(inverse, self.look_up(tables.gain), self._put(tables.u[:n]), w, k)

    def _slope(self, metric: Metric, relevant: torch.Tensor) -> torch.Tensor:
        """Change of the metric per unit of its normalised sum, for each query."""
        n_queries, line = len(relevant), metric.line(Lists(*np.ones((3, 1))))  # of any list
        if np.ndim(line.steepness):  # depends on numbers of documents, which are read on the host
            n, found = (one.cpu().double().numpy() for one in (self.valid.sum(1), relevant))
            line = metric.line(Lists(np.minimum(n, metric.k or np.inf), found, n))
        return self._put(np.broadcast_to(line.steepness, n_queries).copy())

    def _put(self, array: np.ndarray) -> torch.Tensor:
        found = torch.from_numpy(array).to(self.scores.dtype)
        return found.to(self.scores.device, non_blocking=True)


class QuadraticSum(NamedTuple):
    """``inverse (sum_r u_r gain_r + sum_{s<r} w_r k_sr)`` over the documents r of each query.

    `inverse` has the shape (n_queries,), `gain` (n_queries, n), `u` and `w` (n,) and `k`
    (n_queries, n, n); `w` and `k` are None for a metric without pairs.
    """

    inverse: torch.Tensor
    gain: torch.Tensor
    u: torch.Tensor
    w: torch.Tensor | None
    k: torch.Tensor | None


@lru_cache(maxsize=64)
def quadratic_tables(
    metric: Metric, cutoff: int | None, max_grade: int, longest: int
) -> tuple[QuadraticTables, np.ndarray, np.ndarray] | None:
    """Tables of a metric, and gains by label and weights by rank of the sum of its best list.

    None if the metric is not a sum over documents and pairs with one weight per rank.
    """
    labels = np.resize(np.arange(max_grade + 1.0), max(longest, max_grade + 1))  # all labels
    plan = metric.bind(Judgments(labels, Queries.single(len(labels))), max_grade=max_grade)
    # a cut-off of 0 says that nothing is divided by the best list: the whole list serves as well
    tables, best = plan.tables, metric.tables(plan.scale, cutoff or None)
    if not (isinstance(tables, QuadraticTables) and isinstance(best, QuadraticTables)):
        return None
    return (tables, *(best.ideal or (best.gain, best.u))) if tables.offset is None else None
