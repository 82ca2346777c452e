"""The distribution that queries are drawn from, the draws, and the cost of draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._moments import Moments

_BLOCK = 1024  # fewest draws generated at a time
_MOST_DRAWS = 2**24  # 128 MiB
_MIXING = 0.3  # default of `mixing`
# In a pool of fewer queries, few labels cannot make up for the loss by a wrong label model.
_SMALL_POOL, _MIXING_OF_SMALL_POOLS = 100, 0.8


def sampling_distribution(
    moments: Moments,
    *,
    costs: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    mixing: float | None = None,
    center: float | None = None,
) -> np.ndarray:
    r"""The distribution of queries to draw from, for the most accurate estimate per cost.

    .. math:: q(x) = (1 - \varepsilon) q^*(x) + \varepsilon p(x), \quad
              q^*(x) \propto p(x) \sqrt{\frac{(1 - \varepsilon) a(x) + \varepsilon \bar a}
              {\lambda(x)}}, \quad a(x) = E[(L - R)^2 \mid x]

    where :math:`\bar a` is the mean of a. With :math:`\varepsilon = 0` this is the distribution of
    the paper, which is optimal if the label model is right. A larger :math:`\varepsilon` limits the
    loss if the label model is wrong.

    Parameters
    ----------
    moments : Moments
        Moments of the value L, or of the difference L of two values.
    costs : array-like of shape (n_queries,), optional
        Cost :math:`\lambda` of labelling each query. Default: equal.
    frequencies : array-like of shape (n_queries,), optional
        How often users send each query, as counts or shares; scaled to the sum 1, this is p.
        Default: equal.
    mixing : float, optional
        The part :math:`\varepsilon`, in [0, 1], of the draws that are from p, and by which the
        squared error of each query is replaced by the mean error. No importance weight p / q
        exceeds 1 / `mixing`. With 1, queries are drawn with the probabilities p (passive sampling).
        Default: 0.3; 0.8 for a pool of fewer than 100 queries, for which a wrong label model could
        otherwise cost more labels than uniform draws.
    center : float, optional
        R. Default: the mean that the label model expects. Pass 0 for a comparison if the label
        model may favour one ranker.

    Returns
    -------
    q : ndarray of shape (n_queries,)
        Sums to 1.

    Raises
    ------
    ValueError
        If a cost is not positive, a frequency is negative, the centre is not a number, or `mixing`
        is 0 and a query of positive frequency would never be drawn.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, theorems 1 and 2, corollary 1.

    Examples
    --------
    >>> from skrank.active import label_moments, sampling_distribution
    >>> m = label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])
    >>> sampling_distribution(m, costs=[2, 1]).round(3)
    array([0.484, 0.516])
    """
    n_queries = len(check.check_result("moments", moments, Moments, "label_moments").first)
    cost, p = costs_and_shares(costs, frequencies, n_queries)
    if mixing is None:
        is_small = np.count_nonzero(p) < _SMALL_POOL
        mixing = _MIXING_OF_SMALL_POOLS if is_small else _MIXING
    mixing = check.check_number("mixing", mixing, 0, 1)
    if center is None:
        center = moments.center(p)
    error = moments.squared_error(check.check_number("center", center, -1e300, 1e300))
    error = (1 - mixing) * error + mixing * float(p @ error)
    best = p * np.sqrt(error) / np.sqrt(cost)  # error / cost could overflow
    total = best.sum()
    q = (1 - mixing) * (best / total if total > 0 else p) + mixing * p
    never = np.flatnonzero((q == 0) & (p > 0))
    if len(never):
        raise ValueError(
            f"mixing=0 leaves out query {moments.queries[never[0]]} and {len(never) - 1} more, "
            "whose values the label model takes for certain, so the estimate would be biased. Use "
            "mixing=0.05."
        )
    return q / q.sum()


def costs_and_shares(
    costs: ArrayLike | None, frequencies: ArrayLike | None, n_queries: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cost of each query, by default 1, and its share of all queries sent, by default equal."""
    cost, share = np.ones(n_queries), np.full(n_queries, 1 / n_queries)
    if costs is not None:
        cost = check.check_costs("costs", costs, n_queries)
    if frequencies is not None:
        share = check.check_frequencies("frequencies", frequencies, n_queries)
    return cost, share


class Draws:
    """The sequence of draws with replacement from q; the same for the same seed.

    NumPy guarantees that the stream of ``RandomState`` never changes, so a saved campaign continues
    with the same draws in every version of NumPy.
    """

    def __init__(self, q: np.ndarray, seed: int) -> None:
        cumulative = np.cumsum(q)
        self._cumulative = cumulative / cumulative[-1]
        self._can_be_drawn = np.diff(self._cumulative, prepend=0.0) > 0
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
        """Index of the first draw, from `start` on, whose query is not in the mask `seen`."""
        while start < _MOST_DRAWS:
            self.first(start + _BLOCK)
            fresh = np.flatnonzero(~seen[self._drawn[start:]])
            if len(fresh):
                return start + int(fresh[0])
            start = len(self._drawn)
        raise _too_unlikely()

    def until(self, budget: float, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first draws, up to one that exceeds the budget or to all queries; and running costs.

        Some more draws may follow.
        """
        n, total = _BLOCK, costs[self._can_be_drawn].sum()
        while True:
            spent = running_cost(self.first(n), costs)
            if not fits(spent[-1], budget) or np.isclose(spent[-1], total, rtol=1e-12):
                return self.first(n), spent
            if n >= _MOST_DRAWS:
                raise _too_unlikely()
            n *= 2

    def affordable(self, costs: np.ndarray, budget: float) -> int:
        """Number of draws before the first draw that exceeds the budget."""
        if fits(costs[self._can_be_drawn].sum(), budget):
            raise ValueError(
                f"budget={budget:g} pays for the whole pool: label all queries, without draws."
            )
        _, spent = self.until(budget, costs)
        return int(np.argmin(fits(spent, budget)))


def _too_unlikely() -> ValueError:
    """The error for queries that are hardly ever drawn."""
    return ValueError(
        f"after {_MOST_DRAWS} draws, some queries are not drawn yet: their probabilities are close "
        "to 0. Raise mixing or these probabilities, or end the campaign."
    )


def first_draws(draws: np.ndarray) -> np.ndarray:
    """The distinct queries in the order of their first draws: draws without replacement."""
    return draws[np.sort(np.unique(draws, return_index=True)[1])]


def running_cost(draws: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Cost of the labels after each draw, where each query is paid for once."""
    first = np.full(len(costs), -1)
    first[draws[::-1]] = np.arange(len(draws))[::-1]  # for repeated indices NumPy keeps the last
    paid = np.where(first[draws] == np.arange(len(draws)), costs[draws], 0.0)
    return np.cumsum(paid)


def fits(cost: float | np.ndarray, budget: float | np.ndarray) -> bool | np.ndarray:
    """True if a sum of costs is within the budget, up to rounding errors."""
    return cost <= budget * (1 + 1e-12)
