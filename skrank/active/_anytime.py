r"""Confidence sequences: intervals that hold at every time of looking, all at once.

For a candidate mean m, each draw pays :math:`X_t(m)`, which has mean zero if m is the mean. Someone
who bets on its sign, with stakes that cannot be lost more than once, gets rich by chance with a
probability of at most 1 / wealth, whenever one looks (Ville's inequality). The candidates against
which nobody has got rich are the confidence sequence. Here the capital is spread over bets of
several sizes. Two kinds of bets are made: on w (L - m) alone, which risks little where all weights
are about 1, and on w (L - low) less its mean, which does not risk the largest weight.

The bounds of the value of each query, and the weight of each query, are known before any label.

References
----------
I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, Journal of the
Royal Statistical Society B 86, 2024. N. Karampatziakis, P. Mineiro, A. Ramdas, Off-policy
confidence sequences, ICML 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skrank.active._weighing import Known

# Parts of the capital that a bet risks at most. Small ones find small differences in many draws,
# large ones find large differences in few.
_STAKES = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.95])
_STEPS = 33  # candidates on a grid, which is then made finer around the ends
_REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class Game:
    """What draws pay, whatever the candidate.

    Attributes
    ----------
    low, high : ndarray of shape (n_queries,)
        Bounds of the value of each query that may be drawn.
    weights : ndarray of shape (n_queries,)
        Their weights p / q at the first draw.
    may_not_count : bool
        A query may turn out not to count.
    value, weight : ndarray of shape (n_draws,)
        Value of each draw, NaN if it does not count; p over its chance.
    left, scale : ndarray of shape (n_draws,)
        Frequency of all queries that could be drawn, and factor to `weights`, at each draw.
    mass, total : ndarray of shape (n_draws,)
        Sums over what was known before each draw, as in `Known`.
    """

    low: np.ndarray
    high: np.ndarray
    weights: np.ndarray
    may_not_count: bool
    value: np.ndarray
    weight: np.ndarray
    left: np.ndarray
    scale: np.ndarray
    mass: np.ndarray
    total: np.ndarray

    def mirrored(self) -> Game:
        """The game with the sign of all values changed."""
        return replace(self, low=-self.high, high=-self.low, value=-self.value, total=-self.total)


def repeated_game(
    values: np.ndarray,
    draws: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    may_not_count: bool,
    known: Known,
) -> Game:
    """Draws with replacement."""
    n, open_ = len(draws), q > 0
    low, high = (bound[open_] for bound in bounds)
    weights = p[open_] / q[open_]
    same = np.ones(n)
    return Game(
        low, high, weights, may_not_count, values[draws], p[draws] / q[draws],
        (1 - known.share) * same, same, known.mass * same, known.total * same,
    )  # fmt: skip


def single_game(
    values: np.ndarray,
    draws: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    may_not_count: bool,
    known: Known,
) -> Game:
    """Draws without replacement: what was drawn is known from then on."""
    game = repeated_game(values, draws, p, q, bounds, may_not_count, known)
    drawn = values[draws]
    counts = ~np.isnan(drawn)

    def before(summands: np.ndarray) -> np.ndarray:
        return np.cumsum(summands) - summands

    scale = 1 - before(q[draws])
    return replace(
        game,
        weight=game.weight * scale,
        scale=scale,
        left=game.left - before(p[draws]),
        mass=game.mass + before(p[draws] * counts),
        total=game.total + before(p[draws] * np.where(counts, drawn, 0.0)),
    )


def wealth(game: Game, candidates: np.ndarray) -> np.ndarray:
    """Logarithm of the highest wealth so far from betting that the mean is above each candidate."""
    if len(game.value) == 0:
        return np.zeros(len(candidates))
    m = candidates[:, None]
    counts = ~np.isnan(game.value)
    pays = game.weight * np.where(counts, np.nan_to_num(game.value) - m, 0.0)
    pays += game.total - m * game.mass
    risk = np.maximum(candidates - game.low.min(), 0.0)[:, None]
    logs: list[np.ndarray] = []
    for aside in (np.zeros_like(risk), risk):
        gain = pays + aside * (game.weight - game.left)
        worst = game.low - m
        if game.may_not_count:
            worst = np.minimum(worst, 0.0)
        least = game.scale * np.min(game.weights * (worst + aside), axis=1, keepdims=True)
        least += game.total - m * game.mass - aside * game.left
        loss = np.maximum(-least, 1e-9 * (np.abs(gain).max(axis=1, keepdims=True) + 1e-300))
        ratio = np.maximum(gain / loss, -1.0)  # below by rounding only
        logs.extend(np.cumsum(np.log1p(stake * ratio), axis=1) for stake in _STAKES)
    capital = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
    return np.maximum(capital.max(axis=1), 0.0)


def sequence(game: Game, confidence: float) -> tuple[float, float]:
    """The interval after these draws of the confidence sequence."""
    rich = math.log(2 / (1 - confidence))
    return _lower(game, rich), 0.0 - _lower(game.mirrored(), rich)


def certainty_so_far(game: Game) -> float:
    """The highest confidence at which the sequence has left out 0."""
    zero = np.zeros(1)
    best = max(float(wealth(game, zero)[0]), float(wealth(game.mirrored(), zero)[0]))
    return 1 - min(1.0, 2 * math.exp(-best))


def _lower(game: Game, rich: float) -> float:
    """The highest candidate up to which all are ruled out, from below."""
    low, high = float(game.low.min()), float(game.high.max())
    for _ in range(_REFINEMENTS):
        candidates = np.linspace(low, high, _STEPS)
        kept = np.flatnonzero(wealth(game, candidates) < rich)
        first = int(kept[0]) if len(kept) else len(candidates) - 1
        low, high = float(candidates[max(first - 1, 0)]), float(candidates[first])
        if first == 0:
            break
    return low
