"""Tests of the difference between two systems on the same queries, for all pairs at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats import _resampling
from skrank.stats._moments import EQUAL, ROUNDING, Weights, moments, ratio, student_t
from skrank.stats._pairs import Measure, PairResult, SystemPairs

# Queries whose signs are all visited where ranks are tied or weighted: as many as in scipy.
_MOST_EXACT = 13


@dataclass(frozen=True, eq=False)
class PairedTest(PairResult):
    """A two-sided test of every pair of systems.

    Attributes
    ----------
    name : str
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second, over the queries used.
    statistic, p_value : ndarray of shape (n_pairs,)
    n_queries : int64 ndarray of shape (n_pairs,)
        Queries on which both systems have a value: those used.
    n_dropped : int64 ndarray of shape (n_pairs,)
        The other queries.
    """

    name: str
    statistic: np.ndarray
    p_value: np.ndarray

    def to_matrix(self) -> np.ndarray:
        """P-values of systems x systems, symmetric; NaN where no test was made."""
        n_systems = int(self.pairs.max()) + 1
        matrix = np.full((n_systems, n_systems), np.nan)
        first, second = self.pairs.T
        matrix[first, second] = matrix[second, first] = self.p_value
        return matrix


def run_test(name: str, pairs: SystemPairs, function: Measure, width: int = 256) -> PairedTest:
    """All pairs, by a `function` that returns differences, statistics and p-values of a block."""
    difference, statistic, p_value = pairs.measure(function, 3, width)
    return PairedTest(name, statistic, p_value, difference=difference, **pairs.described)


def paired_t(
    scores: ArrayLike,
    *,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedTest:
    """Student's paired t-test.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
        "drop": a pair is tested on the queries where both systems have a value.
    weights : array-like of shape (n_queries,), optional
        How much each query counts in the means, such as how often it is asked: at least 0. Default:
        all the same.

    Returns
    -------
    PairedTest
        `statistic` is t. Where the differences are the same on all queries, it is 0 (p 1) if they
        are 0, and infinite (p 0) if not.

    Raises
    ------
    ValueError
        If there are fewer than 2 queries or systems, or a score is infinite.

    Notes
    -----
    With weights, t is the weighted mean over its standard error. Its variance is the mean of two
    estimates, which are both unbiased where the differences of all queries vary alike. In one, each
    query counts by the square of its weight and is corrected for its share in the mean (HC2,
    MacKinnon and White 1985); in the other, all queries count the same. Where the variance rises
    with the weight, the test finds too much: use `randomisation_test` or `max_t` there.

    Examples
    --------
    >>> from skrank import stats
    >>> test = stats.paired_t([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> test.difference.round(3), test.p_value.round(3)
    (array([0.2]), array([0.041]))
    """

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        mean, _, t, freedom = student_t(z, w)
        return mean, t, 2 * scipy.stats.t.sf(np.abs(t), freedom)

    return run_test("paired t", SystemPairs(scores, pairs, nan, weights=weights), block)


def wilcoxon(
    scores: ArrayLike,
    *,
    zeros: str = "wilcox",
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedTest:
    """Wilcoxon's signed-rank test.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    zeros : {"wilcox", "pratt", "zsplit"}
        Differences of 0 are left out, left out after ranking, or split between both signs.
    pairs, nan
        As in `paired_t`.
    weights : array-like of shape (n_queries,), optional
        What the rank of each query is multiplied by in the sums.

    Returns
    -------
    PairedTest
        `statistic` is the smaller of the two sums of ranks. Systems that never differ have p 1.

    Notes
    -----
    The p-value is exact where no difference is tied or 0 on up to 50 queries, and for up to 13
    queries in any case. Elsewhere it is that of the normal approximation, with a correction for
    ties and, but for weighted queries, for continuity. These are the rules of
    `scipy.stats.wilcoxon`, which does the work where it does not enumerate.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.wilcoxon([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """
    check.check_choice("zeros", zeros, ("wilcox", "pratt", "zsplit"))

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        return moments(z, w)[0], *_signed_rank_test(z, w, zeros)

    chosen = SystemPairs(scores, pairs, nan, weights=weights, grid=True)
    return run_test("Wilcoxon signed-rank", chosen, block)


def sign_test(
    scores: ArrayLike,
    *,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedTest:
    """Sign test: how many queries each system wins.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    pairs, nan
        As in `paired_t`.
    weights : array-like of shape (n_queries,), optional
        How much each query counts.

    Returns
    -------
    PairedTest
        `statistic` is the number (weight) of queries on which the first system is better, of those
        on which the two differ: ties are left out. Systems that never differ have p 1.

    Notes
    -----
    The p-value is that of the binomial distribution. With weights it is exact for up to 13 queries,
    and that of the normal approximation for more.

    References
    ----------
    W. J. Conover, Practical Nonparametric Statistics, 3rd edition, 1999, section 3.4.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.sign_test([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        mean = moments(z, w)[0]
        if w is not None:
            return mean, (z > 0) @ w, _weighted_sign_test(np.sign(z) * w)
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        tail = scipy.stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
        return mean, wins, np.minimum(2 * tail, 1)

    return run_test("sign", SystemPairs(scores, pairs, nan, weights=weights), block)


def randomisation_test(
    scores: ArrayLike,
    *,
    n_resamples: int = 10_000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> PairedTest:
    """Fisher's randomisation test: the two systems change names on random queries.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    n_resamples : int
        Random assignments, the same for all pairs. Where there are no more than this altogether
        (2**n_queries), all are visited once and the p-value is exact.
    pairs, nan, weights
        As in `paired_t`.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    PairedTest
        `statistic` is the mean difference. The p-value is ``(1 + b) / (1 + n_resamples)``, with b
        the number of assignments whose mean difference is at least as large: what was observed
        counts, so that no p-value is 0 (Phipson and Smyth 2010).

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette, A Comparison of Statistical Significance Tests for
    Information Retrieval Evaluation, CIKM 2007.
    B. Phipson, G. K. Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in
    Genetics and Molecular Biology 9(1), 2010.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.randomisation_test([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """
    n_resamples, seed = check.check_draws(n_resamples, random_state)

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        mean = moments(z, w)[0]
        return mean, mean, _flip_p_value(z if w is None else z * w, n_resamples, seed)

    return run_test("randomisation", SystemPairs(scores, pairs, nan, weights=weights), block)


def _flip_p_value(z: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Share of sign flips of each row whose sum is as far from 0 as that of the row."""
    n_queries = z.shape[1]
    with _resampling.one_thread():
        if n_queries <= math.log2(n_resamples):
            return _flip_shares(z)
        found = np.zeros(len(z), np.int64)
        for flips in _resampling.sign_flips(n_queries, n_resamples, seed):
            found += _flip_counts(z, flips)
    return (1 + found) / (1 + n_resamples)


def paired_bootstrap(
    scores: ArrayLike,
    *,
    n_resamples: int = 1000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> PairedTest:
    """Sakai's paired bootstrap test: achieved significance levels.

    Queries are drawn with replacement, the same draws for all pairs. The level achieved is the
    share of draws in which the differences, less their mean, have a Student's t at least as far
    from 0 as the t observed.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    n_resamples : int
        Random draws. Where there are no more than this altogether (256 for 4 queries), all are
        visited.
    pairs, nan, weights
        As in `paired_t`.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    PairedTest
        `statistic` is Student's t, `p_value` the achieved significance level (ASL), which may be 0.
        A draw of the same difference throughout has t 0 if it is 0, and infinite t if not.

    References
    ----------
    T. Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.paired_bootstrap([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value.round(2)
    array([0.12])
    """
    n_resamples, seed = check.check_draws(n_resamples, random_state)

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        t, squares, _ = _resampling.centred_draws(z, w, n_resamples, seed)
        return moments(z, w)[0], t, achieved_level(t, squares)

    chosen = SystemPairs(scores, pairs, nan, weights=weights)
    return run_test("paired bootstrap", chosen, block, block_width(n_resamples))


def achieved_level(t: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Share of draws, given the squares of their t, that are at least as far from 0 as `t`."""
    return (squares >= EQUAL * t[:, None] ** 2).mean(axis=1)


def block_width(n_resamples: int) -> int:
    """Number of pairs whose resamples are held at a time."""
    return max(1, 2**18 // n_resamples)


def _signed_rank_test(z: np.ndarray, weights: Weights, zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Smaller sum of ranks, and p-value, of each row of differences (pairs, queries)."""
    ranks, split = _ranks(z, zeros)
    w = 1.0 if weights is None else weights
    signed = np.sign(z) * ranks * w
    sums = [np.maximum(sign * signed, 0).sum(axis=1) for sign in (1, -1)]
    statistic = np.minimum(*sums) + (split * w).sum(axis=1) / 2
    if weights is not None or z.shape[1] <= _MOST_EXACT:
        return statistic, _weighted_sign_test(signed)
    # one call of scipy uses one method for all its rows, so rows with ties need their own
    sizes, p_value = np.sort(np.abs(z), axis=1), np.ones(len(z))
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    for rows in (~tied, tied & (sizes[:, -1] > 0)):
        if rows.any():
            p_value[rows] = scipy.stats.wilcoxon(z[rows], zero_method=zeros, axis=1).pvalue
    return statistic, p_value


def _ranks(z: np.ndarray, zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of differences that are not 0, and those that zeros split between the signs."""
    ranks = scipy.stats.rankdata(np.abs(z), axis=1)
    zero = z == 0
    if zeros == "wilcox":  # zeros have the lowest ranks: without them all others move up
        ranks = ranks - zero.sum(axis=1, keepdims=True)
    return np.where(zero, 0.0, ranks), np.where(zero & (zeros == "zsplit"), ranks, 0.0)


def _weighted_sign_test(signed: np.ndarray) -> np.ndarray:
    """P-value of the sum of each row under random signs: exact for few queries, else normal."""
    if signed.shape[1] <= _MOST_EXACT:
        return _flip_shares(signed)
    z = ratio(np.abs(signed.sum(axis=1)), np.sqrt((signed**2).sum(axis=1)))
    return 2 * scipy.stats.norm.sf(z)


def _flip_counts(signed: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """Number of flips, given as 0 and 1, that leave the sum of a row at least as far from 0."""
    total = signed.sum(axis=1, keepdims=True)
    bound = np.abs(total) - ROUNDING * np.abs(signed).sum(axis=1, keepdims=True)
    # where values that sum to f change their signs, the total becomes total - 2 f
    low, high = (total - bound) / 2, (total + bound) / 2
    flipped = signed @ flips.T
    return np.count_nonzero((flipped <= low) | (flipped >= high), axis=1)


def _flip_shares(signed: np.ndarray) -> np.ndarray:
    """Share of all flips that leave the sum of a row at least as far from 0."""
    flips = _resampling.every_flip(signed.shape[1])
    return _flip_counts(signed, flips) / len(flips)
