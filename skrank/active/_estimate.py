"""The estimate of a mean over the pool, from values and weights that were drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank.active._draws import typical
from skrank.active._forms import settle_empty
from skrank.active._intervals import bootstrap_interval
from skrank.active._weighing import Mean, repeated_mean
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of

if TYPE_CHECKING:
    import pandas as pd

# Below these, intervals of values with a long tail may cover too little.
_FEW_TYPICAL = 30  # queries of average cost
_FEW_DISTINCT = 20  # queries of any cost
_WIDEST = 1e100  # of values, and of ratios of weights: squares of them are numbers


@dataclass(frozen=True)
class Estimate:
    """An estimate of the mean value over the pool.

    Attributes
    ----------
    value : float
        Weighted mean of the values of the drawn queries; NaN if none of them counts.
    standard_error : float
        Of `value`; NaN unless two draws count, 0 when the whole pool is labelled.
    interval : (float, float)
        Confidence interval. Without bounds where nothing can be said: a single draw counts, or the
        values of all are alike. `caution` says why, and where the coverage cannot be told.
    confidence : float
        Its coverage.
    n_draws : int
        Draws that the estimate rests on; a query drawn twice counts twice.
    n_counted : int
        Those of them whose query counts: with ``empty="skip"``, has a relevant document.
    n_queries : int
        Distinct queries among the draws.
    n_distinct : int
        Those of them that count.
    n_typical : float
        As many as these would be of average cost: `n_distinct` times what a drawn query cost, over
        what draws cost on average. `n_distinct` where costs are not known.
    effective_sample_size : float
        (sum of weights)² / sum of squared weights: equally weighted draws of the same worth.
    anytime : bool
        The interval is one of a confidence sequence: it holds whenever and however often one looks.
    n_waiting : int
        Labelled queries that do not count yet, because an earlier draw waits for its labels.
    cost : float or None
        Cost of all labels so far.
    passive_cost : float or None
        Cost at which uniform draws are expected to reach the same standard error.
    complete : bool
        The whole pool is labelled: the value is exact.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    n_draws: int
    n_counted: int
    n_queries: int
    n_distinct: int
    n_typical: float
    effective_sample_size: float
    anytime: bool = False
    n_waiting: int = 0
    cost: float | None = None
    passive_cost: float | None = None
    complete: bool = False

    @property
    def saved(self) -> float | None:
        """Labels (in units of cost) saved against uniform draws; negative if more were spent."""
        if self.cost is None or self.passive_cost is None:
            return None
        return self.passive_cost - self.cost

    @property
    def caution(self) -> str | None:
        """Why the interval says nothing, or less than it seems to; None if all is well.

        It says nothing, and has no bounds, where one draw counts or all values are alike. It cannot
        tell whether it holds what it says where fewer than 20 distinct queries count, or they cost
        as much as fewer than 30 draws do on average. An interval that holds at any time of looking
        needs no caution but where nothing counts.
        """
        if self.complete:
            return None
        if self.n_counted == 0:
            return "no query that was drawn counts: none has a relevant document"
        if self.anytime:  # it holds for any number of draws
            return None
        if self.n_counted == 1:
            return "a single draw counts, which says nothing of the error"
        if math.isinf(self.interval[0]):
            return "the values of all draws are alike, which says nothing of the error"
        if are_few(self.n_distinct, self.n_typical):
            found = f"only {self.n_distinct} queries count"
            if self.n_typical != self.n_distinct:
                found += f", for the cost of {math.floor(self.n_typical)} average ones"
            return f"{found}: too few to tell how long the tails are"
        return None

    def __str__(self) -> str:
        low, high = self.interval
        text = (
            f"{self.value:.4f} ± {self.standard_error:.4f}, {self.confidence:.0%} interval "
            f"[{low:.4f}, {high:.4f}] from {self.n_draws} draws of {self.n_queries} queries"
        )
        if self.saved is not None:
            text += f" at cost {self.cost:g}, uniform draws: {self.passive_cost:.0f}"
        return text if self.caution is None else f"{text} ({self.caution})"


def estimate(
    losses: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    metric: str | Metric | None = None,
    scores: ArrayLike | list[ArrayLike] | None = None,
    groups: ArrayLike | None = None,
    sampling: pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> Estimate:
    r"""Estimate the mean value over a pool from queries that were drawn from it.

    .. math:: \hat R = \frac{\sum_j w_j L_j}{\sum_j w_j}, \quad
              \widehat{se}^2 = \frac k{k-1} \frac{\sum_j w_j^2 (L_j - \hat R)^2}{(\sum_j w_j)^2}

    Both sums run over the k draws whose query counts. The interval is that of the bootstrap of
    Student's t, with the draws resampled: it follows weights that vary and values of long tails.
    Each end is the mean at which what was found would be the quantile (test inversion).

    Parameters
    ----------
    losses : array-like of shape (n_draws,), or Series by query
        Value of each drawn query, or difference of two rankers' values. NaN: the query does not
        count (it has no relevant document). With `metric`, the labels instead, one per row.
    weights : array-like of shape (n_draws,), or Series by query, optional
        p / q of each draw, up to a factor. A Series has one entry per draw, with the query on its
        index, as ``ActiveEvaluator.draws`` gives it; `losses` must then be labels, or a Series with
        one entry per query, and is looked up. Default: equal weights.
    metric : str or Metric, optional
        Compute the losses from labels. Give ERR its `max_grade`.
    scores : array-like of shape (n_rows,), or a list of two, optional
        Scores of the ranker, or of the two rankers whose difference is wanted; with `metric`.
    groups : array-like of shape (n_rows,), optional
        Query of each row; with `metric`. Default: the index level "qid" of the labels.
    sampling : DataFrame by query, optional
        Columns "probability" and "cost" of the whole pool, as `ActiveEvaluator.sampling` has them;
        `weights` must then be a Series. Give it if a budget said where to end: then `caution` looks
        at costs, too, as that of a campaign does.
    confidence : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there is no draw, a weight is not positive, or a drawn query has no value, or no
        probability and cost in `sampling`.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, equation 6 and lemma 1. P. Hall, The Bootstrap and Edgeworth Expansion, 1992.
    J. Carpenter, Test inversion bootstrap confidence intervals, Journal of the Royal Statistical
    Society B 61, 1999.

    Examples
    --------
    >>> from skrank.active import estimate
    >>> found = estimate([0.2, 0.4, 0.9], weights=[1, 2, 1])
    >>> print(found)
    0.4750 ± 0.1617, 95% interval [-0.2206, 1.1706] from 3 draws of 3 queries (only 3 queries ...
    """
    confidence = check.check_share("confidence", confidence)
    if metric is not None:
        losses = _losses(losses, metric, scores, groups)
    values, w, queries = _match(losses, weights)
    paid = None if sampling is None else _paid(weights, sampling)
    mean = repeated_mean(values, w)
    interval = bootstrap_interval(mean, confidence)
    return to_estimate(mean, queries, ~np.isnan(values), confidence, interval, paid)


def to_estimate(
    mean: Mean,
    queries: np.ndarray,
    counts: np.ndarray,
    confidence: float,
    interval: tuple[float, float],
    paid: tuple[float, float] | None,
) -> Estimate:
    """The estimate that the mean of some draws is, from the query of each and whether it counts.

    `paid` is what their labels cost, and what a draw costs on average.
    """
    n_queries, n_distinct = len(np.unique(queries)), len(np.unique(queries[counts]))
    cost, n_typical = None, float(n_distinct)
    if paid is not None:
        cost, draw_cost = paid
        n_typical = float(typical(n_distinct, n_queries, cost, draw_cost))
    return Estimate(
        mean.value, mean.standard_error, interval, confidence, len(queries), mean.n_counted,
        n_queries, n_distinct, n_typical, mean.effective_sample_size, cost=cost,
    )  # fmt: skip


def are_few(n_distinct: ArrayLike, n_typical: ArrayLike) -> np.ndarray:
    """Whether an interval cannot tell what it covers; see `Estimate` for what is counted."""
    return np.less(n_distinct, _FEW_DISTINCT) | np.less(n_typical, _FEW_TYPICAL)


def passive_variance(values: np.ndarray, weights: np.ndarray, value: float) -> float:
    """Variance of one uniform draw around `value`, per squared share of queries that count."""
    counts = ~np.isnan(values)
    w = weights[counts]
    return float(weights.sum() * (w @ (values[counts] - value) ** 2) / w.sum() ** 2)


def _losses(
    labels: ArrayLike,
    name: str | Metric,
    scores: ArrayLike | list[ArrayLike] | None,
    groups: ArrayLike | None,
) -> pd.Series:
    """Value of each query, or the difference of two values."""
    if scores is None:
        raise ValueError("a metric of labels needs scores, those of the labelled rows.")
    measure = settle_empty(metric_of(name))
    many = isinstance(scores, (list, tuple)) and np.ndim(scores[0]) == 1
    pair: list[ArrayLike] = list(scores) if many else [scores]  # type: ignore[arg-type,list-item]
    values = [measure.per_query(labels, one, groups=groups) for one in pair]
    if len(values) > 2:
        raise ValueError(f"scores holds {len(values)} rankers: give one, or two to compare.")
    return values[0] if len(values) == 1 else values[0] - values[1]


def _paid(weights: ArrayLike | None, sampling: pd.DataFrame) -> tuple[float, float]:
    """What labels of the drawn queries cost, and what a draw costs on average."""
    import pandas as pd

    check.check_table("sampling", sampling, ("probability", "cost"))
    if not isinstance(weights, pd.Series):
        raise ValueError(
            "sampling tells what each query costs, but weights not which were drawn: make weights "
            "a Series by query, as ActiveEvaluator.draws gives it."
        )
    if not sampling.index.is_unique:
        query = sampling.index[sampling.index.duplicated()][0]
        raise ValueError(f"sampling has several rows for query {show(query)}: give one per query.")
    q = check.check_frequencies("sampling.probability", sampling["probability"], len(sampling))
    drawable = sampling[q > 0]
    missing = ~weights.index.isin(drawable.index)
    if missing.any():
        raise ValueError(
            f"query {show(weights.index[missing][0])} was drawn and has no probability in sampling."
        )
    costs = check.check_costs("sampling.cost", drawable["cost"], len(drawable))
    return float(costs[drawable.index.isin(weights.index)].sum()), float(q[q > 0] @ costs)


def _match(
    losses: ArrayLike, weights: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, weight and query of each draw; without names, every draw is of another query."""
    import pandas as pd

    if isinstance(weights, pd.Series):
        if not isinstance(losses, pd.Series):
            raise ValueError(
                "weights is a Series by query and losses is not: make losses a Series with one "
                "value per query, or pass weights.to_numpy() with one loss per draw."
            )
        if not losses.index.is_unique:
            query = losses.index[losses.index.duplicated()][0]
            raise ValueError(
                f"losses has several values for query {show(query)}: one per query is looked up "
                "for each draw."
            )
        missing = ~weights.index.isin(losses.index)
        if missing.any():
            raise ValueError(
                f"query {show(weights.index[missing][0])} was drawn and has no value: label it, or "
                "use the draws before it only."
            )
        queries = weights.index.factorize()[0]
        values = losses.loc[weights.index].to_numpy(dtype=np.float64)
    else:
        values = check.as_vector("losses", losses)
        queries = np.arange(len(values))
    w = np.ones(len(values)) if weights is None else check.as_vector("weights", weights)
    if len(w) != len(values):
        raise ValueError(f"{len(w)} weights for {len(values)} losses: give one per draw.")
    bad = np.flatnonzero(~((w > 0) & np.isfinite(w)))
    if len(bad):
        raise ValueError(f"weight of draw {bad[0]} is {w[bad[0]]}: it must be positive and finite.")
    if len(w) and w.min() < w.max() / _WIDEST:
        raise ValueError(
            f"weights reach from {w.min()} to {w.max()}: they may differ by a factor of "
            f"{_WIDEST:g}. A draw of so small a weight says nothing: leave it out."
        )
    wide = np.flatnonzero(np.abs(values) > _WIDEST)
    if len(wide):
        raise ValueError(
            f"value of draw {wide[0]} is {values[wide[0]]}: squares of values beyond {_WIDEST:g} "
            "are no numbers. Scale the values down."
        )
    # by a power of two, which rounds nothing: only what weights are to each other matters
    return values, np.ldexp(w, -int(np.frexp(w.max(initial=np.finfo(np.float64).tiny))[1])), queries
