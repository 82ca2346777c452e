"""Test many pairs of systems at once against the largest t among them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank import _validation as check
from skrank.stats import _resampling
from skrank.stats._moments import EQUAL, ROUNDING, Weights, effective_size, moments, ratio
from skrank.stats._pairs import Block, PairResult, SystemPairs

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
        altogether (2**(n_queries - 1) changes, n_queries**n_queries draws), all are visited.
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
    The p-value is the root of the mean square of the two shares of resamples that reach the t of
    the pair. For B random resamples of which b reach it, the share is (1 + b) / (1 + B). One change
    of signs in ``2**(n_queries - 1)`` changes nothing, so that no p-value is below
    ``2**-n_queries``.

    Changing signs is exact where differences are as likely as their opposites, and finds too much
    where they are skewed. Drawing queries follows the skewness, and finds too little where queries
    are few. The p-value lies between both shares, nearer to the larger share.

    Few queries often miss a rare large difference, and the pair then seems more certain than it is.
    The variance of each pair is therefore averaged with the median of the pairs that are connected
    with it by common systems. Pairs of systems under different metrics are not connected.

    With weights, the variance is that of differences that vary alike, whatever their weights. In
    changes of signs each difference keeps its weight, also where the variance depends on the
    weight. In draws each query keeps its weight, and differences are drawn for it, so draws need
    differences that vary alike. Their share counts by half the effective number of queries,
    ``sum(w)^2 / sum(w^2)``, over the number of queries in the mean square.

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
        for column, members in enumerate([slice(None)] if adjust else blocks[0].pairs):
            nulls = [half._replace(t=half.t[:, column]) for half in halves]
            p_value[members] = _share(nulls, np.abs(t[members]) * EQUAL)
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


def _families(pairs: np.ndarray) -> list[np.ndarray | slice]:
    """Groups of pairs that are connected by common systems; a slice, if there is one group."""
    size = int(pairs.max()) + 1
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    family = connected_components(graph, directed=False)[1][pairs[:, 0]]
    if (family == family[0]).all():
        return [slice(None)]
    return [np.flatnonzero(family == number) for number in np.unique(family)]


def _pooled(variance: np.ndarray, families: list[np.ndarray | slice]) -> np.ndarray:
    """Variances of shape (..., n_pairs), each averaged with the median of its family, if any."""
    pooled = variance.copy()
    for members in families:
        own = variance[..., members]
        pooled[..., members] += _POOLED * (np.median(own, axis=-1, keepdims=True) - own)
    return pooled


def _mean_and_variance(z: np.ndarray, w: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each row, and its variance if all differences of the row have one variance."""
    return moments(z, w)[0], moments(z)[1] ** 2 / effective_size(z.shape[1], w)


class _Null(NamedTuple):
    """Distributions of t without differences, from one kind of resamples.

    Attributes
    ----------
    t : ndarray of shape (n_resamples, n_columns)
        Size of t: the largest of all pairs in one column, or one column per pair; ascending.
    every : bool
        All resamples are there. Else they are random, and the data count as one more.
    part : float
        Weight of the squared `share` in the squared p-value.
    """

    t: np.ndarray
    every: bool
    part: float

    def share(self, t: np.ndarray) -> np.ndarray:
        """Share of the resamples that reach t."""
        below, more = np.searchsorted(self.t, t), not self.every
        return (len(self.t) - below + more) / (len(self.t) + more)


def _share(nulls: list[_Null], t: np.ndarray) -> np.ndarray:
    """Root of the (weighted) mean square of the shares of both kinds of resamples."""
    return np.sqrt(sum(null.part * null.share(t) ** 2 for null in nulls))


def _critical(nulls: list[_Null], alpha: float) -> float:
    """Smallest t of the resamples that a share below alpha exceeds; infinite if there is none."""
    candidates = np.unique(np.concatenate([null.t for null in nulls]))
    significant = _share(nulls, np.nextafter(candidates, math.inf)) < alpha
    return float(candidates[significant.argmax()] / EQUAL) if significant.any() else math.inf


class _Sample(NamedTuple):
    """Some resamples, as factors of the differences of shape (n_resamples, n_queries).

    Attributes
    ----------
    drawn : ndarray
        How often each difference is drawn, with its sign.
    weight, square : ndarray
        Sums over the queries that a difference is drawn for: of their weights, with its sign, and
        of their squared weights.
    """

    drawn: np.ndarray
    weight: np.ndarray
    square: np.ndarray


def _without_differences(
    blocks: list[Block], families: list[np.ndarray | slice], n_resamples: int, seed: int
) -> tuple[_Null, _Null]:
    """Sizes of t under changes of signs, and in draws of queries, from `n_resamples` of each."""
    weights = np.zeros(len(blocks[0].kept))
    for block in blocks:
        weights[block.kept] = 1.0 if block.weights is None else block.weights
    used = weights > 0
    blocks = [block._replace(kept=block.kept[used]) for block in blocks]
    shifted = [b._replace(z=_resampling.centred(b.z, moments(b.z)[0])) for b in blocks]
    w = weights[used]
    n, part = len(w), effective_size(len(w), w) / len(w) / 2
    every = n <= math.log2(n_resamples) + 1
    flips = [_resampling.every_flip(n)] if every else _resampling.sign_flips(n, n_resamples, seed)
    signs = (1 - 2 * flip for flip in flips)
    changed = (_Sample(one, one * w, np.broadcast_to(w**2, one.shape)) for one in signs)
    drawn = (
        _Sample(*(_resampling.sums_by_query(one, values) for values in (None, w, w**2)))
        for one in _resampling.query_draws(n, n_resamples, seed)
    )
    every_draw = _resampling.visits_all(n, n_resamples)
    with _resampling.one_thread():
        return (
            _Null(_resampled_t(blocks, families, changed), every, 1 - part),
            _Null(_resampled_t(shifted, families, drawn), every_draw, part),
        )


def _resampled_t(
    blocks: list[Block], families: list[np.ndarray | slice], samples: Iterator[_Sample]
) -> np.ndarray:
    """Sizes of t: the largest of the families, or without these of each pair; ascending."""
    n_pairs = sum(len(block.pairs) for block in blocks)
    rows = max(1, _CACHED // n_pairs)
    places = [block.pairs if len(blocks) > 1 else slice(None) for block in blocks]
    z_squared = [block.z**2 for block in blocks]
    found = []
    for sample in samples:
        for start in range(0, len(sample.drawn), rows):
            part = _Sample(*(factors[start : start + rows] for factors in sample))
            mean, variance = np.empty((2, len(part.drawn), n_pairs))
            for block, squares, place in zip(blocks, z_squared, places, strict=True):
                mean[:, place], variance[:, place] = _resampled_moments(block, squares, part)
            t_squared = ratio(mean**2, _pooled(variance, families))
            found.append(t_squared.max(axis=1, keepdims=True) if families else t_squared)
    return np.sort(np.sqrt(np.concatenate(found)), axis=0)


def _resampled_moments(
    block: Block, z_squared: np.ndarray, sample: _Sample
) -> tuple[np.ndarray, np.ndarray]:
    """Means and their variances, of shape (resamples, pairs)."""
    n_queries = block.z.shape[1]
    drawn, weight, square = (factors[:, block.kept] for factors in sample)
    counts = np.abs(drawn)
    # where no query of the block is drawn, all sums are 0
    number = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    total = np.abs(weight).sum(axis=1, keepdims=True)
    total[total == 0] = 1
    mean, squares = drawn / number @ block.z.T, counts / number @ z_squared.T
    spread = squares - mean**2
    spread[spread <= ROUNDING * squares] = 0
    if block.weights is not None:
        mean = weight / total @ block.z.T
    spread *= square.sum(axis=1, keepdims=True) / total**2 * n_queries / (n_queries - 1)
    return mean, spread


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted by Holm's step-down method.

    Calling significant what stays below alpha keeps the chance of any false finding at alpha,
    however the tests depend on each other.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = check.check_p_values(p_values)
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    factors = np.arange(len(flat), 0, -1)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * factors), 1)
    return adjusted.reshape(p.shape)


def benjamini_hochberg(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted by Benjamini and Hochberg's step-up method.

    Calling significant what stays below alpha keeps the expected share of false findings among the
    findings at alpha, if the tests are independent or positively dependent.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal
    Statistical Society B 57(1), 1995.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p = check.check_p_values(p_values)
    if p.size == 0:
        return p.copy()
    return scipy.stats.false_discovery_control(p.ravel()).reshape(p.shape)
