r"""Weighted means of drawn queries, and how sure they are: plain arrays in, numbers out.

With draws repeated, as in Sawade et al. 2013, a draw has the weight w = p / q. With every query
drawn once, as successive draws from what is left, the weights are those of Farquhar, Gal and
Rainforth (LURE). Either way the mean is a ratio, and a draw pulls it by its *influence*

.. math:: u_j = \frac{a_j}{1 - a_j} (L_j - \hat R), \quad a_j = w_j / \sum_i w_i

which is how far the mean moves when the draw is left out. The t interval rests on these, not on the
plain residuals: where a single draw carries much of the weight, it hides its own error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

ESTIMATORS = ("importance", "assisted", "lure")
_ALIKE = 1e-10  # influences below this part of the mean are rounding: all values are alike


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


@dataclass(frozen=True)
class Mean:
    """A weighted mean over draws.

    Attributes
    ----------
    value : float
        NaN if no draw counts.
    standard_error : float
        NaN unless two draws count.
    spread : float
        Standard error of the interval, by leaving out each draw in turn; NaN unless two draws
        count and their values differ: then nothing is known of the error.
    skewness : float
        Of the error of the value.
    n_counted : int
        Draws whose query counts.
    effective_sample_size : float
        Equally weighted draws of the same worth.
    degrees : int
        Degrees of freedom of the spread.
    """

    value: float
    standard_error: float
    spread: float
    skewness: float
    n_counted: int
    effective_sample_size: float
    degrees: int = 0


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
        return _nothing()
    known = known or Known()
    counts = ~np.isnan(values)
    filled = np.where(counts, values, 0.0)
    even = weights / weights.sum()
    share = (1 - known.share) * even
    mass = known.mass + share @ counts
    if not mass > 0:
        return _nothing()
    value = float((known.total + share @ filled) / mass)
    residual = np.where(counts, filled - value, 0.0)
    if known.share:  # that of known queries is exact, and the rest varies around what makes up
        residual = residual - even @ residual
    share = share / mass
    if deviation is None or np.count_nonzero(counts) <= 3:
        return _mean(value, share, residual, counts, share[counts])
    surplus = known.deviation / mass + share @ deviation
    apart = deviation - even @ deviation
    trust, fitted = _fit(share * apart, share * residual)
    value -= trust * float(surplus)
    return _mean(value, share, residual - trust * apart, counts, share[counts], fitted)


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
        return _nothing()
    known = known or Known()
    counts = ~np.isnan(values)
    filled = np.where(counts, values, 0.0)
    part, weights = parts(len(values), n_pool), p * lure(chance, n_pool)
    mass = known.mass + weights @ counts
    if not mass > 0:
        return _nothing()
    value = float((known.total + weights @ filled) / mass)
    residual = np.where(counts, filled - value, 0.0) * p
    before = known.total - value * known.mass + np.cumsum(residual) - residual
    return _mean(value, part, (before + residual / chance) / mass, counts, weights[counts])


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


def _nothing() -> Mean:
    return Mean(math.nan, math.nan, math.nan, 0.0, 0, 0.0)


def _mean(
    value: float,
    share: np.ndarray,
    residual: np.ndarray,
    counts: np.ndarray,
    weights: np.ndarray,
    fitted: np.ndarray | None = None,
) -> Mean:
    """The mean from the share and the residual of each draw, less what was fitted to them."""
    size = float(weights.sum() ** 2 / (weights @ weights))
    k = int(np.count_nonzero(counts))
    if k < 2:
        return Mean(value, math.nan, math.nan, 0.0, k, size)
    pull = share * residual
    degrees = k - 1 if fitted is None else k - 2
    error = float(np.sqrt(k / degrees * (pull @ pull)))
    influence = pull / np.maximum(1 - share, 1e-9)
    if fitted is not None:
        influence = influence / np.maximum(1 - fitted, 1e-9)
    square = float(influence @ influence)
    if np.abs(influence).max() <= _ALIKE * abs(value):
        return Mean(value, error, math.nan, 0.0, k, size)
    skewness = float(np.sum(influence**3)) / square**1.5
    spread = math.sqrt((k - 1) / k * square)
    return Mean(value, error, spread, skewness, k, size, degrees)


def t_interval(mean: Mean, confidence: float) -> tuple[float, float]:
    """The confidence interval; without bounds where the error is not known.

    The wider, on either side, of Student's interval and that of Hall's transformation, which makes
    room on the side of a long tail. From few draws neither alone covers what it should.

    References
    ----------
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society
    B 54, 1992.
    """
    if math.isnan(mean.spread):
        return -math.inf, math.inf
    t = float(stdtrit(mean.degrees, (1 + confidence) / 2))
    low, high = (_untransformed(x, mean.skewness) for x in (t, -t))
    return mean.value - max(t, low) * mean.spread, mean.value - min(-t, high) * mean.spread


def certainty(mean: Mean) -> float:
    """The highest confidence at which `t_interval` leaves out 0."""
    if math.isnan(mean.spread):
        return 0.0
    ratio = mean.value / mean.spread
    transformed = _transformed(ratio, mean.skewness)
    if ratio * transformed <= 0:
        return 0.0
    least = min(abs(ratio), abs(transformed))
    return float(1 - 2 * stdtr(mean.degrees, -least))


def _transformed(ratio: float, skewness: float) -> float:
    """A t ratio without the skewness of its error: Hall's transformation, which is monotone."""
    if abs(skewness) < 1e-6:
        return ratio
    return ((1 + skewness / 3 * ratio) ** 3 - 1) / skewness + skewness / 6


def _untransformed(ratio: float, skewness: float) -> float:
    """The inverse of `_transformed`."""
    if abs(skewness) < 1e-6:
        return ratio
    return 3 / skewness * (float(np.cbrt(1 + skewness * (ratio - skewness / 6))) - 1)
