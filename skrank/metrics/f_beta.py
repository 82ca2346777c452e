"""The weighted harmonic mean of precision and recall."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.parameters import number
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


@register("f1", "f", function="f_beta_at_k_score")
@dataclass(frozen=True, kw_only=True)
class FBeta(RelevantSet):
    r"""F measure: weighted harmonic mean of precision P and recall R.

    .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

    Parameters
    ----------
    beta : float
        Weight of recall against precision, above 0.
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; 0 where precision or recall is 0.

    References
    ----------
    ROMIP 2010, appendix A, F-measure. trec_eval's set_F.x has x in the place of beta squared.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("f1@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    beta: float = number(1.0, 0, 1e6, open_low=True)

    def line(self, lists: Lists) -> Line:
        """(1 + beta^2) hits / (beta^2 R + shown), which equals the definition."""
        shown = lists.shown if self.k is None else self.k
        weight = self.beta**2
        return Line(slope=1 + weight, divisor=weight * lists.relevant + shown)


f_beta_at_k_score = score_function(FBeta, 0.5, k=2)
