"""Sakai's bootstrap sensitivity: the share of pairs of systems that differ significantly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Weights
from skrank.stats._pairs import SystemPairs, moments
from skrank.stats._resampling import centred_draws
from skrank.stats.paired import PairedTest, achieved_level, block_width


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DiscriminativePower(PairedTest):
    """Discriminative power and required difference of a metric, and the tests of all pairs.

    Attributes
    ----------
    confidence : float
        One minus the level of significance.
    power : float
        Share of the pairs whose achieved significance level (ASL) is below 1 - confidence.
    required_difference : float
        Difference of means that is significant for every pair: the largest value of `required`. A
        single unusual pair may determine it.
    required : ndarray of shape (n_pairs,)
        Difference of means at which each pair becomes significant.
    systems, pairs, difference, statistic, p_value, n_queries, n_dropped
        As in `PairedTest`, by `paired_bootstrap`, whose p-value is the ASL.
    """

    confidence: float
    power: float
    required_difference: float
    required: np.ndarray

    @property
    def asl_curve(self) -> np.ndarray:
        """ASL in descending order: the lower the curve, the more pairs the metric separates."""
        return np.sort(self.p_value)[::-1]

    @property
    def caption(self) -> str:
        """Discriminative power and required difference, and how pairs were tested."""
        return (
            f"discriminative power {self.power:.4f}, required difference "
            f"{self.required_difference:.4f} at {100 * self.confidence:g} % confidence\n"
            f"{super().caption}"
        )


@check.of_one_matrix
def discriminative_power(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
    progress: bool | None = None,
) -> DiscriminativePower:
    """Discriminative power and required difference of a metric, by the paired bootstrap.

    All pairs are tested on the same B resamples. The differences of a pair are shifted to mean 0
    and resampled. The required difference of the pair is the absolute mean of the resample whose
    absolute t is the ``ceil((1 - confidence) * B)``-th largest.

    Parameters
    ----------
    scores, nan, weights
        As in `paired_t`.
    confidence : float
    n_resamples, random_state, progress
        As in `paired_bootstrap`.

    Returns
    -------
    DiscriminativePower

    See Also
    --------
    paired_bootstrap : the test of each pair.
    max_t : a test of all pairs that bounds the probability of any false positive.

    References
    ----------
    T. Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.
    T. Sakai, Alternatives to Bpref, SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> scores = np.random.default_rng(0).random((50, 10)) + np.linspace(0, 1, 10)
    >>> found = stats.discriminative_power(scores)
    >>> print(found.caption)
    discriminative power 0.9111, required difference 0.1329 at 95 % confidence
    paired bootstrap test of 45 pairs of systems on 50 queries, p-values not corrected
    """
    confidence, alpha = check.check_confidence(confidence)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    pairs = SystemPairs(scores, nan=nan, weights=weights)

    def block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        t, squares, means = centred_draws(z, w, n_resamples, seed)
        # 0.07 * 100 is 7.000000000000001: without the term 1e-9, its ceiling would be 8
        extreme = squares.shape[1] - max(1, math.ceil(alpha * squares.shape[1] - 1e-9))
        at = np.argpartition(squares, extreme, axis=1)[:, extreme, None]
        required = np.abs(np.take_along_axis(means, at, axis=1)[:, 0])
        return moments(z, w)[0], t, achieved_level(t, squares), required

    width = block_width(n_resamples)
    difference, t, asl, required = pairs.apply(block, 4, width, progress)
    return DiscriminativePower(
        name="paired bootstrap test", difference=difference, statistic=t, p_value=asl,
        confidence=confidence, power=float(np.mean(asl < alpha)), required=required,
        required_difference=float(required.max()), **pairs.described,
    )  # fmt: skip
