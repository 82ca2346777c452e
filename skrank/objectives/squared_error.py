"""Regression on the gains of documents: pointwise, or centred by query."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import flag, parameter
from skrank._engine.tables import Gain, check_gain, gain_per_code
from skrank._engine.threads import run_chunks
from skrank._kernels import listwise
from skrank._kernels.listwise import Listwise, ListwiseGradients
from skrank.objectives._bound import BoundFunction
from skrank.objectives.base import Objective


@dataclass(frozen=True)
class SquaredError(Objective):
    r"""Squared error between the scores and the gains of documents.

    .. math:: \frac12 \sum_i w_i \left(s_i - \frac{\text{gain}(y_i)}{\text{gain}(y_{max})}\right)^2

    with the weight w of the document's query. Targets lie in [0, 1], on one scale for the
    collection. Regression does well on small collections, alone and beside a ranking objective,
    which it anchors: ``0.9 * LambdaRank("gap") + 0.1 * SquaredError()``.

    Centred by query, each difference is taken less the mean of those of its query, so that only
    the distances inside a query are fitted, which is all that a ranking needs: how high the
    documents of a query are on the whole is left to itself. CatBoost calls this loss QueryRMSE.

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        Gain of a document of each label, as in `skrank.metrics.DCG`. Documents that were not
        judged are worth what label 0 is.
    max_grade : int, optional
        Highest grade of the collection, which has the target 1; gains that are listed have their
        highest in its place. Default: the highest label of the training data.
    centered : bool
        Centre the differences of score and target by query.

    Raises
    ------
    ValueError
        If gains fall as labels rise or are all 0. In training: if a label has no gain or is above
        `max_grade`, or a score is not finite.

    Notes
    -----
    Every document counts the same, as far as the weights of queries go, so that long queries have
    more to say than short ones. Scores are pulled to [0, 1], or to distances of at most 1, whereas
    ranking objectives drive them apart: the smaller its share in a mixture, the later it holds
    them.

    The curvature is 1 per document (XGBoost is given twice that, as for any objective of skrank);
    1 - 1 / n centred by query, n being the number of documents, so that a query of one document
    says nothing.

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

    gain: Gain = parameter("exp2", check_gain)
    _: KW_ONLY
    max_grade: int | None = parameter(None, check.check_max_grade)
    centered: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.gain, str) and _listed(self.gain)[-1] == 0:
            raise ValueError(f"gain={self.gain} is 0 for every label: there is nothing to learn.")

    @property
    def is_function(self) -> bool:
        """Its gradient is that of the squared error."""
        return True

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
        return BoundSquaredError(self, judgments, weights, self.targets(judgments.labels, top))


def _listed(gain: Any) -> list[float]:
    """Gains in the order of their labels."""
    return [one[1] if isinstance(one, tuple) else one for one in gain]


class BoundSquaredError(BoundFunction):
    """Squared error on one data set: gains on the scale of targets, weights of queries."""

    objective: SquaredError

    def fill(
        self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray, losses: np.ndarray
    ) -> None:
        """Fill in the squared errors and their derivatives."""
        lists = Listwise(self.judgments.codes, scores, self.weight)
        run_chunks(
            listwise.squared_error, self.judgments.indptr, lists, self.gain,
            self.objective.centered, ListwiseGradients(grad, hess, losses),
        )  # fmt: skip
