"""Which queries to label: the distribution to draw from, and the draws."""

from __future__ import annotations

import numpy as np

from skrank import _validation as check
from skrank.active._moments import Moments

_BLOCK = 1024


def sampling_distribution(
    moments: Moments,
    *,
    costs: np.ndarray | None = None,
    frequencies: np.ndarray | None = None,
    mixing: float = 0.05,
    center: float | None = None,
) -> np.ndarray:
    r"""The distribution of queries to draw from, for the most accurate estimate per cost.

    .. math:: q(x) = (1 - \varepsilon) q^*(x) + \varepsilon p(x), \quad
              q^*(x) \propto p(x) \sqrt{E[(L - R)^2 \mid x] / \lambda(x)}

    Parameters
    ----------
    moments : Moments
        Of the value L, or of the difference of two values.
    costs : array-like of shape (n_queries,), optional
        Cost :math:`\lambda` of labelling each query. Default: the same for all.
    frequencies : array-like of shape (n_queries,), optional
        Share p of each query among what users ask. Default: the same for all.
    mixing : float
        The part :math:`\varepsilon` of the draws, in [0, 1], that ignores the label model. No
        importance weight p / q exceeds 1 / `mixing`. 1 is passive sampling.
    center : float, optional
        R. Default: the value that the label model expects. 0 guards a comparison against a label
        model that favours one ranker.

    Returns
    -------
    q : ndarray of shape (n_queries,)
        Sums to 1.

    Raises
    ------
    ValueError
        If `mixing` is 0 and a query that is asked would never be drawn.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, theorems 1 and 2, corollary 1.

    Examples
    --------
    >>> from skrank.active import label_moments, sampling_distribution
    >>> m = label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])
    >>> sampling_distribution(m, costs=[2, 1]).round(3)
    array([0.454, 0.546])
    """
    n_queries = len(moments.first)
    check.check_number("mixing", mixing, 0, 1)
    p = np.full(n_queries, 1 / n_queries) if frequencies is None else np.asarray(frequencies)
    cost = np.ones(n_queries) if costs is None else np.asarray(costs, dtype=np.float64)
    error = moments.squared_error(moments.center(p) if center is None else center)
    best = p * np.sqrt(error / cost)
    total = best.sum()
    q = (1 - mixing) * (best / total if total > 0 else p) + mixing * p
    never = np.flatnonzero((q == 0) & (p > 0))
    if len(never):
        raise ValueError(
            f"mixing=0 leaves out query {moments.queries[never[0]]} and {len(never) - 1} more, of "
            "which the label model is certain: the estimate would miss them. Use mixing=0.05."
        )
    return q / q.sum()


def budget_ratio(
    moments: Moments, q: np.ndarray, costs: np.ndarray, p: np.ndarray, center: float | None = None
) -> float:
    """Cost of an estimate drawn from `q` over that of an equally accurate one drawn from `p`.

    As the label model predicts, before anything is labelled, and without regard to repeated draws.
    """
    center = moments.center(p) if center is None else center
    a = p**2 * moments.squared_error(center)
    drawn = q > 0
    active = (a[drawn] / q[drawn]).sum() * (costs @ q)
    asked = p > 0
    passive = (a[asked] / p[asked]).sum() * (costs @ p)
    return float(active / passive) if passive > 0 else 1.0


class Draws:
    """The endless sequence of queries drawn with replacement; the same for the same seed.

    numpy promises that the stream of ``RandomState`` never changes, so that a campaign that is
    saved today continues alike in years.
    """

    def __init__(self, q: np.ndarray, seed: int) -> None:
        cumulative = np.cumsum(q)
        self._cumulative = cumulative / cumulative[-1]
        self._random = np.random.RandomState(seed)
        self._drawn = np.empty(0, np.int64)

    def first(self, n: int) -> np.ndarray:
        """The first `n` draws."""
        while len(self._drawn) < n:
            uniform = self._random.random_sample(max(_BLOCK, len(self._drawn)))
            more = np.searchsorted(self._cumulative, uniform, side="right")
            self._drawn = np.concatenate((self._drawn, more))
        return self._drawn[:n]

    def next_outside(self, seen: np.ndarray, start: int) -> int:
        """Place, from `start` on, of the first draw that is not in `seen`; some must be left."""
        while True:
            self.first(start + _BLOCK)
            fresh = np.flatnonzero(~seen[self._drawn[start:]])
            if len(fresh):
                return start + int(fresh[0])
            start = len(self._drawn)

    def affordable(self, costs: np.ndarray, budget: float) -> int:
        """Number of draws that a budget pays for, up to the first one that it does not."""
        possible = np.diff(self._cumulative, prepend=0.0) > 0
        if fits(costs[possible].sum(), budget):
            raise ValueError(
                f"budget={budget:g} pays for the whole pool: label it all, nothing is drawn."
            )
        n = _BLOCK
        while True:
            within = fits(running_cost(self.first(n), costs), budget)
            if not np.all(within):
                return int(np.argmin(within))
            n *= 2


def running_cost(draws: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Cost after each draw: a query is paid for when it comes first, then looked up."""
    first = np.full(len(costs), -1)
    first[draws[::-1]] = np.arange(len(draws))[::-1]  # the last one written is the first draw
    paid = np.where(first[draws] == np.arange(len(draws)), costs[draws], 0.0)
    return np.cumsum(paid)


def fits(cost: float | np.ndarray, budget: float) -> bool | np.ndarray:
    """Whether a sum of costs is within the budget, rounding aside."""
    return cost <= budget * (1 + 1e-12)
