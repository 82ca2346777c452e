"""Sizes of differences: effect sizes, wins, and posterior probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import gammaln, nctdtr, nctdtrinc

from skrank import _validation as check
from skrank.stats._pairs import (
    PairResult,
    SystemPairs,
    Weights,
    effective_size,
    moments,
    ratio,
    student_t,
    t_bounds,
)
from skrank.stats._resampling import blocks, one_thread

# scipy's noncentral t is used if |t| is at most _LARGE * sqrt(freedom) and at most _LARGEST
_LARGE, _LARGEST = 1e3, 3e4


@dataclass(frozen=True, eq=False)
class PairedEffects(PairResult):
    """Differences, effect sizes, wins, ties and losses of pairs of systems.

    Attributes
    ----------
    pairs, difference, n_queries, n_dropped
        As in `PairedTest`.
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
    scores, pairs, nan
        As in `paired_t`.
    confidence : float
        Level of the intervals. The interval of the difference excludes 0 if the p-value of
        `paired_t` is below 1 - confidence.
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
        share = np.full(z.shape[1], 1 / z.shape[1]) if w is None else w / w.sum()
        better = (np.sign(z) + 1) / 2 @ share
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        return *moments(z, w), effective_size(z.shape[1], w), better, wins, losses

    mean, std, size, superiority, wins, losses = chosen.measure(block, 6)
    error, freedom = std / np.sqrt(size), chosen.n_queries - 1.0
    t = ratio(mean, error)
    low, high = t_bounds(mean, error, freedom, confidence)
    levels = (1 + confidence) / 2, (1 - confidence) / 2
    g_low, g_high = (_noncentrality(t, freedom, level) / np.sqrt(size) for level in levels)
    cohen_d = ratio(mean, std)
    return PairedEffects(
        difference=mean,
        low=low,
        high=high,
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
    """Noncentrality at which P(T < t) is `level`; infinite for infinite t.

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
class BayesianComparison(PairResult):
    """Posterior probabilities of every pair of systems.

    Attributes
    ----------
    method : {"t", "signed-rank"}
    pairs, difference, n_queries, n_dropped
        As in `PairedTest`.
    rope : (float, float)
        Region of practical equivalence: the range of differences that do not matter.
    better, equivalent, worse : ndarray of shape (n_pairs,)
        Probabilities that the difference is above, in and below the region; their sum is 1.
    error, freedom : ndarray of shape (n_pairs,)
        Standard error of the difference, and degrees of freedom. The posterior of method "t" is
        ``difference + error * T``, where T has Student's t distribution.
    """

    method: str
    rope: tuple[float, float]
    better: np.ndarray
    equivalent: np.ndarray
    worse: np.ndarray
    error: np.ndarray
    freedom: np.ndarray


def bayesian_comparison(
    scores: ArrayLike,
    rope: float | Sequence[float],
    *,
    method: str = "t",
    n_samples: int = 10_000,
    prior_strength: float = 0.5,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> BayesianComparison:
    """Compare systems by posterior probabilities, with a region of practical equivalence.

    Unlike a p-value, the results are probabilities, given the data, that the first system is
    better, that it is worse, or that the difference does not matter.

    Parameters
    ----------
    scores, pairs, nan, weights
        As in `paired_t`.
    rope : float or (float, float)
        Largest difference that does not matter, above 0; or differences below and above 0.
    method : {"t", "signed-rank"}
        "t": posterior of the mean of normal differences, with a flat prior. "signed-rank": for any
        distribution, with a Dirichlet process prior; probabilities are shares of the samples of the
        posterior in which the mean of two random differences lies most probably above, in or below
        the region.
    n_samples : int
        Samples of the posterior of "signed-rank", the same for all pairs.
    prior_strength : float
        Weight of the prior of "signed-rank": this many queries with a difference of 0.
    random_state : int, Generator, RandomState or None
        Seed of the samples of "signed-rank".

    Returns
    -------
    BayesianComparison

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis, Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> scores = np.random.default_rng(0).random((50, 2)) + [0.1, 0]
    >>> found = stats.bayesian_comparison(scores, rope=0.01)
    >>> found.better.round(3), found.equivalent.round(3), found.worse.round(3)
    (array([0.809]), array([0.075]), array([0.117]))
    """
    low, high = check.check_margin("rope", rope)
    check.check_choice("method", method, ("t", "signed-rank"))
    check.check_repeats("n_samples", n_samples, "the number of samples of the posterior")
    check.check_number("prior_strength", prior_strength, 0, 1e9, open_low=True)
    seed = check.check_random_state(random_state)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray | float, ...]:
        mean, error, _, freedom = student_t(z, w)
        if method == "t":
            better = scipy.stats.t.sf(ratio(high - mean, error), freedom)
            worse = scipy.stats.t.cdf(ratio(low - mean, error), freedom)
        else:
            with one_thread():
                size = z.shape[1]
                own = np.ones(size) if w is None else w * size / w.sum()
                strength = np.append(own, prior_strength)
                better, worse = _signed_rank(z, strength, n_samples, seed, low, high) / n_samples
        return mean, error, freedom, better, worse

    mean, error, freedom, better, worse = chosen.measure(block, 5)
    return BayesianComparison(
        method=method,
        difference=mean,
        rope=(low, high),
        better=better,
        equivalent=np.maximum(1 - better - worse, 0),
        worse=worse,
        error=error,
        freedom=freedom,
        **chosen.described,
    )


def _signed_rank(
    z: np.ndarray, strength: np.ndarray, n_samples: int, seed: int, low: float, high: float
) -> np.ndarray:
    """Numbers of samples in which means of two differences most probably exceed `high`, or `low`.

    A sample of the Dirichlet distribution with the parameters `strength` assigns probabilities to
    the observed differences, and to 0 for the prior.
    """
    won = np.zeros((2, len(z)))
    random = np.random.default_rng(seed)
    for rows in blocks(len(strength), n_samples):
        chances = random.dirichlet(strength, rows)
        for row, values in enumerate(np.column_stack([z, np.zeros(len(z))])):
            means = np.add.outer(values, values) / 2
            above, below = (
                np.einsum("si,si->s", chances @ side.astype(np.float64), chances)
                for side in (means > high, means < low)
            )
            inside = 1 - above - below
            won[0, row] += np.count_nonzero((above > inside) & (above > below))
            won[1, row] += np.count_nonzero((below > inside) & (below > above))
    return won
