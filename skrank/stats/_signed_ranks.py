"""The null distribution of signed ranks: every sign is as likely as its opposite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.stats

from skrank.stats._moments import ROUNDING
from skrank.stats._resampling import every_flip

ZERO_CHOICES = ("wilcox", "pratt", "zsplit")
# Queries whose signs are all visited where ranks are tied or weighted: as many as in scipy.
_MOST_EXACT = 13


def signed_rank_test(
    z: np.ndarray, weights: np.ndarray | None, zeros: str
) -> tuple[np.ndarray, np.ndarray]:
    """Smaller sum of ranks, and p-value, of each row of differences (pairs, queries)."""
    statistic, p_value = np.zeros(len(z)), np.ones(len(z))
    if weights is not None:
        ranks, split = _ranks(z, zeros)
        signed = np.sign(z) * ranks * weights
        sums = [np.maximum(sign * signed, 0).sum(axis=1) for sign in (1, -1)]
        return np.minimum(*sums) + (split * weights).sum(axis=1) / 2, weighted_sign_test(signed)
    for rows, exact in _alike(z):
        if exact:
            statistic[rows], p_value[rows] = _exact(z[rows], zeros)
        else:
            found = scipy.stats.wilcoxon(z[rows], zero_method=zeros, axis=1)
            statistic[rows], p_value[rows] = found.statistic, found.pvalue
    return statistic, p_value


def _alike(z: np.ndarray) -> Iterator[tuple[np.ndarray, bool]]:
    """Rows to test at once, and whether by visiting all signs; rows of zeros are left out.

    scipy decides on a method by the ties and zeros of all its rows together, and visits signs one
    by one where it takes all: a second for a few pairs.
    """
    sizes = np.sort(np.abs(z), axis=1)
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    varied = sizes[:, -1] > 0
    for rows, exact in ((~tied, False), (tied & varied, z.shape[1] <= _MOST_EXACT)):
        if rows.any():
            yield np.flatnonzero(rows), exact


def _ranks(z: np.ndarray, zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of differences that are not 0, and those that zeros split between the signs."""
    ranks = scipy.stats.rankdata(np.abs(z), axis=1)
    zero = z == 0
    if zeros == "wilcox":  # zeros have the lowest ranks: without them all others move up
        ranks = ranks - zero.sum(axis=1, keepdims=True)
    return np.where(zero, 0.0, ranks), np.where(zero & (zeros == "zsplit"), ranks, 0.0)


def _exact(z: np.ndarray, zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Smaller sum of ranks and two-sided p-value by counting the signs that give each sum.

    Ranks are multiples of a half, so that twice a sum is a whole number. The number of ways to
    reach each sum with one more rank is the number without it plus that of the sum less the rank.
    """
    ranks, split = _ranks(z, zeros)
    doubled = np.rint(2 * ranks).astype(np.int64)
    positive = np.where(z > 0, doubled, 0).sum(axis=1)
    total = doubled.sum(axis=1)
    p_value = np.empty(len(z))
    for row, (steps, reached) in enumerate(zip(doubled, positive, strict=True)):
        ways = np.zeros(total[row] + 1)
        ways[0] = 1
        for step in steps[steps > 0]:
            ways[step:] += ways[:-step].copy()
        lower, upper = ways[: reached + 1].sum(), ways[reached:].sum()
        p_value[row] = min(1.0, 2 * min(lower, upper) / ways.sum())
    return (np.minimum(positive, total - positive) + split.sum(axis=1)) / 2, p_value


def weighted_sign_test(signed: np.ndarray) -> np.ndarray:
    """P-value of the sum of each row under random signs: exact for few queries, else normal."""
    total = np.abs(signed.sum(axis=1))
    if signed.shape[1] <= _MOST_EXACT:
        return flip_shares(signed, every_flip(signed.shape[1]))
    spread = np.sqrt((signed**2).sum(axis=1))
    z = np.divide(total, spread, out=np.zeros_like(total), where=spread > 0)
    return 2 * scipy.stats.norm.sf(z)


def flip_counts(signed: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """Number of flips, given as 0 and 1, that leave the sum of a row at least as far from 0."""
    total = signed.sum(axis=1, keepdims=True)
    bound = np.abs(total) - ROUNDING * np.abs(signed).sum(axis=1, keepdims=True)
    # changing the sign of what adds up to f turns the total into total - 2 f
    low, high = (total - bound) / 2, (total + bound) / 2
    flipped = signed @ flips.T
    return np.count_nonzero((flipped <= low) | (flipped >= high), axis=1)


def flip_shares(signed: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """Share of the flips that leave the sum of a row at least as far from 0."""
    return flip_counts(signed, flips) / len(flips)
