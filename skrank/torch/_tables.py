"""Quadratic metrics as tensors: tables by whole label, from the same definitions as the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from skrank._engine.judgments import Judgments
from skrank._engine.plan import Plan
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import Queries
from skrank._engine.tables import Lists
from skrank.metrics import Metric

_LONGEST_LINE = 2048  # documents; a table of sizes and relevant documents stays small


@dataclass(frozen=True, eq=False)
class TensorTables:
    """``sum_r u_r g(y_r) + sum_{s<r} w_r min(g(y_s), g(y_r))``, divided by its best value.

    Attributes
    ----------
    members : Tensor (n_labels, n_classes)
        1 at the class of each label 0, 1, 2, ...; higher classes gain more.
    gain : Tensor (n_classes,)
    u : Tensor (longest,)
    w : Tensor (longest,) or None
        None where pairs do not count.
    ideal : (Tensor (n_classes,), Tensor (longest + 1,)) or None
        Worth per class and summed weight of the ranks before each, of the best list; None where a
        metric is not divided by it.
    relevant : Tensor (n_classes,)
        1 for relevant documents.
    needs_relevant : bool
    slope : Tensor (longest + 1, longest + 1) or float
        Change of the value per unit of the sum, by documents and relevant documents of a query.
    """

    members: torch.Tensor
    gain: torch.Tensor
    u: torch.Tensor
    w: torch.Tensor | None
    ideal: tuple[torch.Tensor, torch.Tensor] | None
    relevant: torch.Tensor
    needs_relevant: bool
    slope: torch.Tensor | float

    def inverse(self, counts: torch.Tensor) -> torch.Tensor:
        """One over the best sum of each query, times the slope; 0 where nothing is to be learned.

        Parameters
        ----------
        counts : Tensor (n_queries, n_classes)
            Documents of each class.
        """
        relevant = counts @ self.relevant
        inverse = torch.ones_like(relevant)
        if self.ideal is not None:
            worth, before = self.ideal
            best_first = counts.flip(1).cumsum(1).to(torch.int64)
            reached = before[best_first]
            steps = torch.diff(reached, dim=1, prepend=torch.zeros_like(reached[:, :1]))
            best = steps @ worth.flip(0)
            inverse = torch.where(best > 0, 1.0 / best, torch.zeros_like(best))
        if self.needs_relevant:
            inverse = torch.where(relevant > 0, inverse, torch.zeros_like(inverse))
        if isinstance(self.slope, float):
            return inverse * self.slope
        return inverse * self.slope[counts.sum(1).to(torch.int64), relevant.to(torch.int64)]


def refusal(metric: Metric) -> str | None:
    """Why a metric has no tables by label alone; else None."""
    for _, one in metric.terms:
        tables = _plan(one, np.zeros(8), 1).tables
        if not isinstance(tables, QuadraticTables):
            return f"{one} is no sum over documents and pairs of documents"
        if tables.offset is not None:
            return f"the ranks of {one} weigh differently from query to query"
    return None


class Place(NamedTuple):
    """What tables are made for.

    Attributes
    ----------
    max_grade : int
        Highest label, which is a whole number as all others.
    longest : int
        Length of the longest list.
    device : torch.device
    dtype : torch.dtype
    """

    max_grade: int
    longest: int
    device: torch.device
    dtype: torch.dtype

    def put(self, values: np.ndarray) -> torch.Tensor:
        """Numbers as a tensor."""
        return torch.tensor(values, device=self.device, dtype=self.dtype)


def tables_of(metric: Metric, cutoff: int | None, place: Place) -> TensorTables:
    """The tables of a metric that is no mixture; `cutoff` is the rank that cuts the best list."""
    room = max(16, 1 << (place.longest - 1).bit_length())  # lengths vary from batch to batch
    return _tables(metric, cutoff, place._replace(longest=room))


@lru_cache(maxsize=64)
def _tables(metric: Metric, cutoff: int | None, place: Place) -> TensorTables:
    longest, put = place.longest, place.put
    labels = np.zeros(max(longest, place.max_grade + 1))
    labels[: place.max_grade + 1] = np.arange(place.max_grade + 1)  # each once
    plan = _plan(metric, labels, place.max_grade)
    tables = plan.tables
    assert isinstance(tables, QuadraticTables)
    kernels = tables.lambda_kernels(plan.judgments)
    classes = kernels.codes[: place.max_grade + 1].astype(np.int64)
    first = np.unique(classes, return_index=True)[1]

    ideal = None
    if metric.ideal_cutoff != 0:
        best = metric.tables(plan.scale, cutoff)
        assert isinstance(best, QuadraticTables)
        worth, weights = best.ideal or (best.gain, best.u)
        ideal = put(worth[first]), put(np.append(0.0, np.cumsum(weights[:longest])))
    return TensorTables(
        put(np.eye(len(first))[classes]),
        put(tables.gain[first]),
        put(tables.u),
        None if tables.pairs is None else put(kernels.form.w),
        ideal,
        put(tables.relevant[first]),
        metric.needs_relevant,
        _slope(metric, place),
    )


def _plan(metric: Metric, labels: np.ndarray, max_grade: int) -> Plan:
    """The metric on one query."""
    return metric.bind(Judgments(labels, Queries.single(len(labels))), max_grade=max_grade)


def _slope(metric: Metric, place: Place) -> torch.Tensor | float:
    """Change of the value per unit of the sum, by documents and relevant documents."""
    grid = np.arange(min(place.longest, _LONGEST_LINE) + 1.0)
    total, relevant = (one.ravel() for one in np.meshgrid(grid, grid, indexing="ij"))
    shown = np.minimum(total, metric.k or place.longest)
    steepness = np.broadcast_to(metric.line(Lists(shown, relevant, total)).steepness, total.shape)
    if np.all(steepness == steepness[-1]):
        return float(steepness[-1])
    if place.longest > _LONGEST_LINE:
        raise ValueError(
            f"{metric} has tables for lists of up to {_LONGEST_LINE} documents: use path='kernels'."
        )
    return place.put(steepness.reshape(len(grid), len(grid)))
