"""Precision relative to the best that the query allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("relative_precision", function="relative_precision_at_k_score")
@dataclass(frozen=True, kw_only=True)
class RelativePrecision(RelevantSet):
    r"""Precision over the highest precision possible: an ideal list scores 1 at every cut-off.

    .. math:: \frac{|\{r \le k : y_r \ge rel\}|}{\min(k, R)}

    With a cut-off, relevant documents shown divided by the lesser of k and R, the number of the
    query's relevant documents: precision down to rank R, and recall below. Without a cut-off the
    number of documents retrieved stands for k.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    trec_eval, relative_P and set_relative_P.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("relative_precision@3")([0, 1, 1], [0.9, 0.5, 0.1])
    1.0
    """

    def line(self, lists: Lists) -> Line:
        """Relevant documents shown, of those that could be."""
        room = lists.shown if self.k is None else np.full_like(lists.shown, self.k)
        return Line(divisor=np.minimum(room, lists.relevant))


relative_precision_at_k_score = score_function(RelativePrecision, 0.5, k=2)
