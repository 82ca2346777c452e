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

    Documents reach levels, each of which gains more than the one before.

    Attributes
    ----------
    floors : Tensor (n_levels,)
        Lowest label of each level; documents of lower labels gain nothing.
    steps : Tensor (n_levels,)
        What a level gains above the one before.
    u : Tensor (longest,)
    w : Tensor (longest,) or None
        None where pairs do not count.
    ideal : (Tensor (n_levels,), Tensor (longest + 1,)) or None
        Worth of a level above the one before, and summed weight of the ranks before each, of the
        best list; None where a metric is not divided by it.
    needs_relevant : bool
    slope : Tensor (longest + 1, longest + 1) or float
        Change of the value per unit of the sum, by documents and relevant documents of a query.
    """

    floors: torch.Tensor
    steps: torch.Tensor
    u: torch.Tensor
    w: torch.Tensor | None
    ideal: tuple[torch.Tensor, torch.Tensor] | None
    needs_relevant: bool
    slope: torch.Tensor | float

    def inverse(self, reached: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """One over the best sum of each query, times the slope; 0 where nothing is to be learned.

        Parameters
        ----------
        reached : int Tensor (n_levels, n_queries)
            Documents that reach each level.
        sizes : int Tensor (n_queries,)
            All documents.
        """
        relevant = reached[0]
        if self.ideal is None:
            inverse = torch.ones_like(relevant, dtype=self.steps.dtype)
        else:
            worth, before = self.ideal
            best = worth @ before[reached]
            inverse = torch.where(best > 0, 1.0 / best, 0.0)
        if self.needs_relevant:
            inverse = torch.where(relevant > 0, inverse, 0.0)
        if isinstance(self.slope, float):
            return inverse * self.slope
        return inverse * self.slope[sizes, relevant]


def weigh(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Sum of tensors (n, n_queries, n_documents), each times its weight."""
    return (weights @ values.reshape(len(weights), -1)).view(values.shape[1:])


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
    gain, n_labels = tables.gain[: place.max_grade + 1], place.max_grade + 1
    steps = np.diff(gain, prepend=0.0, append=gain[-1])
    if steps.min() < 0:
        raise ValueError(f"a higher label gains less of {metric}: use path='kernels'.")
    floors = np.flatnonzero(steps)
    if len(floors) == 0:  # no label gains anything: a level that none reaches
        floors = np.array([n_labels])
    if tables.pairs is not None:
        worth = tables.pairs.worth(np.arange(n_labels))
        if not np.array_equal(worth, np.minimum.outer(gain, gain)):
            raise ValueError(
                f"pairs of documents are not worth the lesser gain to {metric}: use path='kernels'."
            )

    ideal = None
    if metric.ideal_cutoff != 0:
        best = metric.tables(plan.scale, cutoff)
        assert isinstance(best, QuadraticTables)
        worth, weights = best.ideal or (best.gain, best.u)
        rises = np.diff(worth[:n_labels], prepend=0.0, append=worth[n_labels - 1])[floors]
        ideal = put(rises), put(np.append(0.0, np.cumsum(weights[:longest])))
    return TensorTables(
        put(floors),
        put(steps[floors]),
        put(tables.u),
        None if tables.pairs is None else put(tables.pairs.weights),
        ideal,
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
