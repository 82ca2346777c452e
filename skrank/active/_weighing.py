r"""Weighted means of drawn queries: plain arrays in, numbers out.

With draws repeated, as in Sawade et al. 2013, a draw has the weight w = p / q. With every query
drawn once, as successive draws from what is left, the weights are those of Farquhar, Gal and
Rainforth (LURE). Either way the mean is a ratio of two sums over draws, and the zero of

.. math:: \sum_j (u_j - \delta v_j), \quad u_j = a_j (L_j - \hat R), \quad
          v_j = a_j = w_j / \sum_i w_i

where :math:`\delta` is how far it is from the mean that was found: the *pull* u of a draw falls by
its *share* v as the mean rises. What errors and intervals need to know is in these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from skrank.active._draws import first_draws

ESTIMATORS = ("importance", "assisted", "lure")
_ALIKE = 1e-10  # pulls below this part of the mean are rounding: all values are alike


@dataclass(frozen=True)
class Known:
    """Queries whose value is known without a draw.

    Attributes
    ----------
    share : float
        Sum of their frequencies p.
    mass, total : float
        Sums of p and of p times the value over those that count.
    deviation : float
        Sum of p times the expected deviation from the mean.
    """

    share: float = 0.0
    mass: float = 0.0
    total: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, eq=False)
class Mean:
    """A weighted mean over draws.

    Attributes
    ----------
    value : float
        NaN if no draw counts.
    standard_error : float
        NaN unless two draws count.
    n_counted : int
        Draws whose query counts.
    effective_sample_size : float
        Equally weighted draws of the same worth.
    pull, share : ndarray of shape (n_pulling,)
        By how much each draw that matters raises the mean, and by how much less it would for each
        unit by which the mean were higher. Empty where nothing is known of the error: unless two
        draws count and their values differ.
    """

    value: float
    standard_error: float = math.nan
    n_counted: int = 0
    effective_sample_size: float = 0.0
    pull: np.ndarray = field(default_factory=lambda: np.empty(0))
    share: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def spread(self) -> float:
        """Standard error of the interval; NaN where nothing is known of it."""
        if len(self.pull) == 0:
            return math.nan
        k = self.n_counted
        return math.sqrt(k / (k - 1) * float(self.pull @ self.pull))

    @property
    def is_bounded(self) -> bool:
        """Whether anything is known of the error, so that the interval has bounds."""
        return 0 < self.spread < math.inf


def mean_of(
    values: np.ndarray,
    draws: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    estimator: str,
    deviation: np.ndarray | None,
    known: Known | None = None,
) -> Mean:
    """The mean by one of `ESTIMATORS`; all arrays but `draws` are by query of the pool."""
    if estimator == "lure":
        once = first_draws(draws)
        n_pool = int(np.count_nonzero(q > 0))
        return single_mean(values[once], p[once], chances(q[once]), n_pool, known)
    expected = deviation[draws] if deviation is not None and estimator == "assisted" else None
    return repeated_mean(values[draws], p[draws] / q[draws], known, expected)


def repeated_mean(
    values: np.ndarray,
    weights: np.ndarray,
    known: Known | None = None,
    deviation: np.ndarray | None = None,
) -> Mean:
    """The mean over draws with replacement, of weights p / q up to a factor.

    NaN values do not count. `deviation` is how far the label model expects each drawn query to
    deviate from the mean; over the whole pool this sums to 0. What the draws have more or less of
    it is taken off, times how well it told the values: the regression estimator of surveys.
    """
    if len(values) == 0:
        return _NOTHING
    known = known or Known()
    counts = ~np.isnan(values)
    filled = np.where(counts, values, 0.0)
    even = weights / weights.sum()
    drawn = (1 - known.share) * even
    mass = known.mass + drawn @ counts
    if not mass > 0:
        return _NOTHING
    value = float((known.total + drawn @ filled) / mass)
    # All draws tell how much there is of what is not known, those that count what it is worth.
    left = known.total - value * known.mass
    pull = (even * left + drawn * np.where(counts, filled - value, 0.0)) / mass
    share = (even * known.mass + drawn * counts) / mass
    size = _effective(weights[counts])
    if deviation is None or np.count_nonzero(counts) <= 3:
        return _mean(value, pull, share, counts, size)
    surplus = known.deviation / mass + (drawn / mass) @ deviation
    apart = drawn / mass * (deviation - even @ deviation)
    trust, fitted = _fit(apart, pull)
    value -= trust * float(surplus)
    return _mean(value, pull - trust * apart, share, counts, size, fitted)


def _fit(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope of y on x through 0, between 0 (no use) and 1, and the part of y_j that x_j fits."""
    square = float(x @ x)
    if not square > 0:
        return 0.0, np.zeros(len(x))
    return min(max(float(x @ y) / square, 0.0), 1.0), x**2 / square


def single_mean(
    values: np.ndarray, p: np.ndarray, chance: np.ndarray, n_pool: int, known: Known | None = None
) -> Mean:
    """The mean over draws without replacement; `chance` is that of each draw among what was left.

    After m draws the sum over the pool is estimated by what is known and the last value over its
    chance. These estimates are unbiased, one by one, and uncorrelated (Des Raj 1956); LURE is their
    mean with weights that put more on the later ones, which have less left to guess.
    """
    if len(values) == 0:
        return _NOTHING
    known = known or Known()
    counts = ~np.isnan(values)
    filled = np.where(counts, values, 0.0)
    weights = p * lure(chance, n_pool)
    mass = known.mass + weights @ counts
    if not mass > 0:
        return _NOTHING
    value = float((known.total + weights @ filled) / mass)

    def guesses(known_sum: float, summands: np.ndarray) -> np.ndarray:
        """What each draw says of a sum over the pool, times its part in the mean of all."""
        before = known_sum + np.cumsum(summands) - summands
        return parts(len(values), n_pool) * (before + summands / chance) / mass

    pull = guesses(known.total - value * known.mass, p * np.where(counts, filled - value, 0.0))
    share = guesses(known.mass, p * counts)
    return _mean(value, pull, share, counts, _effective(weights[counts]))


def chances(q: np.ndarray) -> np.ndarray:
    """The chance of each draw among what was left, from the probabilities of first draws."""
    return q / np.maximum(1 - (np.cumsum(q) - q), q)


def parts(n_draws: int, n_pool: int) -> np.ndarray:
    """Weights of the estimates after 1, 2, ... draws without replacement; their sum is 1."""
    left = n_pool - np.arange(1, n_draws + 1)
    if n_draws == n_pool:  # the last one knows all
        return (left == 0).astype(np.float64)
    return n_pool * (n_pool - n_draws) / (left * (left + 1)) / n_draws


def lure(chance: np.ndarray, n_pool: int) -> np.ndarray:
    """Weights of draws without replacement, so that sums of weight times value are unbiased."""
    part = parts(len(chance), n_pool)
    return part / chance + (np.cumsum(part[::-1])[::-1] - part)


_NOTHING = Mean(math.nan)


def _effective(weights: np.ndarray) -> float:
    """Kish's number of equally weighted draws of the same worth."""
    if not weights.any():
        return 0.0
    shares = weights / weights.max()  # whose squares are numbers
    return float(shares.sum() ** 2 / (shares @ shares))


def _mean(
    value: float,
    pull: np.ndarray,
    share: np.ndarray,
    counts: np.ndarray,
    size: float,
    fitted: np.ndarray | None = None,
) -> Mean:
    """The mean, and its error from what each draw pulls; `fitted` is the part that was fitted."""
    k = int(np.count_nonzero(counts))
    if k < 2:
        return Mean(value, n_counted=k, effective_sample_size=size)
    degrees = k - 1 if fitted is None else k - 2
    error = math.sqrt(k / degrees * float(pull @ pull))
    if fitted is not None:  # what was fitted to a draw hides a part of its error
        pull = pull / np.maximum(1 - fitted, 1e-9)
        pull = pull - share * pull.sum()
    if np.abs(pull).max() <= _ALIKE * abs(value):
        return Mean(value, error, k, size)
    matters = share > 0
    return Mean(value, error, k, size, pull[matters], share[matters])
