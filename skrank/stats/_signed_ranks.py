"""The null distribution of signed ranks: every sign is as likely as its opposite."""

from __future__ import annotations

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
    ranks, split = _ranks(z, zeros)
    w = 1.0 if weights is None else weights
    signed = np.sign(z) * ranks * w
    sums = [np.maximum(sign * signed, 0).sum(axis=1) for sign in (1, -1)]
    statistic = np.minimum(*sums) + (split * w).sum(axis=1) / 2
    if weights is not None or z.shape[1] <= _MOST_EXACT:
        return statistic, weighted_sign_test(signed)
    # scipy decides on a method by the ties and zeros of all its rows together
    sizes, p_value = np.sort(np.abs(z), axis=1), np.ones(len(z))
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    for rows in (~tied, tied & (sizes[:, -1] > 0)):
        if rows.any():
            p_value[rows] = scipy.stats.wilcoxon(z[rows], zero_method=zeros, axis=1).pvalue
    return statistic, p_value


def _ranks(z: np.ndarray, zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of differences that are not 0, and those that zeros split between the signs."""
    ranks = scipy.stats.rankdata(np.abs(z), axis=1)
    zero = z == 0
    if zeros == "wilcox":  # zeros have the lowest ranks: without them all others move up
        ranks = ranks - zero.sum(axis=1, keepdims=True)
    return np.where(zero, 0.0, ranks), np.where(zero & (zeros == "zsplit"), ranks, 0.0)


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
