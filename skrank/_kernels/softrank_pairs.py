"""Pairs of documents whose scores are normal variables: see `softrank` for what is summed.

Only pairs with a relevant document, one with a gain, count. Each is looked at once, for both of its
documents: relevant ones meet tiles of others, relevant or not. Of a tile of relevant documents they
meet the block of LANES slots that they lie in themselves, and all further down. Pairs inside such a
block come up twice: there each counts for the document that meets the tile alone. In a first pass
over the pairs each relevant document gets its B, and its A or v; in a second one every document its
slope and curvature. What the second one needs of a pair is kept from the first, as long as that
fits the second cache; for longer lists it is made again.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import part
from skrank._kernels.normal import PEAK, UNIT, normal, reach
from skrank._kernels.tiles import CAPACITY, FIELD, least

LANES = 16  # documents per SIMD step; tiles are padded to a multiple
_KEPT = 2**17  # most pairs that are kept
_NOWHERE = -1e18  # score of what fills a tile up: below all, and its square fits single precision
_ZERO = np.int64(0)  # for a literal 0, functions would be compiled by themselves

# Fields of a tile.
_SCORE, _GAIN, _ABOVE, _MORE, _B, _P, _Q, _SLOPE, _CURVE = (np.uint64(i * FIELD) for i in range(9))
_FIELDS = 9


class Documents(NamedTuple):
    """Room for the documents of one query, those with a gain first; by slot."""

    score: np.ndarray  # in the units of `normal`, here
    gain: np.ndarray
    position: np.ndarray
    order: np.ndarray  # slots by score; only of queries with a wide range of scores
    above: np.ndarray  # B - 1/2
    more: np.ndarray  # A - u / 2, or v + 1/4
    b: np.ndarray
    p: np.ndarray
    q: np.ndarray
    slope: np.ndarray
    curve: np.ndarray


class Room(NamedTuple):
    """A tile, and what is kept of pairs: in rows of as many slots as a query has, or a tile."""

    tile: np.ndarray
    near: np.ndarray  # density
    bent: np.ndarray  # density times sqrt(x^2 + 4), in units
    odds: np.ndarray  # 1 - 2 pi_ij, for discounted gain


def make(longest, real):
    """Room for queries of up to `longest` documents, with pairs of the precision `real`."""
    room = longest + LANES  # what is written past the end needs room
    score, gain, b, p, q = (np.empty(room, real) for _ in range(5))
    above, more, slope, curve = (np.zeros(room) for _ in range(4))
    position, order = np.empty((2, room), np.int64)
    return Documents(score, gain, position, order, above, more, b, p, q, slope, curve)


def make_room(longest, shift, real):
    """Room for the pairs of queries of up to `longest` documents."""
    size = min(_KEPT, (longest + 2 * LANES) ** 2)
    near, bent = np.empty(size, real), np.empty(size, real)
    odds = np.empty(0 if shift is None else size, real)
    return Room(np.zeros(_FIELDS * FIELD, real), near, bent, odds)


@part(**tiles.options)
def _stride(n, relevant, room):
    """Slots of a row of pairs; 0 if there is no room for the rows of all relevant documents."""
    stride = tiles.padded(relevant, LANES) + tiles.padded(n - relevant, LANES)
    return stride if stride * relevant <= len(room.near) else 0


@part(**tiles.options)
def _own_block(i, low):
    """First lane of a tile that relevant document i meets."""
    return (i - low) // LANES * LANES if i > low else 0


@part(**tiles.fast, forceinline=True)
def _collect(tile, field, begin, i, sums):
    """Add a block of a field to ``sums[i : i + LANES]``."""
    field, i = field + np.uint64(begin), np.uint64(i)
    for t in range(np.uint64(LANES)):
        sums[i + t] += tile[field + t]


@part(**tiles.fast, forceinline=True)
def _expect_of(room, begin, end, score, gain, shift, at, zero, one, far):
    """One relevant document against the lanes begin .. end - 1 of a tile.

    Returns its sums of pi, and of pi min(u, u_i) or of pi (1 - pi). If `gain` is not None, if the
    others have one, too, adds theirs to the tile. Keeps the pairs from place `at` + `begin` on.
    """
    tile, near, bent, odds = room.tile, room.near, room.bent, room.odds
    above, more = zero, zero
    for step in range(np.uint64((end - begin) // LANES) * np.uint64(LANES)):
        lane = np.uint64(begin) + step
        x = tile[lane + _SCORE] - score
        y = abs(x)
        tail, density, root = normal(y if y < far else far)
        near[at + lane] = density
        bent[at + lane] = density * root
        pi = one - tail if x > zero else tail
        above += pi
        if shift is not None:
            spread = tail * (one - tail)
            more += spread
            odds[at + lane] = pi + pi - one
        if gain is not None:
            other = tail if x > zero else one - tail
            tile[lane + _ABOVE] += other
            if shift is None:
                shared = tile[lane + _GAIN]
                shared = gain if gain < shared else shared
                more += pi * shared
                tile[lane + _MORE] += other * shared
            else:
                tile[lane + _MORE] += spread
    return above, more


@part(**tiles.options)
def _expect_of_others(room, begin, end, documents, first, last, shift, at, stride):
    """What the documents in slots first .. last - 1 expect of a tile of documents without a gain.

    The first row of pairs begins at place `at`, as below.
    """
    score, above, more = documents.score, documents.above, documents.more
    real = score.dtype.type
    zero, one, far = real(0), real(1), reach(score)
    for i in range(first, last):
        a, m = _expect_of(room, begin, end, score[i], None, shift, at, zero, one, far)
        above[i] += a
        more[i] += m
        at += np.uint64(stride)


@part(**tiles.options)
def _forget_itself(room, i, low, at):
    """A document has a chance against itself, which halves stand for, but does not pull itself.

    For average precision the pull is zero anyway.
    """
    if i >= low:
        room.near[at + np.uint64(i - low)] = 0


@part(**tiles.options)
def _expect_of_relevant(room, low, end, documents, relevant, shift, at, stride):
    """What the relevant documents up to the end of a tile of such expect of it, and it of them."""
    score, gain, above, more = documents.score, documents.gain, documents.above, documents.more
    real = score.dtype.type
    zero, one, far = real(0), real(1), reach(score)
    for i in range(least(low + end, relevant)):
        begin = _own_block(i, low)
        if i == low + begin:  # all further up have met this block
            _collect(room.tile, _ABOVE, begin, i, above)
            _collect(room.tile, _MORE, begin, i, more)
        a, m = _expect_of(room, begin, end, score[i], gain[i], shift, at, zero, one, far)
        above[i] += a
        more[i] += m
        if shift is not None:
            _forget_itself(room, i, low, at)
        at += np.uint64(stride)


@part(**tiles.options)
def _load(tile, low, size, documents, fields):
    """Fill a tile with the documents from slot `low` on; returns its end. Clears two fields."""
    end = tiles.padded(size, LANES)
    tiles.load(tile, _SCORE, documents.score, low, size, end, _NOWHERE)
    for field in fields:
        tiles.fill(tile, field, end, 0.0)
    return end


@part(**tiles.options)
def expect(documents, n, relevant, shift, room):
    """Note the sums of all relevant documents; `shift` None: those of average precision."""
    documents.above[:relevant] = 0.0
    documents.more[:relevant] = 0.0
    stride = _stride(n, relevant, room)
    at = np.uint64(0)
    for low in range(0, relevant, CAPACITY):
        size = least(CAPACITY, relevant - low)
        end = _load(room.tile, low, size, documents, (_ABOVE, _MORE))
        tiles.load(room.tile, _GAIN, documents.gain, low, size, end, 0.0)
        _expect_of_relevant(room, low, end, documents, relevant, shift, at, stride)
        at += np.uint64(least(stride, end))
    for low in range(relevant, n, CAPACITY):
        end = _load(room.tile, low, least(CAPACITY, n - low), documents, (_ABOVE, _MORE))
        _expect_of_others(room, _ZERO, end, documents, _ZERO, relevant, shift, at, stride)
        at += np.uint64(least(stride, end))


@part(**tiles.fast, forceinline=True)
def _pull_at(room, begin, end, score, gain, b, p, q, shift, at, zero, bow):
    """One relevant document against the lanes begin .. end - 1 of a tile.

    Returns its sums of slopes and of curvatures, adds those of the others to the tile. `gain` None:
    the others have none.
    """
    tile, near, bent, odds = room.tile, room.near, room.bent, room.odds
    slope, curve = zero, zero
    for step in range(np.uint64((end - begin) // LANES) * np.uint64(LANES)):
        lane = np.uint64(begin) + step
        density = near[at + lane]
        c, both = -p, q
        if gain is not None:
            c += tile[lane + _P]
            if shift is None:
                shared = tile[lane + _GAIN]
                shared = gain if gain < shared else shared
                c += shared * (tile[lane + _B] - b)
            else:
                both += tile[lane + _Q]
        if shift is not None:
            c += both * odds[at + lane]
        force = c * density
        bend = abs(c) * bent[at + lane] + force * (score - tile[lane + _SCORE])
        if shift is not None:
            bend += bow * both * density * density
        slope += force
        curve += bend
        tile[lane + _SLOPE] -= force
        tile[lane + _CURVE] += bend
    return slope, curve


@part(**tiles.options)
def _pull_at_others(room, end, documents, first, last, shift, at, stride):
    """The documents in slots first .. last - 1 and a tile of documents without a gain."""
    score, p, q = documents.score, documents.p, documents.q
    slope, curve = documents.slope, documents.curve
    real = score.dtype.type
    zero, bow = real(0), real(4 * PEAK * UNIT)
    for i in range(first, last):
        s, c = _pull_at(room, _ZERO, end, score[i], None, None, p[i], q[i], shift, at, zero, bow)
        slope[i] += s
        curve[i] += c
        at += np.uint64(stride)


@part(**tiles.options)
def _pull_at_relevant(room, low, end, documents, first, last, shift, at, stride):
    """The documents in slots first .. last - 1 and a tile of relevant ones."""
    score, gain, b, p, q = documents.score, documents.gain, documents.b, documents.p, documents.q
    slope, curve = documents.slope, documents.curve
    real = score.dtype.type
    zero, bow = real(0), real(4 * PEAK * UNIT)
    for i in range(first, last):
        begin = _own_block(i, low)
        if i == low + begin:
            _collect(room.tile, _SLOPE, begin, i, slope)
            _collect(room.tile, _CURVE, begin, i, curve)
        s, c = _pull_at(room, begin, end, score[i], gain[i], b[i], p[i], q[i], shift, at, zero, bow)
        slope[i] += s
        curve[i] += c
        at += np.uint64(stride)


@part(**tiles.options)
def pull(documents, n, relevant, shift, room):
    """Note the slopes and curvatures of all documents, in units of `normal`, less constants."""
    slope, curve = documents.slope, documents.curve
    slope[:n] = 0.0
    curve[:n] = 0.0
    stride = _stride(n, relevant, room)
    at = np.uint64(0)
    for low in range(0, relevant, CAPACITY):
        size = least(CAPACITY, relevant - low)
        end = _load(room.tile, low, size, documents, (_SLOPE, _CURVE))
        tiles.load(room.tile, _P, documents.p, low, size, end, 0.0)
        if shift is None:
            tiles.load(room.tile, _GAIN, documents.gain, low, size, end, 0.0)
            tiles.load(room.tile, _B, documents.b, low, size, end, 0.0)
        else:
            tiles.load(room.tile, _Q, documents.q, low, size, end, 0.0)
        rows = least(low + end, relevant)
        if stride > 0:
            _pull_at_relevant(room, low, end, documents, _ZERO, rows, shift, at, stride)
        else:
            for i in range(rows):
                _expect_of_others(
                    room, _own_block(i, low), end, documents, i, i + 1, shift, at, _ZERO
                )
                if shift is not None:
                    _forget_itself(room, i, low, at)
                _pull_at_relevant(room, low, end, documents, i, i + 1, shift, at, _ZERO)
        at += np.uint64(least(stride, end))
    for low in range(relevant, n, CAPACITY):
        size = least(CAPACITY, n - low)
        end = _load(room.tile, low, size, documents, (_SLOPE, _CURVE))
        if stride > 0:
            _pull_at_others(room, end, documents, _ZERO, relevant, shift, at, stride)
        else:
            for i in range(relevant):
                _expect_of_others(room, _ZERO, end, documents, i, i + 1, shift, at, _ZERO)
                _pull_at_others(room, end, documents, i, i + 1, shift, at, _ZERO)
        tiles.collect(room.tile, _SLOPE, low, size, slope)
        tiles.collect(room.tile, _CURVE, low, size, curve)
        at += np.uint64(least(stride, end))
