"""Interpolated average precision: 11-point average precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.strict import MeanTables
from skrank._engine.tables import Scale
from skrank.metrics.iprec import ELEVEN_LEVELS, ROUNDINGS, InterpolatedPrecision


@register("iap", function="interpolated_average_precision_score")
@dataclass(frozen=True, kw_only=True)
class InterpolatedAP(Metric):
    r"""Interpolated average precision: the mean of interpolated precision over levels of recall.

    .. math:: \frac1{|L|} \sum_{l \in L} \max_{n:\, recall@n \ge l} P@n

    With the levels 0, 0.1, ..., 1 it is the 11-point average precision of TREC.

    Parameters
    ----------
    levels : sequence of float
        Levels of recall, in [0, 1].
    rel : float
        Lowest label of a relevant document.
    rounding
        See `InterpolatedPrecision`.
    k : None
        There is no cut-off.
    condensed, empty, ties, average
        See `Metric`. The mean over the orders of ties has no closed form: where documents of
        different labels tie, ``ties="average"`` is an error. Range [0, 1].

    See Also
    --------
    InterpolatedPrecision : one level.
    skrank.metrics.eleven_point_curve : the eleven levels by themselves.

    References
    ----------
    C. Manning, P. Raghavan, H. Schutze, Introduction to Information Retrieval, 2008, section 8.4.
    trec_eval, 11pt_avg.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("iap")([0, 1, 1, 0], [4, 3, 2, 1]), 4)
    0.6667
    """

    strict: ClassVar[bool] = True

    levels: Sequence[float] = ELEVEN_LEVELS
    rel: float = 1.0
    rounding: str = "up"

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = check.check_numbers("levels", self.levels)
        for level in levels:
            check.check_number("levels", level, 0, 1)
        self._set(
            levels=levels,
            rel=check.check_rel(self.rel),
            rounding=check.check_choice("rounding", self.rounding, ROUNDINGS),
        )
        check.refuse_cutoff("iap", self.k, "ap@k")

    @property
    def untrainable(self) -> str | None:
        """No closed form for swaps."""
        return "it has no closed form for swaps: train on ap."

    def tables(self, scale: Scale, k: int | None) -> MeanTables:
        """Those of each level."""
        levels = (
            InterpolatedPrecision(recall=level, rel=self.rel, rounding=self.rounding)
            for level in self.levels
        )
        parts = (replace(level.tables(scale, k), name="iap") for level in levels)
        return MeanTables(tuple(parts))
