"""Random resamples of topics, in blocks of bounded memory that one seed fixes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skrank.stats._pairs import moments, ratio

_CELLS = 2**20  # of a block of resamples x topics
_ROWS = 1024


def _blocks(n_topics: int, n_resamples: int) -> Iterator[slice]:
    """Resamples to draw at a time."""
    rows = max(1, min(_ROWS, _CELLS // n_topics))
    for start in range(0, n_resamples, rows):
        yield slice(start, min(start + rows, n_resamples))


def topic_counts(n_topics: int, n_resamples: int, seed: int) -> Iterator[tuple[slice, np.ndarray]]:
    """How often each topic is drawn with replacement: resamples, counts (resamples, topics)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_topics, n_resamples):
        rows = drawn.stop - drawn.start
        counts = np.empty((rows, n_topics))
        for row, topics in enumerate(random.integers(n_topics, size=(rows, n_topics))):
            counts[row] = np.bincount(topics, minlength=n_topics)
        yield drawn, counts


def sign_flips(n_topics: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Which topics change sign, as 0 and 1: blocks of shape (resamples, topics)."""
    random = np.random.default_rng(seed)
    for drawn in _blocks(n_topics, n_resamples):
        shape = (drawn.stop - drawn.start, -(-n_topics // 8))
        packed = random.integers(256, size=shape, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n_topics).astype(np.float64)


def every_flip(n_topics: int) -> np.ndarray:
    """All flips of all topics but the last, as 0 and 1, of shape (2**(topics - 1), topics)."""
    numbers = np.arange(2 ** (n_topics - 1))[:, None]
    return ((numbers >> np.arange(n_topics)) & 1).astype(np.float64)


def bootstrap_t(
    z: np.ndarray, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Student's t of resamples under the hypothesis of no difference.

    Parameters
    ----------
    z : ndarray of shape (n_pairs, n_topics)
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
    n_topics = z.shape[1]
    mean, std = moments(z)
    shifted = z - mean[:, None]
    # Rounding must not make a resample of zeros look like a constant difference, of infinite t.
    shifted[np.abs(shifted) <= 1e-12 * np.abs(z).max(axis=1, keepdims=True)] = 0
    shifted_square = shifted**2
    means = np.empty((len(z), n_resamples))
    seconds = np.empty_like(means)
    for drawn, counts in topic_counts(n_topics, n_resamples, seed):
        shares = counts.T / n_topics
        np.matmul(shifted, shares, out=means[:, drawn])
        np.matmul(shifted_square, shares, out=seconds[:, drawn])
    return ratio(mean, std / np.sqrt(n_topics)), _t_squares(means, seconds, n_topics), means


def _t_squares(means: np.ndarray, seconds: np.ndarray, n_topics: int) -> np.ndarray:
    """The square of t from moments; for constant resamples 0 or infinite, as their mean is."""
    squares = means**2
    variances = seconds - squares
    variances[variances <= 1e-12 * seconds] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        t_squares = squares * (n_topics - 1) / variances
    t_squares[means == 0] = 0
    return t_squares
