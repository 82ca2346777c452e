"""Reciprocal rank and success: where the first relevant document stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import ORDERLESS, Metric, Scale, discounts, register
from skrank.metrics.cascade import CascadeTables

RULERS: dict[str, tuple[float, ...]] = {
    "trec": (1.0, 0.5, 0.33, 0.2, 0.1),
    "romip": (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1),
}


@register("rr", "mrr")
@dataclass(frozen=True, kw_only=True)
class RR(Metric):
    r"""Reciprocal rank of the first relevant document.

    .. math:: RR@k = 1 / \text{rank of the first relevant document, 0 if that is beyond } k

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    ruler : {"trec", "romip"} or sequence of float, optional
        Worth of each rank instead of 1/rank, 0 beyond its end. "trec" (1, .5, .33, .2, .1) and
        "romip" (1, .9, ..., .1) are those of ROMIP 2010. Must not increase.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    E. Voorhees, The TREC-8 Question Answering Track Report, 1999. ROMIP 2010, appendix A.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("rr")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    rel: float = 1.0
    ruler: str | Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))
        if isinstance(self.ruler, str):
            check.check_choice("ruler", self.ruler, tuple(RULERS))
        elif self.ruler is not None:
            ruler = check.check_numbers("ruler", self.ruler)
            check.check_descending("ruler", ruler)
            self._set(ruler=ruler)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Satisfied by the first relevant document, who then values its rank."""
        found = (scale.labels >= self.rel).astype(np.float64)
        if self.ruler is None:
            return CascadeTables(found, discounts(lambda rank: 1 / rank, scale.longest, k))
        ruler = RULERS[self.ruler] if isinstance(self.ruler, str) else self.ruler
        worth = np.zeros(max(scale.longest, len(ruler)))
        worth[: len(ruler)] = ruler
        return CascadeTables(found, discounts(lambda rank: worth[: len(rank)], scale.longest, k))


def reciprocal_rank_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    ruler: str | Sequence[float] | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Reciprocal rank of the first relevant document: mean over queries of `RR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, ruler, condensed, empty, ties, average
        See `RR`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """
    metric = RR(
        k=k, rel=rel, ruler=ruler, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("success")
@dataclass(frozen=True, kw_only=True)
class Success(Metric):
    """Whether a relevant document stands within the first k ranks (hit rate).

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k, condensed, empty, ties, average
        See `Metric`. Without k: within the list. Range [0, 1].

    References
    ----------
    trec_eval, success_k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("success@2")([0, 1, 1], [0.9, 0.5, 0.1])
    1.0
    """

    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))

    @property
    def untrainable(self) -> str | None:
        """Without a cut-off the order does not matter."""
        return ORDERLESS if self.k is None else None

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Satisfied by the first relevant document, wherever it stands."""
        found = (scale.labels >= self.rel).astype(np.float64)
        return CascadeTables(found, discounts(np.ones_like, scale.longest, k))


def success_at_k_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Whether a relevant document is shown: mean over queries of `Success`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `Success`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import success_at_k_score
    >>> success_at_k_score([0, 1, 1], [0.9, 0.5, 0.1], k=2)
    1.0
    """
    metric = Success(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
