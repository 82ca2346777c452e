"""Weighted sums of metrics: metrics themselves, with names, plans and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import LambdaKernels, Metric, RankedCodes, Scale, Tables, metric
from skrank.metrics.plan import Plan

if TYPE_CHECKING:
    from skrank.metrics.plan import Judgments, Ranking

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
    condensed: bool | None = None  # type: ignore[assignment]  # None: as the parts say
    empty: str | int | None = None  # type: ignore[assignment]
    ties: str | None = None  # type: ignore[assignment]
    average: str | None = None  # type: ignore[assignment]

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
            greater_is_better=first.greater_is_better,
            needs_relevant=any(one.needs_relevant for _, one in terms),
            **{name: getattr(first, name) for name in SETTINGS},
        )

    @property
    def terms(self) -> tuple[tuple[float, Metric], ...]:
        """The weights and metrics."""
        return self.parts

    @property
    def plan_class(self) -> type[Plan]:
        """One plan per metric."""
        return MixturePlan

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
        return MixturePlan(self, scale.judgments, max_grade=scale.max_grade).tables

    def map(self, change: Callable[[Metric], Metric]) -> Mixture:
        """The mixture of changed metrics, with the same weights."""
        return Mixture(parts=tuple((weight, change(one)) for weight, one in self.parts))

    def __matmul__(self, k: int) -> Mixture:
        """The mixture of the metrics cut at rank `k`."""
        return self.map(lambda one: one @ k)

    def __str__(self) -> str:
        return "+".join(f"{weight!r}*{one}" for weight, one in self.parts)


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
    """A mixture bound to judgments: the plans of its metrics."""

    metric: Mixture
    tables: MixtureTables

    def __init__(
        self, metric: Mixture, judgments: Judgments, *, max_grade: int | None = None
    ) -> None:
        self.metric = metric
        self.judgments = judgments
        self.parts = [
            (weight, Plan(one, judgments, max_grade=max_grade)) for weight, one in metric.parts
        ]
        plans = [plan for _, plan in self.parts]
        self.scale = plans[0].scale
        self.tables = MixtureTables(
            tuple(plan.tables for plan in plans),
            tuple(one.needs_relevant for _, one in metric.parts),
        )

    @cached_property
    def empty(self) -> np.ndarray:
        """Queries that are empty for one of the metrics."""
        return np.logical_or.reduce([plan.empty for _, plan in self.parts])

    def inverse_ideal(self, cutoff: int | None) -> np.ndarray:
        """One over the best sums, one row per metric, at the lesser of `cutoff` and its own."""

        def level(one: Metric) -> int | None:
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
