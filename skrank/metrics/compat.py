"""Compatibility: overlap with the ideal ranking that is most similar to the list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import powers
from skrank._engine.names import register
from skrank._engine.parameters import flag, parameter
from skrank._engine.tables import Scale
from skrank.metrics._from_function import GenericTables, ListMetric


@register("compat")
@dataclass(frozen=True, kw_only=True)
class Compat(ListMetric):
    r"""Compatibility: rank-biased overlap (RBO) of the list with its most similar ideal ranking.

    .. math:: RBO = \frac{\sum_{d \le D} p^{d-1} |A_d \cap I_d| / d}{\sum_{d \le D} p^{d-1}}

    A_d and I_d are the first d documents of the list and of the ideal ranking, and D is the length
    of the longer of the two. The ideal ranking has all documents with a label above 0, the highest
    labels first. Documents of equal label are in the order of the list, which makes this ideal
    ranking the most similar one.

    Parameters
    ----------
    p : float
        Persistence: the weight of depth d is p^(d - 1); in [0, 1).
    normalize : bool
        Divide by the highest RBO of any list with this D, so that an ideal list has the value 1.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. With ``ties="average"``, more than 10,000 orders of tied
        documents of a query are an error. Range [0, 1].

    References
    ----------
    C. Clarke, A. Vtyurina, M. Smucker, Assessing Top-k Preferences, TOIS 2021.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("compat")([1, 0, 2], [0.9, 0.5, 0.1]), 4)
    0.4219
    """

    cut_instead = "ndcg@k"

    p: float = parameter(0.95, check.check_persistence)
    normalize: bool = flag(True)

    def tables(self, scale: Scale, k: int | None) -> GenericTables:
        """Tables whose function compares a list with its ideal ranking."""
        labels, function = scale.labels, partial(_overlap, self)
        return GenericTables(str(self), function, labels, labels > 0, scale.unjudged, k)


def _overlap(metric: Compat, ranked: np.ndarray, unretrieved: np.ndarray) -> float:
    """Sum over documents in both rankings: one at ranks r and i counts from depth max(r, i) on."""
    rows = np.flatnonzero(ranked > 0)
    labels = np.append(ranked[rows], unretrieved[unretrieved > 0])
    ideal = np.empty(len(labels), int)  # rank of each document in the ideal ranking, from 0
    ideal[np.argsort(-labels, kind="stable")] = np.arange(len(labels))
    depths = np.arange(1.0, max(len(ranked), len(labels)) + 1)
    weights = powers(metric.p, depths - 1)
    below = np.cumsum((weights / depths)[::-1])[::-1]  # sum over this depth and all larger ones
    most = below[: len(labels)].sum() if metric.normalize else weights.sum()
    return float(below[np.maximum(rows, ideal[: len(rows)])].sum() / most)
