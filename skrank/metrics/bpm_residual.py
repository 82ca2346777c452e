"""What documents not judged could add to the Bejeweled player model."""

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
    """Residual of the Bejeweled player model: what documents without a label could add to it.

    Its value if documents without a label, and ranks below the end of the list, have the highest
    grade, less its value if they gain nothing. It is below 0 where a user who gains nothing from
    them reads on to better documents.

    Parameters
    ----------
    T, gain, max_grade
        See `BPM`.
    k, condensed, empty, ties, average
        See `Metric`. k is the number of ranks that the user reads at most, 1000 without a cut-off
        as in cwl_eval. Defined for every query. The mean over the orders of ties has
        no closed form: ``ties="average"`` is an error where the user stops inside a block of tied
        documents of different gains. Range [-1, 1]; lower is better.

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
        """The metric twice: with the highest and with no gain."""
        return ReaderResidualTables.of(super().tables(scale, k), scale)


bpm_residual_score = score_function(BPMResidual, 0.0)
