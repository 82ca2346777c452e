"""Tests of the difference between two systems on the same queries, for all pairs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from skrank import _validation as check
from skrank.stats._pairs import Pairs, moments, ratio
from skrank.stats._resampling import bootstrap_t, every_flip, sign_flips

ZERO_CHOICES = ("wilcox", "pratt", "zsplit")
_WIDTH = 256  # pairs of a block
_EQUAL = 1 - 1e-9  # statistics nearer than this are equal but for rounding


@dataclass(frozen=True, eq=False)
class PairedTest:
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
        Topics on which both systems have a value: those used.
    n_dropped : int64 ndarray of shape (n_pairs,)
        The other queries.
    """

    name: str
    pairs: np.ndarray
    difference: np.ndarray
    statistic: np.ndarray
    p_value: np.ndarray
    n_queries: np.ndarray
    n_dropped: np.ndarray

    def to_matrix(self) -> np.ndarray:
        """P-values of systems x systems, symmetric; NaN where no test was made."""
        n_systems = int(self.pairs.max()) + 1
        matrix = np.full((n_systems, n_systems), np.nan)
        first, second = self.pairs.T
        matrix[first, second] = matrix[second, first] = self.p_value
        return matrix


def _test(
    name: str, pairs: Pairs, function: Callable[[np.ndarray], tuple[np.ndarray, ...]], width: int
) -> PairedTest:
    """The test whose `function` gives differences, statistics and p-values of a block of pairs."""
    difference, statistic, p_value = pairs.measure(function, 3, width)
    return PairedTest(
        name, pairs.index, difference, statistic, p_value, pairs.n_queries, pairs.n_dropped
    )


def paired_t(scores: Any, *, pairs: Any = None, nan: str = "drop") -> PairedTest:
    """Student's paired t-test.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
        "drop": a pair is tested on the queries where both systems have a value.

    Returns
    -------
    PairedTest
        `statistic` is t. Where the differences are the same on all queries, it is 0 (p 1) if they
        are 0, and infinite (p 0) if not.

    Raises
    ------
    ValueError
        If there are fewer than 2 queries or systems, or a score is infinite.

    Examples
    --------
    >>> from skrank import stats
    >>> test = stats.paired_t([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> test.difference.round(3), test.p_value.round(3)
    (array([0.2]), array([0.041]))
    """

    def block(z: np.ndarray) -> tuple[np.ndarray, ...]:
        n_queries = z.shape[1]
        mean, std = moments(z)
        t = ratio(mean, std / np.sqrt(n_queries))
        return mean, t, 2 * scipy.stats.t.sf(np.abs(t), n_queries - 1)

    return _test("paired t", Pairs(scores, pairs, nan), block, _WIDTH)


def wilcoxon(
    scores: Any, *, zeros: str = "wilcox", pairs: Any = None, nan: str = "drop"
) -> PairedTest:
    """Wilcoxon's signed-rank test, by `scipy.stats.wilcoxon`.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    zeros : {"wilcox", "pratt", "zsplit"}
        Differences of 0 are left out, left out after ranking, or split between both signs.
    pairs, nan
        As in `paired_t`.

    Returns
    -------
    PairedTest
        `statistic` is the smaller of the two sums of ranks. Whether the p-value is exact or
        approximate, scipy decides for each pair by its queries, ties and zeros. Systems that never
        differ have p 1.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.wilcoxon([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """
    check.check_choice("zeros", zeros, ZERO_CHOICES)

    def block(z: np.ndarray) -> tuple[np.ndarray, ...]:
        statistic, p_value = np.zeros(len(z)), np.ones(len(z))
        for rows in _alike(z):
            result = scipy.stats.wilcoxon(z[rows], zero_method=zeros, axis=1)
            statistic[rows], p_value[rows] = result.statistic, result.pvalue
        return moments(z)[0], statistic, p_value

    return _test("Wilcoxon signed-rank", Pairs(scores, pairs, nan, grid=True), block, _WIDTH)


def _alike(z: np.ndarray) -> Iterator[np.ndarray]:
    """Rows that scipy may test at once, for it decides by the ties and zeros of all together."""
    sizes = np.sort(np.abs(z), axis=1)
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    if not tied.all():
        yield np.flatnonzero(~tied)
    rows = np.flatnonzero(tied & (sizes[:, -1] > 0))
    # with few queries and ties scipy visits all permutations: too many for several rows at once
    yield from rows[:, None] if z.shape[1] <= 13 else [rows] if len(rows) else []


def randomisation_test(
    scores: Any,
    *,
    n_resamples: int = 10_000,
    pairs: Any = None,
    nan: str = "drop",
    random_state: check.RandomState = 0,
) -> PairedTest:
    """Fisher's randomisation test: the two systems change names on random queries.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    n_resamples : int
        Random assignments, the same for all pairs. Where there are no more than this altogether
        (2**n_queries), all are visited once and the p-value is exact.
    pairs, nan
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
    n_resamples = check.check_resamples(n_resamples)
    seed = check.check_random_state(random_state)

    def block(z: np.ndarray) -> tuple[np.ndarray, ...]:
        mean = moments(z)[0]
        return mean, mean, _flip_p_value(z, n_resamples, seed)

    return _test("randomisation", Pairs(scores, pairs, nan), block, _WIDTH)


def _flip_p_value(z: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Share of sign flips of each row whose sum is as far from 0 as that of the row."""
    total = z.sum(axis=1, keepdims=True)
    bound = np.abs(total) - 1e-12 * np.abs(z).sum(axis=1, keepdims=True)
    # flipping what adds up to f leaves total - 2 f
    low, high = (total - bound) / 2, (total + bound) / 2

    def as_far(flips: np.ndarray) -> np.ndarray:
        flipped = z @ flips.T
        return np.count_nonzero((flipped <= low) | (flipped >= high), axis=1)

    n_queries = z.shape[1]
    if n_queries < 63 and 2**n_queries <= n_resamples:
        return as_far(every_flip(n_queries)) / 2 ** (n_queries - 1)
    found = np.zeros(len(z), np.int64)
    for flips in sign_flips(n_queries, n_resamples, seed):
        found += as_far(flips)
    return (1 + found) / (1 + n_resamples)


def paired_bootstrap(
    scores: Any,
    *,
    n_resamples: int = 1000,
    pairs: Any = None,
    nan: str = "drop",
    random_state: check.RandomState = 0,
) -> PairedTest:
    """Sakai's paired bootstrap test: achieved significance levels.

    Topics are drawn with replacement, the same draws for all pairs. The level achieved is the share
    of draws in which the differences, less their mean, have a Student's t at least as far from 0 as
    the t observed.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    n_resamples : int
    pairs, nan
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
    n_resamples = check.check_resamples(n_resamples)
    seed = check.check_random_state(random_state)

    def block(z: np.ndarray) -> tuple[np.ndarray, ...]:
        t, squares, _ = bootstrap_t(z, n_resamples, seed)
        return moments(z)[0], t, achieved_level(t, squares)

    return _test("paired bootstrap", Pairs(scores, pairs, nan), block, block_width(n_resamples))


def achieved_level(t: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Share of resamples, given the squares of their t, that are at least as far from 0 as `t`."""
    return (squares >= _EQUAL * t[:, None] ** 2).mean(axis=1)


def block_width(n_resamples: int) -> int:
    """Pairs of a block that holds all resamples of each."""
    return max(1, 2**18 // n_resamples)
