"""Confidence intervals of weighted means, by the bootstrap of Student's t.

The mean of a campaign is a ratio, its draws have unequal weights, and a few of them may carry most
of the error. What the ratio (value - truth) / error does is seen in resamples of the draws. These
quantiles are right to the second order (Hall 1992), if the resamples are of a world like that of
the truth. For each truth that may be inside the interval there is one: the values of queries that
were likely to be drawn, as the most uncertain ones are, are moved to have this mean. Two rankers
that agree on a query differ by 0 whatever the truth is; such queries are drawn seldom, have large
weights, and must stay where they are. An end of the interval is the truth that has the ratio that
was found as a quantile (Carpenter 1999).

What the next order takes from the coverage is known from the skewness and the kurtosis of the draws
(Hall 1988), and is given back.

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

from skrank.active._weighing import Mean

_RESAMPLES = 999
_OUTERMOST = 10  # resamples on either side, among which levels are too coarse to be counted
_FEWEST = 5  # draws, below which there are hardly any different resamples
_MOST = 100  # draws that are resampled one by one; more are bundled
_FURTHER = 1.2 ** np.arange(12)  # where to look for a truth beyond 0
_LEVELS = np.arange(1, _RESAMPLES + 1) / (_RESAMPLES + 1)
_LEAST = float(_LEVELS[_OUTERMOST - 1])


def bootstrap_interval(mean: Mean, confidence: float) -> tuple[float, float]:
    """The confidence interval; without bounds where the error is not known."""
    if not mean.is_bounded:
        return -math.inf, math.inf
    tail, worlds = (1 - confidence) / 2, _Worlds(mean)
    low, high = worlds.ratio(1 - tail), worlds.ratio(tail)
    return mean.value - low * mean.spread, mean.value - high * mean.spread


def certainty(mean: Mean) -> float:
    """The highest confidence at which `bootstrap_interval` leaves out 0.

    Of few draws, a truth beyond 0 may be more likely than 0 is: it must be ruled out, too.
    """
    if not mean.is_bounded or mean.value == 0:
        return 0.0
    worlds, ratio = _Worlds(mean), mean.value / mean.spread
    return max(0.0, 1 - 2 * max(worlds.beyond(ratio * further) for further in _FURTHER))


class _Worlds:
    """Ratios (value - truth) / error of resamples, in the world of each truth."""

    def __init__(self, mean: Mean) -> None:
        self.degrees = mean.n_counted - 1
        norm = float(np.linalg.norm(mean.pull))
        self.unit = mean.spread / norm
        u, v = _bundled(mean.pull / norm), _bundled(mean.share)
        y, n = v.mean() - v, len(u)
        self.n = n
        if n < _FEWEST:
            return
        # By how much the squared pulls of all draws grow from world to world.
        self.slope, self.curve = 2 * float(u @ y), float(y @ y)
        terms = (u, y, v, u * u, u * y, y * y, u * v, y * v, v * v)
        self.sums = (_counts(n) @ np.stack(terms, axis=1, dtype=np.float32)).T.astype(np.float64)
        self.room = 1 + (2 * ndtri(_LEVELS) ** 2 + 1) / 6 * _excess(u)

    def ratio(self, level: float) -> float:
        """The ratio that is this quantile of its own world."""
        side = 1.0 if level > 0.5 else -1.0

        def short(ratio: float) -> float:
            return side * self.quantile(side * ratio, level) - ratio

        here = short(0.0)
        if here <= 0:  # the interval holds the value
            return 0.0
        far = 1.5 * here
        while short(far) > 0:
            far *= 2
        return side * float(brentq(short, 0.0, far, xtol=1e-8))

    def quantile(self, ratio: float, level: float) -> float:
        """Quantile of the ratios; beyond those that can be counted, as Student's t falls."""
        if self.n < _FEWEST:
            return float(stdtrit(self.degrees, level))
        within = min(max(level, _LEAST), 1 - _LEAST)
        found = float(np.interp(within, _LEVELS, self._resampled(ratio)))
        if level != within:
            found *= float(stdtrit(self.degrees, level) / stdtrit(self.degrees, within))
        return found

    def beyond(self, ratio: float) -> float:
        """The part of the ratios that are further out than the one of this world."""
        if self.n < _FEWEST:
            return float(stdtr(self.degrees, -abs(ratio)))
        end = self.quantile(ratio, _LEAST if ratio < 0 else 1 - _LEAST)
        if abs(ratio) > abs(end):
            outermost = float(stdtrit(self.degrees, _LEAST))
            return float(stdtr(self.degrees, outermost * ratio / end))
        level = float(np.interp(ratio, self._resampled(ratio), _LEVELS))
        return level if ratio < 0 else 1 - level

    def _resampled(self, ratio: float) -> np.ndarray:
        """The ratios of the resamples in order, where the truth is that far from the value.

        If it is d higher, a draw pulls by u - d v less what moves its value. To move each value by
        the same part of 1 / weight, so that the pulls sum to 0 again, adds d mean(v). The error of
        a resample that hardly varies counts as a part of that of all draws, as in
        `skrank.stats.bootstrap_interval`.
        """
        d = -ratio * self.unit
        u, y, v, uu, uy, yy, uv, yv, vv = self.sums
        shift = (u + d * y) / v
        squares = uu + 2 * d * uy + d * d * yy - shift * (2 * (uv + d * yv) - shift * vv)
        whole = math.sqrt(max(1 + d * (self.slope + d * self.curve), 1e-6))
        least = min(0.5, math.sqrt(self.n) / 16) * whole
        error = np.maximum(np.sqrt(np.maximum(squares, 0.0)) / v, least)
        return np.maximum.accumulate(np.sort(shift / (self.unit * error)) * self.room)


def _excess(u: np.ndarray) -> np.ndarray:
    """Kurtosis - 3/2 skewness**2 of the draws over their number, at least 0; for each level.

    Less what normal values have. Skewness, which makes intervals long on its side and takes off
    here, does so at that end alone: at the other one, a tail may be what was not drawn.
    """
    n, cubes = len(u), float(np.sum(u**3))
    kurtosis = float(np.sum(u**4)) - 3 * (n - 1) / (n * (n + 1))
    skewness = cubes**2 - 6 * (n - 2) / (n * (n + 1) * (n + 3))
    long = (cubes > 0) == (_LEVELS < 0.5)
    return np.maximum(kurtosis - 1.5 * skewness * long, 0.0)


def _bundled(terms: np.ndarray) -> np.ndarray:
    """Sums over bundles of draws, where they are many: their skewness is that of the draws."""
    if len(terms) <= _MOST:
        return terms
    return np.bincount(np.arange(len(terms)) % _MOST, weights=terms)


@functools.lru_cache(maxsize=256)
def _counts(n: int) -> np.ndarray:
    """How often each resample has each of n draws: always the same ones, (_RESAMPLES, n)."""
    random = np.random.RandomState(n)
    return random.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES).astype(np.float32)
