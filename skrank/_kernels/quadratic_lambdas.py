"""LambdaRank gradients of quadratic metrics: see `buckets` for workspace and order of pairs."""

from typing import NamedTuple

import numpy as np

from skrank._kernels import buckets, lambdarank, tiles
from skrank._kernels.buckets import CURVE, LANES, PULL
from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.sums import sum_lanes
from skrank._kernels.tiles import CAPACITY, EXP, GRAD, HESS, RANK, SCORE


class _Query(NamedTuple):
    """Values that all pairs of a query share. Ranks have the precision of pairs."""

    inverse: float  # one over the value of the best list
    limit: float  # a pair counts if one of its ranks is less
    n_documents: float
    scale: lambdarank.ScoreScale


class _Pairs(NamedTuple):
    """Documents of a worse class that are in the tile, and documents of a better class."""

    low: int  # slot of the first document in the tile
    size: int  # number of documents in the tile
    n_above: int  # the first n_above documents in the tile have ranks less than `_Query.limit`
    first: int  # slots first .. end - 1 are documents of the better class that have pairs
    end: int
    swap: buckets.Swap


class _Better(NamedTuple):
    """The document that is compared with a tile: see `buckets`."""

    rank: float
    below: float
    above: float
    score: float  # in double precision
    exp: float


@subroutine()
def _sweep(tile, n_lanes, limit, better, exact, low, scale, wide):
    """Compare one better document with the worse documents of a tile.

    Returns sums over the pairs of pull and curvature; adds these of each document of the tile to
    the tile. `wide` is None unless the query is wide; `low` is the slot of the first document in
    the tile.
    """
    real = tile.dtype.type
    zero, one = real(0), real(1)  # so that pairs are not converted to double precision
    for lane in range(np.uint64(n_lanes)):
        t = np.uint64(lane)
        weight = buckets.change(tile, t, better, limit, zero)
        if wide is None:
            ahead, e_other = real(better.score) - tile[t + SCORE], tile[t + EXP]
            distance = scale.base + scale.slope * abs(ahead)
            shared = one / ((better.exp + e_other) * distance)
            pull = weight * e_other * shared
            curvature = pull * better.exp * shared * distance
        else:
            ahead = lambdarank.gap(better.score, exact[buckets.EXACT_SCORE, np.uint64(low) + t])
            pull, curvature = lambdarank.exact_pull(weight, ahead, scale)
        tile[t + GRAD] += pull
        tile[t + HESS] += curvature
        tile[t + PULL] = pull
        tile[t + CURVE] = curvature
    return sum_lanes(tile, PULL, PULL + n_lanes), sum_lanes(tile, CURVE, CURVE + n_lanes)


@subroutine()
def _load(tile, low, size, end_rank, slots):
    """Fill a tile with `size` documents from slot `low` on.

    Other lanes have the rank `end_rank`, the number of documents: they are not less than any limit.
    """
    end = tiles.padded(size, LANES)
    tiles.load_row(tile, EXP, slots, buckets.EXP, low, size, end, 1.0)
    tiles.load_row(tile, SCORE, slots, buckets.SCORE, low, size, end, 0.0)
    tiles.load_row(tile, RANK, slots, buckets.RANK, low, size, end, end_rank)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)


@subroutine()
def _compare(tile, compared, slots, exact, query, wide, pulls):
    """Compare the better documents of `compared` with the tile.

    Returns `pulls` plus the sum of the pulls of these pairs.
    """
    low, scale, real = compared.low, query.scale, tile.dtype.type
    for i in range(np.uint64(compared.first), np.uint64(compared.end)):
        rank = slots[buckets.RANK, i]
        if rank < query.limit:  # pairs with all documents of the tile, else with the first n_above
            limit, size = query.n_documents, compared.size
        else:
            limit, size = query.limit, compared.n_above
        n_lanes = np.uint64((size + LANES - 1) // LANES) * np.uint64(LANES)
        below, above = buckets.below_above(exact, i, compared.swap)
        score, exp = exact[buckets.EXACT_SCORE, i], slots[buckets.EXP, i]
        better = _Better(rank, real(below), real(above), score, exp)
        pull, curve = _sweep(tile, n_lanes, limit, better, exact, low, scale, wide)
        slots[buckets.GRAD, i] -= pull
        slots[buckets.HESS, i] += curve
        pulls += pull
    return pulls


@subroutine()
def _compare_all(tile, begin, worth, slots, exact, query, wide, sums):
    """Compare all documents of a query, whose classes start at the slots `begin`.

    Adds to `sums`, the gradients and hessians by slot. Returns the sum of the pulls of its pairs
    (see `lambdarank`).
    """
    pulls = 0.0
    for worse in range(len(worth) - 1):
        for low in range(begin[worse], begin[worse + 1], CAPACITY):
            size = tiles.least(CAPACITY, begin[worse + 1] - low)
            n_above = buckets.count_above(slots, low, size, query.limit)
            _load(tile, low, size, query.n_documents, slots)
            for better in range(worse + 1, len(worth)):
                first, end = begin[better], begin[better + 1]
                if n_above == 0:  # pairs count only with the first documents of the better class
                    end = first + buckets.count_above(slots, first, end - first, query.limit)
                if first == end:
                    continue
                swap = buckets.swap_of(worth, better, worse, query.inverse)
                buckets.fill_tile(tile, low, tiles.padded(size, LANES), swap, exact)
                compared = _Pairs(low, size, n_above, first, end, swap)
                pulls = _compare(tile, compared, slots, exact, query, wide, pulls)
            tiles.collect(tile, GRAD, low, size, sums[0])
            tiles.collect(tile, HESS, low, size, sums[1])
    return pulls


def _workspace(first, last, indptr, lists, tables, pairs, wide, out):
    real = out.grad.dtype
    n = tiles.longest(first, last, indptr) + LANES  # loops write past the last document
    slots = np.zeros((buckets.N_ROWS, n), real)
    exact = np.zeros((buckets.TABLE + len(tables.worth), n))
    places, classes = np.zeros((3, n), np.int32), np.zeros((2, len(tables.worth) + 1), np.int64)
    tile = np.zeros(buckets.FIELDS * tiles.FIELD, real)
    return slots, exact, places, classes, tile


@kernel(work=_workspace)
def lambdas(first, last, indptr, lists, tables, pairs, wide, out, work):
    """Fill in LambdaRank gradients of queries that are not wide, or, unless `wide` is None, are.

    Returns whether a wide query was left out: numba compiles the pairs of wide queries only where
    there is one. Changes by swaps are computed in double precision, and rounded to the precision of
    ``out.grad``, in which pairs are computed.
    """
    codes, order, scores, inverse, weight = lists
    gain, worth, u, w, offset = tables
    slots, exact, places, classes, tile = work
    position, begin, real = places[buckets.POSITION], classes[buckets.BEGIN], tile.dtype.type
    # views of rows are made once, since numba counts a reference for each
    sums = slots[buckets.GRAD], slots[buckets.HESS]
    exps, score = slots[buckets.EXP], slots[buckets.SCORE]
    left = False
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            lambdarank.clear(out.grad, out.hess, start, stop)
            continue
        scale = lambdarank.scale_of(pairs, scores, start, stop, tile)
        if scale.wide != (wide is not None):
            left |= scale.wide
            continue
        buckets.fill(codes, order, start, stop, places, classes)
        buckets.fill_scores(scores, start, n, scale.origin, places, slots, exact)
        buckets.tabulate(gain, worth, u, w, offset[q], n, places, exact)
        if wide is None:
            lambdarank.exponentials(n, score, scale.sigma, exps)
        query = _Query(inverse[q], real(tiles.least(pairs.truncation, n)), real(n), scale)
        pulls = _compare_all(tile, begin, worth, slots, exact, query, wide, sums)
        lambdarank.write(out, q, start, position[:n], sums, pulls, weight[q], pairs)
    return left
