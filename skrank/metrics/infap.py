"""Inferred average precision, for judgments of a sample of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.strict import StrictMetric, StrictTables
from skrank._engine.tables import Scale


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


infap_score = score_function(InfAP, 0.8333)
