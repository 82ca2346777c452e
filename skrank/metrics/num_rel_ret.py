"""The number of relevant documents retrieved."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantCount


@register("num_rel_ret")
@dataclass(frozen=True, kw_only=True)
class NumRelevantRetrieved(RelevantCount):
    """Number of relevant documents that were retrieved, down to the cut-off.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_rel_ret. ranx, hits, which is the mean over queries.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_rel_ret")([1, 0, 1], [0.9, 0.5, float("-inf")])
    1.0
    """


num_rel_ret_score = score_function(NumRelevantRetrieved, 2.0)
