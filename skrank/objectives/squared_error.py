"""Squared error between scores and gains of documents: pointwise, or centred by query."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import flag, parameter
from skrank._engine.tables import Gain, gains_by_label, gains_of
from skrank._kernels import listwise
from skrank._typing import Weights
from skrank.objectives._bound import BoundFunction, fill_by
from skrank.objectives.base import Objective


@dataclass(frozen=True)
class SquaredError(Objective):
    r"""Squared error between the scores and the gains of documents.

    .. math:: \frac12 \sum_i w_i \left(s_i - \frac{\text{gain}(y_i)}{\text{gain}(y_{max})}\right)^2

    with the weight w of the document's query. Targets are in [0, 1], with the same scale for all
    queries of the collection. Regression does well on small collections, alone and in a mixture
    with a ranking objective: ``0.9 * LambdaRank("gap") + 0.1 * SquaredError()``. The squared error
    then bounds the scores.

    If it is centred by query, the mean of the differences s - gain of the query is subtracted from
    each difference. So only the distances inside a query are fitted, which determine the ranking,
    and the mean score of a query is free. CatBoost calls this loss QueryRMSE.

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        Gain of a document of each label, as in `skrank.metrics.DCG`. Documents that were not
        judged have the gain of label 0.
    max_grade : int, optional
        Highest grade of the collection, which has the target 1. Default: that of `with_groups`,
        else the highest label of the training data. Not for a sequence or mapping as `gain`,
        whose highest gain has the target 1.
    centered : bool
        Centre the differences of score and target by query.

    Raises
    ------
    ValueError
        If gains fall as labels rise, all gains are 0, or `max_grade` has no effect. In training: if
        a label has no gain or is above `max_grade`, or a score is not finite.

    Notes
    -----
    Every document counts the same, times the weight of its query. So long queries have more
    influence than short queries. The loss pulls scores to [0, 1], or to distances of at most 1,
    whereas ranking objectives increase the distances of scores without bound. The smaller the
    weight of the squared error in a mixture, the larger the distances of the trained scores.

    The hessian is 1 per document (for XGBoost it is doubled, as that of all objectives of skrank).
    Centred by query, it is 1 - 1 / n for a query of n documents: a query of one document has no
    effect.

    References
    ----------
    D. Cossock, T. Zhang, Subset Ranking Using Regression, COLT 2006.

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.SquaredError(max_grade=2)([0, 2, 1], [0.5, 0.5, 0.5])
    >>> grad.round(3), hess
    (array([ 0.5  , -0.5  ,  0.167]), array([1., 1., 1.]))
    >>> grad, hess = skrank.SquaredError(max_grade=2, centered=True)([0, 2, 1], [5.5, 5.5, 5.5])
    >>> grad.round(3), hess.round(3)
    (array([ 0.444, -0.556,  0.111]), array([0.667, 0.667, 0.667]))
    """

    name = "squared_error"
    by_query = True
    is_function = True

    gain: Gain = parameter("exp2", check.check_gain)
    _: KW_ONLY
    max_grade: int | None = parameter(None, check.check_max_grade)
    centered: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        by_label = not isinstance(self.gain, str)
        if by_label and _highest(self.gain) == 0:
            raise ValueError(f"gain={self.gain} is 0 for every label: there is nothing to learn.")
        if by_label and self.max_grade is not None:
            raise ValueError(f"max_grade has no effect with gain={self.gain}: leave it out.")

    @property
    def needs_scale(self) -> bool:
        """True if the highest grade decides the targets, and is not given."""
        return isinstance(self.gain, str) and self.max_grade is None

    def targets(self, judgments: Judgments, max_grade: int) -> np.ndarray:
        """Target of each code, in [0, 1]: the score that a document with this label should have."""
        labels = judgments.labels
        by_label = gains_of(self.gain, labels, judgments)
        if not isinstance(self.gain, str):
            return by_label / _highest(self.gain)
        check.check_grades(labels, max_grade, "SquaredError")
        return by_label / gains_of(self.gain, np.array([max_grade]))

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundFunction:
        """The objective bound to judgments, with one weight per query."""
        max_grade = self.max_grade or max_grade or judgments.max_grade
        targets = self.targets(judgments, max_grade)
        fill = fill_by(listwise.squared_error, judgments, targets, self.centered)
        return BoundFunction(self, judgments, weights, fill)


def _highest(gain: Any) -> float:
    """The highest gain of any label."""
    return max(gains_by_label(gain).values())
