"""Effect sizes of paired differences, wins and losses, and tests of equivalence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import gammaln, nctdtr, nctdtrinc

from skrank import _validation as check
from skrank.stats._moments import Weights, effective_size, moments, ratio, student_t
from skrank.stats._pairs import PairResult, SystemPairs

# |t| / sqrt(freedom), and |t|, above which functions of the noncentral t of scipy are not used
_LARGE, _LARGEST = 1e3, 3e4


@dataclass(frozen=True, eq=False)
class PairedEffects(PairResult):
    """Differences, effect sizes, wins, ties and losses of pairs of systems.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    low, high : ndarray of shape (n_pairs,)
        Student's confidence interval of the difference, not adjusted for the number of pairs.
    confidence : float
        Level of all intervals.
    cohen_d : ndarray of shape (n_pairs,)
        Mean over standard deviation of the differences; infinite if all differences are equal and
        not 0.
    hedges_g : ndarray of shape (n_pairs,)
        Cohen's d, corrected for the bias on few queries.
    g_low, g_high : ndarray of shape (n_pairs,)
        Confidence interval of the true mean over the true standard deviation of the differences;
        exact for normal differences.
    superiority : ndarray of shape (n_pairs,)
        Share of the queries on which the first system is better; ties count half.
    wins, ties, losses : int64 ndarray of shape (n_pairs,)
        Queries on which the first system is better, equal and worse.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Numbers of queries with a value for both systems, and of other queries.
    """

    low: np.ndarray
    high: np.ndarray
    confidence: float
    cohen_d: np.ndarray
    hedges_g: np.ndarray
    g_low: np.ndarray
    g_high: np.ndarray
    superiority: np.ndarray
    wins: np.ndarray
    ties: np.ndarray
    losses: np.ndarray


def paired_effects(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedEffects:
    """Differences and effect sizes with intervals, wins, ties and losses of pairs of systems.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    confidence : float
        Level of the intervals. The interval of the difference excludes 0 if the p-value of
        `paired_t` is below 1 - confidence.
    pairs, nan
        As in `paired_t`.
    weights : array-like of shape (n_queries,), optional
        Weight of each query in means and in `superiority`. Default: equal weights.

    Returns
    -------
    PairedEffects

    References
    ----------
    J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988 (d_z).
    L. V. Hedges, Distribution Theory for Glass's Estimator of Effect Size, Journal of Educational
    Statistics 6(2), 1981.

    Examples
    --------
    >>> from skrank import stats
    >>> effects = stats.paired_effects([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> effects.cohen_d.round(2), effects.hedges_g.round(2), effects.wins
    (array([1.73]), array([1.25]), array([4]))
    """
    confidence = check.check_share("confidence", confidence)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray | float, ...]:
        std = moments(z, w)[1]
        mean, error, t, freedom = student_t(z, w)
        share = np.full(z.shape[1], 1 / z.shape[1]) if w is None else w / w.sum()
        better = (np.sign(z) + 1) / 2 @ share
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        size = effective_size(z.shape[1], w)
        return mean, std, error, t, better, wins, losses, freedom, size

    mean, std, error, t, superiority, wins, losses, freedom, size = chosen.measure(block, 9)
    half = scipy.stats.t.ppf((1 + confidence) / 2, freedom) * error
    levels = (1 + confidence) / 2, (1 - confidence) / 2
    g_low, g_high = (_noncentrality(t, freedom, level) / np.sqrt(size) for level in levels)
    cohen_d = ratio(mean, std)
    return PairedEffects(
        difference=mean,
        low=mean - half,
        high=mean + half,
        confidence=confidence,
        cohen_d=cohen_d,
        hedges_g=_unbiased(cohen_d, freedom),
        g_low=g_low,
        g_high=g_high,
        superiority=superiority,
        wins=wins.astype(np.int64),
        ties=(chosen.n_queries - wins - losses).astype(np.int64),
        losses=losses.astype(np.int64),
        **chosen.described,
    )


def _unbiased(cohen_d: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Hedges' g; 0 for 1 degree of freedom, where the expectation of Cohen's d does not exist."""
    half = freedom / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(gammaln(half) - gammaln(half - 0.5) - np.log(half) / 2)
        unbiased = np.where(freedom > 1, factor, 0.0) * cohen_d
    return np.where(np.isinf(cohen_d), cohen_d, unbiased)


def _noncentrality(t: np.ndarray, freedom: np.ndarray, level: float) -> np.ndarray:
    """Noncentrality at which a smaller t has the probability `level`; infinite for infinite t.

    A noncentral t is (normal + noncentrality) / sqrt(chi-square / freedom). If t is large, the
    normal variable is negligible, and the noncentrality is t times a quantile of the denominator.
    The functions of scipy are inaccurate there, or do not return.
    """
    is_large = np.abs(t) > np.minimum(_LARGE * np.sqrt(freedom), _LARGEST)
    quantile = scipy.stats.chi2.ppf(np.where(t > 0, 1 - level, level), freedom)
    finite = np.where(is_large, 0.0, t)
    found = nctdtrinc(freedom, level, finite)
    slope = (nctdtr(freedom, found + 1e-5, finite) - nctdtr(freedom, found - 1e-5, finite)) / 2e-5
    for _ in range(2):  # Newton steps: the value of scipy is accurate to seven digits only
        found = found - (nctdtr(freedom, found, finite) - level) / slope
    return np.where(is_large, t * np.sqrt(quantile / freedom), found)


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
        Systems are equivalent if the true difference lies between these two differences.
    p_lower, p_upper : ndarray of shape (n_pairs,)
        P-values of two hypotheses: that the difference is at most the lower margin, and that it is
        at least the upper margin.
    p_value : ndarray of shape (n_pairs,)
        The larger of `p_lower` and `p_upper`. Equivalence is significant if it is below alpha.
    low, high : ndarray of shape (n_pairs,)
        Student's interval of the difference of level ``1 - 2 * alpha``. The interval lies inside
        the margin if and only if the p-value is below alpha.
    alpha : float
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Numbers of queries with a value for both systems, and of other queries.
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

    A difference may fail to be significant because queries are few. This test shows that it is
    small, by rejecting both that it is at most the lower margin and at least the upper margin.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    margin : float or (float, float)
        Smallest difference of means that matters, above 0: 0.01 stands for (-0.01, 0.01). Or the
        lower margin, below 0, and the upper margin, above 0.
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
        If the margin does not contain 0, or under the conditions of `paired_t`.

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
