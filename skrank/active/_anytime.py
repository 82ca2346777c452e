r"""Confidence sequences: intervals that hold simultaneously after every draw.

For a candidate mean m, draw t gives a payment :math:`X_t(m)` whose expectation, given the earlier
draws, is 0 if m is the mean. A bettor starts with a capital of 1 and stakes a fixed part of the
capital on each payment, so that the capital stays positive. If m is the mean, the probability that
the capital ever exceeds 1 / a is at most a (Ville's inequality). The interval contains all
candidates whose capital has never exceeded 1 / a. The initial capital is divided equally among bets
with different stakes, on two kinds of payments for a draw of value L and weight w = p / q:

* w (L - m), whose largest loss is small if all weights are close to 1;
* w (L - low) minus its expectation, whose largest loss does not grow with the weights.

Both use the bounds and the weight of each query, which are known before any label.

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

from skrank.active._means import NOTHING_KNOWN, Known

# Largest part of the capital that each bet can lose. Small bets find small differences in many
# draws, large bets find large differences in few draws.
_STAKES = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.95])
_N_CANDIDATES = 33  # points of a grid, which is refined around the ends of the interval
_REFINEMENTS = 3


class Game:
    """The draws, from which the payments for any candidate are computed.

    Parameters
    ----------
    values, p, q : ndarray of shape (n_queries,)
        Value of each query, NaN if it does not count; its frequency, and its probability at the
        first draw.
    draws : ndarray of shape (n_draws,)
        Indices of the queries in the order of drawing.
    bounds : pair of ndarray of shape (n_queries,)
        Lowest and highest possible value of each query.
    with_replacement : bool
        If False, drawn queries are known at later draws.
    may_not_count : bool
        True if queries without a relevant document are left out of the mean.
    known : Known
        Sums over the queries that were labelled before the campaign.

    Attributes
    ----------
    low, high, weights : ndarray
        Bounds of the value, and weight p / q at the first draw, of each query that can be drawn.
    value, weight : ndarray of shape (n_draws,)
        Value of each draw; p over the probability of the draw.
    left, scale : ndarray of shape (n_draws,)
        Sums of p and of q over the queries not drawn before each draw. Weights at a draw are
        `weights` times `scale`.
    mass, total : ndarray of shape (n_draws,)
        Sums over the queries that were known before each draw, as in `Known`.
    """

    def __init__(
        self,
        values: np.ndarray,
        draws: np.ndarray,
        p: np.ndarray,
        q: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray],
        *,
        with_replacement: bool,
        may_not_count: bool = False,
        known: Known = NOTHING_KNOWN,
    ) -> None:
        def before(summands: np.ndarray) -> np.ndarray:
            """Sum over earlier draws without replacement, at each draw."""
            return np.zeros(len(draws)) if with_replacement else np.cumsum(summands) - summands

        can_be_drawn = q > 0
        self.low, self.high = (bound[can_be_drawn] for bound in bounds)
        self.weights = p[can_be_drawn] / q[can_be_drawn]
        self.may_not_count = may_not_count
        self.value = values[draws]
        self.scale = 1 - before(q[draws])
        self.weight = p[draws] / q[draws] * self.scale
        self.left = (1 - known.share) - before(p[draws])
        counts = ~np.isnan(self.value)
        self.mass = known.mass + before(p[draws] * counts)
        self.total = known.total + before(p[draws] * np.where(counts, self.value, 0.0))

    def mirrored(self) -> Game:
        """The same draws with all values negated."""
        other = copy(self)
        other.low, other.high = -self.high, -self.low
        other.value, other.total = -self.value, -self.total
        return other


def log_capital(game: Game, candidates: np.ndarray) -> np.ndarray:
    """Logarithm of the highest capital so far of bets that the mean exceeds each candidate.

    Without replacement, the payment for a draw is w (L - m) plus the sum of p (L - m) over the
    queries that are known: together they estimate the mean minus m.
    """
    if len(game.value) == 0:
        return np.zeros(len(candidates))
    m = candidates[:, None]
    counts = ~np.isnan(game.value)
    payment = game.weight * np.where(counts, np.nan_to_num(game.value) - m, 0.0)
    payment += game.total - m * game.mass
    offset = np.maximum(candidates - game.low.min(), 0.0)[:, None]
    logs: list[np.ndarray] = []
    for added in (np.zeros_like(offset), offset):  # the two kinds of payments
        gain = payment + added * (game.weight - game.left)
        worst = game.low - m
        if game.may_not_count:
            worst = np.minimum(worst, 0.0)
        # the lowest payment possible at each draw; stakes are parts of the capital that it costs
        least = game.scale * np.min(game.weights * (worst + added), axis=1, keepdims=True)
        least += game.total - m * game.mass - added * game.left
        most_lost = np.maximum(-least, 1e-9 * (np.abs(gain).max(axis=1, keepdims=True) + 1e-300))
        ratio = np.maximum(gain / most_lost, -1.0)  # below -1 only by rounding errors
        logs.extend(np.cumsum(np.log1p(stake * ratio), axis=1) for stake in _STAKES)
    total = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
    return np.maximum(total.max(axis=1), 0.0)


def sequence(game: Game, confidence: float) -> tuple[float, float]:
    """The interval of the confidence sequence after these draws."""
    limit = math.log(2 / (1 - confidence))
    return _lower_end(game, limit), 0.0 - _lower_end(game.mirrored(), limit)  # 0.0, not -0.0


def certainty_so_far(game: Game) -> float:
    """The highest confidence at which the sequence has excluded 0 so far."""
    zero = np.zeros(1)
    best = max(float(log_capital(game, zero)[0]), float(log_capital(game.mirrored(), zero)[0]))
    return 1 - min(1.0, 2 * math.exp(-best))


def _lower_end(game: Game, limit: float) -> float:
    """The highest candidate below which all candidates are ruled out."""
    low, high = float(game.low.min()), float(game.high.max())
    for _ in range(_REFINEMENTS):
        candidates = np.linspace(low, high, _N_CANDIDATES)
        kept = np.flatnonzero(log_capital(game, candidates) < limit)
        first = int(kept[0]) if len(kept) else len(candidates) - 1
        low, high = float(candidates[max(first - 1, 0)]), float(candidates[first])
        if first == 0:
            break
    return low
