"""Rank correlations of two rankings of systems."""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check


def tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau_b, which corrects for ties, by `scipy.stats.kendalltau`.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems.

    Returns
    -------
    float
        In [-1, 1]; NaN if all systems tie in `x` or in `y`.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_b([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.6, 0.5]), 3)
    0.913
    """
    return float(scipy.stats.kendalltau(*check.check_rankings(x, y), variant="b").statistic)


def tau_ap(truth: ArrayLike, estimate: ArrayLike, *, ties: str = "a") -> float:
    """AP correlation: Kendall's tau with more weight on the top of the ranking.

    For each system but the first of the estimated ranking, c is the share of the systems ranked
    above it that are above it in `truth`, too. AP correlation is ``2 * mean(c) - 1``.

    Parameters
    ----------
    truth, estimate : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    ties : {"a", "b"}
        "a" (accuracy): the mean over all orders of tied estimates; `truth` must have no ties.
        "b" (agreement): both rankings may have ties. The mean, hence symmetric, of the values with
        either ranking as the estimate: a pair tied in the estimate does not count, and a pair tied
        in the other ranking only is not concordant.

    Returns
    -------
    float
        In [-1, 1]; NaN with ``ties="b"`` if all systems of a ranking tie.

    References
    ----------
    E. Yilmaz, J. A. Aslam, S. Robertson, A New Rank Correlation Coefficient for Information
    Retrieval, SIGIR 2008.
    J. Urbano, M. Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.7, 0.9, 0.6, 0.5]), 3)
    0.333
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.9, 0.7, 0.5, 0.6]), 3)
    0.778
    """
    x, y = check.check_rankings(truth, estimate)
    if check.check_choice("ties", ties, ("a", "b")) == "b":
        return _tau_ap_b(x, y)
    if len(np.unique(x)) < len(x):
        raise ValueError(
            'truth has ties, which ties="a" does not allow: pass ties="b", or break the ties.'
        )
    above = y > y[:, None]
    n_above, concordant = above.sum(axis=1), (above & (x > x[:, None])).sum(axis=1)
    n_tied = (y == y[:, None]).sum(axis=1)
    ranks = np.arange(1, len(x) + 1)
    weight = np.concatenate(([0.0], 1 / (ranks[1:] - 1)))  # 1 / (r - 1) by rank r; 0 for rank 1
    cumulative = np.concatenate(([0.0], np.cumsum(weight)))
    # In random orders of a group of ties, a system takes each rank of the group equally often, and
    # half of the tied systems above a system are expected to be above it in `truth`.
    mean_weight = (cumulative[n_above + n_tied] - cumulative[n_above]) / n_tied
    concordant_ties = (ranks - 1 - np.sort(n_above)) / 2
    expected = concordant @ mean_weight + weight @ concordant_ties
    return float(2 * expected / (len(x) - 1) - 1)


def _tau_ap_b(x: np.ndarray, y: np.ndarray) -> float:
    """AP correlation with ties="b": the mean of the values with either ranking as the truth."""
    above_x, above_y = (scores > scores[:, None] for scores in (x, y))
    concordant = (above_x & above_y).sum(axis=1)
    with np.errstate(invalid="ignore"):
        first, second = (
            2 * (concordant / np.maximum(n_above, 1)).sum() / (n_above > 0).sum() - 1
            for n_above in (above_x.sum(axis=1), above_y.sum(axis=1))
        )
    return float((first + second) / 2)
