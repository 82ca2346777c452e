"""How much of two ranked lists is the same, the first ranks counting most."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check


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
    both = check.check_ranked_items("x", x), check.check_ranked_items("y", y)
    short, long = sorted(both, key=len)
    s, n = len(short), len(long)
    first = {item: rank for rank, item in enumerate(short)}
    # an item is in both lists from the later of its two ranks on
    later = [max(rank, first[item]) for rank, item in enumerate(long) if item in first]
    overlap = np.cumsum(np.bincount(np.array(later, dtype=np.int64), minlength=n))
    at_s, at_n = float(overlap[s - 1]), float(overlap[-1])
    # at best, each list goes on with the other's items, and from this depth on both are the same
    last = s + n - int(at_n)
    depth = np.arange(1, last + 1)
    weight = (1 - p) / p * p**depth / depth
    log = (1 - p) / p * -math.log1p(-p)  # sum of the weights of all depths
    extrapolated = (
        weight[:n] @ overlap
        + weight[s:n] @ (at_s * (depth[s:n] - s) / s)
        + ((at_n - at_s) / n + at_s / s) * p**n
    )
    lower = weight[:n] @ (overlap - at_n) + at_n * log
    gained = np.maximum(depth - s, 0) + np.maximum(depth - n, 0)
    residual = weight @ gained + p**last - at_n * (log - weight.sum())
    return ListOverlap(float(extrapolated), float(lower), max(0.0, float(residual)), p)
