"""Precision: the share of relevant documents among those shown."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("precision", "p", function="precision_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Precision(RelevantSet):
    r"""Share of relevant documents among those shown.

    .. math:: P@k = \frac1k |\{r \le k : y_r \ge rel\}|

    With a cut-off (P@k) always divided by k, also for shorter lists, as in TREC and ROMIP; without
    one by the number of documents retrieved, 0 if there are none.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, P(n) and precision; trec_eval, P_k and set_P.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("precision@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    def line(self, lists: Lists) -> Line:
        """Relevant documents shown, of k or of the documents retrieved."""
        return Line(divisor=lists.shown if self.k is None else float(self.k))


precision_at_k_score = score_function(Precision, 0.5, k=2)
