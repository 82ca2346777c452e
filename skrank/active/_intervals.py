"""Confidence intervals of estimated means, by the bootstrap of Student's t.

The distribution of the ratio (estimate - truth) / error depends on the weights and on the tails of
the values. Its quantiles are estimated from resamples of the draws, which are correct to the second
order (Hall 1992) if the resampled draws have the mean that is tested. For each candidate of the
truth, the values are therefore shifted so that their mean is the candidate. An end of the interval
is the candidate at which the observed ratio is the 2.5 % or 97.5 % quantile (test inversion,
Carpenter 1999). The shift of a value is proportional to q / p: queries on which two rankers agree
have a small q and the difference 0 for every truth, and are hardly shifted.

The error of the next order depends on the skewness and kurtosis of the draws (Hall 1988); the
ratios are multiplied by a factor that corrects this error.

References
----------
P. Hall, Theoretical comparison of bootstrap confidence intervals, Annals of Statistics 16, 1988.
P. Hall, The Bootstrap and Edgeworth Expansion, Springer 1992. J. Carpenter, Test inversion
bootstrap confidence intervals, Journal of the Royal Statistical Society B 61, 1999.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtr, stdtrit

from skrank.active._means import Mean

_N_RESAMPLES = 999
_OUTERMOST = 10  # quantiles with fewer resamples beyond them are extrapolated
_FEWEST = 5  # draws; with fewer, Student's t is used, because resamples hardly differ
_MOST = 100  # draws that are resampled individually; more draws are grouped, to bound the time
_FURTHER = 1.2 ** np.arange(12)  # factors of the ratio for the truth 0: a free choice, from 1 on
_LEVELS = np.arange(1, _N_RESAMPLES + 1) / (_N_RESAMPLES + 1)
_LEAST = float(_LEVELS[_OUTERMOST - 1])


def bootstrap_interval(mean: Mean, confidence: float) -> tuple[float, float]:
    """The confidence interval; infinite if the error is unknown."""
    if not mean.is_bounded:
        return -math.inf, math.inf
    tail, resamples = (1 - confidence) / 2, _Resamples(mean)
    low, high = resamples.end(1 - tail), resamples.end(tail)
    return mean.value - low * mean.spread, mean.value - high * mean.spread


def certainty(mean: Mean) -> float:
    """The highest confidence at which `bootstrap_interval` excludes 0.

    With few draws, a truth of the opposite sign may be more compatible with the draws than 0 is.
    Therefore 0 and all candidates of the opposite sign must be excluded.
    """
    if not mean.is_bounded or mean.value == 0:
        return 0.0
    resamples, ratio = _Resamples(mean), mean.value / mean.spread
    return max(0.0, 1 - 2 * max(resamples.tail(ratio * further) for further in _FURTHER))


class _Resamples:
    """Ratios (estimate - truth) / error of resampled draws, for any candidate of the truth."""

    def __init__(self, mean: Mean) -> None:
        self.degrees = mean.n_counted - 1
        norm = float(np.linalg.norm(mean.pull))
        self.unit = mean.spread / norm  # the standard error of pulls of norm 1
        u, v = _grouped(mean.pull / norm), _grouped(mean.share)
        y, self.n = v.mean() - v, len(u)
        if self.n < _FEWEST:
            return
        # If the truth is d higher, squared pulls sum to 1 + d (slope + d curve), in groups nearly.
        self.slope, self.curve = 2 * float(u @ y), float(y @ y)
        terms = (u, y, v, u * u, u * y, y * y, u * v, y * v, v * v)
        self.sums = (_counts(self.n) @ np.stack(terms, 1, dtype=np.float32)).T.astype(np.float64)
        self.correction = 1 + (2 * ndtri(_LEVELS) ** 2 + 1) / 6 * _excess(u)

    def end(self, level: float) -> float:
        """The fixed point r of ``r = quantile(r, level)``: the ratio at an end of the interval."""
        side = 1.0 if level > 0.5 else -1.0

        def ahead(ratio: float) -> float:
            return side * self.quantile(side * ratio, level) - ratio

        at_zero = ahead(0.0)
        if at_zero <= 0:  # the end must not lie on the other side of the estimate
            return 0.0
        far = 1.5 * at_zero
        while ahead(far) > 0:
            far *= 2
        return side * float(brentq(ahead, 0.0, far, xtol=1e-8))

    def quantile(self, ratio: float, level: float) -> float:
        """Quantile of the ratios if `ratio` is observed; tails are extrapolated by Student's t."""
        if self.n < _FEWEST:
            return float(stdtrit(self.degrees, level))
        within = min(max(level, _LEAST), 1 - _LEAST)
        quantile = float(np.interp(within, _LEVELS, self._sorted_ratios(ratio)))
        if level != within:
            quantile *= float(stdtrit(self.degrees, level) / stdtrit(self.degrees, within))
        return quantile

    def tail(self, ratio: float) -> float:
        """Share of the ratios that are further from 0 than the observed `ratio`."""
        if self.n < _FEWEST:
            return float(stdtr(self.degrees, -abs(ratio)))
        end = self.quantile(ratio, _LEAST if ratio < 0 else 1 - _LEAST)
        if abs(ratio) > abs(end):
            outermost = float(stdtrit(self.degrees, _LEAST))
            return float(stdtr(self.degrees, outermost * ratio / end))
        level = float(np.interp(ratio, self._sorted_ratios(ratio), _LEVELS))
        return level if ratio < 0 else 1 - level

    def _sorted_ratios(self, ratio: float) -> np.ndarray:
        """Sorted ratios of all resamples, for the truth at which `ratio` is observed.

        If the truth is higher by d, the pull of a draw is u - d v, plus the shift of its value. The
        shift adds d mean(v), so that pulls sum to 0. The error of a resample is at least a part of
        the error of all draws, as in `skrank.stats.bootstrap_interval`.
        """
        d = -ratio * self.unit
        u, y, v, uu, uy, yy, uv, yv, vv = self.sums
        shift = (u + d * y) / v
        squares = uu + 2 * d * uy + d * d * yy - shift * (2 * (uv + d * yv) - shift * vv)
        whole = math.sqrt(max(1 + d * (self.slope + d * self.curve), 1e-6))
        least = min(0.5, math.sqrt(self.n) / 16) * whole
        error = np.maximum(np.sqrt(np.maximum(squares, 0.0)) / v, least)
        return np.maximum.accumulate(np.sort(shift / (self.unit * error)) * self.correction)


def _excess(u: np.ndarray) -> np.ndarray:
    """``max(kurtosis - 1.5 * skewness**2, 0)`` over the number of draws, for each level.

    Both terms are reduced by their expectation for normal values. The skewness is subtracted only
    at the end of the interval that it lengthens: the opposite tail may exist without being drawn.
    The bound 0, a free choice, keeps the correction from shortening intervals.
    """
    n, cubes = len(u), float(np.sum(u**3))
    kurtosis = float(np.sum(u**4)) - 3 * (n - 1) / (n * (n + 1))
    skewness = cubes**2 - 6 * (n - 2) / (n * (n + 1) * (n + 3))
    on_long_side = (cubes > 0) == (_LEVELS < 0.5)
    return np.maximum(kurtosis - 1.5 * skewness * on_long_side, 0.0)


def _grouped(terms: np.ndarray) -> np.ndarray:
    """Sums over 100 groups if there are more draws; on average, the skewness of the total stays."""
    if len(terms) <= _MOST:
        return terms
    return np.bincount(np.arange(len(terms)) % _MOST, weights=terms)


@functools.cache  # n is at most _MOST
def _counts(n: int) -> np.ndarray:
    """Counts of n draws in each resample, of shape (_N_RESAMPLES, n); the seed is n."""
    random = np.random.RandomState(n)
    return random.multinomial(n, np.full(n, 1 / n), size=_N_RESAMPLES).astype(np.float32)
