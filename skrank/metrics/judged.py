"""The share of documents shown that were judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.sets import SetMetric
from skrank._engine.tables import Line, Lists, Scale


@register("judged", function="judged_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Judged(SetMetric):
    r"""Judged: share of judged documents among the first k documents.

    .. math:: \frac1{\min(k, n)} |\{r \le k : y_r \text{ is known}\}|

    Parameters
    ----------
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range [0, 1].

    References
    ----------
    ir_measures, Judged@k: divided by the length of lists shorter than k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("judged@2")([1, float("nan"), 1], [0.9, 0.5, 0.1])
    0.5
    """

    needs_relevant = False
    untrainable: ClassVar[str | None] = "it does not depend on relevance."

    def hits(self, scale: Scale) -> np.ndarray:
        """True for documents with a label."""
        return scale.judged

    def line(self, lists: Lists) -> Line:
        """Divided by the number of documents shown."""
        return Line(divisor=lists.shown)


judged_at_k_score = score_function(Judged, 1.0)
