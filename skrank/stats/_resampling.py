"""Resamples of queries and of signs: all of them where they are few, else seeded random ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from skrank.stats._moments import ROUNDING, moments, ratio, variance_shares

# Cells of a block of resamples x queries: 8 MB, which stays in the cache of a processor; and rows,
# so that many blocks share the cost of the loop also where queries are few.
_CELLS = 2**20
_ROWS = 1024


@functools.cache
def _libraries() -> ThreadpoolController:
    # made once: it takes ten milliseconds to look through all loaded libraries
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products to one thread.

    They are many and small: two threads that wait for each other gain nothing, and lose a factor
    of ten or more where other processes keep the cores busy.
    """
    return _libraries().limit(limits=1, user_api="blas")


def _blocks(n_queries: int, n_resamples: int) -> Iterator[slice]:
    """Resamples to draw at a time."""
    rows = max(1, min(_ROWS, _CELLS // n_queries))
    for start in range(0, n_resamples, rows):
        yield slice(start, min(start + rows, n_resamples))


def visits_all(n_queries: int, n_resamples: int) -> bool:
    """Whether all draws of queries with replacement are visited, as they are no more than asked."""
    return n_queries * math.log(n_queries) <= math.log(n_resamples) + 1e-9


def query_draws(n_queries: int, n_resamples: int, seed: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Queries drawn with replacement: resamples, numbers of queries (resamples, queries)."""
    if visits_all(n_queries, n_resamples):
        every = np.indices((n_queries,) * n_queries).reshape(n_queries, -1).T
        yield slice(0, len(every)), every
        return
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_queries, n_resamples):
        yield drawn, random.integers(n_queries, size=(drawn.stop - drawn.start, n_queries))


def sums_by_query(draws: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """Sums of the values of those places of each draw (row) that have each query (column)."""
    places = draws + np.arange(len(draws))[:, None] * draws.shape[1]
    repeated = None if values is None else np.broadcast_to(values, draws.shape).ravel()
    sums = np.bincount(places.ravel(), weights=repeated, minlength=draws.size)
    return sums.reshape(draws.shape).astype(np.float64)


def query_counts(n_queries: int, n_resamples: int, seed: int) -> Iterator[tuple[slice, np.ndarray]]:
    """How often each query is drawn with replacement: resamples, counts (resamples, queries)."""
    for drawn, queries in query_draws(n_queries, n_resamples, seed):
        yield drawn, sums_by_query(queries)


def sign_flips(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Which queries change sign, as 0 and 1, in blocks of shape (resamples, queries)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_queries, n_resamples):
        shape = (drawn.stop - drawn.start, -(-n_queries // 8))
        packed = random.integers(256, size=shape, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n_queries).astype(np.float64)


def uniform_orders(
    n_queries: int, n_resamples: int, seed: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Uniform random numbers in ascending order: resamples, numbers (resamples, queries)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_queries, n_resamples):
        yield drawn, np.sort(random.random((drawn.stop - drawn.start, n_queries)), axis=1)


def every_flip(n_queries: int) -> np.ndarray:
    """All flips of all queries but the last, as 0 and 1, of shape (2**(queries - 1), queries)."""
    numbers = np.arange(2 ** (n_queries - 1))[:, None]
    return ((numbers >> np.arange(n_queries)) & 1).astype(np.float64)


def resampled_moments(
    z: np.ndarray, weights: np.ndarray | None, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and squared standard error of each row in each draw, of shape (rows, draws).

    Where a draw varies by no more than rounding, its error is exactly 0.
    """
    n = z.shape[1]
    n_draws = n**n if visits_all(n, n_resamples) else n_resamples
    means, errors = np.empty((2, len(z), n_draws))
    with one_thread():
        for drawn, counts in query_counts(n, n_resamples, seed):
            means[:, drawn] = _weighted_mean(z, weights, counts)
            errors[:, drawn] = _squared_error(z, weights, counts, means[:, drawn])
    return means, errors


def _weighted_mean(z: np.ndarray, weights: np.ndarray | None, counts: np.ndarray) -> np.ndarray:
    """Mean of each row in each draw, given how often each draw has each query."""
    if weights is None:
        return z @ counts.T / counts.shape[1]
    return (z * weights) @ counts.T / (counts @ weights)


def _squared_error(
    z: np.ndarray, weights: np.ndarray | None, counts: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    """Squared standard error of the mean of each row in each draw, by `variance_shares`."""
    n_queries = counts.shape[1]
    if weights is None:
        square = z**2 @ counts.T / n_queries
        spread, divisor = square - mean**2, n_queries - 1.0
    else:
        shares = variance_shares(weights, counts).T
        square = z**2 @ shares
        spread = square - mean * (2 * (z @ shares) - mean * shares.sum(axis=0))
        divisor = (counts @ weights) ** 2 / (counts @ weights**2)
    spread[spread <= ROUNDING * square] = 0
    return spread / divisor


def standard_error(z: np.ndarray, weights: np.ndarray | None, mean: np.ndarray) -> np.ndarray:
    """Standard error of the mean of each row, as in draws of its queries."""
    if weights is None:
        return moments(z)[1] / np.sqrt(z.shape[1])
    return np.sqrt(_squared_error(z, weights, np.ones((1, len(weights))), mean[:, None])[:, 0])


def centred_draws(
    z: np.ndarray, weights: np.ndarray | None, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Student's t of resamples under the hypothesis of no difference.

    Parameters
    ----------
    z : ndarray of shape (n_pairs, n_queries)
        Differences.
    weights : ndarray of shape (n_queries,) or None
    n_resamples, seed : int

    Returns
    -------
    observed : ndarray of shape (n_pairs,)
        t of `z`.
    squares : ndarray of shape (n_pairs, n_draws)
        The square of t of each resample of ``z - mean(z)``: where that is constant, 0 or infinite,
        as its mean is.
    means : ndarray of shape (n_pairs, n_draws)
        Its mean.
    """
    mean, _ = moments(z, weights)
    t = ratio(mean, standard_error(z, weights, mean))
    means, errors = resampled_moments(centred(z, mean), weights, n_resamples, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = means**2 / errors
    squares[means == 0] = 0
    return t, squares, means


def centred(z: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """``z - mean`` by row, where what is only rounding is exactly 0.

    Otherwise a resample of zeros could look like a constant difference, of infinite t.
    """
    shifted = z - mean[:, None]
    shifted[np.abs(shifted) <= ROUNDING * np.abs(z).max(axis=1, keepdims=True)] = 0
    return shifted
