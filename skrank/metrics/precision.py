"""Metrics of binary relevance: precision and average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Metric, Scale, discounts, register
from skrank.metrics.quadratic import QuadraticTables


@register("precision", "p")
@dataclass(frozen=True, kw_only=True)
class Precision(Metric):
    """Precision at k: relevant documents among the first k ranks, divided by k.

    Lists shorter than k are divided by k all the same, as in TREC and ROMIP.

    Parameters
    ----------
    k : int
        Cut-off, required.
    rel : float
        Lowest label of a relevant document.
    condensed, empty, ties
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, P(n); trec_eval, P_k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("precision@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))
        if self.k is None:
            raise ValueError("precision needs a cut-off: write precision@10 or give k.")

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Each relevant document within the cut-off is worth 1 / k."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        share = 1 / (self.k or 1)
        return QuadraticTables(
            relevant, discounts(lambda rank: np.full_like(rank, share), scale.longest, k)
        )


@register("ap", "map")
@dataclass(frozen=True, kw_only=True)
class AP(Metric):
    r"""Average precision: the mean over relevant documents of the precision at their ranks.

    .. math:: AP = \frac1R \sum_{n: y_n \ge rel} \frac1n |\{m \le n : y_m \ge rel\}|

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    normalize : {"all", "ideal"}
        With a cut-off: divide by R (as trec_eval's map_cut), or by min(R, k), so that an ideal list
        scores 1 (as LightGBM, XGBoost and CatBoost).
    k, condensed, empty, ties
        See `Metric`. Range [0, 1].

    References
    ----------
    C. Buckley, E. Voorhees, Retrieval System Evaluation, in TREC, MIT Press 2005.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("ap")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """

    rel: float = 1.0
    normalize: str = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            rel=check.check_rel(self.rel),
            normalize=check.check_choice("normalize", self.normalize, ("all", "ideal")),
        )

    @property
    def ideal_cutoff(self) -> int | None:
        """The whole list, or the first k ranks."""
        return None if self.normalize == "all" else self.k

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Each pair of relevant documents is worth one over the rank of the lower."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        return QuadraticTables(relevant, weights, (weights, np.outer(relevant, relevant)))
