"""Pointwise regression on the gains of documents."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.gains import Gain, check_gain, gain_per_code
from skrank._engine.judgments import Judgments
from skrank.objectives.base import Objective


@dataclass(frozen=True)
class SquaredError(Objective):
    r"""Squared error between the scores and the gains of documents, whatever their query.

    .. math:: \frac12 \sum_i w_i \left(s_i - \frac{\text{gain}(y_i)}{\text{gain}(y_{max})}\right)^2

    with the weight w of the document's query. Targets lie in [0, 1], on one scale for the
    collection. Regression does well on small collections, alone and beside a ranking objective,
    which it anchors: ``0.9 * LambdaRank("gap") + 0.1 * SquaredError()``.

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        What a document of each label is worth, as in `skrank.metrics.DCG`. Documents that were not
        judged are worth what label 0 is.
    max_grade : int, optional
        Highest grade of the collection, which has the target 1; gains that are listed have their
        highest in its place. Default: the highest label of the training data.

    Raises
    ------
    ValueError
        If gains fall as labels rise or are all 0. In training: if a label has no gain or is above
        `max_grade`, or a score is not finite.

    Notes
    -----
    Every document counts the same, as far as the weights of queries go, so that long queries have
    more to say than short ones. Scores are pulled to [0, 1], whereas ranking objectives drive them
    apart: the smaller its share in a mixture, the later it holds them.

    The curvature is 1 per document (XGBoost is given twice that, as for any objective of skrank).

    References
    ----------
    D. Cossock, T. Zhang, Subset Ranking Using Regression, COLT 2006.

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.SquaredError(max_grade=2)([0, 2, 1], [0.5, 0.5, 0.5])
    >>> grad.round(3), hess
    (array([ 0.5  , -0.5  ,  0.167]), array([1., 1., 1.]))
    """

    gain: Gain = "exp2"
    _: KW_ONLY
    max_grade: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", check_gain(self.gain))
        object.__setattr__(self, "max_grade", check.check_max_grade(self.max_grade))
        if not isinstance(self.gain, str) and _listed(self.gain)[-1] == 0:
            raise ValueError(f"gain={self.gain} is 0 for every label: there is nothing to learn.")

    def targets(self, labels: np.ndarray, max_grade: int) -> np.ndarray:
        """What the score of a document of each label should be, in [0, 1]."""
        gains = gain_per_code(self.gain, labels)
        if not isinstance(self.gain, str):
            return gains / _listed(self.gain)[-1]
        check.check_grades(labels, max_grade, "SquaredError")
        return gains / gain_per_code(self.gain, np.array([max_grade]))

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> BoundSquaredError:
        """The objective on judgments, with one weight per query."""
        top = self.max_grade or max_grade or judgments.max_grade
        return BoundSquaredError(self.targets(judgments.labels, top), judgments, weights)


def _listed(gain: Any) -> list[float]:
    """Gains in the order of their labels."""
    return [one[1] if isinstance(one, tuple) else one for one in gain]


class BoundSquaredError:
    """Squared error on one data set: target and weight of each document."""

    def __init__(
        self, targets: np.ndarray, judgments: Judgments, weights: np.ndarray | None
    ) -> None:
        self.queries = judgments.queries
        self.target = targets[judgments.codes]
        self.weight: float | np.ndarray = 1.0
        if weights is not None:
            self.weight = np.repeat(weights, judgments.queries.sizes)
        self.round = 0

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            row = self.queries.caller_row(int(bad[0]))
            raise ValueError(
                f"score of row {row} is {scores[bad[0]]}: gradients need finite scores. Lower the "
                "learning rate, or drop the documents that were not retrieved."
            )
        self.round += 1
        grad[:] = self.weight * (scores - self.target)
        hess[:] = self.weight
