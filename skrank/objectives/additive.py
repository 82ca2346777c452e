"""Position bias as a shift of scores, which is learned in training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.judgments import Judgments
from skrank._engine.parameters import count, number
from skrank._typing import Weights
from skrank.metrics import Metric
from skrank.objectives._bound import BoundObjective
from skrank.objectives._positions import BoundPositionObjective, PositionBias, PositionObjective
from skrank.objectives.base import Objective, as_objective, metric_of

_LEAST_CURVATURE = 1e-3  # added to the curvature of each bias, as in LightGBM
_SUMMED = 2**16  # rows that are copied to double precision at a time


@dataclass(frozen=True)
class AdditivePositionBias(PositionObjective):
    r"""An objective for clicks: the score of a document is shifted by a bias of its position.

    The model is that clicks depend on the score of a document plus a bias of its position. The
    wrapped objective is trained on that sum. Biases are learned by one Newton step per round, and
    are not part of predictions. LightGBM's lambdarank treats positions in this way.

    Parameters
    ----------
    objective : str, Metric or Objective
        The wrapped objective; a metric or its name stands for `skrank.LambdaRank` on the metric.
    learning_rate : float
        Factor of the Newton steps, in (0, 1]. LightGBM uses the learning rate of its trees, 0.1 by
        default.
    regularization : float
        Weight r of the penalty on the biases: r n b^2 / 2 for the bias b of a position of n
        documents. LightGBM calls it ``lambdarank_position_bias_regularization``.
    max_position : int, optional
        Larger positions share the bias of this one. Default: each position has its own bias.

    Notes
    -----
    Positions come from ``position=`` of `GroupedRanker.fit`, or of a LightGBM Dataset, which
    numbers them anew from 0 on, in the order of their first occurrence. Everywhere else they are
    the order of the rows inside their query: sort the rows of a query as they were shown.

    The biases are learned from round to round. `skrank.GroupedRanker` and the functions `cv` begin
    each training with biases of 0. Before a further `lightgbm.train` or `xgboost.train` with the
    same callable and data set, call ``restart()`` of the callable, which otherwise starts from
    the biases of the last training.

    Only differences between biases matter.

    References
    ----------
    Treat position bias via GAM in LambdaMART, LightGBM, pull request 5929, 2023.

    Examples
    --------
    >>> import skrank
    >>> additive = skrank.AdditivePositionBias("ndcg")
    >>> grad, hess = additive([1, 0, 0], [0.0, 0.0, 0.0])  # the first round: all biases are 0
    >>> bool(grad[0] < 0)
    True
    """

    name = "additive_position_bias"

    objective: Objective
    _: KW_ONLY
    max_position: int | None = count(None, "the largest position")
    learning_rate: float = number(0.1, 0, 1, open_low=True)
    regularization: float = number(0.0, 0, 1e9)

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = as_objective(self.objective)
        if inner.takes_positions:
            raise ValueError(f"{type(inner).__name__} learns about positions itself: use it alone.")
        self._set(objective=inner)

    @property
    def metric(self) -> Metric:
        """The metric of the wrapped objective; for a mixture, the first metric."""
        found = metric_of(self.objective)
        if found is None:  # as if this property did not exist, for `hasattr`
            raise AttributeError(f"{self.objective} has no metric.")
        return found

    def on_scale(self, max_grade: int) -> AdditivePositionBias:
        """A copy with `on_scale` applied to the wrapped objective."""
        return replace(self, objective=self.objective.on_scale(max_grade))

    def bind(
        self,
        judgments: Judgments,
        weights: Weights = None,
        *,
        max_grade: int | None = None,
        positions: ArrayLike | None = None,
    ) -> BoundAdditivePositionBias:
        """The objective bound to judgments, with one weight per query and one position per row."""
        bias = PositionBias(judgments.queries, positions, self.max_position, bias=0.0)
        parts = self.objective.bind_blocks(judgments, weights, max_grade)
        return BoundAdditivePositionBias(self, parts, bias)


class BoundAdditivePositionBias(BoundPositionObjective):
    """An objective bound to a data set, and the biases of its positions."""

    def __init__(
        self,
        objective: AdditivePositionBias,
        parts: list[tuple[slice, BoundObjective]],
        bias: PositionBias,
    ) -> None:
        super().__init__(parts, bias)
        self.objective = objective
        self.penalty = objective.regularization * np.bincount(bias.codes)

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` at the shifted scores, and take a Newton step for the biases."""
        bias, all_codes = self.position_bias.estimates["bias"], self.position_bias.codes
        slope, curvature = self.penalty * bias, self.penalty.copy()
        for rows, bound in self.parts:
            bound.gradient(scores[rows] + bias[all_codes[rows]], grad[rows], hess[rows])
        # slices do not depend on the blocks, as random draws depend on the last bits of biases
        for start in range(0, len(scores), _SUMMED):
            rows = slice(start, start + _SUMMED)
            slope += np.bincount(all_codes[rows], grad[rows], len(bias))
            curvature += np.bincount(all_codes[rows], hess[rows], len(bias))
        bias -= self.objective.learning_rate * slope / (curvature + _LEAST_CURVATURE)
