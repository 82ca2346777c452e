"""Weighted sums of metrics, bound to judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.order import RankedCodes
from skrank._engine.plan import Definition, Plan
from skrank._engine.ranking import Ranking
from skrank._engine.tables import LambdaKernels, Tables


@dataclass(frozen=True, eq=False)
class MixtureTables(Tables):
    """The tables of the metrics of a mixture.

    Normalisers have one row per metric, which holds the weight of the metric too.
    """

    parts: tuple[Tables, ...]
    need_relevant: tuple[bool, ...]

    @property
    def relevant(self) -> np.ndarray:
        """Whether documents are relevant to all metrics that need any: labels from some label on.

        Each metric has such a label, so that a query without these documents is one that the
        strictest of the metrics does not know.
        """
        relevant = np.stack([tables.relevant for tables in self.parts])
        needed = np.array(self.need_relevant)
        return np.logical_and.reduce(relevant[needed] if needed.any() else relevant)

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Sum over the metrics, with one row of `inverse` for each."""
        pairs = zip(self.parts, inverse, strict=True)
        return np.sum([tables.values(ranked, one) for tables, one in pairs], axis=0)

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sums of each metric, one row for each."""
        return np.stack([tables.ideals(judgments) for tables in self.parts])

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Not without normalisers, which weigh the metrics against each other."""
        raise TypeError("the swap deltas of a mixture are those of its metrics: take them there.")

    def lambda_kernels(self, judgments: Judgments) -> LambdaKernels:
        """Functions that add what the kernels of the metrics give."""
        kernels = [tables.lambda_kernels(judgments) for tables in self.parts]
        gradients = partial(_add_gradients, kernels)
        return LambdaKernels(gradients, partial(_add_neighbours, kernels), judgments.codes, ())


def _add_gradients(
    kernels: list[LambdaKernels],
    first: int,
    last: int,
    indptr: np.ndarray,
    _: np.ndarray,
    order: np.ndarray,
    scores: np.ndarray,
    inverse: np.ndarray,
    *settings_and_outputs: Any,
) -> None:
    """Gradients from all pairs: the pulls of all metrics add up before they are normalised."""
    from skrank._kernels import lambdarank

    *settings, score_norm, sum_norm, widest, grad, hess, totals = settings_and_outputs
    rows, near = _part(first, last, indptr)
    grad_here, hess_here = grad[rows], hess[rows]
    spare = np.empty_like(grad_here), np.empty_like(hess_here), np.empty_like(totals)
    for i, one in enumerate(kernels):
        out = spare if i else (grad_here, hess_here, totals)
        one.gradients(
            first, last, near, one.codes[rows], order[rows], scores[rows], *one.arrays,
            inverse[i], *settings, score_norm, False, widest, *out,
        )  # fmt: skip
        if i:
            grad_here += spare[0]
            hess_here += spare[1]
            totals[first:last] += spare[2][first:last]
    if sum_norm:
        lambdarank.normalise(first, last, indptr, totals, grad, hess)


def _add_neighbours(
    kernels: list[LambdaKernels],
    first: int,
    last: int,
    indptr: np.ndarray,
    _: np.ndarray,
    order: np.ndarray,
    inverse: np.ndarray,
    truncation: int,
    lead: np.ndarray,
) -> None:
    """Changes of the mixture when neighbours in the order swap."""
    rows, near = _part(first, last, indptr)
    here = lead[rows]
    spare = np.empty_like(here)
    for i, one in enumerate(kernels):
        out = spare if i else here
        one.neighbours(
            first, last, near, one.codes[rows], order[rows], *one.arrays, inverse[i], truncation,
            out,
        )  # fmt: skip
        if i:
            here += spare


def _part(first: int, last: int, indptr: np.ndarray) -> tuple[slice, np.ndarray]:
    """Rows of some queries, and first rows among them: what is spare need not be as long as all."""
    return slice(indptr[first], indptr[last]), indptr - indptr[first]


class MixturePlan(Plan):
    """A mixture bound to judgments: the plans of its metrics.

    Parameters
    ----------
    metric : Mixture
    parts : sequence of (float, Plan)
        Weights, and the plans of what they weigh.
    judgments : Judgments
    """

    tables: MixtureTables

    def __init__(
        self, metric: Definition, parts: Sequence[tuple[float, Plan]], judgments: Judgments
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        self.parts = parts
        plans = [plan for _, plan in parts]
        self.scale = plans[0].scale
        self.tables = MixtureTables(
            tuple(plan.tables for plan in plans),
            tuple(plan.metric.needs_relevant for plan in plans),
        )

    @cached_property
    def empty(self) -> np.ndarray:
        """Queries that are empty for one of the metrics."""
        return np.logical_or.reduce([plan.empty for _, plan in self.parts])

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sums, one row per metric, at the lesser of `cutoff` and its own."""

        def level(one: Definition) -> int | None:
            levels = (one.k, cutoff)
            return min((level for level in levels if level is not None), default=None)

        return np.stack(
            [
                plan.inverse_ideal(0 if plan.metric.ideal_cutoff == 0 else level(plan.metric))
                for _, plan in self.parts
            ]
        )

    def slope(self) -> np.ndarray:
        """Change of the mixture per unit of the normalised sum of each metric, one row for each."""
        return np.stack([weight * plan.slope() for weight, plan in self.parts])

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query; NaN where one of the metrics is."""
        return np.sum([weight * plan.values(ranking) for weight, plan in self.parts], axis=0)

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weight of each query in the mean: 0 where one of the metrics leaves it out."""
        return np.prod([plan.mass(ranking) for _, plan in self.parts], axis=0)
