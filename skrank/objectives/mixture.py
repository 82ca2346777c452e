"""Weighted sums of objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank.objectives._as_objective import as_objective
from skrank.objectives.base import BoundLoss, BoundObjective, Objective, SharedRounds

_EXAMPLE = "(0.9, LambdaRank('gap')), (0.1, SquaredError())"


@dataclass(frozen=True)
class ObjectiveMixture(Objective):
    """A weighted sum of objectives: ``0.9 * LambdaRank("gap") + 0.1 * SquaredError()``.

    As a text, ``"0.9*lambdarank:gap+0.1*squared_error"``.

    The gradient is the weighted sum of the gradients of the parts; so is the curvature. Weights are
    not normalised. A mixture can be used wherever an objective can.

    `LambdaRank` on a mixture of metrics, ``LambdaRank("0.7*gap+0.3*ndcg@10")``, differs from a
    mixture of two `LambdaRank` objectives: it applies `sum_norm` to the sum of the gradients of a
    query, while a mixture of objectives adds gradients to which `sum_norm` was applied.

    Parameters
    ----------
    parts : sequence of (float, Objective, Metric or str)
        Weights above 0, and objectives, or texts such as "softmax"; a metric stands for
        `LambdaRank` on the metric. A mixture among the objectives is replaced by its parts.

    Raises
    ------
    ValueError
        If there is no part, a weight is not above 0, or a part is not an objective or learns about
        positions.

    Examples
    --------
    >>> import skrank
    >>> both = 0.9 * skrank.LambdaRank("gap") + 0.1 * skrank.SquaredError()
    >>> grad, hess = both([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 1.095, -0.921, -0.247])
    """

    needs_room = True  # memory for the gradient of one part

    parts: tuple[tuple[float, Objective], ...]

    def __post_init__(self) -> None:
        terms = tuple(
            (weight * inner, one)
            for weight, part in check.check_parts(self.parts, as_objective, _EXAMPLE)
            for inner, one in part.terms
        )
        for weight, one in terms:
            if not 0 < weight < math.inf:
                raise ValueError(f"the weight of {one} is {weight}: it must be above 0.")
            if one.takes_positions:
                raise ValueError(
                    f"{type(one).__name__} learns about positions from the whole gradient: it "
                    "cannot be part of a mixture. Mix inside it: AdditivePositionBias(mixture)."
                )
        self._set(parts=terms)

    def __str__(self) -> str:
        return "+".join(f"{weight!r}*{one}" for weight, one in self.parts)

    @property
    def terms(self) -> tuple[tuple[float, Objective], ...]:
        """The weights and objectives."""
        return self.parts

    @property
    def is_function(self) -> bool:
        """True if each part is a loss function."""
        return all(one.is_function for _, one in self.parts)

    @property
    def by_query(self) -> bool:
        """True if each part is `by_query`."""
        return all(one.by_query for _, one in self.parts)

    def map(self, change: Callable[[Objective], Objective]) -> ObjectiveMixture:
        """The mixture of changed objectives, with the same weights."""
        return ObjectiveMixture(tuple((weight, change(one)) for weight, one in self.parts))

    def on_scale(self, max_grade: int) -> ObjectiveMixture:
        """The mixture of the objectives with this highest grade of the collection."""
        return self.map(lambda one: one.on_scale(max_grade))

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> BoundObjectiveMixture:
        """The objectives bound to judgments, with one weight per query."""
        parts = [
            (weight, one.bind(judgments, weights, max_grade=max_grade))
            for weight, one in self.parts
        ]
        return BoundObjectiveMixture(self, parts)


Objective.mixture = ObjectiveMixture


class BoundObjectiveMixture(SharedRounds):
    """A mixture of objectives bound to a data set, which count their rounds together."""

    def __init__(
        self, objective: ObjectiveMixture, parts: list[tuple[float, BoundObjective]]
    ) -> None:
        self.objective = objective
        self.parts = parts
        self.bounds = [bound for _, bound in parts]

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        for _, bound, out in self._add(grad, hess):
            bound.gradient(scores, *out)

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        """Loss of each query, if all parts are loss functions; fills `grad` and `hess`."""
        return np.sum(
            [
                weight * cast(BoundLoss, bound).losses(scores, *out)
                for weight, bound, out in self._add(grad, hess)
            ],
            axis=0,
        )

    def _add(
        self, grad: np.ndarray, hess: np.ndarray
    ) -> Iterator[tuple[float, BoundObjective, tuple[np.ndarray, np.ndarray]]]:
        """Yields each part with its weight and two arrays; adds the filled arrays to the sums."""
        part_grad, part_hess = np.empty_like(grad), np.empty_like(hess)
        grad[:], hess[:] = 0, 0
        for weight, bound in self.parts:
            yield weight, bound, (part_grad, part_hess)
            with np.errstate(over="ignore", invalid="ignore"):
                for total, part in ((grad, part_grad), (hess, part_hess)):
                    part *= weight  # in place, to save memory
                    total += part
        check.check_gradients(grad, hess, self.objective)
