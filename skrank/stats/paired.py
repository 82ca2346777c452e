"""Tests of the difference between two systems on the same queries, for all pairs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import moments, student_t
from skrank.stats._pairs import PairResult, SystemPairs
from skrank.stats._signed_ranks import ZERO_CHOICES, signed_rank_test, weighted_sign_test


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


def run_test(
    name: str,
    pairs: SystemPairs,
    function: Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, ...]],
    width: int = 256,
) -> PairedTest:
    """The test whose `function` gives differences, statistics and p-values of a block of pairs."""
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

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
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
    check.check_choice("zeros", zeros, ZERO_CHOICES)

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
        return moments(z, w)[0], *signed_rank_test(z, w, zeros)

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

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
        mean = moments(z, w)[0]
        if w is not None:
            return mean, (z > 0) @ w, weighted_sign_test(np.sign(z) * w)
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        tail = scipy.stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
        return mean, wins, np.minimum(2 * tail, 1)

    return run_test("sign", SystemPairs(scores, pairs, nan, weights=weights), block)
