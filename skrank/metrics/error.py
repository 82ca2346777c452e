"""Error: the share of documents that are wrongly shown or wrongly not shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skrank._engine.names import register, score_function
from skrank._engine.tables import Line, Lists
from skrank.metrics.accuracy import Accuracy


@register("error", function="error_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Error(Accuracy):
    """Error: share of the documents that are shown and not relevant, or relevant and not shown.

    The value is 1 - `Accuracy`.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; lower is better.

    References
    ----------
    ROMIP 2010, appendix A, error.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("error@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.3333
    """

    greater_is_better = False
    untrainable: ClassVar[str | None] = (
        "its gradient is that of accuracy: train on accuracy with a cut-off."
    )

    def line(self, lists: Lists) -> Line:
        """One minus the accuracy."""
        right = super().line(lists)
        return Line(-right.slope, lists.total - right.shift, lists.total)


error_at_k_score = score_function(Error, 0.3333)
