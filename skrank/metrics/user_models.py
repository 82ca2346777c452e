"""User models of the C/W/L framework (Moffat et al.): the mean gain of documents that users read.

A user who has read rank i goes on to rank i + 1 with the probability C(i). The weight W(i) of rank
i is proportional to C(1) ... C(i - 1), and weights sum to 1. The metric is the sum of W(i) times
the gain at rank i, divided by the gain of the highest grade.

A user reads at most k ranks, or `DEPTH` without a cut-off; ranks below the end of a list gain 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import elementwise
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import number, parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Gain, Scale

DEPTH = 1000  # without a cut-off, a user reads at most so many ranks, as in cwl_eval
_MOST_RANKS = 1_000_000  # largest cut-off: there is an array of weights of so many ranks
Weigh = Callable[[np.ndarray], np.ndarray]


def insq_weights(goal: float) -> Weigh:
    """Weights of INSQ, whose user goes on with C(i) = ((i + 2T - 1) / (i + 2T))**2, T = `goal`."""
    return lambda rank: (2 * goal / (rank - 1 + 2 * goal)) ** 2  # rank 1 weighs 1 for each T


@dataclass(frozen=True, kw_only=True)
class UserModel(Metric):
    """A user who reads down a list to rank k, or to rank `DEPTH` without a cut-off.

    `tables` use `limit` in place of k: their k is that of the metric, as no best list divides.
    """

    gain: Gain = parameter("linear", check.check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    @property
    def limit(self) -> int:
        """Largest number of ranks that the user reads."""
        limit = DEPTH if self.k is None else self.k
        if limit > _MOST_RANKS:
            raise ValueError(f"{self}: k must be at most {_MOST_RANKS}.")
        return limit

    def weighted(self, weigh: Weigh, scale: Scale) -> QuadraticTables:
        """Share of the highest gain by label; by rank ``weigh(rank)``, divided by its sum."""
        weights = weigh(np.arange(1.0, self.limit + 1))
        read = (weights / weights.sum())[: scale.longest]
        by_rank = np.pad(read, (0, scale.longest - len(read)))
        return QuadraticTables(scale.shares(self.gain), by_rank)


@register("insq")
@dataclass(frozen=True, kw_only=True)
class INSQ(UserModel):
    r"""INSQ: mean gain of the documents read by a user more likely to go on the more was read.

    .. math:: INSQ = \frac{\sum_{r \le k} w_r\, \text{gain}(y_r) / \text{gain}(\text{max grade})}
              {\sum_{r \le k} w_r}, \quad w_r = \frac{1}{(r + 2T - 1)^2}

    The user goes on from rank i to the next rank with probability ((i + 2T - 1) / (i + 2T))^2, and
    thus reads rank r with a probability in proportion to w_r.

    Parameters
    ----------
    T : float
        Total gain that the user wants, in units of the gain of the highest grade; above 0.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Range [0, 1]; below 1 for an ideal list with fewer than k documents of the highest grade.

    See Also
    --------
    INST : the probability of going on also depends on the gain found so far.

    References
    ----------
    A. Moffat, F. Scholer, P. Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS
    2012.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("insq", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.4368
    """

    T: float = number(1.0, 0, 1e6, open_low=True)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain by label, and w_r by rank."""
        return self.weighted(insq_weights(self.T), scale)


@register("sdcg")
@dataclass(frozen=True, kw_only=True)
class SDCG(UserModel):
    r"""Scaled discounted cumulated gain: DCG divided by that of k documents of the highest grade.

    .. math:: SDCG@k = \frac{\sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)}
              {\text{gain}(\text{max grade}) \sum_{r \le k} 1 / \log_2(1 + r)}

    Parameters
    ----------
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Range [0, 1]; an ideal list with fewer than k documents of the highest grade scores less
        than 1.

    References
    ----------
    A. Moffat, F. Scholer, P. Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS
    2012; cwl_eval, which calls it NDCG.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("sdcg@3", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.5866
    """

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain by label, and share of the sum of all discounts by rank."""
        return self.weighted(lambda rank: 1 / elementwise(math.log2, 1 + rank), scale)
