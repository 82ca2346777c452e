"""Tukey's honestly significant differences by random permutations."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import ROUNDING
from skrank.stats._resampling import one_thread

_CELLS = 2**21  # of a block of permutations x queries x systems, which then takes 16 MB


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
