"""Planning an evaluation: the power of a paired test, and the queries that it needs."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check

_MOST_QUERIES = 10**9  # more than any collection has


def paired_t_power(
    difference: float, std: float, n_queries: ArrayLike, *, alpha: float = 0.05
) -> float | np.ndarray:
    """Chance that the two-sided paired t-test finds a true difference of means.

    Parameters
    ----------
    difference : float
        True mean difference of two systems.
    std : float
        Standard deviation over queries of their differences, above 0.
    n_queries : int or array-like of int
        At least 2.
    alpha : float

    Returns
    -------
    float, or ndarray of the shape of `n_queries`

    Notes
    -----
    For normal differences t has a noncentral t distribution with n_queries - 1 degrees of freedom
    and noncentrality ``difference / std * sqrt(n_queries)``.

    References
    ----------
    T. Sakai, Topic Set Size Design, Information Retrieval Journal 19, 2016.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.paired_t_power(0.05, 0.1, 34), 3)
    0.808
    """
    effect = _effect(difference, std)
    alpha = check.check_share("alpha", alpha)
    n = np.asarray(n_queries)
    if n.dtype.kind not in "iu" or (n < 2).any():
        raise ValueError(f"n_queries={n_queries!r} must be integers of at least 2.")
    power = _power(effect, n, alpha)
    return float(power) if n.ndim == 0 else power


def queries_needed(
    difference: float, std: float, *, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Smallest number of queries on which the paired t-test finds a true difference often enough.

    Parameters
    ----------
    difference : float
        True mean difference of two systems, not 0.
    std : float
        Standard deviation over queries of their differences, above 0.
    alpha : float
    power : float
        Chance of finding it.

    Returns
    -------
    int

    See Also
    --------
    paired_t_power : the chance with a given number of queries.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.queries_needed(0.05, 0.1)
    34
    """
    effect = _effect(difference, std)
    alpha = check.check_share("alpha", alpha)
    power = check.check_share("power", power)
    if effect == 0:
        raise ValueError("difference is 0: no number of queries finds what is not there.")
    enough = 2
    while _power(effect, enough, alpha) < power:
        enough *= 2
        if enough > _MOST_QUERIES:
            raise ValueError(
                f"difference / std = {effect:g} needs more than {_MOST_QUERIES} queries: it is too "
                "small."
            )
    numbers = range(enough // 2 + 1, enough + 1)
    return numbers[bisect_left(numbers, power, key=lambda n: float(_power(effect, n, alpha)))]


def _effect(difference: float, std: float) -> float:
    """Absolute difference in standard deviations."""
    difference = check.check_number("difference", difference, -1e100, 1e100)
    return abs(difference) / check.check_number("std", std, 0, math.inf, open_low=True)


def _power(effect: float, n_queries: np.ndarray | int, alpha: float) -> np.ndarray:
    freedom, noncentrality = n_queries - 1, effect * np.sqrt(n_queries)
    critical = scipy.stats.t.isf(alpha / 2, freedom)
    upper = scipy.stats.nct.sf(critical, freedom, noncentrality)
    # the other tail is below 1e-12 from a noncentrality of 7 on, where scipy may give NaN for it
    lower = scipy.stats.nct.cdf(-critical, freedom, np.minimum(noncentrality, 7.0))
    return upper + np.where(noncentrality < 7, lower, 0.0)
