"""Average precision, and its estimate from judgments of a sample of documents."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import DividedByIdeal, Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import StrictMetric, StrictTables
from skrank._engine.tables import Scale, discounts, ratio


@register("ap", "map")
@dataclass(frozen=True, kw_only=True)
class AP(DividedByIdeal, Metric):
    r"""Average precision: mean over relevant documents of the precision at their ranks.

    .. math:: AP = \frac1R \sum_{n: y_n \ge rel} \frac1n |\{m \le n : y_m \ge rel\}|

    n and m are ranks, y_n is the label at rank n, and R is the number of relevant documents of the
    query. Relevant documents that were not retrieved add 0. The mean over queries is MAP.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    normalize : {"all", "ideal", "retrieved"}
        Divisor of a list that is cut at rank k: R, as trec_eval does for map_cut; min(R, k), so
        that an ideal list has the value 1, as in LightGBM, XGBoost and CatBoost; or the number of
        relevant documents among the first k, as in torchmetrics, so that documents that were not
        found cost nothing. Objectives train on "ideal".
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

    rel: float = parameter(1.0, check.check_rel)
    normalize: str = choice("all", ("all", "ideal", "retrieved"))

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The precision at a relevant document of rank n: 1 / n per relevant document up to n."""
        relevant = (scale.labels >= self.rel).astype(np.float64)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, relevant, relevant, np.multiply)
        ideal = relevant, np.sign(weights)
        if self.normalize == "retrieved":
            return _RetrievedTables(relevant, weights, pairs, ideal=ideal, k=k)
        return QuadraticTables(relevant, weights, pairs, ideal=ideal)


@dataclass(frozen=True, eq=False)
class _RetrievedTables(QuadraticTables):
    """Average precision over the number of relevant documents among the first k.

    `values` divides by this number in place of the best sum: of `inverse` it reads only where it is
    0. Gradients are those of the sum.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cut", False)  # `values` reads the codes of whole lists

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        counted, starts = inverse > 0, ranked.indptr[:-1]
        sums = super().values(ranked, counted.astype(np.float64))
        shown = ranked.retrieved if self.k is None else np.minimum(ranked.retrieved, self.k)
        ends = starts + shown
        above = np.append(0, np.cumsum(self.relevant[ranked.codes]))
        values = ratio(sums, (above[ends] - above[starts]).astype(np.float64))
        tied = np.append(ranked.tied, 0)
        across = counted & (shown > 0) & (shown < ranked.retrieved) & (tied[ends] > 0)
        for query in np.flatnonzero(across):  # the last of the first k ties with the next
            last, stop = ends[query], starts[query] + ranked.retrieved[query]
            low = starts[query] + np.flatnonzero(tied[starts[query] : last] == 0)[-1]
            high = last + int(np.argmin(np.append(tied[last:stop], 0)))
            n_above, n_tied = above[low] - above[starts[query]], above[high] - above[low]
            block = int(low - starts[query]), int(last - low), int(high - low)
            values[query] = _mean_over_ties(sums[query], int(n_above), int(n_tied), *block)
        return values


def _mean_over_ties(total: float, above: int, tied: int, rank: int, n: int, size: int) -> float:
    """Mean of the sum over the number of relevant documents, for ties across the cut-off.

    `total` is the mean of the sum. There are `above` relevant documents in the first `rank` ranks,
    and `tied` relevant documents among the `size` that tie for the `n` ranks that follow. The mean
    is over the number x of them that are above the cut-off, which is hypergeometric.
    """
    x = np.arange(max(0, tied - (size - n)), min(n, tied) + 1)
    chance = np.array(
        [comb(tied, i) * comb(size - tied, n - i) / comb(size, n) for i in x.tolist()]
    )
    place = np.arange(n)  # tied documents above, of which (x - 1) / (n - 1) are relevant
    first, slope = (1 / (rank + 1 + place)).sum(), (place / (rank + 1 + place)).sum()
    block = x / n * ((1 + above) * first + (x - 1) / max(n - 1, 1) * slope)
    before = total - chance @ block
    return float(chance @ ratio(before + block, (above + x).astype(np.float64)))


@register("infap")
@dataclass(frozen=True, kw_only=True)
class InfAP(StrictMetric):
    """Inferred average precision: AP, estimated from judgments of a random sample of the pool.

    Documents without a label count as documents of the pool that were not drawn for judgment; they
    have the label -1 in trec_eval. The precision above a relevant document is estimated by the
    share of relevant documents among the judged ones above it.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. ``ties="average"`` is an error if ties change the value:
        there is no closed form. Range [0, 1].

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

    ideal_cutoff = None  # divided by the number of relevant documents

    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> StrictTables:
        """Input of the compiled loop of this metric."""
        needed = np.zeros(scale.n_queries, np.int64)
        return StrictTables("infap", "inferred", scale.labels >= self.rel, scale.unjudged, needed)
