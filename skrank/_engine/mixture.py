"""Weighted sums of metrics, bound to judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.plan import Metric, Plan
from skrank._engine.queries import RankedCodes
from skrank._engine.ranking import Ranking, deepest
from skrank._engine.tables import Scale, Swaps, Tables, sum_in_order
from skrank._engine.threads import cached_property

SETTINGS = ("condensed", "empty", "ties", "average")  # equal for all metrics of a mixture


@dataclass(frozen=True, eq=False)
class SumTables(Tables):
    """Tables of several metrics of one list: of a mixture, or of a metric that is their sum.

    Parameters
    ----------
    parts : tuple of (float, Tables)
        Weights and tables.
    divisor : float
        Divisor of the sum.
    needed : tuple of Tables, optional
        Documents are relevant if they are relevant in all of these tables. Default: the parts.
    """

    parts: tuple[tuple[float, Tables], ...]
    divisor: float = 1.0
    needed: tuple[Tables, ...] = ()

    def check_fit(self, scale: Scale) -> None:
        for _, part in self.parts:
            part.check_fit(scale)

    @property
    def relevant(self) -> np.ndarray:
        needed = self.needed or [part for _, part in self.parts]
        return np.logical_and.reduce([part.relevant for part in needed])

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """The weighted sum; `inverse` may have a row for each part."""
        rows = np.broadcast_to(inverse, (len(self.parts), inverse.shape[-1]))
        pairs = zip(self.parts, rows, strict=True)
        total = sum_in_order(weight * part.values(ranked, row) for (weight, part), row in pairs)
        return total / self.divisor

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sums, one row per part."""
        return np.stack([part.ideals(judgments) for _, part in self.parts])

    def swaps(self, judgments: Judgments) -> list[Swaps]:
        return [one for _, part in self.parts for one in part.swaps(judgments)]


class MixturePlan(Plan):
    """A mixture bound to judgments: the plans of its metrics.

    Parameters
    ----------
    metric : Mixture
    parts : sequence of (float, Plan)
        Weight and plan of each metric.
    judgments : Judgments
    """

    def __init__(
        self, metric: Metric, parts: Sequence[tuple[float, Plan]], judgments: Judgments
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        self.parts = parts
        plans = [plan for _, plan in parts]
        self.max_grade = plans[0].max_grade
        # In each metric, documents are relevant from some label on. So a query has no document that
        # is relevant for all metrics if and only if it is empty for one of them.
        needed = tuple(plan.tables for plan in plans if plan.metric.needs_relevant)
        self.tables = SumTables(
            tuple((weight, plan.tables) for weight, plan in parts), needed=needed
        )
        self.depth = deepest([plan.depth for plan in plans])

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

    def slope(self) -> np.ndarray:
        """Change of the mixture per unit of the normalised sum of each metric (row)."""
        return np.stack([weight * plan.slope() for weight, plan in self.parts])

    def measure(self, ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Sums of weighted values, NaN if one is NaN, and weights, 0 if one skips the query."""
        values, weights = zip(*(plan.measure(ranking) for _, plan in self.parts), strict=True)
        factors = [factor for factor, _ in self.parts]
        total = sum_in_order(a * one for a, one in zip(factors, values, strict=True))
        return total, np.prod(weights, axis=0)


def check_terms(terms: Sequence[tuple[float, Metric]]) -> None:
    """Refuse metrics that cannot be added."""
    first = terms[0][1]
    for _, one in terms:
        for name in (*SETTINGS, "greater_is_better"):
            a, b = getattr(first, name), getattr(one, name)
            if a != b or (name == "average" and a != "macro"):
                raise ValueError(
                    f"{first} has {name}={a!r} and {one} has {name}={b!r}: metrics of a mixture "
                    "must agree on it, and means must be arithmetic (average='macro')."
                )
