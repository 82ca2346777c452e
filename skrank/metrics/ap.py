"""Average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register, score_function
from skrank._engine.parameters import choice, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.tables import Scale, Smooth, discounts


@register("ap", "map", function="average_precision_score")
@dataclass(frozen=True, kw_only=True)
class AP(Metric):
    r"""Average precision: mean over relevant documents of the precision at their ranks.

    .. math:: AP = \frac1R \sum_{n: y_n \ge rel} \frac1n |\{m \le n : y_m \ge rel\}|

    n and m are ranks, y_n is the label at rank n, and R is the number of relevant documents of the
    query. Relevant documents that were not retrieved add 0. The mean over queries is MAP.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    normalize : {"all", "ideal"}
        Divisor of a list that is cut at rank k: R, as trec_eval does for map_cut, or min(R, k), so
        that an ideal list has the value 1, as in LightGBM, XGBoost and CatBoost.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    C. Buckley, E. Voorhees, Retrieval System Evaluation, in TREC, MIT Press 2005.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("ap")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """

    rel: float = parameter(1.0, check.check_rel)
    normalize: str = choice("all", ("all", "ideal"))

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is the whole list, or is cut at rank k, as `normalize` says."""
        return None if self.normalize == "all" else self.k

    @property
    def smooth(self) -> Smooth:
        """`skrank.SoftRank` can train on this metric: a sum over pairs of documents."""
        return Smooth(pairs=True)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The precision at a relevant document of rank n: 1 / n per relevant document up to n."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, relevant, relevant, np.multiply)
        return QuadraticTables(relevant, weights, pairs, ideal=(relevant, np.sign(weights)))


average_precision_score = score_function(AP, 0.8333)
