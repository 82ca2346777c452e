"""The distribution that queries are drawn from, and the draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._moments import Moments

_MIXING = 0.3  # default of `mixing`, chosen by measurement: docs/evidence/active_savings.md
# In a pool of fewer queries, few labels cannot make up for the loss by a wrong label model.
_SMALL_POOL, _MIXING_OF_SMALL_POOLS = 100, 0.8


def sampling_distribution(
    moments: Moments, costs: np.ndarray, p: np.ndarray, *, mixing: float | None, center: float
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
    costs, p : ndarray of shape (n_queries,)
        Cost :math:`\lambda` of labelling each query, and its share among the queries that can be
        drawn: 0 if its labels are known.
    mixing : float or None
        :math:`\varepsilon`, as in `Design`.
    center : float
        R, as in `Design`.

    References
    ----------
    C. Sawade et al., Active evaluation of ranking functions based on graded relevance, Machine
    Learning 92, 2013, theorems 1 and 2, corollary 1.
    """
    if mixing is None:
        is_small = np.count_nonzero(p) < _SMALL_POOL
        mixing = _MIXING_OF_SMALL_POOLS if is_small else _MIXING
    mixing = check.check_number("mixing", mixing, 0, 1)
    error = moments.squared_error(center)
    error = (1 - mixing) * error + mixing * float(p @ error)
    best = p * np.sqrt(error) / np.sqrt(costs)  # error / costs could overflow
    total = best.sum()
    q = (1 - mixing) * (best / total if total > 0 else p) + mixing * p
    never = np.flatnonzero((q == 0) & (p > 0))
    if len(never):
        raise ValueError(
            f"mixing=0 leaves out query {moments.queries[never[0]]} and {len(never) - 1} more, "
            "whose values are the center by the label model, without doubt: the estimate would be "
            "biased. Leave out mixing, or pass a number above 0."
        )
    return q / q.sum()


def drawing_order(q: np.ndarray, seed: int) -> np.ndarray:
    """The queries in the order in which they are drawn from q without replacement.

    The query with the least of exponential times with the rates q is distributed as a draw from q;
    the next one as a draw from the other queries, and so on. NumPy guarantees that the stream of
    ``RandomState`` never changes, so q and the seed give the same draws in every version of NumPy.
    """
    times = np.random.RandomState(seed).standard_exponential(len(q))
    can_be_drawn = np.flatnonzero(q > 0)
    return can_be_drawn[np.argsort(times[can_be_drawn] / q[can_be_drawn], kind="stable")]


def fits(cost: ArrayLike, budget: ArrayLike) -> np.ndarray:
    """True if a sum of costs is within the budget, up to rounding errors."""
    return np.less_equal(cost, np.multiply(budget, 1 + 1e-12))
