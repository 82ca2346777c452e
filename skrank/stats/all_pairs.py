"""Test many pairs of systems at once against the largest t among them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank import _validation as check
from skrank.stats._moments import EQUAL, ROUNDING, effective_size, moments, ratio
from skrank.stats._pairs import Block, PairResult, SystemPairs
from skrank.stats._resampling import Resamples, centred, every_flip, one_thread, sign_flips

_CELLS = 2**21  # of a block of resamples x pairs that are tested one by one
_CACHED = 2**18  # of a block of resamples x pairs, which then stays in the cache of a processor
_POOLED = 0.5  # share of the median variance of all pairs in the variance of each pair


@dataclass(frozen=True, eq=False)
class MaxT(PairResult):
    """A test of many pairs of systems at once, with intervals that agree with it.

    Attributes
    ----------
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    statistic : ndarray of shape (n_pairs,)
        The difference over its standard error, whose variance is half that of the pair and half
        the median of all pairs. For one pair, and with ``adjust=False``, this is Student's t.
    p_value : ndarray of shape (n_pairs,)
        The chance that any of the pairs is below alpha without a difference is alpha; with
        ``adjust=False``, that chance for each pair.
    low, high : ndarray of shape (n_pairs,)
        Simultaneous confidence intervals: all of them hold together with a chance of 1 - alpha, and
        those exclude 0 whose p-value is below alpha. Infinite where queries are so few that no
        p-value is below alpha.
    alpha : float
    critical_t : float, or ndarray of shape (n_pairs,) with ``adjust=False``
        Size of the statistic beyond which a pair is significant at `alpha`.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Queries on which both systems have a value, and the others.
    """

    statistic: np.ndarray
    p_value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alpha: float
    critical_t: float | np.ndarray


def max_t(
    scores: ArrayLike,
    *,
    adjust: bool = True,
    alpha: float = 0.05,
    n_resamples: int = 5000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
) -> MaxT:
    """Test pairs of systems at once against the largest t among them.

    The t of a pair is compared with the largest t of any pair in resamples without differences.
    Half of the resamples change the signs of the differences on random queries. The other half draw
    queries with replacement, from the differences of each pair less their mean.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
    adjust : bool
        True: p-values and intervals of all pairs together. False: of each pair by itself, against
        its own t in the resamples and with its own variance.
    alpha : float
        Chance of any false finding, and one minus the level of the intervals.
    n_resamples : int
        Random changes of signs and random draws, half each. Where there are no more than this half
        altogether (2**(n_queries - 1) changes, 462 draws of 6 queries), all are visited.
    pairs, nan, weights
        As in `paired_t`.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    MaxT

    See Also
    --------
    tukey_hsd : for systems of which each could be any other.
    holm : adjusts the p-values of any tests.

    Notes
    -----
    The p-value is the mean of the two shares of resamples that reach the t of the pair. For B
    random resamples of which b reach it, the share is (1 + b) / (1 + B). One change of signs in
    ``2**(n_queries - 1)`` changes nothing, so that no p-value is below ``2**-n_queries``.

    Changing signs is exact where a difference is as likely as its opposite, and finds too much
    where differences are skewed. Drawing queries follows the skewness, and finds too little where
    queries are few. The mean of both errs less than either.

    Few queries often miss a rare large difference, and the pair then seems more certain than it is.
    The variance of each pair is therefore averaged with the median of the pairs that are connected
    with it by common systems. Pairs of systems under different metrics are not connected.

    With weights, the variance is the one of differences that vary alike, whatever their weights.
    Both kinds of resamples keep each difference with its weight, so that the p-values and intervals
    hold where the variance depends on the weight.

    References
    ----------
    J. P. Romano, M. Wolf, Stepwise Multiple Testing as Formalized Data Snooping, Econometrica
    73(4), 2005. G. K. Smyth, Linear Models and Empirical Bayes Methods for Assessing Differential
    Expression, Statistical Applications in Genetics and Molecular Biology 3(1), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> scores = np.random.default_rng(0).random((20, 3)) + [0, 0.1, 0.5]
    >>> test = stats.max_t(scores)
    >>> test.p_value.round(3), test.low.round(2), test.high.round(2)
    (array([0.554, 0.002, 0.009]), array([-0.39, -0.71, -0.57]), array([ 0.16, -0.16, -0.07]))
    """
    alpha = check.check_share("alpha", alpha)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    chosen = SystemPairs(scores, pairs, nan, weights=weights)
    families = _families(chosen.index) if adjust else []
    mean, variance = chosen.measure(_mean_and_variance, 2)
    error = np.sqrt(_pooled(variance, families))
    t = ratio(mean, error)
    p_value, critical = np.empty((2, len(chosen)))
    width = len(chosen) if adjust else max(1, _CELLS // n_resamples)
    every = list(chosen.blocks(width))
    for blocks in [every] if adjust else ([block] for block in every):
        halves = _without_differences(blocks, families, max(1, n_resamples // 2), seed)
        for column, members in enumerate(blocks[0].pairs if not adjust else [slice(None)]):
            nulls = [half.column(column) for half in halves]
            p_value[members] = _share(nulls, np.abs(t[members]) * EQUAL, "left")
            critical[members] = _critical(nulls, alpha)
    certain = np.where((t != 0) & (p_value >= alpha), math.inf, 0.0)  # differences that are equal
    half = np.where(error > 0, critical * np.where(error > 0, error, 1), certain)
    return MaxT(
        difference=mean,
        statistic=t,
        p_value=p_value,
        low=mean - half,
        high=mean + half,
        alpha=alpha,
        critical_t=float(critical[0]) if adjust else critical,
        **chosen.described,
    )


def _families(pairs: np.ndarray) -> list[np.ndarray]:
    """Numbers of the pairs that are connected by common systems, for each such group."""
    size = int(pairs.max()) + 1
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    family = connected_components(graph, directed=False)[1][pairs[:, 0]]
    return [np.flatnonzero(family == number) for number in np.unique(family)]


def _pooled(variance: np.ndarray, families: list[np.ndarray]) -> np.ndarray:
    """Variances of shape (..., n_pairs), each averaged with the median of its family, if any."""
    pooled = variance.copy()
    for members in families:
        own = variance[..., members]
        median = np.median(own, axis=-1, keepdims=True)
        pooled[..., members] = own + _POOLED * (median - own)
    return pooled


def _mean_and_variance(z: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each row of differences that vary alike, and the variance of that mean."""
    return moments(z, w)[0], moments(z)[1] ** 2 / effective_size(z.shape[1], w)


@dataclass(frozen=True)
class _Null:
    """Distributions of t without differences, from one kind of resamples.

    Attributes
    ----------
    t : ndarray of shape (n_resamples, n_columns)
        Size of t: the largest of all pairs in one column, or one column per pair.
    orders : ndarray of shape (n_resamples,) or None
        How often each resample counts; None: random ones, and the data as one more.
    """

    t: np.ndarray
    orders: np.ndarray | None

    def column(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Sorted t, and the share of resamples that reach each; last, none does."""
        rank = np.argsort(self.t[:, number])
        orders = np.ones(len(rank)) if self.orders is None else self.orders
        counts = np.append(np.cumsum(orders[rank][::-1])[::-1], 0) + (self.orders is None)
        return self.t[rank, number], counts / counts[0]


def _share(
    nulls: list[tuple[np.ndarray, np.ndarray]], t: np.ndarray, side: Literal["left", "right"]
) -> np.ndarray:
    """Mean share of the resamples that reach t; with "right", of those that are above t."""
    return np.mean([reached[np.searchsorted(all_t, t, side)] for all_t, reached in nulls], axis=0)


def _critical(nulls: list[tuple[np.ndarray, np.ndarray]], alpha: float) -> float:
    """Least t of a resample that less than alpha of them exceed; infinite if there is none."""
    candidates = np.unique(np.concatenate([all_t for all_t, _ in nulls]))
    significant = _share(nulls, candidates, "right") < alpha
    return float(candidates[significant.argmax()] / EQUAL) if significant.any() else math.inf


def _without_differences(
    blocks: list[Block], families: list[np.ndarray], n_resamples: int, seed: int
) -> tuple[_Null, _Null]:
    """Sizes of t under changes of signs, and in draws of queries, from `n_resamples` of each."""
    used = np.logical_or.reduce([block.kept for block in blocks])
    blocks = [block._replace(kept=block.kept[used]) for block in blocks]
    shifted = [b._replace(z=centred(b.z, moments(b.z, b.weights)[0])) for b in blocks]
    n_queries = int(used.sum())
    every = n_queries < 63 and 2 ** (n_queries - 1) <= n_resamples
    flips = [every_flip(n_queries)] if every else sign_flips(n_queries, n_resamples, seed)
    draws = Resamples(n_queries, n_resamples, seed)
    with one_thread():
        flipped = _resampled_t(blocks, families, (1 - 2 * flip for flip in flips))
        drawn = _resampled_t(shifted, families, (counts for _, counts in draws.blocks()))
    return _Null(flipped, np.ones(len(flipped)) if every else None), _Null(drawn, draws.orders)


def _resampled_t(
    blocks: list[Block],
    families: list[np.ndarray],
    samples: Iterable[np.ndarray],
) -> np.ndarray:
    """Size of t in each resample: the largest of the families, or without these of each pair."""
    n_pairs = sum(len(block.pairs) for block in blocks)
    rows = max(1, _CACHED // n_pairs)
    places = [block.pairs if families else slice(None) for block in blocks]
    found = []
    for sample in samples:
        for start in range(0, len(sample), rows):
            part = sample[start : start + rows]
            mean, variance = np.empty((2, len(part), n_pairs))
            for block, place in zip(blocks, places, strict=True):
                mean[:, place], variance[:, place] = _resampled_moments(block, part[:, block.kept])
            squares = ratio(mean**2, _pooled(variance, families))
            found.append(squares.max(axis=1, keepdims=True) if families else squares)
    return np.sqrt(np.concatenate(found))


def _resampled_moments(block: Block, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and their variances, of shape (resamples, pairs).

    Parameters
    ----------
    drawn : ndarray of shape (resamples, queries)
        Signs of the queries, or how often each is drawn.
    """
    z, n_queries = block.z, block.z.shape[1]
    w = np.ones(n_queries) if block.weights is None else block.weights
    drawn = np.where(drawn.any(axis=1, keepdims=True), drawn, 1.0)
    counts = np.abs(drawn)
    number, total = counts.sum(axis=1, keepdims=True), (counts @ w)[:, None]
    square = counts @ (z**2).T / number
    spread = square - (drawn @ z.T / number) ** 2
    spread[spread <= ROUNDING * square] = 0
    size = total**2 / (counts @ w**2)[:, None]
    return drawn @ (z * w).T / total, spread * (n_queries / (n_queries - 1) / size)
