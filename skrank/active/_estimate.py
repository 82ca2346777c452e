"""Estimates of a mean over the pool; and the estimate from labels that were collected elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import show
from skrank.active._graded_metric import with_empty_policy
from skrank.active._intervals import bootstrap_interval
from skrank.active._means import IndependentGuesses, Known, Mean, weighted_mean
from skrank.active._sampling import typical_number
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of

if TYPE_CHECKING:
    import pandas as pd

# With fewer queries, intervals of values with a long tail may cover too little.
_FEWEST_TYPICAL = 30  # queries of average cost
_FEWEST_DISTINCT = 20  # queries of any cost
_WIDEST = 1e100  # largest value, and largest ratio of weights: their squares are finite


@dataclass(frozen=True)
class Estimate:
    """An estimate of the mean value over the pool.

    Attributes
    ----------
    value : float
        The estimated mean; NaN if none of the drawn queries counts.
    standard_error : float
        Of `value`; NaN unless two draws count, 0 when the whole pool is labelled.
    interval : (float, float)
        Confidence interval. Infinite if the error is unknown: a single draw counts, or all values
        are equal. `caution` says when the coverage is uncertain.
    confidence : float
        Nominal coverage of the interval.
    n_draws : int
        Draws that the estimate is computed from. With the estimator "importance", a query that is
        drawn twice counts twice.
    n_counted : int
        Draws whose query counts: with ``empty="skip"``, queries with a relevant document.
    n_queries : int
        Distinct queries among the draws.
    n_distinct : int
        Distinct queries that count.
    n_typical : float
        Number of queries of average cost that cost as much as the `n_distinct` that count;
        `n_distinct` if costs are unknown.
    effective_sample_size : float
        (sum of weights)² / sum of squared weights: equally weighted draws with the same variance.
    anytime : bool
        The interval belongs to a confidence sequence: it holds at all times of looking.
    n_waiting : int
        Labelled queries that are not used yet, because an earlier draw waits for its labels.
    cost : float or None
        Cost of all labels so far.
    passive_cost : float or None
        Expected cost of uniform draws without replacement with the same standard error.
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
        """Why the interval is infinite, or its coverage uncertain; None if neither is the case.

        The interval is infinite if a single draw counts, or all values are equal. Its coverage is
        uncertain if fewer than 20 distinct queries count, or they cost less than 30 queries of
        average cost. Intervals that hold at all times need a caution only if nothing counts.
        """
        if self.complete:
            return None
        if self.n_counted == 0:
            return "no query that was drawn counts: none has a relevant document"
        if self.anytime:
            return None
        if self.n_counted == 1:
            return "a single draw counts, which says nothing about the error"
        if math.isinf(self.interval[0]):
            return "the values of all draws are equal, which says nothing about the error"
        if are_few(self.n_distinct, self.n_typical):
            found = f"only {self.n_distinct} queries count"
            if self.n_typical != self.n_distinct:
                found += f", for the cost of {math.floor(self.n_typical)} average ones"
            return f"{found}: too few to see long tails"
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


def to_estimate(
    mean: Mean,
    queries: np.ndarray,
    counts: np.ndarray,
    confidence: float,
    interval: tuple[float, float],
    paid: tuple[float, float] | None,
) -> Estimate:
    """An estimate from a mean, the query of each draw, and whether that query counts.

    `paid` is the cost of their labels and the average cost of a draw; None if costs are unknown.
    """
    n_queries, n_distinct = len(np.unique(queries)), len(np.unique(queries[counts]))
    cost, n_typical = None, float(n_distinct)
    if paid is not None:
        cost, draw_cost = paid
        n_typical = float(typical_number(n_distinct, n_queries, cost, draw_cost))
    return Estimate(
        mean.value, mean.standard_error, interval, confidence, len(queries), mean.n_counted,
        n_queries, n_distinct, n_typical, mean.effective_sample_size, cost=cost,
    )  # fmt: skip


def are_few(n_distinct: ArrayLike, n_typical: ArrayLike) -> np.ndarray:
    """Whether so few queries count that the coverage of an interval is uncertain."""
    return np.less(n_distinct, _FEWEST_DISTINCT) | np.less(n_typical, _FEWEST_TYPICAL)


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
    r"""Estimate the mean value over a pool from draws with replacement (estimator "importance").

    .. math:: \hat R = \frac{\sum_j w_j L_j}{\sum_j w_j}, \quad
              \widehat{se}^2 = \frac k{k-1} \frac{\sum_j w_j^2 (L_j - \hat R)^2}{(\sum_j w_j)^2}

    Both sums run over the k draws whose query counts. The interval is computed by the bootstrap of
    Student's t, with the draws resampled; each end is the mean at which the observed estimate would
    be the 2.5 % or 97.5 % quantile (test inversion).

    Parameters
    ----------
    losses : array-like of shape (n_draws,), or Series by query
        Value of each drawn query, or difference of the values of two rankers. NaN: the query does
        not count (it has no relevant document). With `metric`, the labels instead, one per row.
    weights : array-like of shape (n_draws,), or Series by query, optional
        p / q of each draw, up to a factor. A Series has one entry per draw and the query on its
        index, as ``ActiveEvaluator.draws`` returns it; `losses` must then be labels, or a Series
        with one entry per query. Default: equal weights.
    metric : str or Metric, optional
        Compute the losses from labels. Give ERR its `max_grade`.
    scores : array-like of shape (n_rows,), or a list of two, optional
        Scores of the ranker, or of the two rankers whose difference is estimated; with `metric`.
    groups : array-like of shape (n_rows,), optional
        Query of each row; with `metric`. Default: the index level "qid" of the labels.
    sampling : DataFrame by query, optional
        Columns "probability" and "cost" of the whole pool, as in ``ActiveEvaluator.sampling``;
        `weights` must then be a Series. Give it if a budget ended the draws: `Estimate.caution`
        then takes costs into account, as in a campaign.
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

    See Also
    --------
    ActiveEvaluator.estimate : More accurate estimates of a campaign, from draws without
        replacement.

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
    values, queries = _values_of_draws(losses, weights)
    w = _checked_weights(weights, values)
    paid = None if sampling is None else _paid(weights, sampling)
    mean = weighted_mean(values, IndependentGuesses(w), Known()) if len(w) else Mean(math.nan)
    interval = bootstrap_interval(mean, confidence)
    return to_estimate(mean, queries, ~np.isnan(values), confidence, interval, paid)


def _losses(
    labels: ArrayLike,
    name: str | Metric,
    scores: ArrayLike | list[ArrayLike] | None,
    groups: ArrayLike | None,
) -> pd.Series:
    """Value of each query, or difference of the values of two rankers."""
    if scores is None:
        raise ValueError("a metric of labels needs scores, those of the labelled rows.")
    measure = with_empty_policy(metric_of(name))
    many = isinstance(scores, (list, tuple)) and np.ndim(scores[0]) == 1
    rankers: list[ArrayLike] = list(scores) if many else [scores]  # type: ignore[arg-type,list-item]
    values = [measure.per_query(labels, one, groups=groups) for one in rankers]
    if len(values) > 2:
        raise ValueError(f"scores holds {len(values)} rankers: give one, or two to compare.")
    return values[0] if len(values) == 1 else values[0] - values[1]


def _values_of_draws(losses: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Value and query of each draw; unless weights name the queries, all of them are different."""
    import pandas as pd

    if not isinstance(weights, pd.Series):
        values = check.as_vector("losses", losses)
        return bounded(values, "value of draw {} is "), np.arange(len(values))
    if not isinstance(losses, pd.Series):
        raise ValueError(
            "weights is a Series by query and losses is not: make losses a Series with one "
            "value per query, or pass weights.to_numpy() with one loss per draw."
        )
    if not losses.index.is_unique:
        query = losses.index[losses.index.duplicated()][0]
        raise ValueError(
            f"losses has several values for query {show(query)}: give one value per query."
        )
    missing = ~weights.index.isin(losses.index)
    if missing.any():
        raise ValueError(
            f"query {show(weights.index[missing][0])} was drawn and has no value: label it, or "
            "use the draws before it only."
        )
    values = losses.loc[weights.index].to_numpy(dtype=np.float64)
    return bounded(values, "value of draw {} is "), weights.index.factorize()[0]


def bounded(values: np.ndarray, place: str) -> np.ndarray:
    """The values, if their squares are finite; `place` is for the message."""
    wide = np.flatnonzero(np.abs(values) > _WIDEST)
    if len(wide):
        raise ValueError(
            f"{place.format(wide[0])}{values[wide[0]]}: values beyond {_WIDEST:g} overflow when "
            "they are squared. Scale the values down."
        )
    return values


def _checked_weights(weights: ArrayLike | None, values: np.ndarray) -> np.ndarray:
    """Weights of the draws, scaled to at most 1."""
    w = np.ones(len(values)) if weights is None else check.as_vector("weights", weights)
    if len(w) != len(values):
        raise ValueError(f"{len(w)} weights for {len(values)} losses: give one per draw.")
    bad = np.flatnonzero(~((w > 0) & np.isfinite(w)))
    if len(bad):
        raise ValueError(f"weight of draw {bad[0]} is {w[bad[0]]}: it must be positive and finite.")
    if len(w) and w.min() < w.max() / _WIDEST:
        raise ValueError(
            f"weights reach from {w.min()} to {w.max()}: they may differ by a factor of "
            f"{_WIDEST:g}. A draw of so small a weight adds nothing: leave it out."
        )
    largest = w.max(initial=np.finfo(np.float64).tiny)
    return np.ldexp(w, -int(np.frexp(largest)[1]))  # exact, because the factor is a power of two


def _paid(weights: ArrayLike | None, sampling: pd.DataFrame) -> tuple[float, float]:
    """Cost of the labels of the drawn queries, and average cost of a draw."""
    import pandas as pd

    check.check_table("sampling", sampling, ("probability", "cost"))
    if not isinstance(weights, pd.Series):
        raise ValueError(
            "sampling has the cost of each query, but weights does not name the drawn queries: "
            "make weights a Series by query, as ActiveEvaluator.draws returns it."
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
