"""Which queries to label: the distribution to draw them from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._moments import Moments


def sampling_distribution(
    moments: Moments,
    *,
    costs: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
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
        How often users ask each query, as counts or shares: p is their share. Default: the same
        for all.
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
        If a cost is not positive, a frequency is negative, the centre is no number, or `mixing` is
        0 and a query that is asked would never be drawn.

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
    n_queries = len(check.check_result("moments", moments, Moments, "label_moments").first)
    check.check_number("mixing", mixing, 0, 1)
    p = np.full(n_queries, 1 / n_queries)
    if frequencies is not None:
        p = check.check_frequencies("frequencies", frequencies, n_queries)
    cost = np.ones(n_queries) if costs is None else check.check_costs("costs", costs, n_queries)
    if center is None:
        center = moments.center(p)
    error = moments.squared_error(check.check_number("center", center, -1e300, 1e300))
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
    uniform = np.where(drawn, p, 0.0) / p[drawn].sum()
    asked = uniform > 0
    active = (a[drawn] / q[drawn]).sum() * (costs @ q)
    passive = (a[asked] / uniform[asked]).sum() * (costs @ uniform)
    return float(active / passive) if passive > 0 else 1.0
