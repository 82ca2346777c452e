"""LambdaRank gradients of quadratic metrics: see `buckets` for workspace and order of pairs.

The same kernel computes gradients from labels and from clicks (see `debiased`). For labels,
`clicks` and `debias` are None; numba compiles the kernel for each case, without the branches of the
other.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import buckets, debiased, tiles
from skrank._kernels.buckets import LANES
from skrank._kernels.debiased import Clicks
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.tiles import CAPACITY, EXP, GRAD, HESS, RANK, SCORE


class _Workspace(NamedTuple):
    slots: np.ndarray
    exact: np.ndarray
    places: np.ndarray
    classes: np.ndarray
    tile: np.ndarray
    powers: np.ndarray | None  # float32 by slot, for pairs in single precision
    bits: np.ndarray | None  # int32, the same memory as `powers`
    clicks: Clicks | None
    debias: bool | None  # True for clicks, else None


class _Query(NamedTuple):
    """Values that all pairs of a query share. Ranks have the precision of pairs."""

    inverse: float  # one over the value of the best list
    limit: float  # a pair counts if one of its ranks is less
    end: float  # number of documents
    scale: tiles.Scale


class _Part(NamedTuple):
    """Documents of a worse class that are in the tile, and documents of a better class."""

    low: int  # slot of the first document in the tile
    size: int  # number of documents in the tile
    n_above: int  # the first n_above documents in the tile have ranks less than `_Query.limit`
    first: int  # slots first .. end - 1 are documents of the better class that have pairs
    end: int


class _Better(NamedTuple):
    """The document that is compared with a tile: see `buckets`."""

    rank: float
    below: float
    above: float
    score: float
    exp: float


@subroutine(fastmath=True)
def _exponentials(n, score, rate, powers, bits, out):
    """Fill in 2^(rate * score) in single precision, in SIMD.

    With x = whole + part, 2^x is 2^whole, whose bits follow from `whole`, times a polynomial in
    `part` that approximates 2^part. `bits` is the same memory as `powers`.
    """
    for i in range(np.uint64(n)):
        x = rate * score[i]
        whole = np.floor(x + np.float32(0.5))
        part = x - whole
        bits[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
        y = np.float32(1.5403530e-4)
        y = y * part + np.float32(1.33335581e-3)
        y = y * part + np.float32(9.61812911e-3)
        y = y * part + np.float32(5.55041087e-2)
        y = y * part + np.float32(2.40226507e-1)
        y = y * part + np.float32(6.93147181e-1)
        out[i] = y * part + np.float32(1.0)
    for i in range(np.uint64(n)):
        out[i] *= powers[i]


@subroutine()
def _fill_exponentials(n, score, rounded, sigma, powers, bits, out):
    """Fill in exp(sigma * score) of n documents; `rounded` is `score` in single precision."""
    if powers is not None:
        rate = np.float32(sigma / np.log(2.0))
        _exponentials(n, rounded, rate, powers, bits, out)
    else:
        tiles.exponentials(n, score, sigma, out)


@subroutine(fastmath=True)
def _sweep(tile, n_blocks, limit, better, norm):
    """Compare one better document with the worse documents of a tile.

    Returns the gradient and hessian of the better document; adds the gradients and hessians of the
    documents of the tile to the tile.
    """
    grad, hess = norm.zero, norm.zero
    for lane in range(np.uint64(n_blocks) * np.uint64(LANES)):
        t = np.uint64(lane)
        delta = buckets.change(tile, t, better, limit, norm.zero)
        distance = norm.base + norm.slope * abs(better.score - tile[t + SCORE])
        e_other = tile[t + EXP]
        shared = norm.one / ((better.exp + e_other) * distance)
        pull = delta * e_other * shared
        curvature = pull * better.exp * shared * distance
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@subroutine()
def _sweep_wide(tile, part, exact, limit, better, sigma, norm):
    """As `_sweep`, for a wide query (see `tiles.Scale`): one exponential per pair.

    Scores are in double precision, since single precision may round different scores far from 0 to
    one.
    """
    grad, hess = norm.zero, norm.zero
    for lane in range(np.uint64(part.size)):
        t = np.uint64(lane)
        score = exact[buckets.EXACT_SCORE, np.uint64(part.low) + t]
        delta = buckets.change(tile, t, better, limit, norm.zero)
        gap = tiles.gap(better.score, score)
        wrong, right = tiles.chances(sigma, gap)
        pull = delta * wrong / (norm.base + norm.slope * abs(gap))
        curvature = pull * right
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        grad += pull
        hess += curvature
    return grad, hess


@subroutine()
def _load(tile, low, size, end_rank, slots, debias):
    """Fill a tile with `size` documents from slot `low` on, and its other lanes with `end_rank`."""
    end = tiles.padded(size, LANES)
    tiles.load_row(tile, EXP, slots, buckets.EXP, low, size, end, 1.0)
    tiles.load_row(tile, SCORE, slots, buckets.SCORE, low, size, end, 0.0)
    tiles.load_row(tile, RANK, slots, buckets.RANK, low, size, end, end_rank)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)
    if debias is not None:
        debiased.load(tile, low, size, end, slots)


@subroutine()
def _collect(tile, low, size, slots, debias):
    """Add the sums in a tile to the sums in `slots`."""
    tiles.collect_row(tile, GRAD, low, size, slots, buckets.GRAD)
    tiles.collect_row(tile, HESS, low, size, slots, buckets.HESS)
    if debias is not None:
        debiased.collect(tile, low, size, slots)


@subroutine()
def _compare(tile, part, slots, exact, query, debias, pulls):
    """Compare the better documents of `part` with the tile.

    Returns `pulls` plus the sum of the pulls of these pairs.
    """
    sigma, norm, real = query.scale.sigma, query.scale.norm, tile.dtype.type
    for i in range(np.uint64(part.first), np.uint64(part.end)):
        rank = slots[buckets.RANK, i]
        is_above = rank < query.limit
        limit, size = (query.end, part.size) if is_above else (query.limit, part.n_above)
        n_blocks = (size + LANES - 1) // LANES
        below, above = slots[buckets.BELOW_OF, i], slots[buckets.ABOVE_OF, i]
        exp, score = slots[buckets.EXP, i], exact[buckets.EXACT_SCORE, i]
        rounded = _Better(rank, below, above, slots[buckets.SCORE, i], exp)
        precise = _Better(rank, below, above, score, exp)
        if debias is None:
            if query.scale.wide:
                grad, hess = _sweep_wide(tile, part, exact, limit, precise, sigma, norm)
            else:
                grad, hess = _sweep(tile, n_blocks, limit, rounded, norm)
        else:
            click = slots[debiased.CLICK, i]
            if query.scale.wide:
                grad, hess, cost = debiased.sweep_wide(
                    tile, part, exact, limit, precise, click, sigma, norm
                )
            else:
                grad, hess, cost = debiased.sweep(
                    tile, n_blocks, limit, rounded, click, real(sigma), norm
                )
            slots[debiased.CLICKED, i] += cost
        slots[buckets.GRAD, i] -= grad
        slots[buckets.HESS, i] += hess
        pulls += grad
    return pulls


@subroutine()
def _compare_all(tile, begin, worth, slots, exact, query, debias):
    """Compare all documents of a query, whose classes start at the slots `begin`.

    Returns the sum of the pulls of its pairs (see `tiles`).
    """
    pulls = 0.0
    for worse in range(len(worth) - 1):
        for low in range(begin[worse], begin[worse + 1], CAPACITY):
            size = tiles.least(CAPACITY, begin[worse + 1] - low)
            n_above = buckets.count_above(slots, low, size, query.limit)
            _load(tile, low, size, query.end, slots, debias)
            for better in range(worse + 1, len(worth)):
                first, end = begin[better], begin[better + 1]
                if n_above == 0:
                    end = first + buckets.count_above(slots, first, end - first, query.limit)
                if first == end:
                    continue
                swap = buckets.swap_of(worth, better, worse, query.inverse)
                n_lanes, n_slots = tiles.padded(size, LANES), tiles.padded(end - first, LANES)
                buckets.fill_tile(tile, low, n_lanes, better, worse, swap, exact)
                buckets.fill_slots(slots, first, n_slots, better, worse, swap, exact)
                part = _Part(low, size, n_above, first, end)
                pulls = _compare(tile, part, slots, exact, query, debias, pulls)
            _collect(tile, low, size, slots, debias)
    return pulls


@kernel()
def _lambdas(first, last, indptr, lists, tables, pairs, work, out):
    """As `lambdas`, with a workspace."""
    codes, order, scores, inverse, weight = lists
    gain, worth, u, w, offset = tables
    slots, exact, places, classes, tile, powers, bits, clicks, debias = work
    grad, hess, totals = out
    position, begin, real = places[buckets.POSITION], classes[buckets.BEGIN], tile.dtype.type
    # views of rows are made once, since numba counts a reference for each
    grads, hessians, exp = slots[buckets.GRAD], slots[buckets.HESS], slots[buckets.EXP]
    score, rounded = exact[buckets.EXACT_SCORE], slots[buckets.SCORE]
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        totals[q] = 0.0
        if inverse[q] == 0 or weight[q] == 0:
            tiles.clear(grad, hess, start, stop)
            debiased.clear(clicks, start, stop)
            continue
        scale = tiles.scale_of(pairs, scores, start, stop, grad)
        buckets.fill(codes, order, start, stop, places, classes)
        buckets.fill_scores(scores, start, n, scale.origin, places, slots, exact)
        buckets.tabulate(gain, worth, u, w, offset[q], n, places, exact)
        debiased.gather(clicks, start, n, places, slots)
        if not scale.wide:
            _fill_exponentials(n, score, rounded, scale.sigma, powers, bits, exp)
        query = _Query(inverse[q], real(tiles.least(pairs.truncation, n)), real(n), scale)
        pulls = _compare_all(tile, begin, worth, slots, exact, query, debias)
        totals[q] = 2.0 * pairs.sigma * pulls
        factor = tiles.factor_of(totals[q], weight[q], pairs)
        tiles.write(grad, hess, start, position[:n], grads, hessians, factor, pairs.sigma)
        debiased.scatter(clicks, start, n, places, slots, weight[q])


def lambdas(first, last, indptr, lists, tables, pairs, out, clicks=None):
    """Fill in LambdaRank gradients; with `debiased.Clicks`, gradients from clicks, and costs.

    Changes by swaps are computed in double precision, and rounded to the precision of ``out.grad``,
    in which pairs are computed.
    """
    longest, real = int(np.diff(indptr[first : last + 1]).max()), out.grad.dtype
    n_rows, n_fields = buckets.N_ROWS, buckets.FIELDS
    powers, bits, debias = None, None, None
    if clicks is not None:
        n_rows, n_fields, debias = debiased.N_ROWS, debiased.FIELDS, True
    elif real == np.float32:
        powers = np.zeros(longest, real)
        bits = powers.view(np.int32)
    n = longest + LANES  # loops write past the last document
    slots, exact = np.zeros((n_rows, n), real), np.zeros((buckets.TABLE + len(tables.worth), n))
    places, classes = np.zeros((3, n), np.int32), np.zeros((2, len(tables.worth) + 1), np.int64)
    tile = np.zeros(n_fields * tiles.FIELD, real)
    work = _Workspace(slots, exact, places, classes, tile, powers, bits, clicks, debias)
    _lambdas(first, last, indptr, lists, tables, pairs, work, out)
