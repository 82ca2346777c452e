"""Residual of nearly ERR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import ReaderResidualTables
from skrank.metrics.nearly_err import NearlyERR


@register("nearly_err_residual")
@dataclass(frozen=True, kw_only=True)
class NearlyERRResidual(NearlyERR):
    """Residual of nearly ERR: its change if unjudged documents were relevant.

    The value of the metric if all documents without a label, and all ranks below the end of the
    list, have the highest grade, minus its value if they have gain 0.

    Parameters
    ----------
    patience, p, T, gain, max_grade
        See `NearlyERR`.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Defined for every query. ``ties="average"`` is an error if ties change the value: there is
        no closed form. Range [0, 1]; lower is better.

    References
    ----------
    See `NearlyERR`.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("nearly_err_residual")([1, float("nan")], [0.5, 0.9]), 4)
    0.5263
    """

    greater_is_better = False
    needs_relevant = False
    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on insq."

    def tables(self, scale: Scale, k: int | None) -> ReaderResidualTables:  # type: ignore[override]
        """The metric with the highest gain of unjudged documents, minus that with gain 0."""
        return ReaderResidualTables.of(super().tables(scale, k), scale)


nearly_err_residual_score = score_function(NearlyERRResidual, 0.0)
