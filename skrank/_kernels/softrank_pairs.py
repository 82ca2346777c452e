"""Sums over pairs of documents for SoftRank: see `softrank` for the formulas.

A document is relevant if its gain is above 0. Only pairs with a relevant document contribute. They
are computed in two passes. The first pass sums B, and A or v, of each relevant document. b, p and q
follow from these sums. The second pass sums the slopes and curvatures of all documents. The first
pass caches values of each pair (see `Workspace`); for lists too long for the second-level cache,
the second pass computes them again.

Relevant documents are compared with tiles of documents. Document i is compared with a tile of
relevant documents only if i is not after the tile, and only from the block of LANES slots on that
holds i. So a pair of different blocks is computed once, for both documents: when the first document
of a block is reached, the sums of the block in the tile are complete, and are collected. A pair of
one block is computed twice, each time for the document that is compared with the tile; what is
added to its tile later is not used.

In the functions below, `shift` belongs to the discount 1 / log2(shift + x), or is None for average
precision; numba compiles each case by itself.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.jit import subroutine
from skrank._kernels.simd import PEAK, UNIT, normal, reach
from skrank._kernels.sums import sum_lanes
from skrank._kernels.tiles import CAPACITY, FIELD, least

LANES = 16  # documents per SIMD step, to which tiles are padded; 8 takes the same time
_MOST_CACHED = 2**17  # most cached pairs, so that they fit into the second-level cache
_PADDING = -1e18  # score of lanes behind the last document; its square fits single precision
# numba gives the literal 0 a type of its own, for which functions would be compiled again
_ZERO = np.int64(0)

# Fields of a tile.
_SCORE, _GAIN, _ABOVE, _MORE, _B, _P, _Q, _SLOPE, _CURVE = (np.uint64(i * FIELD) for i in range(9))
# Terms of the sums of the relevant document that is compared with the tile.
_TERM, _OTHER_TERM = (np.uint64(i * FIELD) for i in range(9, 11))
_FIELDS = 11


class Documents(NamedTuple):
    """Documents of one query by slot; relevant documents come first."""

    score: np.ndarray  # in the precision of pairs and the units of `normal`
    gain: np.ndarray
    position: np.ndarray
    above: np.ndarray  # B - 1/2
    more: np.ndarray  # A - u / 2, or v + 1/4
    b: np.ndarray
    p: np.ndarray
    q: np.ndarray
    slope: np.ndarray
    curve: np.ndarray


class Workspace(NamedTuple):
    """A tile, and cached values of pairs: one row for each relevant document.

    In a row, i is the document in a lane of the tile, and j is the relevant document.
    """

    tile: np.ndarray
    density: np.ndarray  # of z_i - z_j, divided by PEAK
    bent: np.ndarray  # density times sqrt((z_i - z_j)^2 + 4), in the units of `normal`
    skew: np.ndarray  # 2 pi_ij - 1, for discounted gain


class _Rows(NamedTuple):
    """Slots first .. last - 1 that are compared with a tile, and where their pairs are cached."""

    first: int
    last: int
    at: int  # index at which the row of `first` starts
    stride: int  # distance between two rows; 0 if all documents share one row


def make(longest, shift, real):
    """Documents and workspace for queries of up to `longest` documents, with pairs of `real`."""
    n = longest + LANES  # loops write past the last document
    score, gain, b, p, q = (np.empty(n, real) for _ in range(5))
    above, more, slope, curve = (np.zeros(n) for _ in range(4))
    position = np.empty(n, np.int64)
    documents = Documents(score, gain, position, above, more, b, p, q, slope, curve)
    size = min(_MOST_CACHED, (longest + 2 * LANES) ** 2)
    density, bent = np.empty(size, real), np.empty(size, real)
    skew = np.empty(0 if shift is None else size, real)
    return documents, Workspace(np.zeros(_FIELDS * FIELD, real), density, bent, skew)


@subroutine()
def _stride(n, n_relevant, work):
    """Length of a row of cached pairs; 0 if the rows of all relevant documents do not fit."""
    stride = tiles.padded(n_relevant, LANES) + tiles.padded(n - n_relevant, LANES)
    return stride if stride * n_relevant <= len(work.density) else 0


@subroutine()
def _own_block(i, low):
    """First lane, of a tile from slot `low` on, with which relevant document i is compared."""
    return (i - low) // LANES * LANES if i > low else 0


@subroutine()
def _sum_terms(tile, field, begin, end):
    """Sum of the lanes begin .. end - 1 of a field."""
    return sum_lanes(tile, field + np.uint64(begin), field + np.uint64(end))


@subroutine()
def _expect_one(work, begin, end, score, gain, shift, at):
    """First pass for one relevant document and the lanes begin .. end - 1 of a tile.

    Returns its sum of pi, and of pi min(u, u_i) or of pi (1 - pi). `gain` is None if the documents
    in the tile are not relevant; else their sums are added to the tile. The pair with `lane` is
    cached at index `at` + lane.
    """
    tile, cached, bent, skew = work.tile, work.density, work.bent, work.skew
    real = tile.dtype.type
    zero, one = real(0), real(1)
    far = reach(zero)
    for step in range(np.uint64((end - begin) // LANES) * np.uint64(LANES)):
        lane = np.uint64(begin) + step
        x = tile[lane + _SCORE] - score
        y = abs(x)
        tail, density, root = normal(y if y < far else far)
        cached[at + lane] = density
        bent[at + lane] = density * root
        pi = one - tail if x > zero else tail
        tile[lane + _TERM] = pi
        if shift is not None:
            spread = tail * (one - tail)
            tile[lane + _OTHER_TERM] = spread
            skew[at + lane] = pi + pi - one
        if gain is not None:
            other = tail if x > zero else one - tail
            tile[lane + _ABOVE] += other
            if shift is None:
                shared = tile[lane + _GAIN]
                shared = gain if gain < shared else shared
                tile[lane + _OTHER_TERM] = pi * shared
                tile[lane + _MORE] += other * shared
            else:
                tile[lane + _MORE] += spread
    above = _sum_terms(tile, _TERM, begin, end)
    if gain is None and shift is None:
        return above, zero
    return above, _sum_terms(tile, _OTHER_TERM, begin, end)


@subroutine()
def _expect_rows(work, low, end, documents, gain, rows, shift):
    """First pass for relevant documents and a tile of `end` lanes, from slot `low` on.

    `gain` is None if the documents in the tile are not relevant, or have their sums already.
    """
    score, above, more, density = documents.score, documents.above, documents.more, work.density
    at = rows.at
    for i in range(rows.first, rows.last):
        begin = _own_block(i, low)
        if gain is None:
            a, m = _expect_one(work, begin, end, score[i], None, shift, at)
        else:
            if i == low + begin:  # all documents before this block have been compared with it
                tiles.collect(work.tile, _ABOVE + np.uint64(begin), i, LANES, above)
                tiles.collect(work.tile, _MORE + np.uint64(begin), i, LANES, more)
            a, m = _expect_one(work, begin, end, score[i], gain[i], shift, at)
        above[i] += a
        more[i] += m
        if shift is not None and i >= low:
            # a document has no pair with itself, whose curvature 2 (q_i + q_i) phi^2 is not 0
            density[at + np.uint64(i - low)] = 0
        at += np.uint64(rows.stride)


@subroutine()
def _load(tile, low, size, documents, sums):
    """Fill a tile with the documents from slot `low` on, and set the fields `sums` to 0.

    Returns the number of lanes.
    """
    end = tiles.padded(size, LANES)
    tiles.load(tile, _SCORE, documents.score, low, size, end, _PADDING)
    for field in sums:
        tiles.fill(tile, field, end, 0.0)
    return end


@subroutine()
def expect(documents, n, n_relevant, shift, work):
    """First pass: fill `above` and `more` of the relevant documents of a query."""
    documents.above[:n_relevant] = 0.0
    documents.more[:n_relevant] = 0.0
    stride = _stride(n, n_relevant, work)
    at = np.uint64(0)
    for low in range(0, n_relevant, CAPACITY):
        size = least(CAPACITY, n_relevant - low)
        end = _load(work.tile, low, size, documents, (_ABOVE, _MORE))
        tiles.load(work.tile, _GAIN, documents.gain, low, size, end, 0.0)
        rows = _Rows(_ZERO, least(low + end, n_relevant), at, stride)
        _expect_rows(work, low, end, documents, documents.gain, rows, shift)
        at += np.uint64(least(stride, end))
    for low in range(n_relevant, n, CAPACITY):
        end = _load(work.tile, low, least(CAPACITY, n - low), documents, (_ABOVE, _MORE))
        rows = _Rows(_ZERO, n_relevant, at, stride)
        _expect_rows(work, low, end, documents, None, rows, shift)
        at += np.uint64(least(stride, end))


@subroutine()
def _pull_one(work, begin, end, document, gain, shift, at):
    """Second pass for one relevant document and the lanes begin .. end - 1 of a tile.

    Returns its sums of slopes and of curvatures, and adds the slopes and curvatures of the
    documents of the tile to the tile. `document` is its score, b, p and q; `gain` is None if the
    documents in the tile are not relevant.
    """
    tile, cached, bent, skew = work.tile, work.density, work.bent, work.skew
    score, b, p, q = document
    real = tile.dtype.type
    of_variance = real(4 * PEAK * UNIT)  # so that `write` gives 2 (q_i + q_j) phi^2
    for step in range(np.uint64((end - begin) // LANES) * np.uint64(LANES)):
        lane = np.uint64(begin) + step
        density = cached[at + lane]
        c, both = -p, q  # of C_ij, and of q_i + q_j: see `softrank`
        if gain is not None:
            c += tile[lane + _P]
            if shift is None:
                shared = tile[lane + _GAIN]
                shared = gain if gain < shared else shared
                c += shared * (tile[lane + _B] - b)
            else:
                both += tile[lane + _Q]
        if shift is not None:
            c += both * skew[at + lane]
        force = c * density
        bend = abs(c) * bent[at + lane] + force * (score - tile[lane + _SCORE])
        if shift is not None:
            bend += of_variance * both * density * density
        tile[lane + _TERM] = force
        tile[lane + _OTHER_TERM] = bend
        tile[lane + _SLOPE] -= force
        tile[lane + _CURVE] += bend
    return _sum_terms(tile, _TERM, begin, end), _sum_terms(tile, _OTHER_TERM, begin, end)


@subroutine()
def _pull_rows(work, low, end, documents, gain, rows, shift):
    """Second pass for relevant documents and a tile of `end` lanes, from slot `low` on.

    `gain` is None if the documents in the tile are not relevant.
    """
    score, b, p, q = documents.score, documents.b, documents.p, documents.q
    slope, curve = documents.slope, documents.curve
    at = rows.at
    for i in range(rows.first, rows.last):
        begin, document = _own_block(i, low), (score[i], b[i], p[i], q[i])
        if gain is None:
            s, c = _pull_one(work, begin, end, document, None, shift, at)
        else:
            if i == low + begin:
                tiles.collect(work.tile, _SLOPE + np.uint64(begin), i, LANES, slope)
                tiles.collect(work.tile, _CURVE + np.uint64(begin), i, LANES, curve)
            s, c = _pull_one(work, begin, end, document, gain[i], shift, at)
        slope[i] += s
        curve[i] += c
        at += np.uint64(rows.stride)


@subroutine()
def _pull_tile(work, low, end, documents, gain, rows, shift):
    """As `_pull_rows`, also for pairs that are not cached."""
    if rows.stride > 0:
        _pull_rows(work, low, end, documents, gain, rows, shift)
        return
    for i in range(rows.last):  # repeat the first pass, one document at a time
        row = _Rows(i, i + 1, rows.at, _ZERO)
        _expect_rows(work, low, end, documents, None, row, shift)
        _pull_rows(work, low, end, documents, gain, row, shift)


@subroutine()
def pull(documents, n, n_relevant, shift, work):
    """Second pass: fill `slope` and `curve` of all documents, up to constant factors.

    `above` and `more` are overwritten.
    """
    documents.slope[:n] = 0.0
    documents.curve[:n] = 0.0
    stride = _stride(n, n_relevant, work)
    at = np.uint64(0)
    for low in range(0, n_relevant, CAPACITY):
        size = least(CAPACITY, n_relevant - low)
        end = _load(work.tile, low, size, documents, (_SLOPE, _CURVE))
        tiles.load(work.tile, _GAIN, documents.gain, low, size, end, 0.0)
        tiles.load(work.tile, _B, documents.b, low, size, end, 0.0)
        tiles.load(work.tile, _P, documents.p, low, size, end, 0.0)
        tiles.load(work.tile, _Q, documents.q, low, size, end, 0.0)
        rows = _Rows(_ZERO, least(low + end, n_relevant), at, stride)
        _pull_tile(work, low, end, documents, documents.gain, rows, shift)
        at += np.uint64(least(stride, end))
    for low in range(n_relevant, n, CAPACITY):
        size = least(CAPACITY, n - low)
        end = _load(work.tile, low, size, documents, (_SLOPE, _CURVE))
        rows = _Rows(_ZERO, n_relevant, at, stride)
        _pull_tile(work, low, end, documents, None, rows, shift)
        tiles.collect(work.tile, _SLOPE, low, size, documents.slope)
        tiles.collect(work.tile, _CURVE, low, size, documents.curve)
        at += np.uint64(least(stride, end))
