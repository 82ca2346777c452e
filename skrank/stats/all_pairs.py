"""Tests of all pairs of systems at once, whose chance of any false finding is alpha."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import EQUAL, ROUNDING, power_sums, student_t, variance_divisor
from skrank.stats._pairs import SystemPairs
from skrank.stats._resampling import centred, every_flip, one_thread, sign_flips

_CELLS = 2**21  # of a block of resamples x queries x systems, which then takes 16 MB


@dataclass(frozen=True, eq=False)
class TukeyHSD:
    """A test of all pairs of systems at once.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems, first < second.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    p_value : ndarray of shape (n_pairs,)
        Adjusted: the chance that any of the pairs is below alpha without a difference is alpha.
    alpha : float
    critical_difference : float
        Difference of means beyond which a pair is significant at `alpha`.
    n_queries, n_dropped : int
        Queries on which all systems have a value, and the others.
    """

    pairs: np.ndarray
    difference: np.ndarray
    p_value: np.ndarray
    alpha: float
    critical_difference: float
    n_queries: int
    n_dropped: int


def tukey_hsd(
    scores: ArrayLike,
    *,
    alpha: float = 0.05,
    n_resamples: int = 5000,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> TukeyHSD:
    """Tukey's honestly significant differences, randomised.

    The systems change names at random on every query; a difference counts against the largest
    difference of means that then occurs. With two systems this is the randomisation test.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    alpha : float
        Level of the critical difference.
    n_resamples : int
        Random permutations. Where there are no more than this altogether
        (n_systems! ** (n_queries - 1)), all are visited and the p-values are exact.
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out for all, as the permutations
        need every system.
    weights : array-like of shape (n_queries,), optional
        How much each query counts in the means. Default: all the same.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    TukeyHSD
        P-values are ``(1 + b) / (1 + n_resamples)``, as in `randomisation_test`.

    Raises
    ------
    ValueError
        If fewer than 2 queries or systems are left.

    See Also
    --------
    max_t : holds its level also where some systems vary more than others.

    Notes
    -----
    The test asks whether all systems are alike, and takes each for any other. Where some pairs vary
    much more than others (a system of another kind among many variants of one), the pairs that
    vary most are found too often and the others too seldom: with four systems alike and one of five
    times their spread, a false finding at alpha .05 has a chance of about .1. Use `max_t` there, or
    whenever in doubt.

    References
    ----------
    B. Carterette, Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval
    Experiments, ACM Transactions on Information Systems 30(1), 2012.
    T. Sakai, Evaluation with Informational and Navigational Intents, WWW 2012.

    Examples
    --------
    >>> from skrank import stats
    >>> scores = [[0.5, 0.4, 0.1], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1], [0.9, 0.6, 0.4]]
    >>> stats.tukey_hsd(scores).p_value.round(2)
    array([0.58, 0.  , 0.28])
    """
    alpha = check.check_share("alpha", alpha)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    kept, weight, n_dropped = check.check_complete(
        "the test", scores, nan, weights, ", or test the pairs one by one"
    )
    share = np.full(len(kept), 1 / len(kept)) if weight is None else weight / weight.sum()
    first, second = np.triu_indices(kept.shape[1], 1)
    mean = share @ kept
    difference = mean[first] - mean[second]
    bound = np.abs(difference) - ROUNDING * np.abs(kept).max(initial=0)
    with one_thread():
        spreads, exact = _spreads(kept, share, n_resamples, seed)
    at_least = len(spreads) - np.searchsorted(spreads, bound, side="left")
    return TukeyHSD(
        pairs=np.stack([first, second], axis=1),
        difference=difference,
        p_value=at_least / len(spreads) if exact else (1 + at_least) / (1 + n_resamples),
        alpha=alpha,
        critical_difference=float(np.quantile(spreads, 1 - alpha)),
        n_queries=len(kept),
        n_dropped=n_dropped,
    )


def _spreads(
    scores: np.ndarray, share: np.ndarray, n_resamples: int, seed: int
) -> tuple[np.ndarray, bool]:
    """Largest minus smallest mean of systems permuted inside queries, ascending; whether all."""
    n_queries, n_systems = scores.shape
    # the same permutation on every query changes no spread, so that the first query can stay
    if (n_queries - 1) * math.lgamma(n_systems + 1) <= math.log(n_resamples) + 1e-9:
        orders = np.array(list(itertools.permutations(range(n_systems))))
        means = share[0] * scores[:1]
        for row, weight in zip(scores[1:], share[1:], strict=True):
            means = (means[:, None] + weight * row[orders]).reshape(-1, n_systems)
        return np.sort(np.ptp(means, axis=1)), True
    random = np.random.default_rng(seed)
    rows = max(1, _CELLS // scores.size)
    spreads = np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        block = spreads[start : start + rows]
        copies = np.broadcast_to(scores, (len(block), *scores.shape))
        block[:] = np.ptp(share @ random.permuted(copies, axis=2), axis=1)
    return np.sort(spreads), False


@dataclass(frozen=True, eq=False)
class MaxT:
    """A test of many pairs of systems at once, with intervals that agree with it.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    statistic : ndarray of shape (n_pairs,)
        Student's t.
    p_value : ndarray of shape (n_pairs,)
        Adjusted: the chance that any of the pairs is below alpha without a difference is alpha.
    low, high : ndarray of shape (n_pairs,)
        Simultaneous confidence intervals: all of them hold together with a chance of 1 - alpha, and
        those exclude 0 whose p-value is below alpha.
    alpha : float
    critical_t : float
        Size of t beyond which a pair is significant at `alpha`.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Queries on which both systems have a value, and the others.
    """

    pairs: np.ndarray
    difference: np.ndarray
    statistic: np.ndarray
    p_value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alpha: float
    critical_t: float
    n_queries: np.ndarray
    n_dropped: np.ndarray


def max_t(
    scores: ArrayLike,
    *,
    alpha: float = 0.05,
    n_resamples: int = 5000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> MaxT:
    """Test pairs of systems at once against the largest Student's t among them.

    The differences of each pair, less their mean, change sign at random, on the same queries for
    all pairs (a wild bootstrap with Rademacher weights). A t counts against the largest t of any
    pair that then occurs. Every pair is measured in its own standard error, so that systems may
    vary as differently as they like, and depend on each other.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    alpha : float
        Chance of any false finding, and one minus the level of the intervals.
    n_resamples : int
        Random signs. Where there are no more than this altogether (2**(n_queries - 1)), all are
        visited.
    pairs, nan, weights
        As in `paired_t`.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    MaxT
        The p-value is ``(1 + B s) / (1 + B)``, with s the share of the signs whose largest t is at
        least as large, and B `n_resamples`.

    See Also
    --------
    tukey_hsd : for systems of which each could be any other.
    holm : adjusts the p-values of any tests.

    References
    ----------
    P. H. Westfall, S. S. Young, Resampling-Based Multiple Testing, Wiley 1993.
    R. Davidson, E. Flachaire, The Wild Bootstrap, Tamed at Last, Journal of Econometrics 146, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> scores = np.random.default_rng(0).random((20, 3)) + [0, 0.1, 0.5]
    >>> test = stats.max_t(scores)
    >>> test.p_value.round(3), test.low.round(2), test.high.round(2)
    (array([0.567, 0.003, 0.004]), array([-0.39, -0.72, -0.55]), array([ 0.17, -0.15, -0.1 ]))
    """
    alpha = check.check_share("alpha", alpha)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)
    most = _most_extreme(chosen, n_resamples, seed)
    mean, error, t, _ = chosen.measure(student_t, 4)
    share = 1 - np.searchsorted(most, np.abs(t) * EQUAL, side="left") / len(most)
    critical = _critical(most, alpha, n_resamples)
    half = np.where(error > 0, critical * np.where(error > 0, error, 1), 0)
    return MaxT(
        pairs=chosen.index,
        difference=mean,
        statistic=t,
        p_value=(1 + n_resamples * share) / (1 + n_resamples),
        low=mean - half,
        high=mean + half,
        alpha=alpha,
        critical_t=critical,
        n_queries=chosen.n_queries,
        n_dropped=chosen.n_dropped,
    )


def _most_extreme(pairs: SystemPairs, n_resamples: int, seed: int) -> np.ndarray:
    """The largest size of t of any pair under each assignment of signs, ascending."""
    n_queries = int(pairs.n_queries[0] + pairs.n_dropped[0])
    every = n_queries < 63 and 2 ** (n_queries - 1) <= n_resamples
    most = np.zeros(2 ** (n_queries - 1) if every else n_resamples)
    with one_thread():
        for block in pairs.blocks():
            z = centred(block.z, student_t(block.z, block.weights)[0])
            w = np.ones(z.shape[1]) if block.weights is None else block.weights
            drawn = (
                iter([(slice(None), every_flip(n_queries))])
                if every
                else sign_flips(n_queries, n_resamples, seed)
            )
            for rows, flips in drawn:
                squares = _t_squares(z, w, 1 - 2 * flips[:, block.kept])
                most[rows] = np.maximum(most[rows], squares.max(axis=1))
    return np.sort(np.sqrt(most))


def _t_squares(z: np.ndarray, w: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Squares of Student's t of (pairs, queries) under (resamples, queries) of signs."""
    first, second, third = power_sums(w)
    mean = signs @ (z * (w / first)).T
    square = z**2 @ w**2
    spread = square - mean * (2 * (signs @ (z * w**2).T) - mean * second)
    spread[spread <= ROUNDING * square] = 0  # all differences are the same with these signs
    error = spread / variance_divisor(first, second, third) * (second / first**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean**2 / error)


def _critical(most: np.ndarray, alpha: float, n_resamples: int) -> float:
    """The t beyond which the p-value is below alpha, given the largest t of each assignment."""
    share = (alpha * (1 + n_resamples) - 1) / n_resamples
    if share <= 0:
        return math.inf  # too few resamples for any p-value below alpha
    return float(most[len(most) - math.ceil(share * len(most) - 1e-9)] / EQUAL)
