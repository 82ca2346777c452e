"""Resamples of queries and of signs: all possible resamples if they are few, else random ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from skrank._progress import Bar
from skrank._typing import Weights
from skrank.stats._pairs import ROUNDING, moments, standardised, variance_factors

_CELLS = 2**20  # most numbers in a block of resamples x queries: 8 MB, for the processor's cache
_ROWS = 1024  # most resamples in a block: a free choice; random sign flips depend on it

_libraries = functools.cache(ThreadpoolController)  # finding the BLAS libraries takes 10 ms


def one_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread.

    The matrix products here are many and small: threads do not speed them up, and make them ten or
    more times slower where other processes keep the cores busy.
    """
    return _libraries().limit(limits=1, user_api="blas")


def block_sizes(width: int, n_resamples: int) -> Iterator[int]:
    """Number of resamples of each block; a resample consists of `width` numbers."""
    rows = max(1, min(_ROWS, _CELLS // width))
    for start in range(0, n_resamples, rows):
        yield min(rows, n_resamples - start)


def visits_all(n_queries: int, n_resamples: int) -> bool:
    """True if there are at most `n_resamples` draws: ``n_queries**n_queries <= n_resamples``."""
    return n_queries * math.log(n_queries) <= math.log(n_resamples) + 1e-9


def query_draws(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Indices of queries drawn with replacement, in blocks of shape (n_draws, n_queries)."""
    if visits_all(n_queries, n_resamples):
        yield np.indices((n_queries,) * n_queries).reshape(n_queries, -1).T
        return
    random = np.random.default_rng(seed)
    for rows in block_sizes(n_queries, n_resamples):
        yield random.integers(n_queries, size=(rows, n_queries))


def sums_by_query(draws: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """Sums ``out[d, q]`` of ``values[i]`` over all positions i with ``draws[d, i] == q``.

    The draws are of shape (n_draws, n_queries). By default, all values are 1: the sums are counts.
    """
    cells = draws + np.arange(len(draws))[:, None] * draws.shape[1]
    repeated = None if values is None else np.broadcast_to(values, draws.shape).ravel()
    sums = np.bincount(cells.ravel(), weights=repeated, minlength=draws.size)
    return sums.reshape(draws.shape).astype(np.float64)


def sign_flips(n_queries: int, n_resamples: int, seed: int, *, every: bool) -> Iterator[np.ndarray]:
    """Random sign flips, or all, in blocks of shape (n_flips, n_queries): 1 where a sign changes.

    All are 2**(n_queries - 1), in which the last query keeps its sign, because flipping all signs
    leaves absolute sums unchanged.
    """
    if every:
        bits = np.arange(2 ** (n_queries - 1))[:, None]
        yield ((bits >> np.arange(n_queries)) & 1).astype(np.float64)
        return
    random = np.random.default_rng(seed)
    for rows in block_sizes(n_queries, n_resamples):
        packed = random.integers(256, size=(rows, -(-n_queries // 8)), dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n_queries).astype(np.float64)


def resampled_moments(
    z: np.ndarray, weights: Weights, n_resamples: int, seed: int, bar: Bar | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and squared standard error of each row in each draw, of shape (n_rows, n_draws).

    The error of a draw that is constant up to rounding is exactly 0.
    """
    means, errors = [], []
    with one_thread():
        for counts in map(sums_by_query, query_draws(z.shape[1], n_resamples, seed)):
            if weights is None:
                mean = z @ counts.T / z.shape[1]
            else:
                mean = (z * weights) @ counts.T / (counts @ weights)
            means.append(mean)
            errors.append(_squared_error(z, weights, counts, mean))
            if bar is not None:
                bar.update(len(counts))
    return np.concatenate(means, axis=1), np.concatenate(errors, axis=1)


def _squared_error(
    z: np.ndarray, weights: Weights, counts: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    """Squared standard error of the mean of each row in each draw, by `variance_factors`."""
    n_queries = counts.shape[1]
    if weights is None:
        square = z**2 @ counts.T / n_queries
        spread, divisor = square - mean**2, n_queries - 1.0
    else:
        factors = variance_factors(weights, counts).T
        square = z**2 @ factors
        spread = square - mean * (2 * (z @ factors) - mean * factors.sum(axis=0))
        divisor = (counts @ weights) ** 2 / (counts @ weights**2)
    spread[spread <= ROUNDING * square] = 0
    return spread / divisor


def standard_error(z: np.ndarray, weights: Weights, mean: np.ndarray) -> np.ndarray:
    """Standard error of the mean of each row, by the formula of `resampled_moments`.

    With weights, it is by `variance_factors` alone: with the mean of variances in `student_t`, 95 %
    bootstrap-t intervals cover 91 % (25 normal values, lognormal weights of sigma 1), not 95 %.
    """
    if weights is None:
        return moments(z)[1] / np.sqrt(z.shape[1])
    return np.sqrt(_squared_error(z, weights, np.ones((1, len(weights))), mean[:, None])[:, 0])


def centred_draws(
    z: np.ndarray, weights: Weights, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Student's t of the data, and of resamples under the hypothesis of no difference.

    Returns t of each row of `z`; and for each resample of ``z - mean(z)``, the squared t and the
    mean, of shape (n_pairs, n_draws). The squared t of a constant resample is 0 if its mean is 0,
    and infinite otherwise.
    """
    mean, _ = moments(z, weights)
    t = standardised(mean, standard_error(z, weights, mean))
    means, errors = resampled_moments(centred(z, mean), weights, n_resamples, seed)
    return t, standardised(means**2, errors), means


def share_reached(reached: np.ndarray, n_resamples: int, *, every: bool) -> np.ndarray:
    """P-values of observed values that `reached` of the resamples reach.

    Unless all possible resamples were visited, the data count as one more resample, so that no
    p-value is 0 (Phipson and Smyth 2010).
    """
    observed = 0 if every else 1
    return (observed + reached) / (observed + n_resamples)


def centred(z: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """``z - mean`` of each row, with rounding errors set to 0.

    Otherwise a resample of rounding errors could be constant and not 0, so that t is infinite.
    """
    shifted = z - mean[:, None]
    shifted[np.abs(shifted) <= ROUNDING * np.abs(z).max(axis=1, keepdims=True)] = 0
    return shifted
