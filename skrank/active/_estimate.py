"""The importance-weighted estimate, its error, and what to conclude from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from skrank import _validation as check
from skrank._engine.groups import show
from skrank.active._forms import settle_empty
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """An estimate of the mean value over the pool.

    Attributes
    ----------
    value : float
        Weighted mean of the values of the drawn queries.
    standard_error : float
        Of `value`; NaN after a single draw, 0 when the whole pool is labelled.
    interval : (float, float)
        Confidence interval, with the t quantile.
    confidence : float
        Its coverage.
    n_draws : int
        Draws that the estimate rests on; a query drawn twice counts twice.
    n_queries : int
        Distinct queries among them.
    effective_sample_size : float
        (sum of weights)² / sum of squared weights: equally weighted draws of the same worth.
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
    n_queries: int
    effective_sample_size: float
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

    def __str__(self) -> str:
        low, high = self.interval
        text = (
            f"{self.value:.4f} ± {self.standard_error:.4f}, {self.confidence:.0%} interval "
            f"[{low:.4f}, {high:.4f}] from {self.n_draws} draws of {self.n_queries} queries"
        )
        if self.saved is not None:
            text += f" at cost {self.cost:g}, uniform draws: {self.passive_cost:.0f}"
        return text


@dataclass(frozen=True)
class Decision:
    """Which ranker is better.

    Attributes
    ----------
    better : str or None
        The better ranker, or None while that is not known with the confidence that was asked for.
    leader : str or None
        The ranker with the higher estimate; None if they are equal.
    confidence : float
        One less the one-sided p-value: how sure it is that the leader is better.
    difference : Estimate
        First less second.
    """

    better: str | None
    leader: str | None
    confidence: float
    difference: Estimate

    def __str__(self) -> str:
        who = "neither" if self.leader is None else repr(self.leader)
        state = "decided" if self.better is not None else "not decided yet"
        return f"{who} leads, confidence {self.confidence:.1%} ({state}); {self.difference}"


def estimate(
    losses: Any,
    weights: Any = None,
    *,
    metric: str | Metric | None = None,
    scores: Any = None,
    groups: Any = None,
    confidence: float = 0.95,
) -> Estimate:
    r"""Estimate the mean value over a pool from queries that were drawn from it.

    .. math:: \hat R = \frac{\sum_j w_j L_j}{\sum_j w_j}, \quad
              \widehat{se}^2 = \frac n{n-1} \frac{\sum_j w_j^2 (L_j - \hat R)^2}{(\sum_j w_j)^2}

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
    confidence : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there is no draw, a weight is not positive, or a drawn query has no value.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, equation 6 and lemma 1.

    Examples
    --------
    >>> from skrank.active import estimate
    >>> print(estimate([0.2, 0.4, 0.9], weights=[1, 2, 1]))
    0.4750 ± 0.1617, 95% interval [-0.2206, 1.1706] from 3 draws of 3 queries
    """
    if metric is not None:
        losses = _losses(losses, metric, scores, groups)
    values, w, n_queries = _match(losses, weights)
    return weigh(values, w, n_queries, confidence)


def weigh(values: np.ndarray, weights: np.ndarray, n_queries: int, confidence: float) -> Estimate:
    """The estimate from values and weights of draws."""
    check.check_number("confidence", confidence, 0, 1)
    counts = ~np.isnan(values)
    n, w = len(values), np.where(counts, weights, 0.0)
    total = w.sum()
    if total == 0:
        return Estimate(math.nan, math.nan, (-math.inf, math.inf), confidence, n, n_queries, 0.0)
    filled = np.where(counts, values, 0.0)
    mean = float(w @ filled / total)
    error, interval = math.nan, (-math.inf, math.inf)
    if n > 1:
        error = float(np.sqrt(n / (n - 1) * (w**2 @ (filled - mean) ** 2)) / total)
        margin = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * error
        interval = (mean - margin, mean + margin)
    return Estimate(mean, error, interval, confidence, n, n_queries, float(total**2 / (w @ w)))


def passive_variance(values: np.ndarray, weights: np.ndarray, value: float) -> float:
    """Variance of one uniform draw around `value`, per squared share of queries that count."""
    counts = ~np.isnan(values)
    w = weights[counts]
    return float(weights.sum() * (w @ (values[counts] - value) ** 2) / w.sum() ** 2)


def decide(difference: Estimate, names: tuple[str, ...], confidence: float) -> Decision:
    """The conclusion from a difference, first less second."""
    check.check_number("confidence", confidence, 0, 1)
    value, error = difference.value, difference.standard_error
    leader = None if value == 0 or math.isnan(value) else names[0 if value > 0 else 1]
    if difference.complete:
        sure = 0.5 if leader is None else 1.0
    elif not error > 1e-12 * abs(value):  # one draw, or all values alike: the error is not known
        sure = 0.5
    else:
        sure = float(stats.t.cdf(abs(value) / error, difference.n_draws - 1))
    return Decision(leader if sure >= confidence else None, leader, sure, difference)


def _losses(labels: Any, name: str | Metric, scores: Any, groups: Any) -> pd.Series:
    """Value of each query, or the difference of two values."""
    if scores is None:
        raise ValueError("a metric of labels needs scores, those of the labelled rows.")
    measure = settle_empty(metric_of(name))
    pair = scores if isinstance(scores, (list, tuple)) and np.ndim(scores[0]) == 1 else [scores]
    values = [measure.per_query(labels, one, groups=groups) for one in pair]
    if len(values) > 2:
        raise ValueError(f"scores holds {len(values)} rankers: give one, or two to compare.")
    return values[0] if len(values) == 1 else values[0] - values[1]


def _match(losses: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Values and weights per draw, and the number of distinct queries."""
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
        queries = weights.index.nunique()
        values = losses.loc[weights.index].to_numpy(dtype=np.float64)
    else:
        values = check.as_vector("losses", losses)
        queries = len(values)
    w = np.ones(len(values)) if weights is None else check.as_vector("weights", weights)
    if len(w) != len(values):
        raise ValueError(f"{len(w)} weights for {len(values)} losses: give one per draw.")
    bad = np.flatnonzero(~((w > 0) & np.isfinite(w)))
    if len(bad):
        raise ValueError(f"weight of draw {bad[0]} is {w[bad[0]]}: it must be positive and finite.")
    return values, w, queries
