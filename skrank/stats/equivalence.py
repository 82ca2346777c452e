"""Are two systems the same for all that matters: two one-sided tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import ratio, student_t
from skrank.stats._pairs import PairResult, SystemPairs


@dataclass(frozen=True, eq=False)
class EquivalenceTest(PairResult):
    """Two one-sided t-tests of every pair of systems.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    margin : (float, float)
        Differences between which systems are equivalent.
    p_lower, p_upper : ndarray of shape (n_pairs,)
        P-values of the hypotheses that the difference is at most the lower margin, and at least the
        upper one.
    p_value : ndarray of shape (n_pairs,)
        The larger of both: below alpha, the systems are equivalent.
    low, high : ndarray of shape (n_pairs,)
        Student's interval of the difference of level 1 - 2 alpha: inside the margin if and only if
        the p-value is below alpha.
    alpha : float
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Queries on which both systems have a value, and the others.
    """

    margin: tuple[float, float]
    p_lower: np.ndarray
    p_upper: np.ndarray
    p_value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alpha: float


def equivalence_test(
    scores: ArrayLike,
    margin: float | Sequence[float],
    *,
    alpha: float = 0.05,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> EquivalenceTest:
    """Test that systems differ by less than a margin (TOST).

    A difference that is not significant is not shown to be small: this test shows it, by rejecting
    both that the difference is at most the lower margin and that it is at least the upper one.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    margin : float or (float, float)
        Smallest difference of means that matters, above 0; or differences below and above 0.
    alpha : float
        Between 0 and .5.
    pairs, nan, weights
        As in `paired_t`.

    Returns
    -------
    EquivalenceTest

    Raises
    ------
    ValueError
        If the margin does not hold 0, or for what `paired_t` raises it.

    References
    ----------
    D. J. Schuirmann, A Comparison of the Two One-Sided Tests Procedure and the Power Approach,
    Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> new = np.random.default_rng(0).random(50)
    >>> old = new + 0.02 * np.random.default_rng(1).normal(size=50)
    >>> test = stats.equivalence_test(np.column_stack([new, old]), margin=0.01)
    >>> test.p_value.round(4)
    array([0.0003])
    """
    alpha = check.check_number("alpha", alpha, 0, 0.5, open_low=True)
    low, high = check.check_margin("margin", margin)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)
    mean, error, _, freedom = chosen.measure(student_t, 4)
    p_lower = scipy.stats.t.sf(ratio(mean - low, error), freedom)
    p_upper = scipy.stats.t.cdf(ratio(mean - high, error), freedom)
    half = scipy.stats.t.isf(alpha, freedom) * error
    return EquivalenceTest(
        difference=mean,
        margin=(low, high),
        p_lower=p_lower,
        p_upper=p_upper,
        p_value=np.maximum(p_lower, p_upper),
        low=mean - half,
        high=mean + half,
        alpha=alpha,
        **chosen.described,
    )
