r"""Estimates of a mean over the pool from the values of drawn queries.

Each draw gives an unbiased guess of any sum over the pool, such as the sum of p L (frequency times
value), or the sum of p over the queries that count. An estimate is a weighted mean of the guesses
of all draws, with weights that sum to 1.

* Draws with replacement (Sawade et al. 2013, "importance"): a draw of query x guesses the sum of
  all p L as :math:`p(x) L(x) / q(x)`, and the guesses are weighted by p / q.
* Draws without replacement (Farquhar, Gal and Rainforth 2021, "lure"): the m-th draw guesses the
  sum of all p L as the sum over the queries drawn before, plus :math:`p(x) L(x)` over the
  probability of x among the queries not yet drawn.

The estimate of the mean is a ratio of two such sums. It is the zero in m of

.. math:: \sum_j (u_j - (m - \hat m) v_j)

where :math:`\hat m` is the estimate. The *pull* u_j is the contribution of draw j at the estimate,
and the *share* v_j is the decrease of this contribution if m increases by 1. Pulls sum to 0, shares
sum to 1. Standard errors and intervals are computed from pulls and shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

ESTIMATORS = ("assisted", "importance", "lure")
_ALIKE = 1e-10  # pulls below this part of the mean are rounding errors of equal values
_FEWEST_TO_ASSIST = 4  # fewest queries that count for fitting the slope of "assisted"
_MEAN_SLOPE, _DEVIATION_OF_SLOPE = 0.5, 0.5  # prior of that slope


@dataclass(frozen=True)
class Known:
    """Sums over the queries that were labelled before the campaign.

    Attributes
    ----------
    share : float
        Sum of the frequencies p.
    mass, total : float
        Sums of p, and of p times the value, over the queries that count.
    deviation : float
        Sum of p times the expected difference of value and mean.
    """

    share: float = 0.0
    mass: float = 0.0
    total: float = 0.0
    deviation: float = 0.0


NOTHING_KNOWN = Known()


@dataclass(frozen=True, eq=False)
class Mean:
    """An estimated mean.

    Attributes
    ----------
    value : float
        NaN if no query counts, drawn or known.
    standard_error : float
        NaN if fewer than two draws count.
    n_counted : int
        Number of draws whose query counts.
    effective_sample_size : float
        Number of equally weighted draws with the same variance (Kish).
    variance : float
        Variance of the value of a query that is drawn with p from those that count.
    pull, share : ndarray of shape (n_pulling,)
        As in the docstring of the module, for draws of a share above 0. Empty if the error is
        unknown: fewer than two draws count, or all values are equal.
    """

    value: float
    standard_error: float = math.nan
    n_counted: int = 0
    effective_sample_size: float = 0.0
    variance: float = math.nan
    pull: np.ndarray = field(default_factory=lambda: np.empty(0))
    share: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def spread(self) -> float:
        """Standard error for intervals; NaN if unknown."""
        if len(self.pull) == 0:
            return math.nan
        return math.sqrt(self.n_counted / (self.n_counted - 1) * float(self.pull @ self.pull))

    @property
    def is_bounded(self) -> bool:
        """True if the error is known, so that the interval is finite."""
        return 0 < self.spread < math.inf


class WithReplacement:
    """Guesses of draws with replacement.

    Parameters
    ----------
    weights : ndarray of shape (n_draws,)
        p / q of each draw, up to a factor.
    known_share : float
        Sum of p over the queries that were labelled before the campaign.

    Attributes
    ----------
    part : ndarray of shape (n_draws,)
        Weight of each guess; the weights sum to 1.
    weight : ndarray of shape (n_draws,)
        Weight of the value of each draw in the estimate of a sum.
    """

    def __init__(self, weights: np.ndarray, known_share: float = 0.0) -> None:
        self.part = weights / weights.sum()
        self.weight = (1 - known_share) * self.part

    def of(self, known: float, summands: np.ndarray) -> np.ndarray:
        """Weighted guesses of the sum of p times `summands`, of which `known` is already known."""
        return self.part * known + self.weight * summands


class WithoutReplacement:
    """Guesses of draws without replacement, with the attributes and method of `WithReplacement`.

    Parameters
    ----------
    p, q : ndarray of shape (n_draws,)
        Frequency of each drawn query, and probability of the query at the first draw.
    n_pool : int
        Number of queries that can be drawn.
    """

    def __init__(self, p: np.ndarray, q: np.ndarray, n_pool: int) -> None:
        # probability of each draw among the queries not yet drawn
        self._p, self._chance = p, q / np.maximum(1 - (np.cumsum(q) - q), q)
        self.part = _lure_parts(len(p), n_pool)
        later = np.cumsum(self.part[::-1])[::-1] - self.part
        # N / n times equation 8 of Farquhar et al. (2021)
        self.weight = p * (self.part / self._chance + later)

    def of(self, known: float, summands: np.ndarray) -> np.ndarray:
        """As in `WithReplacement`; queries drawn before are added to the known queries."""
        terms = self._p * summands
        return self.part * (known + np.cumsum(terms) - terms + terms / self._chance)


def _lure_parts(n_draws: int, n_pool: int) -> np.ndarray:
    """Weights ``N (N - n) / ((N - m) (N - m + 1) n)`` of the guesses of draws m = 1, ..., n."""
    left = n_pool - np.arange(1, n_draws + 1)
    if n_draws == n_pool:  # all queries are drawn: the last guess is exact
        return (left == 0).astype(np.float64)
    return n_pool * (n_pool - n_draws) / (left * (left + 1)) / n_draws


def importance_mean(values: np.ndarray, weights: np.ndarray, known: Known = NOTHING_KNOWN) -> Mean:
    """The mean from draws with replacement.

    Parameters
    ----------
    values : ndarray of shape (n_draws,)
        NaN for queries that do not count.
    weights : ndarray of shape (n_draws,)
        p / q of each draw, up to a factor.
    known : Known
    """
    if len(values) == 0:
        return Mean(math.nan)
    return _mean(values, WithReplacement(weights, known.share), known)


def mean_of(
    values: np.ndarray,
    draws: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    *,
    estimator: str,
    deviation: np.ndarray | None = None,
    known: Known = NOTHING_KNOWN,
    all_count: bool = False,
) -> Mean:
    """The mean by one of `ESTIMATORS`.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        NaN for queries that do not count, or are not labelled.
    draws : ndarray of shape (n_draws,)
        Queries in the order of drawing; without repeats unless the estimator is "importance".
    p, q : ndarray of shape (n_queries,)
        Frequencies, and probabilities of the first draw.
    deviation : ndarray of shape (n_queries,), optional
        Expected difference of each value and the mean under the label model, for "assisted".
    known : Known
    all_count : bool
        True if all queries of the pool are known to count.
    """
    drawn = values[draws]
    if estimator == "importance":
        return importance_mean(drawn, p[draws] / q[draws], known)
    if len(draws) == 0:
        return Mean(math.nan)
    guesses = WithoutReplacement(p[draws], q[draws], int(np.count_nonzero(q > 0)))
    if estimator == "lure":
        return _mean(drawn, guesses, known, all_count=all_count)
    expected = None if deviation is None else deviation[draws]
    return _mean(drawn, guesses, known, deviation=expected)


def _mean(
    values: np.ndarray,
    guesses: WithReplacement | WithoutReplacement,
    known: Known,
    *,
    deviation: np.ndarray | None = None,
    all_count: bool = False,
) -> Mean:
    """The mean from the values of draws.

    Parameters
    ----------
    values : ndarray of shape (n_draws,)
        NaN for queries that do not count.
    guesses : WithReplacement or WithoutReplacement
    known : Known
    deviation : ndarray of shape (n_draws,), optional
        Expected difference of each value and the mean. The sum over the pool is 0; its estimate
        from the draws, times a fitted slope, is subtracted from the mean (the regression estimator
        of survey sampling).
    all_count : bool
        True if all queries count: the mass is 1 and is not estimated.
    """
    counts = ~np.isnan(values)
    k = int(np.count_nonzero(counts))
    masses = guesses.part if all_count else guesses.of(known.mass, counts)
    mass = float(masses.sum())
    if k == 0 and known.mass == 0:
        return Mean(math.nan)
    sums = guesses.of(known.total, np.where(counts, values, 0.0))
    value = float(sums.sum() / mass)
    pull, share = (sums - value * masses) / mass, masses / mass
    degrees, leverage = k - 1, None
    if deviation is not None and k >= _FEWEST_TO_ASSIST:
        surplus = guesses.of(known.deviation, deviation) / mass
        apart = surplus - guesses.part * surplus.sum()
        slope, leverage = _slope(apart, pull)
        degrees = k - 2
        value -= slope * float(surplus.sum())
        pull = (sums - value * masses) / mass - slope * surplus
    weight = guesses.weight[counts]
    variance = float(guesses.weight.sum() * (weight @ (values[counts] - value) ** 2)) / mass**2
    found = Mean(value, math.nan, k, _effective_size(weight), variance)
    if k < 2:
        return found
    found = replace(found, standard_error=math.sqrt(k / degrees * float(pull @ pull)))
    if leverage is not None:  # HC2: var(residual) = (1 - leverage) * var(error)
        pull = pull / np.sqrt(np.maximum(1 - leverage, 1e-9))
        pull = pull - share * pull.sum()
    if np.abs(pull).max() <= _ALIKE * abs(value):
        return found
    matters = share > 0
    return replace(found, pull=pull[matters], share=share[matters])


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope of y on x through the origin, in [0, 1]; and the leverage of each x.

    A slope that is fitted to few labels adds more error than it removes. The slope therefore has a
    normal prior, and is its posterior mean: ridge regression towards the mean of the prior.
    """
    square = float(x @ x)
    if not square > 0:
        return 0.0, np.zeros(len(x))
    rest = y - min(max(float(x @ y) / square, 0.0), 1.0) * x
    penalty = float(rest @ rest) / (len(x) - 2) / _DEVIATION_OF_SLOPE**2
    penalised = square + penalty
    slope = (float(x @ y) + penalty * _MEAN_SLOPE) / penalised
    return min(max(slope, 0.0), 1.0), x**2 / penalised


def _effective_size(weights: np.ndarray) -> float:
    """``sum(w)**2 / sum(w**2)``."""
    if not weights.any():
        return 0.0
    shares = weights / weights.max()  # so that squares neither overflow nor underflow
    return float(shares.sum() ** 2 / (shares @ shares))
