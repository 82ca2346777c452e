"""What metrics that count share: numbers of queries and documents, whatever their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Scale, discounts


@dataclass(frozen=True, kw_only=True)
class CountMetric(Metric):
    """A number of documents of a query; those of all queries are added up."""

    averages: ClassVar[tuple[str, ...]] = ("sum", "macro")
    value_range: ClassVar[str] = "[0, inf)"
    needs_relevant: ClassVar[bool] = False

    untrainable: ClassVar[str | None] = "it counts documents: train on ap, or on precision@k."

    average: str = "sum"

    def counted(self, scale: Scale) -> np.ndarray:
        """Whether documents of each code are counted; none where sizes of lists say it all."""
        return np.zeros(len(scale.labels), bool)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum counts the documents shown."""
        worth = self.counted(scale).astype(np.float64)
        return QuadraticTables(worth, discounts(np.ones_like, scale.longest, k))


@dataclass(frozen=True, kw_only=True)
class RelevantCount(CountMetric):
    """A number of relevant documents."""

    rel: float = parameter(1.0, check.check_rel)

    def counted(self, scale: Scale) -> np.ndarray:
        """Labels of at least `rel`."""
        return scale.labels >= self.rel
