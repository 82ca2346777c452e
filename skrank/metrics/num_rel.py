"""The number of relevant documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantCount
from skrank._engine.tables import Line, Lists


@register("num_rel")
@dataclass(frozen=True, kw_only=True)
class NumRelevant(RelevantCount):
    """Number of relevant documents, retrieved or not.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k : None
        There is no cut-off.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_rel.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_rel")([1, 0, 1], [0.9, 0.5, float("-inf")])
    2.0
    """

    cut_instead: ClassVar[str | None] = "num_rel_ret@k"

    def line(self, lists: Lists) -> Line:
        """The number of relevant documents of the query."""
        return Line(slope=0.0, shift=lists.relevant)


num_rel_score = score_function(NumRelevant, 2.0)
