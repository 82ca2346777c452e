"""Weighted sums of metrics: metrics themselves, with names, plans and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Metric
from skrank._engine.mixture import MixturePlan, MixtureTables
from skrank._engine.names import metric
from skrank._engine.tables import Scale

_AS_PARTS: Any = None  # the settings of the metrics of a mixture
SETTINGS = ("condensed", "empty", "ties", "average")  # on which the metrics of a mixture agree


@dataclass(frozen=True, kw_only=True)
class Mixture(Metric):
    r"""A weighted sum of metrics: ``0.7 * metric("gap") + 0.3 * metric("ndcg@10")``.

    .. math:: M = \sum_i w_i M_i

    It is a metric like any other: it has a name that parses back, and serves wherever a metric or
    its name does, in training too. The weights are taken as they are: with weights that sum to 1,
    a mixture of metrics with range [0, 1] has range [0, 1].

    Parameters
    ----------
    parts : sequence of (float, Metric or str)
        Weights above 0, and what they weigh. Mixtures among them are taken apart.
    k, condensed, empty, ties
        Given here, they replace those of all metrics: ``dataclasses.replace(mixture, empty=0)``,
        ``mixture @ 10``. Default: what the metrics say; on all but `k` they must agree.
    average : {"macro"}
        The mean over queries is arithmetic, so that it is the mixture of the means of the metrics
        where they count the same queries.

    Raises
    ------
    ValueError
        If the metrics disagree on a setting, some are better when higher and others when lower, a
        mean is not arithmetic, or a weight is not above 0.

    Notes
    -----
    The value of a query is the weighted sum of the values that the metrics give it. It is not
    defined where one of them is not: with ``empty="skip"`` a query counts only where all metrics
    count. With ``empty=0`` or 1 a metric that is not defined contributes 0 or its weight.

    As an objective: no trainable metric falls when a better document moves up, so that the swap
    deltas of a mixture are the weighted sums of those of its metrics, each divided by its best
    value as `skrank.LambdaRank` does for one metric. A query that only some of the metrics know is
    trained on for these.

    Examples
    --------
    >>> import skrank
    >>> mixture = 0.7 * skrank.metric("gap") + 0.3 * skrank.metric("ndcg@10")
    >>> str(mixture)
    '0.7*gap+0.3*ndcg@10'
    >>> skrank.metric("0.7*gap+0.3*ndcg@10") == mixture
    True
    >>> round(mixture([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.9114
    """

    names = ("mixture",)  # for messages: not registered

    parts: tuple[tuple[float, Metric], ...] = ()
    condensed: bool = _AS_PARTS
    empty: str | int = _AS_PARTS
    ties: str = _AS_PARTS
    average: str = _AS_PARTS

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("k", *SETTINGS)}
        changes = {name: value for name, value in given.items() if value is not None}
        terms = [
            (weight * inner, replace(one, **changes) if changes else one)
            for weight, part in check.check_parts(
                self.parts, metric, "(0.7, 'gap'), (0.3, 'ndcg@10')"
            )
            for inner, one in part.terms
        ]
        _check(terms)
        first = terms[0][1]
        self._set(
            parts=tuple(terms),
            k=None,  # each part has its own
            **{name: getattr(first, name) for name in SETTINGS},
        )

    @property
    def terms(self) -> tuple[tuple[float, Metric], ...]:
        """The weights and metrics."""
        return self.parts

    @property
    def greater_is_better(self) -> bool:
        """The direction of all metrics."""
        return self.parts[0][1].greater_is_better

    @property
    def needs_relevant(self) -> bool:
        """Whether one of the metrics does."""
        return any(one.needs_relevant for _, one in self.parts)

    @property
    def needs_scale(self) -> bool:
        """Whether one of the metrics does."""
        return any(one.needs_scale for _, one in self.parts)

    def on_scale(self, max_grade: int) -> Mixture:
        """The mixture of the metrics on that scale."""
        return self.map(lambda one: one.on_scale(max_grade))

    def bind(self, judgments: Judgments, *, max_grade: int | None = None) -> MixturePlan:
        """One plan per metric."""
        plans = [(weight, one.bind(judgments, max_grade=max_grade)) for weight, one in self.parts]
        return MixturePlan(self, plans, judgments)

    @property
    def ideal_cutoff(self) -> int | None:
        """0 if no metric is divided by its best value; each metric has its own otherwise."""
        return 0 if all(one.ideal_cutoff == 0 for _, one in self.parts) else None

    @property
    def untrainable(self) -> str | None:
        """What keeps the first of its metrics from being trained on."""
        reasons = ((one, one.untrainable) for _, one in self.parts)
        return next((f"{one}: {reason}" for one, reason in reasons if reason), None)

    def tables(self, scale: Scale, k: int | None) -> MixtureTables:
        """Those of the metrics side by side, each with its own cut-off and scale of grades."""
        return self.bind(scale.judgments, max_grade=scale.max_grade).tables

    def map(self, change: Callable[[Metric], Metric]) -> Mixture:
        """The mixture of changed metrics, with the same weights."""
        return Mixture(parts=tuple((weight, change(one)) for weight, one in self.parts))

    def __matmul__(self, k: int) -> Mixture:
        """The mixture of the metrics cut at rank `k`."""
        return self.map(lambda one: one @ k)

    def __str__(self) -> str:
        return "+".join(f"{weight!r}*{one}" for weight, one in self.parts)


Metric.mixture = Mixture


def _check(terms: list[tuple[float, Metric]]) -> None:
    """Metrics that can be added."""
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
                f"{one} has average={one.average!r}: a mixture is the mean of sums over queries, "
                "which only the arithmetic mean leaves the sum of means. Use average='macro'."
            )
        for name in SETTINGS:
            a, b = getattr(first, name), getattr(one, name)
            if a != b:
                raise ValueError(
                    f"{first} has {name}={a!r} and {one} has {name}={b!r}: metrics of a mixture "
                    f"must agree on it. Give both the same {name}."
                )
