"""Base classes of metrics that ignore the order of the retrieved documents: ratios and counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Line, Lists, Scale, discounts


@dataclass(frozen=True, kw_only=True)
class HitsMetric(Metric):
    """A metric of the number of hits among the first k documents, or among all retrieved."""

    @abstractmethod
    def hits(self, scale: Scale) -> np.ndarray:
        """Whether documents of each code are hits."""

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum is the number of hits among the first k documents."""
        counted = self.hits(scale).astype(np.float64)
        return QuadraticTables(counted, discounts(np.ones_like, scale.longest, k))


@dataclass(frozen=True, kw_only=True)
class SetMetric(HitsMetric):
    """A ratio of two counts over the first k documents, or over all retrieved documents."""

    averages: ClassVar[tuple[str, ...]] = ("macro", "micro", "geometric")
    orderless: ClassVar[bool] = True

    @abstractmethod
    def line(self, lists: Lists) -> Line:
        """The ratio as a linear function of the number of hits."""

    def mass(self, lists: Lists) -> np.ndarray | None:
        """For "micro", the denominators, so that the mean is the ratio of the summed counts."""
        if self.average != "micro":
            return None
        return np.broadcast_to(self.line(lists).divisor, lists.shown.shape)


@dataclass(frozen=True, kw_only=True)
class RelevantSet(SetMetric):
    """A set metric that counts relevant documents."""

    rel: float = parameter(1.0, check.check_rel)

    def hits(self, scale: Scale) -> np.ndarray:
        """Labels of at least `rel`."""
        return scale.labels >= self.rel


@dataclass(frozen=True, kw_only=True)
class CountMetric(HitsMetric):
    """A number of documents of a query; by default, values of all queries are added up."""

    averages: ClassVar[tuple[str, ...]] = ("sum", "macro")
    value_range = "[0, inf)"
    needs_relevant = False

    untrainable: ClassVar[str | None] = "it counts documents: train on ap, or on precision@k."

    average: str = "sum"

    def hits(self, scale: Scale) -> np.ndarray:
        """No documents: subclasses that count only retrieved documents need no hits."""
        return np.zeros(len(scale.labels), bool)


@dataclass(frozen=True, kw_only=True)
class RelevantCount(CountMetric):
    """A number of relevant documents."""

    rel: float = parameter(1.0, check.check_rel)

    def hits(self, scale: Scale) -> np.ndarray:
        """Labels of at least `rel`."""
        return scale.labels >= self.rel
