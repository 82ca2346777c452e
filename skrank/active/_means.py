r"""Estimates of a mean over the pool from drawn queries: plain arrays in, numbers out.

Each draw gives an unbiased guess of any sum over the pool, such as that of the values, or that of
the frequencies p of the queries that count. An estimate combines the guesses of all draws; their
weights add up to 1.

* Draws with replacement (Sawade et al. 2013): a draw of query x guesses the sum of all p L by
  :math:`p(x) L(x) / q(x)`, and the guesses are weighted by p / q ("importance").
* Draws without replacement: the m-th draw guesses the sum by that of the queries drawn before, plus
  :math:`p(x) L(x)` over the chance of x among those that were left. The weights are those of
  Farquhar, Gal and Rainforth 2021 ("lure").

The mean is a ratio of two such sums, or the zero of

.. math:: \sum_j (u_j - \delta v_j)

where :math:`\delta` is the difference to the estimate. The *pull* u_j is by how much draw j raises
the estimate, and its *share* v_j by how much its pull falls when the mean rises by 1. Pulls sum to
0, shares to 1. Standard errors and intervals are computed from pulls and shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

ESTIMATORS = ("assisted", "importance", "lure")
_ALIKE = 1e-10  # pulls below this part of the mean are rounding errors: all values are alike
_FEWEST_TO_ASSIST = 4  # queries that count, from which on a slope is fitted


@dataclass(frozen=True)
class Known:
    """Sums over the queries whose labels existed before the campaign.

    Attributes
    ----------
    share : float
        Sum of their frequencies p.
    mass, total : float
        Sums of p, and of p times the value, over those that count.
    deviation : float
        Sum of p times the expected deviation from the mean.
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
        NaN if no drawn query counts.
    standard_error : float
        NaN unless two draws count.
    n_counted : int
        Draws whose query counts.
    effective_sample_size : float
        Number of equally weighted draws with the same variance (Kish).
    variance : float
        Variance of the estimate from a single draw with probabilities p.
    pull, share : ndarray of shape (n_pulling,)
        See the module; without draws of share 0. Empty if the error is unknown: fewer than two
        draws count, or their values are all alike.
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
        """Standard error that intervals use; NaN if it is unknown."""
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
        Frequency of all queries that are known without a draw.

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
        """Weighted guesses of a sum over the pool, from its known part and its drawn summands."""
        return self.part * known + self.weight * summands


class WithoutReplacement:
    """Guesses of draws without replacement, with the attributes and method of `WithReplacement`.

    Parameters
    ----------
    p, q : ndarray of shape (n_draws,)
        Frequency of each drawn query, and its probability at the first draw.
    n_pool : int
        Number of queries that can be drawn.
    """

    def __init__(self, p: np.ndarray, q: np.ndarray, n_pool: int) -> None:
        # Probability of each draw among the queries that were left.
        self._p, self._chance = p, q / np.maximum(1 - (np.cumsum(q) - q), q)
        self.part = _lure_parts(len(p), n_pool)
        later = np.cumsum(self.part[::-1])[::-1] - self.part
        self.weight = p * (self.part / self._chance + later)  # N / n times equation 8 of the paper

    def of(self, known: float, summands: np.ndarray) -> np.ndarray:
        """Weighted guesses of a sum over the pool; queries drawn before are known."""
        terms = self._p * summands
        return self.part * (known + np.cumsum(terms) - terms + terms / self._chance)


def _lure_parts(n_draws: int, n_pool: int) -> np.ndarray:
    """Weights of the guesses of n draws without replacement: N (N - n) / (N - m) (N - m + 1) n."""
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
        Queries that are known without a draw.
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
    """The mean of some values by one of `ESTIMATORS`.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        NaN for queries that do not count, or are not labelled.
    draws : ndarray of shape (n_draws,)
        Queries in the order of drawing; without repeats unless the estimator is "importance".
    p, q : ndarray of shape (n_queries,)
        Frequencies, and probabilities of a first draw.
    deviation : ndarray of shape (n_queries,), optional
        By how much the label model expects each value to differ from the mean; for "assisted".
    known : Known
        Queries that are known without a draw.
    all_count : bool
        All queries of the pool are known to count.
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
    """The mean from the values of draws, of which NaN do not count.

    Parameters
    ----------
    values : ndarray of shape (n_draws,)
    guesses : WithReplacement or WithoutReplacement
    known : Known
    deviation : ndarray of shape (n_draws,), optional
        By how much the label model expects each value to differ from the mean. Its sum over the
        pool is 0; the estimate of that sum, times a fitted slope, is subtracted (the regression
        estimator of survey sampling).
    all_count : bool
        All queries count, so that the mass is 1 and need not be estimated.
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
    fitted = None
    if deviation is not None and k >= _FEWEST_TO_ASSIST:
        surplus = guesses.of(known.deviation, deviation) / mass
        apart = surplus - guesses.part * surplus.sum()
        slope, fitted = _slope(apart, pull)
        value -= slope * float(surplus.sum())
        pull = (sums - value * masses) / mass - slope * surplus
    weight = guesses.weight[counts]
    variance = float(guesses.weight.sum() * (weight @ (values[counts] - value) ** 2)) / mass**2
    mean = Mean(value, math.nan, k, _effective_size(weight), variance, pull, share)
    return _with_error(mean, fitted)


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope of y on x through the origin, at least 0 and at most 1; and the leverage of each x."""
    square = float(x @ x)
    if not square > 0:
        return 0.0, np.zeros(len(x))
    return min(max(float(x @ y) / square, 0.0), 1.0), x**2 / square


def _with_error(mean: Mean, leverage: np.ndarray | None) -> Mean:
    """The mean with its standard error; `leverage` is that of a fitted slope, if there is one."""
    k, pull, share = mean.n_counted, mean.pull, mean.share
    unknown = replace(mean, pull=np.empty(0), share=np.empty(0))
    if k < 2:
        return unknown
    degrees = k - 1 if leverage is None else k - 2
    error = math.sqrt(k / degrees * float(pull @ pull))
    if leverage is not None:  # residuals are smaller than errors by the root of 1 - leverage
        pull = pull / np.sqrt(np.maximum(1 - leverage, 1e-9))
        pull = pull - share * pull.sum()
    if np.abs(pull).max() <= _ALIKE * abs(mean.value):
        return replace(unknown, standard_error=error)
    matters = share > 0
    return replace(mean, standard_error=error, pull=pull[matters], share=share[matters])


def _effective_size(weights: np.ndarray) -> float:
    """(sum of weights)² / sum of squared weights."""
    if not weights.any():
        return 0.0
    shares = weights / weights.max()  # so that squares neither overflow nor vanish
    return float(shares.sum() ** 2 / (shares @ shares))
