r"""Confidence sequences: intervals of means that hold simultaneously after every draw.

For a candidate mean m, draw t gives a payment :math:`X_t(m)` whose expectation, given the earlier
draws, is 0 if m is the mean. A bettor starts with a capital of 1 and stakes a fixed part of the
capital on each payment, so that the capital stays positive. If m is the mean, the probability that
the capital ever exceeds 1 / a is at most a (Ville's inequality). The interval contains all
candidates whose capital has never exceeded 1 / a. The initial capital is divided equally among bets
with different stakes, on two kinds of payments for a draw of value L and weight w = p / q:

* w (L - m), whose largest loss is small if all weights are close to 1;
* w (L - low) minus its expectation, whose largest loss does not grow with the weights.

Both use the bounds and the weight of each query, which are known before any value.

References
----------
I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, Journal of the
Royal Statistical Society B 86, 2024. N. Karampatziakis, P. Mineiro, A. Ramdas, Off-policy
confidence sequences, ICML 2021.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check

# Largest part of the capital that each bet can lose. Small bets find small differences in many
# draws, large bets find large differences in few draws.
_STAKES = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.95])
_N_CANDIDATES = 33  # points of a grid, which is refined around the ends of the interval
_REFINEMENTS = 3


class Bets:
    """Bets on the mean of bounded values of queries that are drawn one after the other.

    Parameters
    ----------
    values, p, q : array-like of shape (n_queries,)
        Value of each query, NaN if it does not count; its weight in the mean, and its probability
        at the first draw. Both sum to 1.
    draws : array-like of int of shape (n_draws,)
        Queries in the order of drawing.
    bounds : (array-like, array-like) of shape (n_queries,)
        Lowest and highest possible value of each query.
    with_replacement : bool
        If False, drawn queries are known at later draws.
    may_not_count : bool
        True if values may be NaN, so that the weights of the queries that count are not known.
    known : (float, float, float)
        Sums over queries that were known before the first draw: of p; of p of those that count; and
        of p times their values.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> z = np.random.default_rng(0).random(200) - 0.4  # differences of two systems in [-1, 1]
    >>> equal = np.full(200, 1 / 200)
    >>> ends = -np.ones(200), np.ones(200)
    >>> bets = stats.Bets(z, equal, equal, range(200), ends, with_replacement=True)
    >>> low, high = bets.interval(0.95)
    >>> round(low, 2), round(high, 2), round(bets.certainty(), 3)
    (0.07, 0.2, 1.0)
    """

    def __init__(
        self,
        values: ArrayLike,
        p: ArrayLike,
        q: ArrayLike,
        draws: ArrayLike,
        bounds: tuple[ArrayLike, ArrayLike],
        *,
        with_replacement: bool,
        may_not_count: bool = False,
        known: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        z = check.as_vector("values", values)
        p, q = check.as_vector("p", p, len(z)), check.as_vector("q", q, len(z))
        if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
            raise ValueError("bounds must be a pair: the lowest and highest values.")
        low, high = (check.as_vector("bounds", bound, len(z)) for bound in bounds)
        share, mass, total = check.check_numbers("known", known)
        draws = check.as_numbers("draws", draws, "numbers of queries").astype(np.int64)
        if draws.ndim != 1 or not np.isin(draws, np.flatnonzero(q > 0)).all():
            raise ValueError(
                f"draws must be a list of queries from 0 to {len(z) - 1}, whose q is above 0."
            )

        def before(summands: np.ndarray) -> np.ndarray:
            """Sum over earlier draws without replacement, at each draw."""
            return np.zeros(len(draws)) if with_replacement else np.cumsum(summands) - summands

        can_be_drawn = q > 0
        self._low, self._high = low[can_be_drawn], high[can_be_drawn]
        self._weights = p[can_be_drawn] / q[can_be_drawn]
        self._may_not_count = may_not_count
        # At each draw: its value; sums of q and p over the queries that were not drawn before, the
        # first of which scales weights; p over the probability of the draw; and sums of p and of p
        # times the value over the queries that were known before.
        self._value = z[draws]
        self._scale = 1 - before(q[draws])
        self._weight = p[draws] / q[draws] * self._scale
        self._left = (1 - share) - before(p[draws])
        counts = ~np.isnan(self._value)
        self._mass = mass + before(p[draws] * counts)
        self._total = total + before(p[draws] * np.where(counts, self._value, 0.0))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of the mean after these draws.

        With probability `confidence`, the intervals after all numbers of draws contain the mean.
        """
        limit = math.log(2 / (1 - check.check_share("confidence", confidence)))
        # 0.0, not -0.0
        return self._lower_end(limit), 0.0 - self._mirrored()._lower_end(limit)

    def certainty(self) -> float:
        """The highest confidence at which an interval after some of the draws has excluded 0."""
        zero = np.zeros(1)
        best = max(float(one.log_capital(zero)[0]) for one in (self, self._mirrored()))
        return 1 - min(1.0, 2 * math.exp(-best))

    def log_capital(self, candidates: np.ndarray) -> np.ndarray:
        """Logarithm of the highest capital so far of bets that the mean exceeds each candidate.

        Without replacement, the payment for a draw is w (L - m) plus the sum of p (L - m) over the
        queries that are known: together they estimate the mean minus m.
        """
        if len(self._value) == 0:
            return np.zeros(len(candidates))
        m = candidates[:, None]
        counts = ~np.isnan(self._value)
        payment = self._weight * np.where(counts, np.nan_to_num(self._value) - m, 0.0)
        payment += self._total - m * self._mass
        offset = np.maximum(candidates - self._low.min(), 0.0)[:, None]
        logs: list[np.ndarray] = []
        for added in (np.zeros_like(offset), offset):  # the two kinds of payments
            gain = payment + added * (self._weight - self._left)
            worst = self._low - m
            if self._may_not_count:
                worst = np.minimum(worst, 0.0)
            # lowest payment possible at each draw; stakes are parts of the capital that it costs
            least = self._scale * np.min(self._weights * (worst + added), axis=1, keepdims=True)
            least += self._total - m * self._mass - added * self._left
            most_lost = np.maximum(
                -least, 1e-9 * (np.abs(gain).max(axis=1, keepdims=True) + 1e-300)
            )
            ratio = np.maximum(gain / most_lost, -1.0)  # below -1 only by rounding errors
            logs.extend(np.cumsum(np.log1p(stake * ratio), axis=1) for stake in _STAKES)
        total = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
        return np.maximum(total.max(axis=1), 0.0)

    def _mirrored(self) -> Bets:
        """The same draws with all values negated."""
        other = copy(self)
        other._low, other._high = -self._high, -self._low
        other._value, other._total = -self._value, -self._total
        return other

    def _lower_end(self, limit: float) -> float:
        """The highest candidate below which all candidates are ruled out."""
        low, high = float(self._low.min()), float(self._high.max())
        for _ in range(_REFINEMENTS):
            candidates = np.linspace(low, high, _N_CANDIDATES)
            kept = np.flatnonzero(self.log_capital(candidates) < limit)
            first = int(kept[0]) if len(kept) else len(candidates) - 1
            low, high = float(candidates[max(first - 1, 0)]), float(candidates[first])
            if first == 0:
                break
        return low
