"""Campaigns on queries whose values are known: how accurate would an estimate be?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._progress import tracked
from skrank.active._draws import Draws, fits, running_cost, typical
from skrank.active._estimate import are_few
from skrank.active._intervals import bootstrap_interval
from skrank.active._moments import Moments
from skrank.active._setup import seed_of
from skrank.active._weighing import ESTIMATORS, Mean, mean_of

_WIDEST = 1e100  # of values: squares of them are numbers


@dataclass(frozen=True, eq=False)
class Simulation:
    """Estimates of many campaigns at several budgets.

    Attributes
    ----------
    budgets : ndarray of shape (n_budgets,)
    truth : float
        The mean over the pool.
    values, standard_errors : ndarray of shape (n_campaigns, n_budgets)
        Estimate and its standard error; NaN where no draw counts, or only one.
    n_draws, n_counted, n_distinct, n_typical, costs : ndarray of shape (n_campaigns, n_budgets)
        Number of draws, of those whose query counts, of distinct queries among these, of as many of
        average cost, and what the labels cost: see `Estimate`.
    complete : ndarray of shape (n_budgets,)
        The budget pays for the whole pool: the value is exact.
    means : list of list of Mean
        The estimates of each campaign, as intervals are made from them.
    """

    budgets: np.ndarray
    truth: float
    values: np.ndarray
    standard_errors: np.ndarray
    n_draws: np.ndarray
    n_counted: np.ndarray
    n_distinct: np.ndarray
    n_typical: np.ndarray
    costs: np.ndarray
    complete: np.ndarray
    means: list[list[Mean]]

    def intervals(self, confidence: float = 0.95) -> np.ndarray:
        """Ends of the intervals, of shape (n_campaigns, n_budgets, 2); infinite without bounds."""
        confidence = check.check_share("confidence", confidence)
        found = [[bootstrap_interval(mean, confidence) for mean in row] for row in self.means]
        ends = np.array(found, dtype=np.float64)
        ends[:, self.complete] = self.truth
        return ends

    def cautious(self) -> np.ndarray:
        """Whether `Estimate.caution` says something, of shape (n_campaigns, n_budgets)."""
        return ~self._bounded | (are_few(self.n_distinct, self.n_typical) & ~self.complete)

    def covered(self, confidence: float = 0.95) -> np.ndarray:
        """Share of the campaigns whose interval holds the truth, per budget.

        Only intervals with bounds are counted; NaN where there is none. `told` is their share.
        """
        low, high = np.moveaxis(self.intervals(confidence), 2, 0)
        slack = 1e-12 * (1 + abs(self.truth))
        holds = (low <= self.truth + slack) & (self.truth - slack <= high)
        told = np.isfinite(low)
        n = told.sum(axis=0)
        hits = (holds & told).sum(axis=0)
        return np.divide(hits, n, out=np.full(len(n), np.nan), where=n > 0)

    def told(self) -> np.ndarray:
        """Share of the campaigns whose interval has bounds, per budget."""
        return self._bounded.mean(axis=0)

    @property
    def _bounded(self) -> np.ndarray:
        """Whether the interval of each campaign has bounds."""
        return np.array([[mean.is_bounded for mean in row] for row in self.means]) | self.complete

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
    estimator: str = "importance",
    moments: Moments | None = None,
    n_campaigns: int = 1000,
    random_state: int = 0,
    progress: bool | None = None,
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
    estimator : {"importance", "assisted", "lure"}
        As of `ActiveEvaluator.estimate`.
    moments : Moments, optional
        What a label model expects, for "assisted".
    n_campaigns : int
    random_state : int
    progress : bool, optional
        Show a bar on standard error, by tqdm. Default: for work that lasts, if that is a terminal
        and tqdm is installed.

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
    limits = np.atleast_1d(check.as_numbers("budgets", budgets, "one per point of time"))
    if limits.ndim > 1 or not (limits > 0).all():
        raise ValueError(f"budgets={limits.tolist()} must be positive numbers.")
    n_campaigns = check.check_count("n_campaigns", n_campaigns, "the number of campaigns")
    check.check_choice("estimator", estimator, ESTIMATORS)
    if estimator == "assisted" and moments is None:
        raise ValueError('estimator="assisted" needs moments=, what a label model expects.')
    if moments is not None:
        check.check_result("moments", moments, Moments, "active.label_moments")
    deviation = None if moments is None else moments.deviation(p)
    if ((q <= 0) & (p > 0)).any():
        raise ValueError(f"q is 0 for query {np.argmax((q <= 0) & (p > 0))}: it is never drawn.")
    wide = np.flatnonzero(np.abs(loss) > _WIDEST)
    if len(wide):
        raise ValueError(
            f"values[{wide[0]}]={loss[wide[0]]}: squares of values beyond {_WIDEST:g} are no "
            "numbers. Scale the values down."
        )
    counts = ~np.isnan(loss)
    truth = float(p @ np.where(counts, loss, 0.0) / (p @ counts))
    seeds = np.random.SeedSequence(seed_of(random_state)).generate_state(n_campaigns)
    complete = np.asarray(fits(cost[q > 0].sum(), limits))
    shape = (n_campaigns, len(limits))
    found, errors, n_draws, n_counted = (np.empty(shape) for _ in range(4))
    n_drawn, n_distinct, paid = (np.empty(shape) for _ in range(3))
    means = []
    for campaign, seed in enumerate(tracked(seeds.tolist(), progress, "campaigns")):
        draws, spent = _draw(Draws(q, seed), cost, q > 0, limits.max())
        n = np.searchsorted(spent, limits * (1 + 1e-12), side="right")
        row = [mean_of(loss, draws[:size], p, q, estimator, deviation) for size in n]
        means.append(row)
        found[campaign] = np.where(complete, truth, [mean.value for mean in row])
        errors[campaign] = np.where(complete, 0.0, [mean.standard_error for mean in row])
        n_draws[campaign], n_counted[campaign] = n, [mean.n_counted for mean in row]
        drawn = [np.unique(draws[:size]) for size in n]
        n_drawn[campaign] = list(map(len, drawn))
        n_distinct[campaign] = [np.count_nonzero(counts[queries]) for queries in drawn]
        paid[campaign] = np.where(n > 0, spent[n - 1], 0.0)
    n_typical = typical(n_distinct, n_drawn, paid, float(q @ cost))
    return Simulation(
        limits, truth, found, errors, n_draws, n_counted, n_distinct, n_typical, paid, complete,
        means,
    )  # fmt: skip


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
