"""Recall: the share of the relevant documents that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("recall", "r", function="recall_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Recall(RelevantSet):
    r"""Share of the query's relevant documents that are shown.

    .. math:: recall@k = \frac1R |\{r \le k : y_r \ge rel\}|

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, recall; trec_eval, recall_k and set_recall.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("recall@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    def line(self, lists: Lists) -> Line:
        """Relevant documents shown, of all relevant documents."""
        return Line(divisor=lists.relevant)


recall_at_k_score = score_function(Recall, 0.5, k=2)
