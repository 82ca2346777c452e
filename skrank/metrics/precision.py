"""Precision: the share of relevant documents among those shown."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.parameters import choice
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("precision", "p", function="precision_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Precision(RelevantSet):
    r"""Precision: share of relevant documents among the first k documents.

    .. math:: P@k = \frac1k |\{r \le k : y_r \ge rel\}|

    Without a cut-off, all retrieved documents count, and their number replaces k. The precision of
    an empty list is 0.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    normalize : {"k", "shown"}
        Divisor for lists of fewer than k documents: k, as in TREC and ROMIP, or the number of
        documents of the list, as in XGBoost and CatBoost.
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

    normalize: str = choice("k", ("k", "shown"))

    def line(self, lists: Lists) -> Line:
        """Divided by k, or by the number of documents shown."""
        by_shown = self.k is None or self.normalize == "shown"
        return Line(divisor=lists.shown if by_shown else float(self.k or 0))


precision_at_k_score = score_function(Precision, 0.5, k=2)
