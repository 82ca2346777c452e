"""Tests of the difference between two systems by random signs and random queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import EQUAL, moments
from skrank.stats._pairs import SystemPairs
from skrank.stats._resampling import centred_draws, every_flip, one_thread, sign_flips
from skrank.stats._signed_ranks import flip_counts, flip_shares
from skrank.stats.paired import PairedTest, run_test


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

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
        mean = moments(z, w)[0]
        return mean, mean, _flip_p_value(z if w is None else z * w, n_resamples, seed)

    return run_test("randomisation", SystemPairs(scores, pairs, nan, weights=weights), block)


def _flip_p_value(z: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Share of sign flips of each row whose sum is as far from 0 as that of the row."""
    n_queries = z.shape[1]
    with one_thread():
        if n_queries < 63 and 2**n_queries <= n_resamples:
            return flip_shares(z, every_flip(n_queries))
        found = np.zeros(len(z), np.int64)
        for flips in sign_flips(n_queries, n_resamples, seed):
            found += flip_counts(z, flips)
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

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, ...]:
        t, squares, _ = centred_draws(z, w, n_resamples, seed)
        return moments(z, w)[0], t, achieved_level(t, squares)

    chosen = SystemPairs(scores, pairs, nan, weights=weights)
    return run_test("paired bootstrap", chosen, block, block_width(n_resamples))


def achieved_level(t: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Share of draws, given the squares of their t, that are at least as far from 0 as `t`."""
    return (squares >= EQUAL * t[:, None] ** 2).mean(axis=1)


def block_width(n_resamples: int) -> int:
    """Pairs of a block that holds all resamples of each."""
    return max(1, 2**18 // n_resamples)
