"""The number of documents retrieved."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.sets import CountMetric
from skrank._engine.tables import Line, Lists


@register("num_ret")
@dataclass(frozen=True, kw_only=True)
class NumRetrieved(CountMetric):
    """Number of retrieved documents, down to the cut-off.

    Parameters
    ----------
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_ret.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_ret")([1, 0, 1], [0.9, 0.5, float("-inf")])
    2.0
    """

    def line(self, lists: Lists) -> Line:
        """The number of documents of the list, down to the cut-off."""
        return Line(slope=0.0, shift=lists.shown)


num_ret_score = score_function(NumRetrieved, 3.0)
