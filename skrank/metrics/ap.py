"""Average precision, and its estimate from judgments of a sample of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.plan import DividedByIdeal
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.strict import StrictMetric, StrictTables
from skrank._engine.tables import Scale, discounts


@register("ap", "map")
@dataclass(frozen=True, kw_only=True)
class AP(DividedByIdeal, Metric):
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

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The precision at a relevant document of rank n: 1 / n per relevant document up to n."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, relevant, relevant, np.multiply)
        return QuadraticTables(relevant, weights, pairs, ideal=(relevant, np.sign(weights)))


@register("infap")
@dataclass(frozen=True, kw_only=True)
class InfAP(StrictMetric):
    """Inferred average precision: AP, estimated from judgments of a random sample of the pool.

    Documents without a label count as documents of the pool that were not drawn for judgment; they
    have the label -1 in trec_eval. The precision above a relevant document is estimated by the
    share of relevant documents among the judged ones above it.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. ``ties="average"`` is an error if ties change the value:
        there is no closed form. Range [0, 1].

    References
    ----------
    E. Yilmaz, J. Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM
    2006. trec_eval, infAP.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("infap")([1, float("nan"), 0, 1], [4, 3, 2, 1]), 4)
    0.8125
    """

    ideal_cutoff: ClassVar[int | None] = None  # divided by the number of relevant documents

    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> StrictTables:
        """Input of the compiled loop of this metric."""
        needed = np.zeros(len(scale.judgments.queries), np.int64)
        found = scale.labels >= self.rel
        return StrictTables(
            "infap", "inferred", found, scale.unjudged, needed, scale.judgments.queries.ids
        )
