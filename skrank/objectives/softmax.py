"""Softmax cross-entropy between the normalised gains of a query and the softmax of its scores."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import flag, parameter
from skrank._engine.tables import Gain, gains_of
from skrank._kernels import listwise
from skrank._typing import Weights
from skrank.objectives._bound import BoundFunction, fill_by
from skrank.objectives.base import Objective


@dataclass(frozen=True)
class Softmax(Objective):
    r"""Listwise cross-entropy: ListNet.

    .. math::
       -\sum_q w_q \sum_{i \in q} \frac{\text{gain}(y_i)}{\sum_j \text{gain}(y_j)}
       \log \frac{e^{s_i}}{\sum_j e^{s_j}}

    The softmax of the scores is the probability of each document to rank first. The loss is lowest
    if this probability equals the gain of the document divided by the sum of gains of the query.

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        Gain of a document of each label, as in `skrank.metrics.DCG`. Documents that were not
        judged have the gain of label 0.
    random_gains : bool
        Add to each gain a uniform random number in [0, 1), drawn anew for other scores. With
        ``gain="exp2"`` these are the targets of XE-NDCG, LightGBM's rank_xendcg. They make the loss
        a tighter bound of nDCG.
    random_state : int, RandomState, Generator or None
        Seed of the random numbers, or what draws the seed.

    Raises
    ------
    ValueError
        If gains fall as labels rise. In training: if a label has no gain, or a score is not finite.

    Notes
    -----
    A query whose gains are all 0 has no gradient. The curvature is the diagonal of the second
    derivatives. LightGBM adds terms of higher order to the gradient of its rank_xendcg, so that its
    steps differ. With `random_gains` each round minimises a different loss.

    References
    ----------
    Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, Learning to Rank: From Pairwise Approach to
    Listwise Approach, ICML 2007. S. Bruch, An Alternative Cross Entropy Loss for Learning-to-Rank,
    WWW 2021.

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.Softmax()([0, 2, 1], [0.0, 0.0, 0.0])
    >>> grad.round(3), hess.round(3)
    (array([ 0.333, -0.417,  0.083]), array([0.222, 0.222, 0.222]))
    """

    name = "softmax"
    by_query = True

    gain: Gain = parameter("exp2", check.check_gain)
    _: KW_ONLY
    random_gains: bool = flag(False)
    random_state: int = parameter(0, check.check_random_state)

    @property
    def is_function(self) -> bool:
        """True unless gains are random, and the loss differs from round to round."""
        return not self.random_gains

    def gains(self, judgments: Judgments) -> np.ndarray:
        """Gain of each label."""
        return gains_of(self.gain, judgments.labels, judgments)

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundFunction:
        """The objective bound to judgments, with one weight per query."""
        seed = self.random_state if self.random_gains else None
        arguments = self.gains(judgments), seed, judgments.queries.first_query
        fill = fill_by(listwise.softmax, judgments, *arguments)
        return BoundFunction(self, judgments, weights, fill)
