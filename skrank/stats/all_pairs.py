"""The max-t test of many pairs of systems at once, and Holm's correction of p-values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._progress import Bar
from skrank._progress import progress as progress_bar
from skrank._typing import Weights
from skrank.stats import _pairs, _resampling
from skrank.stats.paired import PairedTest

_CACHED = 2**18  # most numbers in a chunk of resamples x pairs: 2 MB, for the processor's cache
# Least variance of a pair in a draw, as a share of the variance of the pair. With .05, .1, .2
# and .4, the test finds 33, 71, 87 and 93 % ("one query changed", table P of benchmarks/levels.py,
# 15 queries), and 8, 8, 9 and 11 % of equal systems ("alternating", table M).
_LEAST = 0.1


@check.of_one_matrix
def max_t(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
    progress: bool | None = None,
) -> PairedTest:
    """Test pairs of systems at once, by the distribution of the largest t of all pairs.

    The t of a pair is compared with the largest t of all pairs in resamples in which no systems
    differ. Half of the resamples change the signs of the differences on random queries. The other
    half draw queries with replacement, from the differences of each pair minus their mean.

    Parameters
    ----------
    scores, pairs, nan, weights
        As in `paired_t`.
    confidence : float
        Level of the intervals: one minus the probability of any false positive.
    n_resamples : int
        Half of this number are random changes of signs, half are random draws. Of each kind, all
        are visited if no more than this half are possible: 2**(n_queries - 1) changes, and
        n_queries**n_queries draws.
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        As in `paired_bootstrap`.

    Returns
    -------
    PairedTest
        `statistic` is the difference over its standard error: Student's t, without weights.
        `p_value` is corrected: with probability `confidence`, no pair of equal true means has a
        p-value below 1 - confidence, and all intervals contain the true differences. An interval
        excludes 0 if the p-value is below 1 - confidence. Intervals are infinite if queries are too
        few for such a p-value.

    See Also
    --------
    tukey_hsd : assumes that all systems vary alike.
    holm : adjusts the p-values of any tests.

    Notes
    -----
    Let s be the share of changes of signs, and d the share of draws, whose t is at least that of
    the pair; for B random resamples of which b reach it, the share is ``(1 + b) / (1 + B)``. The
    p-value is ``sqrt((s**2 + d**2) / 2)``. One of the ``2**(n_queries - 1)`` changes of signs is
    the data, so no p-value is below ``2**-n_queries``.

    Changes of signs are exact if the distribution of differences is symmetric about 0, and reject
    too often if it is skewed. Draws follow the skewness, and reject too rarely with few queries. In
    the root mean square, the larger share counts more than in a mean, which rejects more often.

    If two systems differ on few queries, many draws miss these queries, and the t of the pair would
    be huge or infinite in these draws: no other pair could then be significant. The variance of a
    pair in a draw is therefore at least a tenth of its variance.

    With weights w, the variance of a mean is the unweighted variance of the differences over the
    effective number of queries, ``m = sum(w)**2 / sum(w**2)``. Changes of signs leave each
    difference its weight, and are exact also if the variance depends on the weight. Draws assign
    random differences to the weights, so they need a variance that does not depend on the weight.
    The p-value is therefore ``sqrt((1 - c) * s**2 + c * d**2)``, with ``c = m / (2 * n_queries)``.

    References
    ----------
    J. P. Romano, M. Wolf, Stepwise Multiple Testing as Formalized Data Snooping, Econometrica
    73(4), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import stats
    >>> scores = np.random.default_rng(0).random((20, 3)) + [0, 0.1, 0.5]
    >>> test = stats.max_t(scores)
    >>> test.p_value.round(3), test.low.round(2), test.high.round(2)
    (array([0.572, 0.003, 0.005]), array([-0.4 , -0.72, -0.55]), array([ 0.17, -0.15, -0.1 ]))
    """
    confidence, alpha = check.check_confidence(confidence)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    chosen = _pairs.SystemPairs(scores, pairs, nan, weights=weights)
    mean, variance = chosen.apply(_mean_and_variance, 2)
    error = np.sqrt(variance)
    t = _pairs.standardised(mean, error)
    with progress_bar(progress, n_resamples, "resamples") as bar:
        blocks = list(chosen.blocks(len(chosen)))
        nulls = _null_distributions(blocks, variance, max(1, n_resamples // 2), seed, bar)
    p_value, critical = _share(nulls, np.abs(t) * _pairs.EQUAL), _critical(nulls, alpha)
    # half the width of the intervals; constant differences have the error 0, and inf * 0 is NaN
    constant = np.where((t != 0) & (p_value >= alpha), math.inf, 0.0)
    half = np.where(error > 0, critical * np.where(error > 0, error, 1), constant)
    return PairedTest(
        name="max-t test", difference=mean, statistic=t, p_value=p_value, low=mean - half,
        high=mean + half, confidence=confidence, critical_value=critical, **chosen.described,
    )  # fmt: skip


def _mean_and_variance(z: np.ndarray, w: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each row, and the variance of the mean if weights do not affect the variance."""
    return _pairs.moments(z, w)[0], _pairs.moments(z)[1] ** 2 / _pairs.effective_size(z.shape[1], w)


class _Null(NamedTuple):
    """Distributions of abs(t) if no systems differ, from changes of signs or from draws."""

    t: np.ndarray  # the largest of all pairs, ascending
    every: bool  # all possible resamples were visited; else the data count as one more resample
    weight: float  # of the squared `share` in the squared p-value
    least: int = 0  # resamples that reach the t of any data: one change of signs is the data

    def share(self, t: np.ndarray) -> np.ndarray:
        """Share of the resamples that reach t."""
        reached = np.maximum(len(self.t) - np.searchsorted(self.t, t), self.least)
        return _resampling.share_reached(reached, len(self.t), every=self.every)


def _share(nulls: Sequence[_Null], t: np.ndarray) -> np.ndarray:
    """Root of the weighted mean square of the shares of both kinds of resamples: the p-value."""
    return np.sqrt(sum(null.weight * null.share(t) ** 2 for null in nulls))


def _critical(nulls: Sequence[_Null], alpha: float) -> float:
    """Smallest resampled t above which p-values are below alpha; infinite if there is none."""
    candidates = np.unique(np.concatenate([null.t for null in nulls]))
    significant = _share(nulls, np.nextafter(candidates, math.inf)) < alpha
    return float(candidates[significant.argmax()] / _pairs.EQUAL) if significant.any() else math.inf


# Resamples as coefficients of the differences, of shape (n_resamples, n_queries): how often each
# difference is drawn, and the sum of the weights that it is drawn for, both negative if its sign
# changes; and the sum of the squares of these weights.
_Sample: TypeAlias = tuple[np.ndarray, ...]


def _null_distributions(
    blocks: list[_pairs.Block], variance: np.ndarray, n_resamples: int, seed: int, bar: Bar
) -> tuple[_Null, _Null]:
    """Distributions of abs(t) from `n_resamples` changes of signs, and from as many draws."""
    weights = np.zeros(len(blocks[0].kept))
    for block in blocks:
        weights[block.kept] = 1.0 if block.weights is None else block.weights
    used = weights > 0
    blocks = [block._replace(kept=block.kept[used]) for block in blocks]
    shifted = [b._replace(z=_resampling.centred(b.z, _pairs.moments(b.z)[0])) for b in blocks]
    w = weights[used]
    n, draws_weight = len(w), _pairs.effective_size(len(w), w) / len(w) / 2
    every = n <= math.log2(n_resamples) + 1
    flips = _resampling.sign_flips(n, n_resamples, seed, every=every)
    signs = (1 - 2 * flip for flip in flips)
    changed = ((sign, sign * w, np.broadcast_to(w**2, sign.shape)) for sign in signs)
    drawn = (
        tuple(_resampling.sums_by_query(draws, values) for values in (None, w, w**2))
        for draws in _resampling.query_draws(n, n_resamples, seed)
    )
    every_draw = _resampling.visits_all(n, n_resamples)
    with _resampling.one_thread():
        return (
            _Null(_resampled_t(blocks, 0.0, changed, bar), every, 1 - draws_weight, int(every)),
            _Null(_resampled_t(shifted, _LEAST * variance, drawn, bar), every_draw, draws_weight),
        )


def _resampled_t(
    blocks: list[_pairs.Block], least: np.ndarray | float, samples: Iterator[_Sample], bar: Bar
) -> np.ndarray:
    """The largest abs(t) of all pairs in each resample, ascending, of variances from `least` on."""
    n_pairs = sum(len(block.pairs) for block in blocks)
    rows = max(1, _CACHED // n_pairs)
    columns = [block.pairs if len(blocks) > 1 else slice(None) for block in blocks]
    z_squared = [block.z**2 for block in blocks]
    largest = []
    for sample in samples:
        for start in range(0, len(sample[0]), rows):
            part = tuple(factors[start : start + rows] for factors in sample)
            mean, variance = np.empty((2, len(part[0]), n_pairs))
            for block, squares, places in zip(blocks, z_squared, columns, strict=True):
                mean[:, places], variance[:, places] = _resampled_moments(block, squares, part)
            t_squared = _pairs.standardised(mean**2, np.maximum(variance, least))
            largest.append(t_squared.max(axis=1))
            bar.update(len(mean))
    return np.sort(np.sqrt(np.concatenate(largest)))


def _resampled_moments(
    block: _pairs.Block, z_squared: np.ndarray, sample: _Sample
) -> tuple[np.ndarray, np.ndarray]:
    """Means and the variances of these means, of shape (n_resamples, n_pairs)."""
    n_queries = block.z.shape[1]
    drawn, weight, square = (factors[:, block.kept] for factors in sample)
    counts = np.abs(drawn)
    # A resample may draw no query of the block: all its sums are 0, and divisors of 1 avoid NaN.
    number = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    total = np.abs(weight).sum(axis=1, keepdims=True)
    total[total == 0] = 1
    mean, squares = drawn / number @ block.z.T, counts / number @ z_squared.T
    spread = squares - mean**2
    spread[spread <= _pairs.ROUNDING * squares] = 0
    if block.weights is not None:
        mean = weight / total @ block.z.T
    spread *= square.sum(axis=1, keepdims=True) / total**2 * n_queries / (n_queries - 1)
    return mean, spread


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted by Holm's step-down method.

    Rejecting where the adjusted p-value is below .05 keeps the probability of any false positive at
    .05, under any dependence of the tests.

    Parameters
    ----------
    p_values : array-like of any shape
        P-values of all tests made.

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
    p = check.as_numbers("p_values", p_values, "all of them in [0, 1]")
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ValueError(
            f"p_values[{place}] is {p[tuple(bad[0])]}: a p-value lies in [0, 1]. Leave out tests "
            "without a p-value."
        )
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    factors = np.arange(len(flat), 0, -1)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * factors), 1)
    return adjusted.reshape(p.shape)
