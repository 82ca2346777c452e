"""Campaigns on queries whose values are known: how accurate would an estimate be?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from skrank import _validation as check
from skrank.active._draws import Draws, fits, running_cost
from skrank.active._setup import seed_of


@dataclass(frozen=True, eq=False)
class Simulation:
    """Estimates of many campaigns at several budgets.

    Attributes
    ----------
    budgets : ndarray of shape (n_budgets,)
    truth : float
        The mean over the pool.
    values, standard_errors : ndarray of shape (n_campaigns, n_budgets)
        Estimate and its standard error; NaN where the budget did not pay for one draw, or two.
    n_draws, costs : ndarray of shape (n_campaigns, n_budgets)
        Number of draws, and what their labels cost.
    """

    budgets: np.ndarray
    truth: float
    values: np.ndarray
    standard_errors: np.ndarray
    n_draws: np.ndarray
    costs: np.ndarray

    def covered(self, confidence: float = 0.95) -> np.ndarray:
        """Share of the campaigns whose interval holds the truth, per budget."""
        quantile = stats.t.ppf((1 + confidence) / 2, np.maximum(self.n_draws - 1, 1))
        far = np.abs(self.values - self.truth) > quantile * self.standard_errors + 1e-12
        return 1 - far.mean(axis=0)

    def error(self) -> tuple[np.ndarray, np.ndarray]:
        """Root of the mean squared error per budget, and its standard error."""
        squared = (self.values - self.truth) ** 2
        root = np.sqrt(np.nanmean(squared, axis=0))
        spread = np.nanstd(squared, axis=0) / np.sqrt(len(squared))
        return root, spread / np.where(root > 0, 2 * root, 1.0)

    def wrong_sign(self) -> tuple[np.ndarray, np.ndarray]:
        """Share of the campaigns that take the worse ranker for the better, and its error.

        No estimate, and an estimate of 0, count as half wrong.
        """
        signs = np.sign(np.nan_to_num(self.values)) * np.sign(self.truth)
        share = ((1 - signs) / 2).mean(axis=0)
        return share, np.sqrt(share * (1 - share) / len(signs))


def simulate(
    values: ArrayLike,
    q: ArrayLike,
    budgets: ArrayLike,
    *,
    costs: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    n_campaigns: int = 1000,
    random_state: int = 0,
) -> Simulation:
    """Run campaigns on a pool whose values are known, as `ActiveEvaluator` would run them.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        Value of each query, or difference of two values; NaN: the query does not count.
    q : array-like of shape (n_queries,)
        Distribution to draw from, up to a factor.
    budgets : array-like of shape (n_budgets,)
        Each campaign is read off at all budgets.
    costs : array-like of shape (n_queries,), optional
        Cost of labelling each query. Default: 1.
    frequencies : array-like of shape (n_queries,), optional
        How often users ask each query, as counts or shares. Default: all alike.
    n_campaigns : int
    random_state : int

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError
        If lengths differ, a cost or budget is not positive, a frequency is negative, or a query
        that is in the mean is never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.active import simulate
    >>> runs = simulate([0.0, 1.0, 0.5, 0.2], np.full(4, 0.25), budgets=[2, 4], n_campaigns=100)
    >>> runs.values.shape, bool(np.isclose(runs.values[:, 1], runs.truth).all())
    ((100, 2), True)
    """
    loss = check.as_vector("values", values)
    n_queries = len(loss)
    q = check.check_frequencies("q", q, n_queries)
    cost = np.ones(n_queries) if costs is None else check.check_costs("costs", costs, n_queries)
    p = np.full(n_queries, 1 / n_queries)
    if frequencies is not None:
        p = check.check_frequencies("frequencies", frequencies, n_queries)
    limits = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    if limits.ndim > 1 or not (limits > 0).all():
        raise ValueError(f"budgets={limits.tolist()} must be positive numbers.")
    n_campaigns = check.check_count("n_campaigns", n_campaigns, "the number of campaigns")
    if ((q <= 0) & (p > 0)).any():
        raise ValueError(f"q is 0 for query {np.argmax((q <= 0) & (p > 0))}: it is never drawn.")
    counts = ~np.isnan(loss)
    loss = np.where(counts, loss, 0.0)
    truth = float(p @ loss / (p @ counts))
    weight = np.divide(p, q, out=np.zeros_like(p), where=q > 0) * counts
    seeds = np.random.SeedSequence(seed_of(random_state)).generate_state(n_campaigns)
    out = np.empty((4, n_campaigns, len(limits)))
    for campaign, seed in enumerate(seeds.tolist()):
        draws, spent = _draw(Draws(q, seed), cost, q > 0, limits.max())
        n = np.searchsorted(spent, limits * (1 + 1e-12), side="right")
        out[:, campaign] = _read_off(draws, spent, n, loss, weight)
        complete = fits(cost[q > 0].sum(), limits)
        out[:2, campaign, complete] = np.array([[truth], [0.0]])
    return Simulation(limits, truth, *out)


def _draw(
    sequence: Draws, cost: np.ndarray, support: np.ndarray, budget: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draws beyond what the budget pays for, or of the whole pool, and the running cost."""
    total, n = cost[support].sum(), 1024
    while True:
        draws = sequence.first(n)
        spent = running_cost(draws, cost)
        if not fits(spent[-1], budget) or np.isclose(spent[-1], total, rtol=1e-12):
            return draws, spent
        n *= 2


def _read_off(
    draws: np.ndarray, spent: np.ndarray, n: np.ndarray, loss: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Value, standard error, number of draws and cost after `n` draws."""
    w, x = weight[draws], loss[draws]
    sums = np.cumsum([w, w * x, w * w, w * w * x, w * w * x * x], axis=1)
    sums = np.concatenate((np.zeros((5, 1)), sums), axis=1)[:, n]
    with np.errstate(invalid="ignore", divide="ignore"):  # no draw, or one
        value = sums[1] / sums[0]
        squares = np.maximum(sums[4] - 2 * value * sums[3] + value**2 * sums[2], 0.0)
        error = np.where(n > 1, np.sqrt(n / (n - 1.0) * squares) / sums[0], np.nan)
    return np.stack([value, error, n, np.where(n > 0, spent[n - 1], 0.0)])
