"""LambdaRank: what the kernels of all metrics share.

A pair of documents, of which i is better than j, with the weight w and the scores s_i and s_j, has

    pull = w P / (base + slope |s_i - s_j|),        curvature = pull (1 - P),
    P = 1 / (1 + exp(sigma (s_i - s_j))),

where P is the probability that the worse document ranks first: docs/kernels.md (6, 7). Up to the
weight of the query and `PairOptions.sum_norm`, the pair adds -sigma pull to the gradient of i,
sigma pull to that of j, and sigma^2 curvature to the hessians of both. Kernels compute exp(sigma s)
once for each document. In a wide query, it overflows: then they compute one exponential for each
pair.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import subroutine
from skrank._kernels.simd import exp

_LOG_2 = math.log(2.0)
_WIDEST_GAP = 1e300  # larger differences of scores are clipped to this, so that products are finite
# Least sigma by which `scale_of` decides whether a query is wide. With a smaller sigma,
# exponentials do not overflow. But scores would not fit single precision: with 1e-20 they are at
# most 1e22. Or they would be rounded too much for a division by 0.01 + |s_i - s_j|: with 0.1 they
# are at most 750, and rounded by up to 3e-5.
_LEAST_SIGMA, _LEAST_SIGMA_NORMED = 1e-20, 0.1


class Scored(NamedTuple):
    """Documents with scores."""

    codes: np.ndarray  # by row: code; for quadratic metrics, class (see `skrank._kernels`)
    order: np.ndarray  # position by rank
    scores: np.ndarray  # by row, in double precision
    inverse: np.ndarray  # by query: one over the value of the best list; 0 if all orders are equal
    weight: np.ndarray  # by query


class PairOptions(NamedTuple):
    """Options of LambdaRank and LambdaLoss."""

    sigma: float  # slope of the logistic loss of a pair
    truncation: int  # a pair counts if min(rank_i, rank_j) < truncation, with ranks from 0
    score_norm: bool  # whether weights are divided by 0.01 + |s_i - s_j|, unless all scores tie
    sum_norm: bool  # whether gradients are multiplied by log2(1 + total) / total: see `Gradients`
    widest: float  # largest range of sigma * score without overflow of exp


class Gradients(NamedTuple):
    """Output of kernels. Pairs are computed in the precision of `grad`."""

    grad: np.ndarray
    hess: np.ndarray
    totals: np.ndarray  # by query: 2 sigma sum of the pulls, for both documents of each pair


class ScoreScale(NamedTuple):
    """How the scores of one query are compared."""

    origin: float  # subtracted from the scores: their midrange, or 0 if the query is wide
    wide: bool
    sigma: float
    # the weight of a pair is divided by base + slope |s_i - s_j|; both in the precision of pairs
    base: float
    slope: float


@subroutine()
def score_range(scores, start, stop):
    """Highest and lowest score of a query."""
    # here and below, indexes are unsigned: numba then emits no check for negative indexes
    best, worst = scores[start], scores[start]
    for row in range(np.uint64(start), np.uint64(stop)):
        score = scores[row]
        best = score if score > best else best
        worst = score if score < worst else worst
    return best, worst


@subroutine()
def scale_of(pairs, scores, start, stop, grad):
    """The `ScoreScale` of a query, for pairs in the precision of `grad`.

    A query is wide if exp(s (score - middle)) may overflow, where s is the larger of sigma and the
    least sigma, for the score that is farther from the middle: the best or the worst. These
    distances differ if scores are far from 0, where the middle may be rounded to one of the two.
    """
    real = grad.dtype.type
    best, worst = score_range(scores, start, stop)
    middle = 0.5 * best + 0.5 * worst
    least_sigma = _LEAST_SIGMA_NORMED if pairs.score_norm else _LEAST_SIGMA
    sigma = pairs.sigma if pairs.sigma > least_sigma else least_sigma
    reach = best - middle if best - middle > middle - worst else middle - worst
    wide = 2.0 * sigma * reach > pairs.widest
    base, slope = (0.01, 1.0) if pairs.score_norm and best != worst else (1.0, 0.0)
    return ScoreScale(0.0 if wide else middle, wide, pairs.sigma, real(base), real(slope))


@subroutine()
def scores_by_rank(scores, order, start, n, origin, out):
    """Fill in the scores of a query by rank, minus `origin`."""
    for r in range(n):
        out[r] = scores[start + order[start + r]] - origin


@subroutine()
def exponentials(n, scores, sigma, out):
    """Fill in exp(sigma * score), of scores that are rounded to the precision of `out`."""
    for i in range(np.uint64(n)):
        out[i] = scores[i]
        out[i] = exp(out[i], sigma)


@subroutine()
def gap(score, other):
    """score - other, clipped so that products with it do not overflow."""
    ahead = score - other
    ahead = _WIDEST_GAP if ahead > _WIDEST_GAP else ahead
    return -_WIDEST_GAP if ahead < -_WIDEST_GAP else ahead


@subroutine()
def exact_pull(weight, ahead, scale):
    """Pull and curvature of a pair, from scores in double precision and one exponential.

    For pairs of wide queries, whose scores single precision may round to the same number. `ahead`
    is s_i - s_j, clipped by `gap`.
    """
    e = math.exp(-abs(scale.sigma * ahead))
    likely = 1.0 / (1.0 + e)
    wrong, right = (e * likely, likely) if ahead > 0 else (likely, e * likely)  # P and 1 - P
    pull = weight * wrong / (scale.base + scale.slope * abs(ahead))
    return pull, pull * right


@subroutine()
def clear(grad, hess, start, stop):
    """Set the gradients of a query to 0, such as one whose orders all have the same value."""
    for row in range(np.uint64(start), np.uint64(stop)):
        grad[row], hess[row] = 0, 0


@subroutine()
def write(out, q, start, position, sums, pulls, weight, pairs):
    """Fill in the gradients of query q, whose pulls sum to `pulls`.

    `sums` is two arrays, the sums of gradients and of hessians over pairs; entry i of each is for
    the document ``position[i]``.
    """
    grad, hess, totals = out
    grads, hessians = sums
    sigma, total = pairs.sigma, 2.0 * pairs.sigma * pulls
    if pairs.sum_norm and total > 0:
        weight *= math.log1p(total) / (_LOG_2 * total)
    for i in range(np.uint64(len(position))):
        row = np.uint64(start + position[i])
        grad[row] = weight * sigma * grads[i]
        hess[row] = weight * sigma * sigma * hessians[i]
    totals[q] = total
