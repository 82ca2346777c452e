"""The number of documents retrieved that were judged not relevant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantCount
from skrank._engine.tables import Scale


@register("num_nonrel_judged_ret")
@dataclass(frozen=True, kw_only=True)
class NumNonrelevantRetrieved(RelevantCount):
    """Number of retrieved documents that were judged not relevant, down to the cut-off.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf); lower is better.

    References
    ----------
    trec_eval, num_nonrel_judged_ret.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_nonrel_judged_ret")([1, 0, float("nan")], [0.9, 0.5, 0.1])
    1.0
    """

    greater_is_better = False

    def hits(self, scale: Scale) -> np.ndarray:
        """True for labels below `rel`."""
        return scale.judged & (scale.labels < self.rel)


num_nonrel_judged_ret_score = score_function(NumNonrelevantRetrieved, 1.0)
