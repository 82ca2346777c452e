"""The number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skrank._engine.names import register, score_function
from skrank._engine.sets import CountMetric
from skrank._engine.tables import Line, Lists


@register("num_q")
@dataclass(frozen=True, kw_only=True)
class NumQueries(CountMetric):
    """Number of queries that count in the means.

    Parameters
    ----------
    k : None
        There is no cut-off.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf); 1 for each query.

    References
    ----------
    trec_eval, num_q.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_q")([1, 0, 1], [0.9, 0.5, 0.1], groups=["a", "a", "b"])
    2.0
    """

    cut_instead: ClassVar[str | None] = "num_ret@k"

    def line(self, lists: Lists) -> Line:
        """1 for each query."""
        return Line(slope=0.0, shift=1.0)


num_q_score = score_function(NumQueries, 1.0)
