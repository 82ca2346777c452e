"""Random resamples of queries, in blocks of bounded memory that one seed fixes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skrank.stats._pairs import moments, ratio

_CELLS = 2**20  # of a block of resamples x queries
_ROWS = 1024


def _blocks(n_queries: int, n_resamples: int) -> Iterator[slice]:
    """Resamples to draw at a time."""
    rows = max(1, min(_ROWS, _CELLS // n_queries))
    for start in range(0, n_resamples, rows):
        yield slice(start, min(start + rows, n_resamples))


def query_counts(n_queries: int, n_resamples: int, seed: int) -> Iterator[tuple[slice, np.ndarray]]:
    """How often each query is drawn with replacement: resamples, counts (resamples, queries)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_queries, n_resamples):
        rows = drawn.stop - drawn.start
        counts = np.empty((rows, n_queries))
        for row, queries in enumerate(random.integers(n_queries, size=(rows, n_queries))):
            counts[row] = np.bincount(queries, minlength=n_queries)
        yield drawn, counts


def sign_flips(n_queries: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Which queries change sign, as 0 and 1: blocks of shape (resamples, queries)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_queries, n_resamples):
        shape = (drawn.stop - drawn.start, -(-n_queries // 8))
        packed = random.integers(256, size=shape, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n_queries).astype(np.float64)


def every_flip(n_queries: int) -> np.ndarray:
    """All flips of all queries but the last, as 0 and 1, of shape (2**(queries - 1), queries)."""
    numbers = np.arange(2 ** (n_queries - 1))[:, None]
    return ((numbers >> np.arange(n_queries)) & 1).astype(np.float64)


def bootstrap_t(
    z: np.ndarray, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Student's t of resamples under the hypothesis of no difference.

    Parameters
    ----------
    z : ndarray of shape (n_pairs, n_queries)
        Differences.
    n_resamples, seed : int

    Returns
    -------
    observed : ndarray of shape (n_pairs,)
        t of `z`.
    squares : ndarray of shape (n_pairs, n_resamples)
        The square of t of each resample of ``z - mean(z)``.
    means : ndarray of shape (n_pairs, n_resamples)
        Its mean.
    """
    n_queries = z.shape[1]
    mean, std = moments(z)
    shifted = z - mean[:, None]
    # Rounding must not make a resample of zeros look like a constant difference, of infinite t.
    shifted[np.abs(shifted) <= 1e-12 * np.abs(z).max(axis=1, keepdims=True)] = 0
    shifted_square = shifted**2
    means = np.empty((len(z), n_resamples))
    seconds = np.empty_like(means)
    for drawn, counts in query_counts(n_queries, n_resamples, seed):
        shares = counts.T / n_queries
        np.matmul(shifted, shares, out=means[:, drawn])
        np.matmul(shifted_square, shares, out=seconds[:, drawn])
    return ratio(mean, std / np.sqrt(n_queries)), _t_squares(means, seconds, n_queries), means


def _t_squares(means: np.ndarray, seconds: np.ndarray, n_queries: int) -> np.ndarray:
    """The square of t from moments; for constant resamples 0 or infinite, as their mean is."""
    squares = means**2
    variances = seconds - squares
    variances[variances <= 1e-12 * seconds] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        t_squares = squares * (n_queries - 1) / variances
    t_squares[means == 0] = 0
    return t_squares
