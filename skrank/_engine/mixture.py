"""Weighted sums of metrics, bound to judgments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.plan import Definition, Plan
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking, deepest
from skrank._engine.tables import LambdaKernels, Tables, sum_in_order
from skrank._engine.threads import cached_property

SETTINGS = ("condensed", "empty", "ties", "average")  # equal for all metrics of a mixture


@dataclass(frozen=True, eq=False)
class MixtureTables(Tables):
    """The tables of the metrics of a mixture.

    Normalisers have one row per metric, which is multiplied by the weight of the metric.
    """

    parts: tuple[Tables, ...]
    need_relevant: tuple[bool, ...]

    @property
    def relevant(self) -> np.ndarray:
        """Whether documents are relevant for all metrics with `needs_relevant`.

        For each metric, documents are relevant from some label on. So a query has no such document
        if and only if the query is empty for the metric with the highest of these labels.
        """
        relevant = np.stack([tables.relevant for tables in self.parts])
        needed = np.array(self.need_relevant)
        return np.logical_and.reduce(relevant[needed] if needed.any() else relevant)

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Sum over the metrics, with one row of `inverse` for each."""
        pairs = zip(self.parts, inverse, strict=True)
        return sum_in_order(tables.values(ranked, one) for tables, one in pairs)

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sums, one row per metric."""
        return np.stack([tables.ideals(judgments) for tables in self.parts])

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Raises: the deltas of the metrics cannot be added without their normalisers."""
        raise TypeError("a mixture has no swap deltas of its own: compute those of its metrics.")

    def lambda_kernels(self, judgments: Judgments) -> list[LambdaKernels]:
        return [one for tables in self.parts for one in tables.lambda_kernels(judgments)]


class MixturePlan(Plan):
    """A mixture bound to judgments: the plans of its metrics.

    Parameters
    ----------
    metric : Mixture
    parts : sequence of (float, Plan)
        Weight and plan of each metric.
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
        """Whether each query is empty for at least one of the metrics."""
        return np.logical_or.reduce([plan.empty for _, plan in self.parts])

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sums, one row per metric, at the lower of `cutoff` and its own k."""
        inverses = []
        for _, plan in self.parts:
            own = plan.metric
            level = min(filter(None, (own.k, cutoff)), default=None)
            inverses.append(plan.inverse_ideal(0 if own.ideal_cutoff == 0 else level))
        return np.stack(inverses)

    @property
    def depth(self) -> int | None:
        """Largest number of ranks that a metric reads; None if a metric reads all."""
        return deepest([plan.depth for _, plan in self.parts])

    def slope(self) -> np.ndarray:
        """Change of the mixture per unit of the normalised sum of each metric (row)."""
        return np.stack([weight * plan.slope() for weight, plan in self.parts])

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query; NaN if the value of a metric is NaN."""
        return sum_in_order(weight * plan.values(ranking) for weight, plan in self.parts)

    def mass(self, ranking: Ranking) -> np.ndarray:
        """Weight of each query in the mean: 0 if a metric skips the query."""
        return np.prod([plan.mass(ranking) for _, plan in self.parts], axis=0)


def check_terms(terms: Sequence[tuple[float, Definition]]) -> None:
    """Refuse metrics that cannot be added."""
    first = terms[0][1]
    for weight, one in terms:
        if not 0 < weight < math.inf:
            raise ValueError(f"the weight of {one} is {weight}: it must be above 0.")
        if one.greater_is_better != first.greater_is_better:
            higher, lower = (first, one) if first.greater_is_better else (one, first)
            raise ValueError(
                f"{higher} is better when higher and {lower} when lower: their sum has no "
                "direction. Mix metrics of one direction, such as accuracy for error."
            )
        if one.average != "macro":
            raise ValueError(
                f"{one} has average={one.average!r}: a mixture needs arithmetic means over "
                "queries, since only these add up. Use average='macro'."
            )
        for name in SETTINGS:
            a, b = getattr(first, name), getattr(one, name)
            if a != b:
                raise ValueError(
                    f"{first} has {name}={a!r} and {one} has {name}={b!r}: metrics of a mixture "
                    f"must agree on it. Give both the same {name}."
                )
