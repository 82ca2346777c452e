"""Simulated campaigns on queries whose values are known, to measure the error of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._printed import Printed
from skrank._progress import tracked
from skrank._typing import RandomState
from skrank.active._estimate import caution_of, typical_number
from skrank.active._intervals import bootstrap_interval
from skrank.active._means import ESTIMATORS, Mean, mean_of
from skrank.active._moments import Moments
from skrank.active._sampling import drawing_order, fits

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = 1e100  # largest value, so that squares are finite


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Printed):
    """Estimates of many campaigns, each at several budgets.

    Attributes
    ----------
    budgets : ndarray of shape (n_budgets,)
    truth : float
        The mean over the pool.
    values, standard_errors : ndarray of shape (n_campaigns, n_budgets)
        Estimate and its standard error. The estimate is NaN if no draw counts, the error if fewer
        than two draws count.
    n_queries, n_counted, n_typical : ndarray of shape (n_campaigns, n_budgets)
        As in `Estimate`.
    complete : ndarray of shape (n_budgets,)
        True if the budget pays for the whole pool, so that the value is exact.
    means : list of list of Mean
        Per campaign and budget, the estimate from which `intervals` are computed.
    """

    budgets: np.ndarray
    truth: float
    values: np.ndarray
    standard_errors: np.ndarray
    n_queries: np.ndarray
    n_counted: np.ndarray
    n_typical: np.ndarray
    complete: np.ndarray
    means: list[list[Mean]]

    def to_frame(self) -> pd.DataFrame:
        """Root mean squared error, mean number of queries and share of cautions, per budget."""
        import pandas as pd

        columns = {
            "error": self.error()[0], "queries": self.n_queries.mean(axis=0),
            "caution": self.cautious().mean(axis=0),
        }  # fmt: skip
        return pd.DataFrame(columns, index=pd.Index(self.budgets, name="budget"))

    @property
    def caption(self) -> str:
        """The number of campaigns, and the mean over the pool."""
        return f"{check.counted(len(self.values), 'campaign')}, truth {self.truth:.4g}"

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"": self.to_frame()}

    def intervals(self, confidence: float = 0.95) -> np.ndarray:
        """Ends of the intervals, of shape (n_campaigns, n_budgets, 2); may be infinite."""
        confidence = check.check_share("confidence", confidence)
        intervals = [[bootstrap_interval(mean, confidence) for mean in row] for row in self.means]
        ends = np.array(intervals, dtype=np.float64)
        ends[:, self.complete] = self.truth
        return ends

    def cautious(self) -> np.ndarray:
        """True for estimates with a caution, of shape (n_campaigns, n_budgets)."""
        rows = zip(self.means, self.n_typical, strict=True)
        flags = [[caution_of(*pair) is not None for pair in zip(*row, strict=True)] for row in rows]
        return np.array(flags) & ~self.complete

    def error(self) -> tuple[np.ndarray, np.ndarray]:
        """Root mean squared error per budget, and its standard error by the delta method."""
        squared = (self.values - self.truth) ** 2
        root = np.sqrt(np.nanmean(squared, axis=0))
        error = np.nanstd(squared, axis=0) / np.sqrt(np.isfinite(squared).sum(axis=0))
        return root, error / np.where(root > 0, 2 * root, 1.0)


def simulate(
    values: ArrayLike,
    q: ArrayLike,
    budgets: ArrayLike,
    *,
    costs: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    estimator: str = "assisted",
    moments: Moments | None = None,
    n_campaigns: int = 1000,
    random_state: RandomState = 0,
    progress: bool | None = None,
) -> Simulation:
    """Run campaigns of `ActiveEvaluator` on a pool whose values are known.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        Value of each query, or difference of two values; NaN if the query does not count.
    q : array-like of shape (n_queries,)
        Distribution of the draws, up to a factor. Queries of frequency 0 are never drawn.
    budgets : array-like of shape (n_budgets,)
        Each campaign gives an estimate for each budget.
    costs : array-like of shape (n_queries,), optional
        Cost of labelling each query. Default: 1.
    frequencies : array-like of shape (n_queries,), optional
        How often users send each query, as counts or shares. Default: equal.
    estimator : {"assisted", "lure"}
        As in `ActiveEvaluator.estimate`.
    moments : Moments, optional
        Moments under a label model, by which "assisted" corrects estimates. Default: no correction.
    n_campaigns : int
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        Show a progress bar on standard error, by tqdm. Default: for long work, if standard error is
        a terminal.

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError
        If lengths differ, a cost or budget is not positive, a frequency is negative, or the
        probability of a query of positive frequency is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.active import simulate
    >>> runs = simulate([0.0, 1.0, 0.5, 0.2], np.full(4, 0.25), budgets=[2, 4], n_campaigns=100)
    >>> runs.values.shape, bool(np.isclose(runs.values[:, 1], runs.truth).all())
    ((100, 2), True)
    """
    query_values = check.as_vector("values", values)
    n_queries = len(query_values)
    cost, p = (np.ones(n_queries) if array is None else array for array in (costs, frequencies))
    cost = check.check_costs("costs", cost, n_queries)
    p = check.check_frequencies("frequencies", p, n_queries)
    q = check.check_frequencies("q", check.as_many("q", q, n_queries) * (p > 0), n_queries)
    if not p[~np.isnan(query_values)].any():
        raise ValueError("values are NaN for all queries of positive frequency: pass some values.")
    if ((q <= 0) & (p > 0)).any():
        raise ValueError(f"q is 0 for query {np.argmax((q <= 0) & (p > 0))}: it is never drawn.")
    limits = np.atleast_1d(check.as_numbers("budgets", budgets, "such as [100, 200]"))
    if limits.ndim > 1 or len(limits) == 0 or not (limits > 0).all():
        raise ValueError(
            f"budgets={check.brief(limits.tolist())} must be positive numbers, at least one."
        )
    n_campaigns = check.check_repeats("n_campaigns", n_campaigns, "the number of campaigns")
    check.check_choice("estimator", estimator, ESTIMATORS)
    if moments is not None:
        check.check_kind("moments (such as `moments` of an ActiveEvaluator)", moments, Moments)
        if len(moments.queries) != n_queries:
            raise ValueError(f"moments has {len(moments.queries)} queries, and values {n_queries}.")
    if (np.abs(query_values) > _LARGEST).any():
        raise ValueError(f"values beyond {_LARGEST:g} overflow when they are squared.")
    complete = fits(cost[q > 0].sum(), limits)
    is_counted = ~np.isnan(query_values)
    truth = float(p @ np.where(is_counted, query_values, 0.0) / (p @ is_counted))
    deviation = moments.deviation(p) if moments is not None and estimator == "assisted" else None
    # "assisted" normalises its weights, also without moments
    all_count = estimator == "lure" and bool(is_counted.all())
    estimate = partial(mean_of, query_values, p=p, q=q, deviation=deviation, all_count=all_count)
    sequence = np.random.SeedSequence(check.check_random_state(random_state))
    seeds = sequence.generate_state(n_campaigns)
    means: list[list[Mean]] = []
    drawn, paid = np.empty((2, n_campaigns, len(limits)))
    for campaign, seed in enumerate(tracked(seeds.tolist(), progress, "campaigns")):
        order = drawing_order(q, seed)
        spent = np.cumsum(cost[order])
        n_draws = np.count_nonzero(fits(spent[:, None], limits), axis=0)
        means.append([estimate(draws=order[:n]) for n in n_draws])
        drawn[campaign], paid[campaign] = n_draws, np.append(0.0, spent)[n_draws]
    fields = [[(mean.value, mean.standard_error, mean.n_counted) for mean in row] for row in means]
    value, error, counted = np.moveaxis(np.array(fields, dtype=np.float64), 2, 0)
    typical = typical_number(counted, drawn, paid, float(q @ cost))
    value, error = np.where(complete, truth, value), np.where(complete, 0.0, error)
    return Simulation(limits, truth, value, error, drawn, counted, typical, complete, means)
