"""Resamples of queries and of signs: all of them where they are few, else seeded random ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from skrank.stats._moments import ROUNDING, Weights, moments, ratio, variance_shares

# A block of resamples x queries has at most so many numbers (8 MB, which fit into the cache of a
# processor) and so many resamples.
_CELLS = 2**20
_ROWS = 1024


_libraries = functools.cache(ThreadpoolController)  # looking through them takes ten milliseconds


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products to one thread.

    They are many and small: two threads that wait for each other gain nothing, and lose a factor
    of ten or more where other processes keep the cores busy.
    """
    return _libraries().limit(limits=1, user_api="blas")


def blocks(n_queries: int, n_resamples: int) -> Iterator[int]:
    """Numbers of resamples to draw at a time."""
    rows = max(1, min(_ROWS, _CELLS // n_queries))
    for start in range(0, n_resamples, rows):
        yield min(rows, n_resamples - start)


def visits_all(n_queries: int, n_resamples: int) -> bool:
    """True if all n_queries**n_queries draws are visited, as they are at most `n_resamples`."""
    return n_queries * math.log(n_queries) <= math.log(n_resamples) + 1e-9


def query_draws(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Queries drawn with replacement, as numbers in blocks of shape (resamples, queries)."""
    if visits_all(n_queries, n_resamples):
        yield np.indices((n_queries,) * n_queries).reshape(n_queries, -1).T
        return
    random = np.random.default_rng(seed)
    for rows in blocks(n_queries, n_resamples):
        yield random.integers(n_queries, size=(rows, n_queries))


def sums_by_query(draws: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """How often each draw (row) has each query (column), or the sum of its values there.

    Parameters
    ----------
    draws : int ndarray of shape (n_draws, n_queries)
        Numbers of the queries that are drawn.
    values : ndarray of shape (n_queries,), optional
        Value of each position of a draw. Default: 1.
    """
    places = draws + np.arange(len(draws))[:, None] * draws.shape[1]
    repeated = None if values is None else np.broadcast_to(values, draws.shape).ravel()
    sums = np.bincount(places.ravel(), weights=repeated, minlength=draws.size)
    return sums.reshape(draws.shape).astype(np.float64)


def query_counts(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each query is drawn with replacement, in blocks of shape (resamples, queries)."""
    return map(sums_by_query, query_draws(n_queries, n_resamples, seed))


def every_flip(n_queries: int) -> np.ndarray:
    """All changes of signs, 1 where a query changes its sign, of shape (n_changes, n_queries).

    The last query keeps its sign, as a change of all signs changes the size of no sum.
    """
    numbers = np.arange(2 ** (n_queries - 1))[:, None]
    return ((numbers >> np.arange(n_queries)) & 1).astype(np.float64)


def sign_flips(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Random changes of signs, 1 where a query changes its sign, in blocks of resamples."""
    random = np.random.default_rng(seed)
    for rows in blocks(n_queries, n_resamples):
        packed = random.integers(256, size=(rows, -(-n_queries // 8)), dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n_queries).astype(np.float64)


def resampled_moments(
    z: np.ndarray, weights: Weights, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and squared standard error of each row in each draw, of shape (rows, draws).

    Where a draw varies by no more than rounding, its error is exactly 0.
    """
    means, errors = [], []
    with one_thread():
        for counts in query_counts(z.shape[1], n_resamples, seed):
            if weights is None:
                mean = z @ counts.T / z.shape[1]
            else:
                mean = (z * weights) @ counts.T / (counts @ weights)
            means.append(mean)
            errors.append(_squared_error(z, weights, counts, mean))
    return np.concatenate(means, axis=1), np.concatenate(errors, axis=1)


def _squared_error(
    z: np.ndarray, weights: Weights, counts: np.ndarray, mean: np.ndarray
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


def standard_error(z: np.ndarray, weights: Weights, mean: np.ndarray) -> np.ndarray:
    """Standard error of the mean of each row, by the formula of `resampled_moments`."""
    if weights is None:
        return moments(z)[1] / np.sqrt(z.shape[1])
    return np.sqrt(_squared_error(z, weights, np.ones((1, len(weights))), mean[:, None])[:, 0])


def centred_draws(
    z: np.ndarray, weights: Weights, n_resamples: int, seed: int
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
