"""Bayesian comparison: probabilities that a system is better, equivalent or worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import Weights, ratio, student_t
from skrank.stats._pairs import PairResult, SystemPairs
from skrank.stats._resampling import blocks, one_thread


@dataclass(frozen=True, eq=False)
class BayesianComparison(PairResult):
    """Posterior probabilities of every pair of systems.

    Attributes
    ----------
    method : {"t", "signed-rank"}
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    rope : (float, float)
        Region of practical equivalence: the range of differences that do not matter.
    better, equivalent, worse : ndarray of shape (n_pairs,)
        Probabilities that the difference is above, in and below the region; their sum is 1.
    error, freedom : ndarray of shape (n_pairs,)
        Standard error of the difference, and degrees of freedom. The posterior of method "t" is
        ``difference + error * T``, where T has Student's t distribution.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Numbers of queries with a value for both systems, and of other queries.
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
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    rope : float or (float, float)
        Largest difference that does not matter, above 0; or differences below and above 0.
    method : {"t", "signed-rank"}
        "t": posterior of the mean of normal differences, with a flat prior. "signed-rank":
        posterior of the pseudo-median (the median of the means of two differences) of any
        distribution, with a Dirichlet process prior.
    n_samples : int
        Samples of the posterior of "signed-rank", the same for all pairs.
    prior_strength : float
        Weight of the prior of "signed-rank": this many queries with a difference of 0.
    pairs, nan, weights
        As in `paired_t`.
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
