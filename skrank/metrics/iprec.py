"""Interpolated precision at recall levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Metric, Scale, register
from skrank.metrics.strict import StrictTables


@register("iprec")
@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(Metric):
    """Highest precision at any rank where recall has reached a level; 0 if it never does.

    Parameters
    ----------
    recall : float
        Recall level in [0, 1].
    rel : float
        Lowest label of a relevant document.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. The mean over the orders of ties has no closed form:
        where documents of different labels tie, ``ties="average"`` is an error. Range [0, 1].

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

    recall: float = 0.5
    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            recall=check.check_number("recall", self.recall, 0, 1), rel=check.check_rel(self.rel)
        )
        check.refuse_cutoff("iprec", self.k, "precision@k")

    @property
    def untrainable(self) -> str | None:
        """No closed form for swaps."""
        return "it has no closed form for swaps: train on ap."

    def tables(self, scale: Scale, k: int | None) -> StrictTables:
        """The number of relevant documents that makes the level."""
        found = scale.labels >= self.rel
        relevant = scale.totals(found)
        # 0.1 * 30 is above 3 in floating point, and would ask for a fourth document
        needed = np.ceil(self.recall * relevant - 1e-9).astype(np.int64)
        return StrictTables("iprec", "interpolated", found, scale.unjudged, needed)


def interpolated_precision_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    recall: float = 0.5,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Interpolated precision at a recall level: mean over queries of `InterpolatedPrecision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, recall, rel, condensed, empty, ties, average
        See `InterpolatedPrecision`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import interpolated_precision_score
    >>> round(interpolated_precision_score([0, 1, 1, 0], [4, 3, 2, 1], recall=0.5), 4)
    0.6667
    """
    metric = InterpolatedPrecision(
        k=k, recall=recall, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
