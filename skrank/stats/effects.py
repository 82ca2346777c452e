"""How much systems differ: differences with intervals, effect sizes, wins and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from skrank import _validation as check
from skrank.stats._pairs import Pairs, moments, ratio


@dataclass(frozen=True, eq=False)
class PairedEffects:
    """How much the systems of every pair differ.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    low, high : ndarray of shape (n_pairs,)
        Student's confidence interval of the difference.
    confidence : float
        Its level.
    cohen_d : ndarray of shape (n_pairs,)
        Mean over standard deviation of the differences; infinite if they are all the same.
    superiority : ndarray of shape (n_pairs,)
        Share of the queries on which the first system is better, ties counting half.
    wins, ties, losses : int64 ndarray of shape (n_pairs,)
        Topics on which the first system is better, equal and worse.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Topics on which both systems have a value, and the others.
    """

    pairs: np.ndarray
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence: float
    cohen_d: np.ndarray
    superiority: np.ndarray
    wins: np.ndarray
    ties: np.ndarray
    losses: np.ndarray
    n_queries: np.ndarray
    n_dropped: np.ndarray


def paired_effects(
    scores: Any, *, confidence: float = 0.95, pairs: Any = None, nan: str = "drop"
) -> PairedEffects:
    """Differences with their intervals, Cohen's d, wins, ties and losses of pairs of systems.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    confidence : float
        Level of the interval, which excludes 0 when the p-value of `paired_t` is below
        1 - confidence.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int stands for every other column with this one. Default: all pairs.
    nan : {"drop", "raise"}
        "drop": a pair is compared on the queries where both systems have a value.

    Returns
    -------
    PairedEffects

    References
    ----------
    J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988 (d_z).

    Examples
    --------
    >>> from skrank import stats
    >>> effects = stats.paired_effects([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> effects.cohen_d.round(2), effects.wins
    (array([1.73]), array([4]))
    """
    confidence = check.check_share("confidence", confidence)
    chosen = Pairs(scores, pairs, nan)

    def block(z: np.ndarray) -> tuple[np.ndarray, ...]:
        mean, std = moments(z)
        return mean, std, (z > 0).sum(axis=1), (z < 0).sum(axis=1)

    mean, std, wins, losses = chosen.measure(block, 4, width=256)
    n_queries = chosen.n_queries
    half = scipy.stats.t.ppf((1 + confidence) / 2, n_queries - 1) * std / np.sqrt(n_queries)
    ties = n_queries - wins - losses
    return PairedEffects(
        pairs=chosen.index,
        difference=mean,
        low=mean - half,
        high=mean + half,
        confidence=confidence,
        cohen_d=ratio(mean, std),
        superiority=(wins + ties / 2) / n_queries,
        wins=wins.astype(np.int64),
        ties=ties.astype(np.int64),
        losses=losses.astype(np.int64),
        n_queries=n_queries,
        n_dropped=chosen.n_dropped,
    )
