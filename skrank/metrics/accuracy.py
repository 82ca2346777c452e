"""Accuracy: the share of documents that are rightly shown or rightly not shown."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("accuracy", function="accuracy_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Accuracy(RelevantSet):
    r"""Accuracy: share of the documents that are relevant and shown, or neither relevant nor shown.

    .. math:: Acc@k = \frac1n \left(|\{r \le k : y_r \ge rel\}| + |\{r > k : y_r < rel\}|\right)

    The first k documents are shown. n is the number of documents of the query, shown or not: give
    documents that were not retrieved the score -inf.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, accuracy.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("accuracy@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6667
    """

    def line(self, lists: Lists) -> Line:
        """(2 hits + others - shown) / all: hits, and non-relevant documents that are not shown."""
        return Line(2.0, lists.total - lists.relevant - lists.shown, lists.total)


accuracy_at_k_score = score_function(Accuracy, 0.3333, k=2)
