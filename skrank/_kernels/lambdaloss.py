"""LambdaLoss for (normalised) discounted cumulated gain.

With G the normalised gains and d the discount, the documents at the ranks a < b make a pair of the
weight

    |G_a - G_b| (fall_a - fall_b + step_(b-a) stretch_b + even_b).

`fall` is the discount of the metric, so that its part is what a swap changes; `step` holds the
differences of d between neighbouring ranks at the distance of the pair. The other tables serve a
cut-off: the steps above a rank b sum to d_1 - d_b, and below the cut-off to d_1 once stretched.

The lower documents of the pairs stand in a tile, in rank order, so that the steps of one upper
document lie next to each other as well.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import tiles
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import CAPACITY, EXP, FIELD, GRAD, HESS, OTHERS, RANK, SCORE

LANES = 8  # documents per SIMD step; tiles are padded to a multiple
_GAIN, _FALL, _STRETCH, _EVEN = (np.uint64((OTHERS + i) * FIELD) for i in range(4))
_FIELDS = OTHERS + 4


class _Ranks(NamedTuple):
    """Room for the documents of one query, by rank."""

    score: np.ndarray  # in double precision, less the midrange unless their range is wide
    e: np.ndarray
    worth: np.ndarray  # normalised gain
    fall: np.ndarray  # as given, in the precision of pairs
    step: np.ndarray  # the same by distance, 0 of which is at FIELD
    place: np.ndarray  # 0, 1, 2, ...
    pull: np.ndarray
    curve: np.ndarray


def _room(longest, form, real):
    """Room for queries of up to `longest` documents, with pairs of the precision `real`."""
    e, worth, pull, curve = (np.empty(longest, real) for _ in range(4))
    fall, place = form.fall.astype(real), np.arange(FIELD, dtype=real)
    step = np.zeros(longest + 2 * FIELD, real)
    step[FIELD + 1 : FIELD + longest] = form.step[: longest - 1]
    return _Ranks(np.empty(longest), e, worth, fall, step, place, pull, curve)


@part(**tiles.fast)
def _sweep(tile, step, near, begin, end, rank, gain, fall, e, score, norm):
    """All pairs of one document with the documents of a tile that rank below it.

    ``step[near + lane]`` is the step at the distance of the document in `lane`. Returns the sums of
    gradient and curvature of the upper one, and of the sizes of the gradients; adds those of the
    others to the tile.
    """
    zero = norm.zero
    grad, hess, total = zero, zero, zero
    for lane in range(np.uint64(begin), np.uint64(end)):
        t = np.uint64(lane)
        lead = gain - tile[t + _GAIN]
        ordered = lead > zero
        apart = step[np.uint64(near) + t] * tile[t + _STRETCH] + tile[t + _EVEN]
        weight = abs(lead) * (fall - tile[t + _FALL] + apart)
        weight = weight if tile[t + RANK] > rank else zero
        distance = norm.base + norm.slope * abs(score - tile[t + SCORE])
        e_lower = tile[t + EXP]
        shared = norm.one / ((e + e_lower) * distance)
        pull = weight * shared * (e_lower if ordered else e)
        curvature = pull * shared * distance * (e if ordered else e_lower)
        signed = pull if ordered else -pull
        tile[t + GRAD] += signed
        tile[t + HESS] += curvature
        grad -= signed
        hess += curvature
        total += pull
    return grad, hess, total


@part(**tiles.options)
def _sweep_wide(tile, step, near, begin, scores, gain, fall, score, sigma, norm):
    """The same for score ranges whose exponentials overflow: one exponential per pair.

    Scores, those below only, come in double precision: next to an outlier, single precision could
    not tell them apart.
    """
    grad, hess, total = norm.zero, norm.zero, norm.zero
    for i in range(len(scores)):
        t = np.uint64(begin + i)
        lead = gain - tile[t + _GAIN]
        ordered = lead > norm.zero
        apart = step[np.uint64(near) + t] * tile[t + _STRETCH] + tile[t + _EVEN]
        weight = abs(lead) * (fall - tile[t + _FALL] + apart)
        gap = tiles.gap(score, scores[i])
        wrong, right = tiles.chances(sigma, gap if ordered else -gap)
        pull = weight * wrong / (norm.base + norm.slope * abs(gap))
        curvature = pull * right
        signed = pull if ordered else -pull
        tile[t + GRAD] += signed
        tile[t + HESS] += curvature
        grad -= signed
        hess += curvature
        total += pull
    return grad, hess, total


@part(**tiles.options, forceinline=True)
def _load(tile, low, size, end, held, form):
    """Fill a tile with the documents from rank `low` on."""
    tiles.load(tile, EXP, held.e, low, size, end, 1.0)
    tiles.load(tile, SCORE, held.score, low, size, end, 0.0)
    tiles.load(tile, RANK, held.place, np.int64(0), size, end, float(-CAPACITY))
    tiles.load(tile, _GAIN, held.worth, low, size, end, 0.0)
    tiles.load(tile, _FALL, held.fall, low, size, end, 0.0)
    tiles.load(tile, _STRETCH, form.stretch, low, size, end, 0.0)
    tiles.load(tile, _EVEN, form.even, low, size, end, 0.0)
    tiles.fill(tile, GRAD, end, 0.0)
    tiles.fill(tile, HESS, end, 0.0)


@part(**tiles.options, forceinline=True)
def _meet(tile, low, size, end, held, truncation, wide, sigma, norm, total):
    """All pairs of the documents of a tile with those above them; adds to `total`."""
    score, worth, fall, e, step = held.score, held.worth, held.fall, held.e, held.step
    pull, curve = held.pull, held.curve
    real = e.dtype.type
    for r in range(tiles.least(low + size - 1, truncation)):
        begin, near = r + 1 - low if r >= low else 0, FIELD + low - r
        if wide:
            g, h, s = _sweep_wide(
                tile, step, near, begin, score[low + begin : low + size],
                worth[r], fall[r], score[r], sigma, norm,
            )  # fmt: skip
        else:
            g, h, s = _sweep(
                tile, step, near, begin // LANES * LANES, end, real(r - low if r >= low else -1),
                worth[r], fall[r], e[r], real(score[r]), norm,
            )  # fmt: skip
        pull[r] += g
        curve[r] += h
        total += s
    return total


@part(**tiles.options, forceinline=True)
def _walk(held, q, start, position, lists, gain, middle):
    """Note the documents by rank."""
    score, worth, pull, curve = held.score, held.worth, held.pull, held.curve
    scores, codes, inverse = lists.scores, lists.codes, lists.inverse[q]
    for r in range(len(position)):
        row = start + position[r]
        score[r] = scores[row] - middle
        worth[r] = inverse * gain[codes[row]]
        pull[r], curve[r] = 0, 0


@njit(**tiles.options)
def _lambdas(first, last, indptr, lists, form, pairs, held, tile, out):
    """The same with room for it."""
    inverse, weight = lists.inverse, lists.weight
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if inverse[q] == 0 or weight[q] == 0:
            tiles.clear(out, q, start, stop)
            continue
        best, worst = tiles.score_range(lists.scores, start, stop)
        middle = 0.5 * best + 0.5 * worst
        wide = tiles.is_wide(pairs, best, middle, worst)
        middle = 0.0 if wide else middle
        position = lists.order[start:stop]
        _walk(held, q, start, position, lists, form.gain, middle)
        if not wide:
            tiles.exponentials(n, held.score, pairs.sigma, held.e)
        norm = tiles.norm_of(pairs, best, worst, out.grad)
        total = 0.0
        for low in range(0, n, CAPACITY):
            size = tiles.least(CAPACITY, n - low)
            end = tiles.padded(size, LANES)
            _load(tile, low, size, end, held, form)
            total = _meet(
                tile, low, size, end, held, pairs.truncation, wide, pairs.sigma, norm, total
            )
            tiles.collect(tile, GRAD, low, size, held.pull)
            tiles.collect(tile, HESS, low, size, held.curve)
        tiles.write(out, q, start, n, position, held.pull, held.curve, total, weight[q], pairs)


def lambdas(first, last, indptr, lists, form, pairs, out):
    """Gradient and curvature of each row.

    Arithmetic on pairs has the precision of ``out.grad``.
    """
    real = out.grad.dtype
    held = _room(tiles.longest_of(first, last, indptr), form, real)
    tile = np.zeros(_FIELDS * FIELD, real)
    _lambdas(first, last, indptr, lists, form, pairs, held, tile, out)
