"""Many comparisons at once: a test of all pairs of systems, and adjusted p-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from skrank import _validation as check

_CELLS = 2**21  # of a block of resamples x queries x systems


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
        Topics on which all systems have a value, and the others.
    """

    pairs: np.ndarray
    difference: np.ndarray
    p_value: np.ndarray
    alpha: float
    critical_difference: float
    n_queries: int
    n_dropped: int


def tukey_hsd(
    scores: Any,
    *,
    alpha: float = 0.05,
    n_resamples: int = 5000,
    nan: str = "drop",
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
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out for all, as the permutations
        need every system.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    TukeyHSD
        P-values are ``(1 + b) / (1 + n_resamples)``, as in `randomisation_test`.

    Raises
    ------
    ValueError
        If fewer than 2 queries or systems are left.

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
    array([0.58, 0.  , 0.27])
    """
    alpha = check.check_share("alpha", alpha)
    n_resamples = check.check_resamples(n_resamples)
    matrix = check.check_score_matrix(scores, nan)
    kept = matrix[~np.isnan(matrix).any(axis=1)]
    if len(kept) < 2:
        raise ValueError(
            f"all systems together have a value on {len(kept)} query(s), and the test needs 2: "
            "leave out systems with many NaNs, or test the pairs one by one."
        )
    spreads = _permuted_spreads(kept, n_resamples, check.check_random_state(random_state))
    first, second = np.triu_indices(kept.shape[1], 1)
    difference = kept.mean(axis=0)[first] - kept.mean(axis=0)[second]
    bound = np.abs(difference) - 1e-12 * np.abs(kept).max(initial=0)
    at_least = n_resamples - np.searchsorted(spreads, bound, side="left")
    return TukeyHSD(
        pairs=np.stack([first, second], axis=1),
        difference=difference,
        p_value=(1 + at_least) / (1 + n_resamples),
        alpha=alpha,
        critical_difference=float(np.quantile(spreads, 1 - alpha)),
        n_queries=len(kept),
        n_dropped=len(matrix) - len(kept),
    )


def _permuted_spreads(scores: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Largest minus smallest mean of systems permuted inside queries, ascending."""
    random = np.random.default_rng(seed)
    rows = max(1, _CELLS // scores.size)
    spreads = np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        block = spreads[start : start + rows]
        copies = np.broadcast_to(scores, (len(block), *scores.shape))
        block[:] = np.ptp(random.permuted(copies, axis=2).mean(axis=1), axis=1)
    return np.sort(spreads)


def holm(p_values: Any) -> np.ndarray:
    """P-values adjusted by Holm's step-down method.

    Calling significant what stays below alpha keeps the chance of any false finding at alpha,
    however the tests depend on each other.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = check.check_p_values(p_values)
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    factors = np.arange(len(flat), 0, -1)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * factors), 1)
    return adjusted.reshape(p.shape)


def benjamini_hochberg(p_values: Any) -> np.ndarray:
    """P-values adjusted by Benjamini and Hochberg's step-up method.

    Calling significant what stays below alpha keeps the expected share of false findings among the
    findings at alpha, if the tests are independent or positively dependent.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal
    Statistical Society B 57(1), 1995.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p = check.check_p_values(p_values)
    if p.size == 0:
        return p.copy()
    return scipy.stats.false_discovery_control(p.ravel()).reshape(p.shape)
