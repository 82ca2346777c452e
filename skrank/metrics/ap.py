"""Average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale, Smooth, discounts


@register("ap", "map", function="average_precision_score")
@dataclass(frozen=True, kw_only=True)
class AP(Metric):
    r"""Average precision: the mean over relevant documents of the precision at their ranks.

    .. math:: AP = \frac1R \sum_{n: y_n \ge rel} \frac1n |\{m \le n : y_m \ge rel\}|

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    normalize : {"all", "ideal"}
        With a cut-off: divide by R (as trec_eval's map_cut), or by min(R, k), so that an ideal list
        scores 1 (as LightGBM, XGBoost and CatBoost).
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
        """The whole list, or the first k ranks."""
        return None if self.normalize == "all" else self.k

    @property
    def smooth(self) -> Smooth:
        """A ratio of expected sums over pairs: SoftGAP."""
        return Smooth(pairs=True)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """A pair of relevant documents counts 1 / (rank of the lower one)."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, relevant, relevant, np.multiply)
        return QuadraticTables(relevant, weights, pairs, ideal=(relevant, np.sign(weights)))


average_precision_score = score_function(AP, 0.8333)
