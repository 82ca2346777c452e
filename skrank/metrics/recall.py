"""Recall: the share of the relevant documents that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("recall", "r", function="recall_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Recall(RelevantSet):
    r"""Recall: share of the relevant documents of the query that are among the first k documents.

    .. math:: recall@k = \frac1R |\{r \le k : y_r \ge rel\}|

    R is the number of relevant documents of the query. Without a cut-off, all retrieved documents
    count.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
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
        """Divided by the number of relevant documents of the query."""
        return Line(divisor=lists.relevant)


recall_at_k_score = score_function(Recall, 0.5, k=2)
