"""Rank correlations and overlaps of two rankings of systems or lists of items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau: concordant minus discordant pairs, as a share of all pairs.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, such as means of two metrics.

    Returns
    -------
    float
        In [-1, 1]. Pairs tied in `x` or `y` are neither concordant nor discordant, so tau is below
        1 for rankings with ties: see `tau_b`.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.kendall_tau([0.9, 0.7, 0.6, 0.5], [0.8, 0.6, 0.7, 0.5]), 3)
    0.667
    """
    first, second = check.check_rankings(x, y)
    above_x, above_y = (scores > scores[:, None] for scores in (first, second))
    excess = (above_x & above_y).sum() - (above_x & above_y.T).sum()
    return float(excess / math.comb(len(first), 2))


def tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau_b, which corrects for ties, by `scipy.stats.kendalltau`.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems.

    Returns
    -------
    float
        In [-1, 1]; NaN if all systems tie in `x` or in `y`.

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

    Let m be the mean, over all systems but the first of the estimated ranking, of the share of the
    systems ranked above that are above in `truth`, too. AP correlation is ``2 * m - 1``.

    Parameters
    ----------
    truth, estimate : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    ties : {"a", "b"}
        "a" (accuracy): the mean over all orders of tied estimates; `truth` must have no ties.
        "b" (agreement): both rankings may have ties, and only pairs without ties count. The value
        is symmetric in `truth` and `estimate`.
    symmetric : bool
        With ``ties="a"``, the mean of ``tau_ap(x, y)`` and ``tau_ap(y, x)``.

    Returns
    -------
    float
        In [-1, 1]; NaN with ``ties="b"`` if all systems of a ranking tie.

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
    symmetric = check.check_flag("symmetric", symmetric)
    if check.check_choice("ties", ties, ("a", "b")) == "b":
        return _tau_ap_b(x, y)
    for name, values in (("truth", x), ("estimate", y))[: 2 if symmetric else 1]:
        if len(np.unique(values)) < len(values):
            raise ValueError(
                f'{name} has ties, which ties="a" does not allow: pass ties="b", or break the ties.'
            )
    return (_tau_ap_a(x, y) + _tau_ap_a(y, x)) / 2 if symmetric else _tau_ap_a(x, y)


def _tau_ap_a(truth: np.ndarray, estimate: np.ndarray) -> float:
    """AP correlation with ties="a"."""
    above = estimate > estimate[:, None]
    n_above, concordant = above.sum(axis=1), (above & (truth > truth[:, None])).sum(axis=1)
    n_tied = (estimate == estimate[:, None]).sum(axis=1)
    ranks = np.arange(1, len(truth) + 1)
    weight = np.concatenate(([0.0], 1 / (ranks[1:] - 1)))  # of rank r: 1 / (r - 1)
    total = np.concatenate(([0.0], np.cumsum(weight)))
    # In random orders of a group of ties, a system takes each rank of the group equally often, and
    # half of the tied systems above a system are expected to be above it in `truth`.
    mean_weight = (total[n_above + n_tied] - total[n_above]) / n_tied
    inside = (ranks - 1 - np.sort(n_above)) / 2
    expected = concordant @ mean_weight + weight @ inside
    return float(2 * expected / (len(truth) - 1) - 1)


def _tau_ap_b(x: np.ndarray, y: np.ndarray) -> float:
    """AP correlation with ties="b"."""
    above_x, above_y = (scores > scores[:, None] for scores in (x, y))
    concordant = (above_x & above_y).sum(axis=1)
    with np.errstate(invalid="ignore"):
        first, second = (
            2 * (concordant / np.maximum(n_above, 1)).sum() / (n_above > 0).sum() - 1
            for n_above in (above_x.sum(axis=1), above_y.sum(axis=1))
        )
    return float((first + second) / 2)


def rank_biased_overlap(x: ArrayLike, y: ArrayLike, *, p: float = 0.9, ties: str = "a") -> float:
    """Rank-biased overlap of two rankings of the same systems.

    ``sum((1 - p) * p**(d - 1) * agreement(d))`` over all depths d. The agreement at depth d is the
    number of systems in the first d ranks of both rankings, over d.

    Parameters
    ----------
    x, y : array-like of shape (n_systems,)
        Scores of the same systems, higher is better.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.
    ties : {"a", "b", "w"}
        "a": the expectation over independent random orders of ties, so that a ranking with ties has
        an overlap below 1 with itself. "b": the agreement of "a" is scaled at each depth so that
        the overlap of a ranking with itself is 1. "w": tied systems share the first of their ranks
        (Webber et al.).

    Returns
    -------
    float
        In [0, 1]. The agreement at depths beyond the last system is 1.

    See Also
    --------
    list_overlap : for lists of different items or lengths, which may be truncated.

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
    p = check.check_share("p", p, ": with 1, no rank would have a weight")
    ties = check.check_choice("ties", ties, ("a", "b", "w"))
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


def _chance_in_top(scores: np.ndarray, *, whole: bool) -> np.ndarray:
    """Probability that a system (row) is in the first d ranks (column d - 1).

    If `whole` is True, all systems of a group of ties have the first rank of the group.
    """
    n_above = (scores > scores[:, None]).sum(axis=1)[:, None]
    n_tied = (scores == scores[:, None]).sum(axis=1)[:, None]
    depth = np.arange(1, len(scores) + 1)
    chance = np.clip((depth - n_above) / n_tied, 0, 1)
    return (chance > 0).astype(np.float64) if whole else chance


@dataclass(frozen=True)
class ListOverlap:
    """Rank-biased overlap of two truncated lists.

    Attributes
    ----------
    extrapolated : float
        Estimate for the complete lists, if the agreement at the last rank continues.
    lower : float
        Least possible value, if the lists have no further items in common.
    residual : float
        The greatest possible value is ``lower + residual``.
    p : float
    """

    extrapolated: float
    lower: float
    residual: float
    p: float


def list_overlap(x: Sequence[Hashable], y: Sequence[Hashable], *, p: float = 0.9) -> ListOverlap:
    """Rank-biased overlap of two lists that may be truncated, and may contain different items.

    Parameters
    ----------
    x, y : sequence of hashable
        Ids of the items in the order of their ranks, each at most once and without ties. The
        lengths may differ.
    p : float
        In (0, 1): 0.9 gives the first ten ranks 86 % of the weight.

    Returns
    -------
    ListOverlap

    Raises
    ------
    ValueError
        If a list is empty, or contains an item twice or a set of items.

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
    p = check.check_share("p", p, ": with 1, no rank would have a weight")
    both = check.check_ranked_items("x", x), check.check_ranked_items("y", y)
    short, long = sorted(both, key=len)
    s, n = len(short), len(long)
    first = {item: rank for rank, item in enumerate(short)}
    # an item is in the first d ranks of both lists if d is at least the larger of its two ranks
    later = [max(rank, first[item]) for rank, item in enumerate(long) if item in first]
    overlap = np.cumsum(np.bincount(np.array(later, dtype=np.int64), minlength=n))
    at_s, at_n = float(overlap[s - 1]), float(overlap[-1])
    # largest overlap: each list continues with the missing items of the other, and from this depth
    # on both contain the same items
    last = s + n - int(at_n)
    depth = np.arange(1, last + 1)
    weight = (1 - p) / p * p**depth / depth
    all_weights = (1 - p) / p * -math.log1p(-p)  # of all depths
    extrapolated = (
        weight[:n] @ overlap
        + weight[s:n] @ (at_s * (depth[s:n] - s) / s)
        + ((at_n - at_s) / n + at_s / s) * p**n
    )
    lower = weight[:n] @ (overlap - at_n) + at_n * all_weights
    gained = np.maximum(depth - s, 0) + np.maximum(depth - n, 0)
    residual = weight @ gained + p**last - at_n * (all_weights - weight.sum())
    return ListOverlap(float(extrapolated), float(lower), max(0.0, float(residual)), p)
