"""Average precision, and inferred average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Metric, Scale, discounts, register
from skrank.metrics.quadratic import Pairs, QuadraticTables
from skrank.metrics.strict import StrictTables


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
    k, condensed, empty, ties, average
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
        pairs = Pairs(weights, relevant, relevant, np.multiply)
        return QuadraticTables(relevant, weights, pairs, ideal=(relevant, np.sign(weights)))


def average_precision_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    normalize: str = "all",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Average precision: mean over queries of `AP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, normalize, condensed, empty, ties, average
        See `AP`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import average_precision_score
    >>> round(average_precision_score([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    metric = AP(
        k=k,
        rel=rel,
        normalize=normalize,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("infap")
@dataclass(frozen=True, kw_only=True)
class InfAP(Metric):
    """Inferred average precision: AP estimated from judgments of a random part of the pool.

    Documents without a label count as pooled but not drawn for judgment (label -1 of trec_eval):
    the precision above a relevant document is that of the judged ones above it.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. The mean over the orders of ties has no closed form:
        where documents of different labels tie, ``ties="average"`` is an error. Range [0, 1].

    References
    ----------
    E. Yilmaz, J. Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM
    2006. trec_eval, infAP.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("infap")([1, float("nan"), 0, 1], [4, 3, 2, 1]), 4)
    0.8125
    """

    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))
        check.refuse_cutoff("infap", self.k, "ap@k")

    @property
    def ideal_cutoff(self) -> int | None:
        """The number of relevant documents."""
        return None

    @property
    def untrainable(self) -> str | None:
        """No closed form for swaps."""
        return "it has no closed form for swaps: train on ap."

    def tables(self, scale: Scale, k: int | None) -> StrictTables:
        """Read by a kernel of its own."""
        needed = np.zeros(len(scale.judgments.queries), np.int64)
        found = scale.labels >= self.rel
        return StrictTables("infap", "inferred", found, scale.unjudged, needed)


def infap_score(
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
    """Inferred average precision: mean over queries of `InfAP`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `InfAP`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import infap_score
    >>> infap_score([1, float("nan"), 0, 1], [4, 3, 2, 1])
    0.8125
    """
    metric = InfAP(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
