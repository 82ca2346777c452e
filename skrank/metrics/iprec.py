"""Interpolated precision at one level of recall, and its mean over levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import StrictMetric, StrictTables
from skrank._engine.tables import Scale, Tables, sum_in_order

ELEVEN_LEVELS = tuple(tenth / 10 for tenth in range(11))
ROUNDINGS = ("up", "trec_eval9", "trec_eval10")


@register("iprec")
@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(StrictMetric):
    r"""Interpolated precision: the highest precision at any rank with at least a given recall.

    .. math:: \max_{n:\, recall@n \ge level} P@n

    The value is 0 if no rank has this recall.

    Parameters
    ----------
    recall : float
        The level of recall, in [0, 1].
    rel : float
        Documents with a label of at least `rel` are relevant.
    rounding : {"up", "trec_eval9", "trec_eval10"}
        How recall times R, R being the number of relevant documents, becomes a whole number of
        documents. "up": rounded up. "trec_eval9": rounded down after .9 is added, as in trec_eval
        up to version 9. "trec_eval10": rounded to the nearest whole number, as in version 10. With
        the last two, a value may be reported for a recall that was not reached.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. ``ties="average"`` is an error if ties change the value:
        there is no closed form. Range [0, 1].

    See Also
    --------
    skrank.metrics.eleven_point_curve : the levels 0, 0.1, ..., 1.

    References
    ----------
    ROMIP 2010, appendix A, 11-point matrix (TREC); trec_eval 9, iprec_at_recall.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("iprec(recall=0.5)")([0, 1, 1, 0], [4, 3, 2, 1])
    0.6666666666666666
    """

    cut_instead = "precision@k"

    recall: float = number(0.5, 0, 1)
    rel: float = parameter(1.0, check.check_rel)
    rounding: str = choice("up", ROUNDINGS)

    def tables(self, scale: Scale, k: int | None) -> StrictTables:
        """Relevant labels, and the number of relevant documents that reach the recall, by query."""
        relevant = scale.labels >= self.rel
        needed = _whole(self.recall * scale.totals(relevant), self.rounding).astype(np.int64)
        return StrictTables("iprec", "interpolated", relevant, scale.unjudged, needed)


def _whole(documents: np.ndarray, rounding: str) -> np.ndarray:
    """Number of relevant documents that reach a recall, from a number that may be fractional."""
    if rounding == "trec_eval9":
        return np.floor(documents + 0.9)
    if rounding == "trec_eval10":
        return np.floor(documents + 0.5)
    return np.ceil(documents - 1e-9)  # 0.07 * 100 is slightly above 7


def _check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    numbers = check.check_numbers("levels", levels)
    return tuple(check.check_number("levels", level, 0, 1) for level in numbers)


@dataclass(frozen=True, eq=False)
class _LevelTables(Tables):
    """The mean over the tables of several levels of recall."""

    levels: tuple[StrictTables, ...]

    @property
    def relevant(self) -> np.ndarray:
        return self.levels[0].relevant

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        levels = self.levels
        return sum_in_order(level.values(ranked, inverse) for level in levels) / len(levels)


@register("iap")
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
        See `Metric`. ``ties="average"`` is an error if ties change the value at a level: there is
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

    def tables(self, scale: Scale, k: int | None) -> _LevelTables:
        """The tables of `InterpolatedPrecision` at each level of recall."""
        metrics = (
            InterpolatedPrecision(recall=level, rel=self.rel, rounding=self.rounding)
            for level in self.levels
        )
        return _LevelTables(tuple(replace(m.tables(scale, k), name="iap") for m in metrics))
