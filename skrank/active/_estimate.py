"""An estimated mean over a pool of queries, of which only drawn queries are labelled.

A *draw* chooses one query at random. The value of a query is that of a metric, or the difference of
the metric for two rankers. The mean weights each query by its frequency p, the share of the query
among all queries that users send (by default equal). Queries are drawn with other probabilities q,
which make the estimate more accurate; the weight p / q of a draw corrects for the difference.

A query *counts* if its value is not NaN. With ``empty="skip"``, the value of a query without a
relevant document is NaN, and the mean is over the queries that count.

Campaigns (`ActiveEvaluator`, `ActiveComparator`) return `Estimate` objects. The function `estimate`
returns one without a campaign, from values or labels, and weights, that the caller passes.
"""

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
from skrank.active._means import Mean, importance_mean
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of

if TYPE_CHECKING:
    import pandas as pd

# With fewer queries, intervals of values with a long tail had too low a coverage in simulations
# (benchmarks/active_campaigns.py).
_FEWEST_TYPICAL = 30  # queries of average cost
_FEWEST_DISTINCT = 20  # queries of any cost
_LARGEST = 1e100  # largest value, and largest ratio of two weights, so that squares are finite


@dataclass(frozen=True)
class Estimate:
    """An estimate of the mean value over the pool.

    Attributes
    ----------
    value : float
        The estimated mean; NaN if none of the drawn queries counts.
    standard_error : float
        Standard error of `value`; NaN if fewer than two draws count, 0 if the whole pool is
        labelled.
    interval : (float, float)
        Confidence interval, by the bootstrap of Student's t. Infinite if the error is unknown: at
        most one draw counts, or all values are equal. `caution` reports an uncertain coverage.
    confidence : float
        Nominal coverage of the interval.
    n_draws : int
        Number of draws in the estimate. With the estimator "importance", a query that is drawn
        twice counts twice.
    n_counted : int
        Draws whose query counts: with ``empty="skip"``, queries with a relevant document.
    n_queries : int
        Distinct queries among the draws.
    n_distinct : int
        Distinct queries that count.
    n_typical : float
        `n_distinct` times the mean cost of the drawn queries, divided by the expected cost of a
        draw, the sum of q times the cost of labelling; `n_distinct` if costs are unknown.
    effective_sample_size : float
        ``sum(w)**2 / sum(w**2)`` over the draws that count: number of equally weighted draws with
        the same variance.
    anytime : bool
        True if the interval is of a confidence sequence, which holds after every draw
        simultaneously.
    n_waiting : int
        Labelled queries that are not used yet, because an earlier draw has no labels; 0 without a
        campaign.
    cost : float or None
        Cost of all labels so far, also of those that wait; None if costs are unknown.
    passive_cost : float or None
        Expected cost of uniform draws without replacement with the same standard error; None
        without a campaign.
    complete : bool
        True if the whole pool is labelled, so that the value is exact.
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
        """``passive_cost - cost``: the cost saved in comparison with uniform draws."""
        if self.cost is None or self.passive_cost is None:
            return None
        return self.passive_cost - self.cost

    @property
    def caution(self) -> str | None:
        """Why there is no estimate, its interval is infinite, or its coverage uncertain; else None.

        There is no estimate if no drawn query counts. The interval is infinite if no or one draw
        counts, or if all values are equal. Its coverage is uncertain if fewer than 20 distinct
        queries count, or if their labels cost less than those of 30 queries of average cost. With
        `anytime`, or if the whole pool is labelled, the only caution is that no query counts.
        """
        if self.n_counted == 0:
            return "no drawn query has a relevant document"
        if self.complete or self.anytime:
            return None
        if self.n_counted == 1:
            return "a single draw counts, so the error is unknown"
        if math.isinf(self.interval[0]):  # then both ends are infinite
            return "the values of all draws are equal, so the error is unknown"
        if are_few(self.n_distinct, self.n_typical):
            found = f"only {self.n_distinct} queries count"
            if self.n_typical != self.n_distinct:
                found += f", at the cost of {math.floor(self.n_typical)} average queries"
            return f"{found}: too few to show long tails"
        return None

    def __str__(self) -> str:
        low, high = self.interval
        text = (
            f"{self.value:.4f} ± {self.standard_error:.4f}, {100 * self.confidence:.4g}% interval "
            f"[{low:.4f}, {high:.4f}] from {self.n_draws} draws of {self.n_queries} queries"
        )
        if self.saved is not None:
            text += f" at cost {self.cost:g}, uniform draws: {self.passive_cost:.0f}"
        return text if self.caution is None else f"{text} ({self.caution})"


def typical_number(
    n_distinct: ArrayLike, n_queries: ArrayLike, cost: ArrayLike, draw_cost: float
) -> np.ndarray:
    """`Estimate.n_typical` of a single estimate, or of arrays of estimates.

    ``cost / n_queries`` is the mean cost of the drawn queries, and `draw_cost` the expected cost of
    a draw. Queries that do not count are taken to cost as much as the others. A budget buys more
    queries when they happen to be cheap, and cheap queries may have other values than expensive
    queries. The cost therefore measures the information better than the number.
    """
    number = np.asarray(n_distinct) * np.asarray(cost) / (draw_cost * np.maximum(n_queries, 1))
    return np.asarray(number).round(9)  # exactly n_distinct if all queries cost the same


def are_few(n_distinct: ArrayLike, n_typical: ArrayLike) -> np.ndarray:
    """True if so few queries count that the coverage of an interval is uncertain."""
    return np.less(n_distinct, _FEWEST_DISTINCT) | np.less(n_typical, _FEWEST_TYPICAL)


def to_estimate(
    mean: Mean,
    interval: tuple[float, float],
    confidence: float,
    queries: np.ndarray,
    counts: np.ndarray,
    costs: tuple[float, float] | None,
) -> Estimate:
    """The `Estimate` of a computed mean and its interval; campaigns replace other fields.

    Parameters
    ----------
    mean : Mean
    interval : (float, float)
    confidence : float
    queries : ndarray of shape (n_draws,)
        Index of the query of each draw.
    counts : bool ndarray of shape (n_draws,)
        True if the query of the draw counts.
    costs : (float, float) or None
        Cost of the labels of `queries`, and expected cost of a draw; None if unknown. A campaign
        replaces this cost by that of all labels.
    """
    n_queries, n_distinct = len(np.unique(queries)), len(np.unique(queries[counts]))
    cost, n_typical = None, float(n_distinct)
    if costs is not None:
        cost, draw_cost = costs
        n_typical = float(typical_number(n_distinct, n_queries, cost, draw_cost))
    return Estimate(
        mean.value, mean.standard_error, interval, confidence, len(queries), mean.n_counted,
        n_queries, n_distinct, n_typical, mean.effective_sample_size, cost=cost,
    )  # fmt: skip


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

    The sums run over the k draws whose query counts, with the value :math:`L_j` and the weight
    :math:`w_j` of each draw. The interval is computed by the bootstrap of Student's t, which
    resamples the draws; each end is the mean for which the observed estimate is the quantile of the
    level (1 - `confidence`) / 2 or (1 + `confidence`) / 2 (test inversion). For fewer than five
    draws, whose resamples hardly differ, Student's t interval is returned.

    Parameters
    ----------
    losses : array-like of shape (n_draws,), or Series by query
        Value of each drawn query (in the paper, its loss), or difference of the values of two
        rankers. NaN: the query does not count (it has no relevant document). With `metric`, the
        labels instead, one per row.
    weights : array-like of shape (n_draws,), or Series by query, optional
        p / q of each draw, up to a factor, in the order of `losses`; with `metric`, an array is in
        the order in which queries first occur in the labels. A Series has one entry per draw and
        the query on its index, as ``ActiveEvaluator.draws`` returns it; `losses` must then be
        labels, or a Series with one entry per query. Default: equal weights.
    metric : str or Metric, optional
        Metric that computes the losses from labels. For GAP and ERR give the highest grade, as in
        ``skrank.metric("err", max_grade=4)``: by default, it is the highest of these labels.
        Queries without a relevant document are treated by its parameter `empty`, or have the value
        0 if the metric is not normalised (DCG).
    scores : array-like of shape (n_rows,), or a list of two, optional
        Scores of the ranker, or of the two rankers whose difference is estimated; with `metric`.
    groups : array-like of shape (n_rows,), optional
        Query of each row; with `metric`. Default: the index level "qid" of the labels.
    sampling : DataFrame by query, optional
        Columns "probability" and "cost" of the whole pool, as in ``ActiveEvaluator.sampling``;
        `weights` must then be a Series. Pass `sampling` if a budget ended the draws, so that
        `Estimate.caution` takes costs into account, as in a campaign.
    confidence : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Estimate
        Deterministic: the seed of the resampling is fixed.

    Raises
    ------
    ValueError
        If there is no draw, a weight is not positive, or a drawn query has no value, or no
        probability and cost in `sampling`.

    See Also
    --------
    ActiveEvaluator.estimate : more accurate estimates, from draws without replacement.

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
        losses = _values_of_labels(losses, metric, scores, groups)
    values, queries = _drawn(losses, weights)
    scaled = _checked_weights(weights, len(values))
    costs = None if sampling is None else _costs(weights, sampling)
    mean = importance_mean(values, scaled)
    interval = bootstrap_interval(mean, confidence)
    return to_estimate(mean, interval, confidence, queries, ~np.isnan(values), costs)


def _values_of_labels(
    labels: ArrayLike,
    metric: str | Metric,
    scores: ArrayLike | list[ArrayLike] | None,
    groups: ArrayLike | None,
) -> pd.Series:
    """Value of each query, or difference of the values of two rankers, from labels of rows.

    Queries are in the order in which they first occur, as `Metric.per_query` returns them.
    """
    if scores is None:
        raise ValueError("metric needs scores: pass the scores of the labelled rows.")
    several = isinstance(scores, (list, tuple)) and len(scores) > 0 and np.ndim(scores[0]) == 1
    rankers: list[ArrayLike] = list(scores) if several else [scores]  # type: ignore[arg-type,list-item]
    if len(rankers) > 2:
        raise ValueError(f"scores holds {len(rankers)} rankers: pass one, or two to compare.")
    measure = with_empty_policy(metric_of(metric))  # 0 without a relevant document, if unnormalised
    first, *second = (measure.per_query(labels, one, groups=groups) for one in rankers)
    return first - second[0] if second else first


def _drawn(losses: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Value of each draw, and index of its query, both of shape (n_draws,).

    If `weights` is not a Series indexed by query, all draws are taken to be of different queries.
    """
    import pandas as pd

    if not isinstance(weights, pd.Series):
        values = check.as_vector("losses", losses)
        queries = np.arange(len(values))
    elif not isinstance(losses, pd.Series):
        raise ValueError(
            "weights is a Series by query and losses is not: make losses a Series with one "
            "value per query, or pass weights.to_numpy() with one loss per draw."
        )
    else:
        _check_drawn(
            weights.index, losses, several="losses has several values",
            lacks="value: label it, or use the draws before it only",
        )  # fmt: skip
        values = losses.loc[weights.index].to_numpy(dtype=np.float64)
        queries = weights.index.factorize()[0]
    return check_squares(values, "value of draw {} is "), queries


def _check_drawn(
    drawn: pd.Index, table: pd.Series | pd.DataFrame, *, several: str, lacks: str
) -> None:
    """Check that a table, which is indexed by query, has one row for each drawn query.

    Errors are "`several` for query 'a'" and "query 'a' was drawn and has no `lacks`".
    """
    again = table.index[table.index.duplicated()]
    if len(again):
        raise ValueError(f"{several} for query {show(again[0])}: give one per query.")
    missing = drawn[~drawn.isin(table.index)]
    if len(missing):
        raise ValueError(f"query {show(missing[0])} was drawn and has no {lacks}.")


def check_squares(values: np.ndarray, place: str) -> np.ndarray:
    """The values, if their squares are finite; messages begin with `place.format(position)`."""
    large = np.flatnonzero(np.abs(values) > _LARGEST)
    if len(large):
        raise ValueError(
            f"{place.format(large[0])}{values[large[0]]}: values beyond {_LARGEST:g} overflow when "
            "they are squared. Scale the values down."
        )
    return values


def _checked_weights(weights: ArrayLike | None, n_draws: int) -> np.ndarray:
    """Weights of the draws, shape (n_draws,), scaled so that the largest is in [0.5, 1)."""
    w = np.ones(n_draws) if weights is None else check.as_vector("weights", weights)
    if len(w) != n_draws:
        raise ValueError(f"{len(w)} weights for {n_draws} losses: give one per draw.")
    bad = np.flatnonzero(~((w > 0) & np.isfinite(w)))
    if len(bad):
        raise ValueError(f"weight of draw {bad[0]} is {w[bad[0]]}: it must be positive and finite.")
    if w.min() < w.max() / _LARGEST:
        raise ValueError(
            f"weights reach from {w.min()} to {w.max()}: they may differ by a factor of at most "
            f"{_LARGEST:g}. Leave out the draws of smallest weight, which change nothing."
        )
    exponent = np.frexp(w.max())[1]
    return np.ldexp(w, -int(exponent))  # division by a power of two is exact


def _costs(weights: ArrayLike | None, sampling: pd.DataFrame) -> tuple[float, float]:
    """Cost of the labels of the drawn queries, and expected cost of a draw."""
    import pandas as pd

    check.check_table("sampling", sampling, ("probability", "cost"))
    if not isinstance(weights, pd.Series):
        raise ValueError(
            "sampling has the cost of each query, but weights does not name the drawn queries: "
            "make weights a Series by query, as ActiveEvaluator.draws returns it."
        )
    # probabilities, like frequencies, are divided by their sum
    q = check.check_frequencies("sampling.probability", sampling["probability"], len(sampling))
    drawable = sampling[q > 0]
    _check_drawn(
        weights.index, drawable, several="sampling has several rows",
        lacks="probability in sampling",
    )  # fmt: skip
    costs = check.check_costs("sampling.cost", drawable["cost"], len(drawable))
    return float(costs[drawable.index.isin(weights.index)].sum()), float(q[q > 0] @ costs)
