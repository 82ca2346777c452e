"""Planning an evaluation: the number of queries that a test or an interval needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import scipy.stats
from scipy.special import chdtrc, gammaln, ncfdtr

from skrank import _validation as check

_MOST_QUERIES = 10**9  # more than any collection has


def queries_needed(
    difference: float | None = None,
    std: float = 1.0,
    *,
    width: float | None = None,
    n_systems: int = 2,
    confidence: float = 0.95,
    power: float = 0.8,
) -> int:
    """Smallest number of queries for the power of a test, or for the width of an interval.

    Parameters
    ----------
    difference : float, optional
        True mean difference, not 0: of two systems; or of the best and the worst of several
        systems, all others being halfway between the two.
    std : float
        Standard deviation over queries of the difference of two systems, above 0. For several
        systems, the root of twice the residual mean square of the analysis of variance.
    width : float, optional
        Instead of `difference`: expected width of the interval of the mean difference.
    n_systems : int
        2: the paired t-test, or the interval of one difference. More: the F test of systems in an
        analysis of variance of systems and queries, or simultaneous intervals of all pairs
        (Bonferroni).
    confidence : float
        Level of the intervals. The test rejects if its p-value is below one minus it.
    power : float
        Probability that the test rejects.

    Returns
    -------
    int

    References
    ----------
    T. Sakai, Topic Set Size Design, Information Retrieval Journal 19, 2016.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.queries_needed(0.05, 0.1), stats.queries_needed(0.05, 0.1, n_systems=10)
    (34, 64)
    >>> stats.queries_needed(std=0.1, width=0.05)
    64
    """
    std = check.check_number("std", std, 0, math.inf, open_low=True)
    _, alpha = check.check_confidence(confidence)
    power = check.check_share("power", power)
    check.check_count("n_systems", n_systems, "2 for a pair", least=2)
    if (difference is None) == (width is None):
        raise ValueError("pass either the difference to find, or the width of an interval.")
    if width is not None:
        width = check.check_number("width", width, 0, math.inf, open_low=True)
        level = alpha / math.comb(n_systems, 2)
        return _least(lambda n: width / std >= _expected_width(n, level), f"width={width:g}")
    effect = abs(check.check_number("difference", difference, -1e100, 1e100)) / std
    if effect == 0:
        raise ValueError("difference is 0: pass the smallest difference that the test is to find.")
    cause = f"difference / std = {effect:g}"
    return _least(lambda n: bool(_power(effect, n, n_systems, alpha) >= power), cause)


def _least(enough: Callable[[int], bool], cause: str) -> int:
    """Smallest number of queries, at least 2, for which `enough` is True."""
    most = 2
    while not enough(most):
        most *= 2
        if most > _MOST_QUERIES:
            raise ValueError(f"{cause} needs more than {_MOST_QUERIES} queries: it is too small.")
    numbers = range(most // 2 + 1, most + 1)
    return numbers[bisect_left(numbers, True, key=enough)]


def _power(effect: float, n_queries: np.ndarray | int, n_systems: int, alpha: float) -> np.ndarray:
    """Power of the F test if the best and the worst mean differ by `effect` standard deviations.

    All other means lie halfway between, which is the least favourable case.
    """
    freedom = n_systems - 1, (n_systems - 1) * (n_queries - 1)
    critical = scipy.stats.f.isf(alpha, *freedom)
    noncentrality = n_queries * effect**2
    missed = ncfdtr(*freedom, noncentrality, critical)
    # scipy returns NaN where its series underflows: the noncentrality is then so large that the
    # numerator of F can be replaced by its mean
    limit = chdtrc(freedom[1], freedom[1] / freedom[0] * noncentrality / critical)
    return 1 - np.where(np.isnan(missed), limit, missed)


def _expected_width(n_queries: int, alpha: float) -> float:
    """Expected width of Student's interval of a mean, in standard deviations of the differences."""
    half = (n_queries - 1) / 2
    std = math.exp(gammaln(half + 0.5) - gammaln(half) - math.log(half) / 2)
    return 2 * scipy.stats.t.isf(alpha / 2, 2 * half) * std / math.sqrt(n_queries)
