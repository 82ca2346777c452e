"""Tests whether any of several systems differ, on the queries where all systems have a value."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._pairs import ROUNDING, effective_size, moments, ratio, variance_factors
from skrank.stats._resampling import blocks, one_thread, share_reached


class AnovaRow(NamedTuple):
    """One row of the table of an analysis of variance.

    Attributes
    ----------
    sum_of_squares, freedom, mean_square : float
    f, p_value : float
        NaN for the residual.
    """

    sum_of_squares: float
    freedom: float
    mean_square: float
    f: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Anova:
    """Analysis of variance of systems and queries, returned by `two_way_anova`.

    Attributes
    ----------
    systems, queries, residual : AnovaRow
        Sum of squares, degrees of freedom, mean square, F and p-value.
    epsilon : float
        Greenhouse and Geisser's epsilon, from 1 / (n_systems - 1) to 1. It is 1 if the differences
        of all pairs of systems have the same variance.
    p_corrected : float
        P-value of the systems with both degrees of freedom multiplied by `epsilon`.
    effect_size : float
        Partial eta squared: the sum of squares of systems over those of systems and residual.
    n_queries, n_dropped : int
        Numbers of queries on which all systems have a value, and of other queries.
    n_effective : float
        Effective number of weighted queries, ``sum(w)**2 / sum(w**2)``; else `n_queries`.
    """

    systems: AnovaRow
    queries: AnovaRow
    residual: AnovaRow
    epsilon: float
    p_corrected: float
    effect_size: float
    n_queries: int
    n_dropped: int
    n_effective: float

    @property
    def variances(self) -> dict[str, float]:
        """Estimates of the variance of "systems", "queries" and "residual", at least 0.

        The model draws systems and queries at random, so that the variance of a single score is the
        sum of the three. `queries_needed` takes ``std = sqrt(2 * variances["residual"])``.
        """
        error = self.residual.mean_square
        n_systems = self.systems.freedom + 1
        return {
            "systems": max(0.0, (self.systems.mean_square - error) / self.n_effective),
            "queries": max(0.0, (self.queries.mean_square - error) / n_systems),
            "residual": error,
        }


def two_way_anova(
    scores: ArrayLike, *, nan: str = "drop", weights: ArrayLike | None = None
) -> Anova:
    """Analysis of variance of systems and queries, without replication.

    The F test of systems tests whether any systems differ. For two systems, F is the square of the
    t of `paired_t`.

    Parameters
    ----------
    scores, weights
        As in `paired_t`.
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out.

    Returns
    -------
    Anova
        If the residual is 0, F is infinite (p 0) for means that differ and 0 (p 1) for equal means.

    Raises
    ------
    ValueError
        If fewer than 2 queries or systems are left.

    References
    ----------
    J. Tague-Sutcliffe, J. Blustein, A Statistical Analysis of the TREC-3 Data, TREC 1995.
    S. W. Greenhouse, S. Geisser, On Methods in the Analysis of Profile Data, Psychometrika 24(2),
    1959.

    Examples
    --------
    >>> from skrank import stats
    >>> scores = [[0.5, 0.4, 0.1], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1], [0.9, 0.6, 0.4]]
    >>> anova = stats.two_way_anova(scores)
    >>> round(anova.systems.f, 2), round(anova.systems.p_value, 5)
    (54.6, 0.00014)
    """
    kept, weight, n_dropped = check.check_complete("the analysis", scores, nan, weights)
    n_queries, n_systems = kept.shape
    w = np.ones(n_queries) if weight is None else weight
    size, freedom = effective_size(n_queries, w), n_queries - 1
    negligible = ROUNDING * np.abs(kept).max()
    by_query = _flat(kept.mean(axis=1), negligible)
    deviation = kept - by_query[:, None]
    by_system = _flat(w @ deviation / w.sum(), negligible)
    rest = deviation - by_system
    rest[np.abs(rest) <= negligible] = 0
    unweighted = np.cov(rest, rowvar=False)
    covariance = (rest.T * variance_factors(w) @ rest + unweighted) / 2
    of_systems = size * (by_system**2).sum() / (n_systems - 1)
    of_queries = n_systems * moments(by_query[None], w)[1][0] ** 2
    mean_squares = np.array([of_systems, of_queries, np.trace(covariance) / (n_systems - 1)])
    freedoms = np.array([n_systems - 1.0, freedom, freedom * (n_systems - 1)])
    squares = mean_squares * freedoms
    f = ratio(mean_squares, np.broadcast_to(mean_squares[2], 3))
    p = scipy.stats.f.sf(f, freedoms, freedoms[2])
    f[2] = p[2] = np.nan
    columns = np.stack([squares, freedoms, mean_squares, f, p], axis=1)
    systems, queries, residual = (AnovaRow(*row) for row in columns.tolist())
    epsilon = _epsilon(unweighted)
    p_corrected = float(scipy.stats.f.sf(f[0], epsilon * freedoms[0], epsilon * freedoms[2]))
    effect = float(squares[0] / (squares[0] + squares[2])) if squares[[0, 2]].any() else 0.0
    return Anova(
        systems, queries, residual, epsilon, p_corrected, effect, n_queries, n_dropped, float(size)
    )


def _flat(means: np.ndarray, negligible: float) -> np.ndarray:
    """Means that are exactly equal if they differ by rounding only, and exactly 0 if negligible."""
    if np.ptp(means) <= negligible:
        means = np.full_like(means, means.mean())
    return np.where(np.abs(means) <= negligible, 0.0, means)


def _epsilon(covariance: np.ndarray) -> float:
    """Greenhouse and Geisser's epsilon of a covariance whose rows and columns sum to 0."""
    squares = (covariance**2).sum()
    n_systems = len(covariance)
    return float(np.trace(covariance) ** 2 / ((n_systems - 1) * squares)) if squares else 1.0


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
        Adjusted: with probability alpha, any pair of equal true means has a p-value below alpha.
    alpha : float
    critical_difference : float
        A pair is significant at `alpha` if its absolute difference exceeds this value; infinite if
        queries are too few for a p-value below `alpha`.
    n_queries, n_dropped : int
        Numbers of queries on which all systems have a value, and of other queries.
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
    """Tukey's honestly significant difference test, randomised.

    Each resample permutes the scores of the systems on every query. The difference of a pair is
    compared with the largest difference of means in each resample. For two systems, this is
    `randomisation_test`.

    Parameters
    ----------
    scores, weights
        As in `paired_t`.
    alpha : float
        Level of the critical difference.
    n_resamples : int
        Random permutations. If at most this many are possible (n_systems! ** (n_queries - 1)), all
        are visited and the p-values are exact.
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out for all systems.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    TukeyHSD
        P-values are ``(1 + b) / (1 + n_resamples)``, as in `randomisation_test`, or exact shares.

    See Also
    --------
    max_t : holds its level also if some systems vary more than others.

    Notes
    -----
    The null hypothesis is that the scores of all systems are exchangeable on each query. If some
    differences vary much more than others (a system of another kind among many similar systems),
    the test rejects these too often and the others too rarely. With four similar systems and one of
    five times their standard deviation, the probability of a false positive at alpha .05 is about
    .1. Use `max_t` in such cases, and whenever in doubt.

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
    rounding = ROUNDING * np.abs(kept).max(initial=0)
    with one_thread():
        spreads, exact = _spreads(kept, share, n_resamples, seed)
    at_least = len(spreads) - np.searchsorted(spreads, np.abs(difference) - rounding, side="left")
    p_value = partial(share_reached, n_resamples=len(spreads), every=exact)
    above = p_value(np.arange(len(spreads))[::-1]) < alpha  # of a difference above each spread
    critical = spreads[above.argmax()] + rounding if above.any() else math.inf
    return TukeyHSD(
        pairs=np.stack([first, second], axis=1),
        difference=difference,
        p_value=p_value(at_least),
        alpha=alpha,
        critical_difference=float(critical),
        n_queries=len(kept),
        n_dropped=n_dropped,
    )


def _spreads(
    scores: np.ndarray, share: np.ndarray, n_resamples: int, seed: int
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
    for rows in blocks(scores.size, n_resamples):
        copies = np.broadcast_to(scores, (rows, *scores.shape))
        spreads.append(np.ptp(share @ random.permuted(copies, axis=2), axis=1))
    return np.sort(np.concatenate(spreads)), False
