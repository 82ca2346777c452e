"""Interpolated average precision: 11-point average precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import choice, parameter
from skrank._engine.strict import CombinedTables, StrictMetric
from skrank._engine.tables import Scale
from skrank.metrics.iprec import ELEVEN_LEVELS, ROUNDINGS, InterpolatedPrecision


def _check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    numbers = check.check_numbers("levels", levels)
    return tuple(check.check_number("levels", level, 0, 1) for level in numbers)


@register("iap", function="interpolated_average_precision_score")
@dataclass(frozen=True, kw_only=True)
class InterpolatedAP(StrictMetric):
    r"""Interpolated average precision: the mean of interpolated precision over levels of recall.

    .. math:: \frac1{|L|} \sum_{l \in L} \max_{n:\, recall@n \ge l} P@n

    With the levels 0, 0.1, ..., 1 it is the 11-point average precision of TREC.

    Parameters
    ----------
    levels : sequence of float
        Levels of recall, in [0, 1].
    rel : float
        Documents with a label of at least `rel` are relevant.
    rounding
        See `InterpolatedPrecision`.
    k : None
        There is no cut-off.
    condensed, empty, ties, average
        See `Metric`. ``ties="average"`` is an error if documents of different labels tie: there is
        no closed form. Range [0, 1].

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

    levels: Sequence[float] = parameter(ELEVEN_LEVELS, _check_levels)
    rel: float = parameter(1.0, check.check_rel)
    rounding: str = choice("up", ROUNDINGS)

    def tables(self, scale: Scale, k: int | None) -> CombinedTables:
        """The tables of `InterpolatedPrecision` at each level of recall."""
        levels = (
            InterpolatedPrecision(recall=level, rel=self.rel, rounding=self.rounding)
            for level in self.levels
        )
        parts = ((1.0, replace(level.tables(scale, k), name="iap")) for level in levels)
        return CombinedTables(tuple(parts), divisor=len(self.levels))


interpolated_average_precision_score = score_function(InterpolatedAP, 0.8485)
