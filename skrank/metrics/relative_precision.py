"""Precision divided by the highest possible precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("relative_precision", function="relative_precision_at_k_score")
@dataclass(frozen=True, kw_only=True)
class RelativePrecision(RelevantSet):
    r"""Relative precision: precision divided by the highest possible precision.

    .. math:: \frac{|\{r \le k : y_r \ge rel\}|}{\min(k, R)}

    An ideal list has the value 1. R is the number of relevant documents of the query. The value is
    the precision for cut-offs up to R, and the recall for higher cut-offs. Without a cut-off, the
    number of retrieved documents replaces k.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
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
        """Divided by the highest number of relevant documents that the list could show."""
        most = lists.shown if self.k is None else np.full_like(lists.shown, self.k)
        return Line(divisor=np.minimum(most, lists.relevant))


relative_precision_at_k_score = score_function(RelativePrecision, 0.5, k=2)
