"""How alike two rankings are."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check

TAU_AP_TIES = ("a", "b")
RBO_TIES = ("a", "b", "w")


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau: concordant less discordant pairs, as a share of all pairs.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, such as means of two metrics.

    Returns
    -------
    float
        In [-1, 1]. A pair tied in `x` or `y` counts as neither, so that rankings with ties do not
        reach 1: see `tau_b`.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.kendall_tau([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.7, 0.5]), 3)
    0.667
    """
    first, second = check.check_rankings(x, y)
    signs = [np.sign(np.subtract.outer(scores, scores)) for scores in (first, second)]
    return float((signs[0] * signs[1])[np.triu_indices(len(first), 1)].mean())


def tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau_b, by `scipy.stats.kendalltau`: pairs tied in a ranking do not count for it.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems.

    Returns
    -------
    float
        In [-1, 1]; NaN where all systems of a ranking tie.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_b([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.6, 0.5]), 3)
    0.913
    """
    return float(scipy.stats.kendalltau(*check.check_rankings(x, y), variant="b").statistic)


def tau_ap(
    truth: ArrayLike, estimate: ArrayLike, *, ties: str = "a", symmetric: bool = False
) -> float:
    """AP correlation: Kendall's tau with more weight on the top of the ranking.

    For each system but the first of the estimated ranking, the share of the systems above it that
    are above it in truth: tau_ap is their mean, scaled to [-1, 1].

    Parameters
    ----------
    truth, estimate : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    ties : {"a", "b"}
        "a" (accuracy): the mean over all orders of tied estimates; `truth` must have no ties.
        "b" (agreement of two rankings that may both have ties): only systems strictly above one
        another count; symmetric.
    symmetric : bool
        The mean of both directions.

    Returns
    -------
    float
        In [-1, 1]; NaN for ties="b" where all systems of a ranking tie.

    References
    ----------
    E. Yilmaz, J. A. Aslam, S. Robertson, A New Rank Correlation Coefficient for Information
    Retrieval, SIGIR 2008.
    J. Urbano, M. Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.7, 0.9, 0.6, 0.5]), 3)
    0.333
    >>> round(stats.tau_ap([0.9, 0.7, 0.6, 0.5], [0.9, 0.7, 0.5, 0.6]), 3)
    0.778
    """
    x, y = check.check_rankings(truth, estimate)
    if check.check_choice("ties", ties, TAU_AP_TIES) == "b":
        return float(tau_ap_b(x[None], y[None])[0])
    for name, values in (("truth", x), ("estimate", y))[: 2 if symmetric else 1]:
        if len(np.unique(values)) < len(values):
            raise ValueError(
                f'{name} has ties, which ties="a" has no place for: choose ties="b", or order them.'
            )
    return (_tau_ap_a(x, y) + _tau_ap_a(y, x)) / 2 if symmetric else _tau_ap_a(x, y)


def _tau_ap_a(truth: np.ndarray, estimate: np.ndarray) -> float:
    above = estimate > estimate[:, None]
    n_above, concordant = above.sum(axis=1), (above & (truth > truth[:, None])).sum(axis=1)
    n_tied = (estimate == estimate[:, None]).sum(axis=1)
    ranks = np.arange(1, len(truth) + 1)
    weight = np.concatenate(([0.0], 1 / (ranks[1:] - 1)))  # of rank r: 1 / (r - 1)
    total = np.concatenate(([0.0], np.cumsum(weight)))
    # a system takes the ranks of its group equally often ...
    mean_weight = (total[n_above + n_tied] - total[n_above]) / n_tied
    # ... and at any of them, half of its group above it is above it in truth too
    inside = (ranks - 1 - np.sort(n_above)) / 2
    expected = concordant @ mean_weight + weight @ inside
    return float(2 * expected / (len(truth) - 1) - 1)


def tau_ap_b(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """AP correlation with ties="b" of each row of `x` with the same row of `y`."""
    above_x, above_y = (scores[:, None, :] > scores[:, :, None] for scores in (x, y))
    concordant = (above_x & above_y).sum(axis=2)
    with np.errstate(invalid="ignore"):
        directions = [
            2 * (concordant / np.maximum(n_above, 1)).sum(axis=1) / (n_above > 0).sum(axis=1) - 1
            for n_above in (above_x.sum(axis=2), above_y.sum(axis=2))
        ]
    return (directions[0] + directions[1]) / 2


def rank_biased_overlap(x: ArrayLike, y: ArrayLike, *, p: float = 0.9, ties: str = "a") -> float:
    """Rank-biased overlap of two rankings of the same systems.

    The share of systems that the first d ranks have in common, averaged over the depths d at which
    a reader stops who goes on from one rank to the next with chance p.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.
    ties : {"a", "b", "w"}
        "a": the expectation over independent random orders of ties, which a ranking with ties does
        not reach 1 with even against itself. "b": the same, scaled at each depth so that it does.
        "w": tied systems stand together at the first of their ranks, as Webber et al. have it.

    Returns
    -------
    float
        In [0, 1]. Beyond the last system the overlap stays complete.

    See Also
    --------
    list_overlap : for lists of different items or lengths, of which the ends may be unknown.

    References
    ----------
    W. Webber, A. Moffat, J. Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions
    on Information Systems 28(4), 2010.
    M. Corsi, J. Urbano, The Treatment of Ties in Rank-Biased Overlap, SIGIR 2024.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.rank_biased_overlap([0.9, 0.7, 0.6, 0.5], [0.7, 0.9, 0.6, 0.5]), 3)
    0.9
    """
    first, second = check.check_rankings(x, y)
    p = check.check_number("p", p, 0, np.nextafter(1, 0), open_low=True)
    ties = check.check_choice("ties", ties, RBO_TIES)
    in_x, in_y = (_chance_in_top(values, whole=ties == "w") for values in (first, second))
    overlap = (in_x * in_y).sum(axis=0)
    depth = np.arange(1, len(first) + 1)
    if ties == "a":
        size = depth.astype(np.float64)
    elif ties == "b":
        size = np.sqrt((in_x**2).sum(axis=0) * (in_y**2).sum(axis=0))
    else:
        size = (in_x.sum(axis=0) + in_y.sum(axis=0)) / 2
    weight = (1 - p) * p ** (depth - 1)
    return float(weight @ (overlap / size) + p ** len(first))


def _chance_in_top(scores: np.ndarray, whole: bool) -> np.ndarray:
    """Chance of each system (row) to stand in the first d ranks (column d - 1).

    `whole`: groups of ties that begin there stand there altogether.
    """
    n_above = (scores > scores[:, None]).sum(axis=1)[:, None]
    n_tied = (scores == scores[:, None]).sum(axis=1)[:, None]
    depth = np.arange(1, len(scores) + 1)
    chance = np.clip((depth - n_above) / n_tied, 0, 1)
    return (chance > 0).astype(np.float64) if whole else chance


@dataclass(frozen=True)
class ListOverlap:
    """Rank-biased overlap of two lists whose ends are unknown.

    Attributes
    ----------
    extrapolated : float
        Estimate for the complete lists: the agreement found at the last rank goes on.
    lower : float
        Least possible value: the lists have nothing more in common.
    residual : float
        The greatest possible value is ``lower + residual``.
    p : float
    """

    extrapolated: float
    lower: float
    residual: float
    p: float


def list_overlap(x: Sequence[Hashable], y: Sequence[Hashable], *, p: float = 0.9) -> ListOverlap:
    """Rank-biased overlap of two lists that may be cut, and may hold different items.

    Parameters
    ----------
    x, y : sequence of hashable
        Ids of the items, the first rank first, each at most once. The lengths may differ.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.

    Returns
    -------
    ListOverlap

    Raises
    ------
    ValueError
        If a list is empty, or holds an item twice.

    See Also
    --------
    rank_biased_overlap : for complete rankings of the same systems, with ties.

    References
    ----------
    W. Webber, A. Moffat, J. Zobel, A Similarity Measure for Indefinite Rankings, ACM Transactions
    on Information Systems 28(4), 2010: equations 11 and 32, and section 4.3.

    Examples
    --------
    >>> from skrank import stats
    >>> found = stats.list_overlap(["a", "b", "c", "d"], ["b", "a", "e"])
    >>> round(found.extrapolated, 3), round(found.lower, 3), round(found.residual, 3)
    (0.63, 0.312, 0.543)
    """
    p = check.check_number("p", p, 0, np.nextafter(1, 0), open_low=True)
    short, long = sorted(
        (check.check_ranked_items("x", x), check.check_ranked_items("y", y)), key=len
    )
    s, n = len(short), len(long)
    first = {item: rank for rank, item in enumerate(short)}
    # an item is in both lists from the later of its two ranks on
    later = [max(rank, first[item]) for rank, item in enumerate(long) if item in first]
    overlap = np.cumsum(np.bincount(np.array(later, dtype=np.int64), minlength=n))
    depth = np.arange(1, n + 1)
    weight = (1 - p) / p * p**depth / depth
    at_s, at_n = float(overlap[s - 1]), float(overlap[-1])
    log = (1 - p) / p * -math.log1p(-p)  # sum of the weights of all depths
    beyond = np.arange(s + 1, n + 1)
    extrapolated = (
        weight @ overlap
        + weight[s:] @ (at_s * (beyond - s) / s)
        + ((at_n - at_s) / n + at_s / s) * p**n
    )
    lower = weight @ (overlap - at_n) + at_n * log
    # at best, each list goes on with the other's items, and from this depth on both are the same
    last = s + n - int(at_n)
    to_last = np.arange(1, last + 1)
    weight = (1 - p) / p * p**to_last / to_last
    gained = np.maximum(to_last - s, 0) + np.maximum(to_last - n, 0)
    residual = weight @ gained + p**last - at_n * (log - weight.sum())
    return ListOverlap(float(extrapolated), float(lower), max(0.0, float(residual)), p)
