"""How much systems differ: differences with intervals, effect sizes, wins and losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.special import gammaln, nctdtr, nctdtrinc

from skrank import _validation as check
from skrank.stats._moments import effective_size, moments, ratio, student_t
from skrank.stats._pairs import PairResult, SystemPairs


@dataclass(frozen=True, eq=False)
class PairedEffects(PairResult):
    """How much the systems of every pair differ.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    low, high : ndarray of shape (n_pairs,)
        Student's confidence interval of the difference, each pair by itself.
    confidence : float
        Its level.
    cohen_d : ndarray of shape (n_pairs,)
        Mean over standard deviation of the differences; infinite if they are all the same.
    hedges_g : ndarray of shape (n_pairs,)
        Cohen's d without its bias on few queries.
    g_low, g_high : ndarray of shape (n_pairs,)
        Confidence interval of the effect size that both estimate: exact for normal differences.
    superiority : ndarray of shape (n_pairs,)
        Share of the queries on which the first system is better, ties counting half.
    wins, ties, losses : int64 ndarray of shape (n_pairs,)
        Queries on which the first system is better, equal and worse.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Queries on which both systems have a value, and the others.
    """

    low: np.ndarray
    high: np.ndarray
    confidence: float
    cohen_d: np.ndarray
    hedges_g: np.ndarray
    g_low: np.ndarray
    g_high: np.ndarray
    superiority: np.ndarray
    wins: np.ndarray
    ties: np.ndarray
    losses: np.ndarray


def paired_effects(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedEffects:
    """Differences and effect sizes with intervals, wins, ties and losses of pairs of systems.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    confidence : float
        Level of the intervals. That of the difference excludes 0 when the p-value of `paired_t` is
        below 1 - confidence.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
        "drop": a pair is compared on the queries where both systems have a value.
    weights : array-like of shape (n_queries,), optional
        How much each query counts in means and in `superiority`. Default: all the same.

    Returns
    -------
    PairedEffects

    References
    ----------
    J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988 (d_z).
    L. V. Hedges, Distribution Theory for Glass's Estimator of Effect Size, Journal of Educational
    Statistics 6(2), 1981.

    Examples
    --------
    >>> from skrank import stats
    >>> effects = stats.paired_effects([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> effects.cohen_d.round(2), effects.hedges_g.round(2), effects.wins
    (array([1.73]), array([1.25]), array([4]))
    """
    confidence = check.check_share("confidence", confidence)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)

    def block(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray | float, ...]:
        std = moments(z, w)[1]
        mean, error, t, freedom = student_t(z, w)
        share = np.full(z.shape[1], 1 / z.shape[1]) if w is None else w / w.sum()
        better = (np.sign(z) + 1) / 2 @ share
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        size = effective_size(z.shape[1], w)
        return mean, std, error, t, better, wins, losses, freedom, size

    mean, std, error, t, superiority, wins, losses, freedom, size = chosen.measure(block, 9)
    half = scipy.stats.t.ppf((1 + confidence) / 2, freedom) * error
    g_low, g_high = (
        _noncentrality(t, freedom, (1 + sign * confidence) / 2) / np.sqrt(size) for sign in (1, -1)
    )
    cohen_d = ratio(mean, std)
    ties = chosen.n_queries - wins - losses
    return PairedEffects(
        difference=mean,
        low=mean - half,
        high=mean + half,
        confidence=confidence,
        cohen_d=cohen_d,
        hedges_g=_unbiased(cohen_d, freedom),
        g_low=g_low,
        g_high=g_high,
        superiority=superiority,
        wins=wins.astype(np.int64),
        ties=ties.astype(np.int64),
        losses=losses.astype(np.int64),
        **chosen.described,
    )


def _unbiased(cohen_d: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Hedges' g: with 1 degree of freedom d has no expectation, and nothing is left of it."""
    half = freedom / 2
    with np.errstate(divide="ignore"):
        factor = np.exp(gammaln(half) - gammaln(half - 0.5) - np.log(half) / 2)
    kept = np.where(freedom > 1, factor, 0.0)
    return np.where(np.isinf(cohen_d), cohen_d, kept * np.where(np.isinf(cohen_d), 0.0, cohen_d))


def _noncentrality(t: np.ndarray, freedom: np.ndarray, level: float) -> np.ndarray:
    """Noncentrality at which the chance of a smaller t is `level`; infinite for infinite t."""
    infinite = np.isinf(t)
    limit, t = t, np.where(infinite, 0.0, t)
    found = nctdtrinc(freedom, level, t)
    slope = (nctdtr(freedom, found + 1e-5, t) - nctdtr(freedom, found - 1e-5, t)) / 2e-5
    for _ in range(2):  # Newton's steps: what scipy finds is good to seven digits
        found = found - (nctdtr(freedom, found, t) - level) / slope
    return np.where(infinite, limit, found)
