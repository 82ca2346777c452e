"""Residual of the Bejeweled player model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import ReaderResidualTables
from skrank.metrics.bpm import BPM


@register("bpm_residual")
@dataclass(frozen=True, kw_only=True)
class BPMResidual(BPM):
    """Residual of the Bejeweled player model: its change if unjudged documents were relevant.

    The value of the metric if all documents without a label, and all ranks below the end of the
    list, have the highest grade, minus its value if they have gain 0. The residual is negative if
    the user with gain 0 from these documents reads on to documents of higher gain.

    Parameters
    ----------
    T, gain, max_grade
        See `BPM`.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Defined for every query. ``ties="average"`` is an error if the user stops among tied
        documents of different gains: there is no closed form. Range [-1, 1]; lower is better.

    References
    ----------
    See `BPM`.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpm_residual@10")([1, float("nan")], [0.5, 0.9])
    0.5
    """

    value_range = "[-1, 1]"
    greater_is_better = False
    needs_relevant = False
    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on insq."

    def tables(self, scale: Scale, k: int | None) -> ReaderResidualTables:  # type: ignore[override]
        """The metric with the highest gain of unjudged documents, minus that with gain 0."""
        return ReaderResidualTables.of(super().tables(scale, k), scale)


bpm_residual_score = score_function(BPMResidual, 0.0)
