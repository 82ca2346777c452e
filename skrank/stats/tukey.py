"""Tukey's test of all pairs of systems, on the queries where all systems have a value."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._progress import Bar
from skrank._progress import progress as progress_bar
from skrank.stats._pairs import ROUNDING, names_of_columns
from skrank.stats._resampling import block_sizes, one_thread, share_reached
from skrank.stats.paired import PairedTest


@check.of_one_matrix
def tukey_hsd(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
    progress: bool | None = None,
) -> PairedTest:
    """Tukey's honestly significant difference test, randomised.

    Each resample permutes the scores of the systems on every query. The difference of a pair is
    compared with the largest difference of means in each resample. For two systems, this is
    `randomisation_test`.

    Parameters
    ----------
    scores, weights
        As in `paired_t`.
    confidence : float
        Level of the critical difference.
    n_resamples : int
        Random permutations. If at most this many are possible (n_systems! ** (n_queries - 1)), all
        are visited and the p-values are exact.
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out for all systems.
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        As in `paired_bootstrap`.

    Returns
    -------
    PairedTest
        `statistic` is the difference. P-values are adjusted: with probability `confidence`, no pair
        of equal true means has a p-value below 1 - confidence. They are
        ``(1 + b) / (1 + n_resamples)``, as in `randomisation_test`, or exact shares.

    See Also
    --------
    max_t : holds its level also if some systems vary more than others.

    Notes
    -----
    The null hypothesis is that the scores of all systems are exchangeable on each query. If some
    differences vary much more than others (a system of another kind among many similar systems),
    the test rejects these too often and the others too rarely. With four similar systems and one of
    five times their standard deviation, the probability of a false positive is about .1 in place
    of .05. Use `max_t` in such cases, and whenever in doubt.

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
    confidence, alpha = check.check_confidence(confidence)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    kept, weight, n_dropped = check.check_complete(scores, nan, weights)
    share = np.full(len(kept), 1 / len(kept)) if weight is None else weight / weight.sum()
    first, second = np.triu_indices(kept.shape[1], 1)
    mean = share @ kept
    difference = mean[first] - mean[second]
    rounding = ROUNDING * np.abs(kept).max(initial=0)
    with one_thread(), progress_bar(progress, n_resamples, "resamples") as bar:
        spreads, exact = _spreads(kept, share, n_resamples, seed, bar)
    at_least = len(spreads) - np.searchsorted(spreads, np.abs(difference) - rounding, side="left")
    p_value = partial(share_reached, n_resamples=len(spreads), every=exact)
    above = p_value(np.arange(len(spreads))[::-1]) < alpha  # of a difference above each spread
    critical = spreads[above.argmax()] + rounding if above.any() else math.inf
    return PairedTest(
        name="Tukey HSD test", systems=names_of_columns(scores, kept.shape[1]),
        pairs=np.stack([first, second], axis=1), difference=difference, statistic=difference,
        p_value=p_value(at_least), n_queries=np.full(len(first), len(kept)),
        n_dropped=np.full(len(first), n_dropped), confidence=confidence,
        critical_value=float(critical),
    )  # fmt: skip


def _spreads(
    scores: np.ndarray, share: np.ndarray, n_resamples: int, seed: int, bar: Bar
) -> tuple[np.ndarray, bool]:
    """Ascending ranges of means of permuted scores; and True if all permutations were visited."""
    n_queries, n_systems = scores.shape
    # The same permutation of the systems on all queries does not change the range: the first query
    # is not permuted.
    if (n_queries - 1) * math.lgamma(n_systems + 1) <= math.log(n_resamples) + 1e-9:
        orders = np.array(list(itertools.permutations(range(n_systems))))
        means = share[0] * scores[:1]
        for row, weight in zip(scores[1:], share[1:], strict=True):
            means = (means[:, None] + weight * row[orders]).reshape(-1, n_systems)
        return np.sort(np.ptp(means, axis=1)), True
    random = np.random.default_rng(seed)
    spreads = []
    for rows in block_sizes(scores.size, n_resamples):
        copies = np.broadcast_to(scores, (rows, *scores.shape))
        spreads.append(np.ptp(share @ random.permuted(copies, axis=2), axis=1))
        bar.update(rows)
    return np.sort(np.concatenate(spreads)), False
