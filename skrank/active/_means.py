r"""Estimates of a mean over the pool from the values of queries, drawn without replacement.

The m-th draw, of query x, guesses any sum over the pool, such as the sum of p L (frequency times
value), or the sum of p over the queries that count: it is the sum over the queries drawn before,
plus :math:`p(x) L(x)` over the probability of x among the queries not yet drawn. An estimate is a
mean of the guesses of all draws, with the weights of Farquhar, Gal and Rainforth (2021, "lure").

The estimate of the mean is the quotient of two such sums. It is the zero in m of

.. math:: \sum_j (u_j - (m - \hat m) v_j)

where :math:`\hat m` is the estimate. The *pull* u_j is the contribution of draw j at the estimate,
and the *share* v_j is the decrease of this contribution if m increases by 1. Pulls sum to 0, shares
sum to 1. Standard errors and intervals are computed from pulls and shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

ESTIMATORS = ("assisted", "lure")
_ALIKE = 1e-10  # pulls below this part of the mean are rounding errors of equal values
_FEWEST_TO_ASSIST = 4  # fewest draws that count to fit the slope of "assisted": above 2, else free
# Prior of that slope, chosen freely: middle and half of its range [0, 1]. The largest losses with
# it are in docs/evidence/active_savings.md, table "worst".
_MEAN_SLOPE, _DEVIATION_OF_SLOPE = 0.5, 0.5


@dataclass(frozen=True, eq=False)
class Mean:
    """An estimated mean.

    Attributes
    ----------
    value : float
        NaN if nothing is drawn, or no query counts, drawn or known.
    standard_error : float
        NaN if fewer than two draws count.
    n_counted : int
        Number of draws whose query counts.
    n_unlike : int
        Number of draws that count and differ from the most common value.
    variance : float
        Squared error of the mean of one draw with p; a draw that does not count adds 0. If all
        queries count, this is the variance of their values.
    pull, share : ndarray of shape (n_pulling,)
        As in the docstring of the module, for draws of a share above 0. Empty if the error is
        unknown: fewer than two draws count, or all values are equal.
    """

    value: float
    standard_error: float = math.nan
    n_counted: int = 0
    n_unlike: int = 0
    variance: float = math.nan
    pull: np.ndarray = field(default_factory=lambda: np.empty(0))
    share: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def spread(self) -> float:
        """Standard error for intervals; NaN if unknown.

        The bootstrap resamples single pulls. Therefore each pull is corrected for a fitted slope
        (HC2), and `standard_error` by its degrees of freedom. In simulations, both are within 10 %
        of the root mean squared error; if 5 draws count, `standard_error` is 10 to 19 % above it.
        """
        if len(self.pull) == 0:
            return math.nan
        return math.sqrt(self.n_counted / (self.n_counted - 1) * float(self.pull @ self.pull))

    @property
    def largest(self) -> float:
        """Part of the largest squared pull in the sum of the squares."""
        return float((self.pull**2).max() / (self.pull @ self.pull))

    @property
    def is_bounded(self) -> bool:
        """True if the error is known, so that the interval is finite."""
        return 0 < self.spread < math.inf


def _lure_parts(n_draws: int, n_pool: int) -> np.ndarray:
    """Weights ``N (N - n) / ((N - m) (N - m + 1) n)`` of the guesses of draws m = 1, ..., n."""
    left = n_pool - np.arange(1, n_draws + 1)
    if n_draws == n_pool:  # all queries are drawn: the last guess is exact
        return (left == 0).astype(np.float64)
    return n_pool * (n_pool - n_draws) / (left * (left + 1)) / n_draws


def mean_of(
    values: np.ndarray,
    draws: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    *,
    deviation: np.ndarray | None = None,
    known: np.ndarray | None = None,
    all_count: bool = False,
) -> Mean:
    """The mean from the values of draws.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        NaN for queries that do not count, or are not labelled.
    draws : ndarray of shape (n_draws,)
        Queries in the order of drawing.
    p, q : ndarray of shape (n_queries,)
        Frequencies, and probabilities of the first draw.
    deviation : ndarray of shape (n_queries,), optional
        Expected difference of each value and the mean under the label model. The sum over the pool
        is 0; its estimate from the draws, times a fitted slope, is subtracted from the mean (the
        regression estimator of survey sampling, "assisted").
    known : bool ndarray of shape (n_queries,), optional
        True for queries that were labelled before the campaign. Default: none.
    all_count : bool
        True if all queries of the pool are known to count: the mass is 1, and is not estimated
        unless `deviation` is given ("assisted" normalises its weights).
    """
    if len(draws) == 0:
        return Mean(math.nan)
    known = np.zeros(len(p), np.bool_) if known is None else known
    known_counts = known & ~np.isnan(values)
    known_mass = float(p[known_counts].sum())
    known_total = float(p[known_counts] @ values[known_counts])
    known_deviation = 0.0 if deviation is None else float(p[known] @ deviation[known])
    n_pool = int(np.count_nonzero(q > 0))
    drawn, p, q = values[draws], p[draws], q[draws]
    chance = q / np.maximum(1 - (np.cumsum(q) - q), q)  # among those not yet drawn, at most 1
    part = _lure_parts(len(draws), n_pool)

    def guesses(known_sum: float, summands: np.ndarray) -> np.ndarray:
        """Weighted guesses of the sum of p times `summands`."""
        terms = p * summands
        return part * (known_sum + np.cumsum(terms) - terms + terms / chance)

    counts = ~np.isnan(drawn)
    k = int(np.count_nonzero(counts))
    masses = part if all_count and deviation is None else guesses(known_mass, counts)
    mass = float(masses.sum())
    if k == 0 and known_mass == 0:
        return Mean(math.nan)
    sums = guesses(known_total, np.where(counts, drawn, 0.0))
    value = float(sums.sum() / mass)
    pull, share = (sums - value * masses) / mass, masses / mass
    # draws that do not count pull, too, if a slope is fitted: degrees of freedom by k are cautious
    degrees, leverage = k - 1, None
    if deviation is not None and k >= _FEWEST_TO_ASSIST:
        surplus = guesses(known_deviation, deviation[draws]) / mass
        # the surplus is a plain sum, not a ratio, so that `part` are its weights, not `share`
        slope, leverage = _slope(surplus - part * surplus.sum(), pull)
        degrees = k - 2
        value -= slope * float(surplus.sum())
        pull = (sums - value * masses) / mass - slope * surplus
    # p N / n times equation 8 of Farquhar et al. (2021): the sum of the weights estimates that of p
    # over all queries that can be drawn, which is below 1 if queries are known
    weight = p * (part / chance + np.cumsum(part[::-1])[::-1] - part)
    squares = weight[counts] @ (drawn[counts] - value) ** 2
    variance = float(weight.sum() * squares) / mass**2
    _, repeats = np.unique(drawn[counts].round(12), return_counts=True)
    mean = Mean(value, math.nan, k, k - int(repeats.max(initial=0)), variance)
    if k < 2:
        return mean
    mean = replace(mean, standard_error=math.sqrt(k / degrees * float(pull @ pull)))
    if leverage is not None:  # HC2: var(residual) = (1 - leverage) * var(error)
        pull = pull / np.sqrt(np.maximum(1 - leverage, 1e-9))
        pull = pull - share * pull.sum()
    if np.abs(pull).max() <= _ALIKE * abs(value):
        return mean
    # Without a slope, draws that do not count hardly pull, and do not show how values vary. With
    # it, a resample of draws of share 0 (before the first that counts) alone would divide by 0.
    matters = counts if leverage is None else share > 0
    share = share[matters] / share[matters].sum()
    return replace(mean, pull=pull[matters] - share * pull[matters].sum(), share=share)


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope of y on x through the origin, in [0, 1]; and the leverage of each x.

    A slope that is fitted to few labels adds more error than it removes. The slope therefore has a
    normal prior, and is its posterior mean: ridge regression towards the mean of the prior.
    """
    square = float(x @ x)
    if not square > 0:
        return 0.0, np.zeros(len(x))
    rest = y - min(max(float(x @ y) / square, 0.0), 1.0) * x
    # over all draws, since draws that do not count have a surplus, too
    penalty = float(rest @ rest) / (len(x) - 2) / _DEVIATION_OF_SLOPE**2
    penalised = square + penalty
    slope = (float(x @ y) + penalty * _MEAN_SLOPE) / penalised
    return min(max(slope, 0.0), 1.0), x**2 / penalised
