"""`Definition`: the attributes and methods that a metric class defines or overrides."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.parameters import Parameterised, choice, count, flag
from skrank._engine.tables import Line, Lists, Scale, Smooth, Tables

ORDERLESS = "its value does not depend on the order of the whole list; add a cut-off."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Definition(Parameterised, ABC):
    """The part of `Metric` that a `Plan` reads. `Metric` adds the methods that users call."""

    names: ClassVar[tuple[str, ...]] = ()  # name and aliases, which `register` sets
    unnamed: ClassVar[tuple[str, ...]] = ("k",)  # fields that `str` does not put into brackets
    function: ClassVar[str] = ""  # name of its score function
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")  # choices for `average`
    strict: ClassVar[bool] = False  # ties are refused: no closed form of the mean over their orders
    orderless: ClassVar[bool] = False  # without a cut-off, all orders of a list have one value
    cut_instead: ClassVar[str | None] = None  # if `k` is not allowed: a metric with a cut-off

    greater_is_better = True
    needs_relevant = True  # whether it is undefined for queries without a relevant document
    value_range = "[0, 1]"

    k: int | None = count(None, "the number of top ranks that count")
    condensed: bool = flag(False)
    empty: str | int = choice("skip", check.EMPTY_CHOICES)
    ties: str = choice("average", check.TIES_CHOICES)
    average: str = "macro"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(average=check.check_choice("average", self.average, self.averages))
        if self.cut_instead is not None:
            check.refuse_cutoff(self.first_name, self.k, self.cut_instead)

    @abstractmethod
    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Arrays that define the sum of this metric with the cut-off `k`, before normalisation."""

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the ideal list whose sum is the divisor; None: no cut-off; 0: no divisor."""
        return 0

    @property
    def untrainable(self) -> str | None:
        """Reason why LambdaRank cannot train on this metric, with an alternative; else None."""
        return ORDERLESS if self.orderless and self.k is None else None

    @property
    def smooth(self) -> Smooth | None:
        """The form that SoftRank trains on; None if there is none."""
        return None

    def discount_at(self, rank: np.ndarray) -> np.ndarray | None:
        """Discount of each rank, from 1 on, if this is a sum of discounted gains; else None."""
        return None

    @property
    def top_grade(self) -> int | None:
        """Highest grade of the collection, if a parameter fixes it; else None."""
        return getattr(self, "max_grade", None)

    @property
    def needs_scale(self) -> bool:
        """Whether values depend on a highest grade of the collection that no parameter fixes."""
        return False

    def line(self, lists: Lists) -> Line:
        """The linear function from normalised sums to values. Default: the normalised sums."""
        return Line()

    def mass(self, lists: Lists) -> np.ndarray | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    @property
    def __name__(self) -> str:  # `sklearn.metrics.make_scorer` needs it
        return str(self)

    def __str__(self) -> str:
        changed = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in self.unnamed and value != field.default:
                changed.append(f"{field.name}={format_value(value)}")
        inside = f"({','.join(changed)})" if changed else ""
        return self.first_name + inside + ("" if self.k is None else f"@{self.k}")

    @property
    def first_name(self) -> str:
        """The name in reports, without parameters."""
        kind: type = type(self)
        return self.names[0] if self.names else kind.__name__


def bounds_of(metric: Definition) -> tuple[float, float]:
    """The two numbers of `value_range`, such as (0.0, inf) for "[0, inf)"."""
    low, high = metric.value_range[1:-1].split(",")
    return float(low), float(high)


def format_value(value: object) -> str:
    """The text of a parameter, such as "[1,2]" or "{0:1,3:7}", as `skrank.metric` reads it."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return "{" + ",".join(f"{format_value(a)}:{format_value(b)}" for a, b in value) + "}"
        return "[" + ",".join(map(format_value, value)) + "]"
    if isinstance(value, str):
        constant = value in ("False", "None", "True")
        bare = value.isascii() and value.isidentifier() and not constant
        return value if bare else repr(value)
    return repr(value.item() if isinstance(value, np.generic) else value)
