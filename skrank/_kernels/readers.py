"""Users whose reading depends on the gains that they have seen: INST, BPM, nearly ERR.

All return the first query in which the order of tied documents matters, or -1. The value is the
mean gain of the ranks read: the sum of chance times gain over the sum of chances.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.strict import end_of_block

ROUNDING = 1e-9  # by which sums of gains may miss the goal
_SERIES_FROM = 20  # argument from which the series of `_inverse_squares` has 15 digits


class Reader(NamedTuple):
    """A user whose reading depends on the gains seen, for metrics of one order."""

    gain: np.ndarray  # by code: share of the highest gain, in [0, 1]
    limit: int  # ranks that the user reads at most
    goal: float  # gain that the user wants in all
    reach: np.ndarray  # by rank and one more: probability to come there if no document satisfies
    rest: np.ndarray  # by rank and one more: the sum of `reach` from there on
    full: bool  # whether the ranks below the list have the highest gain, else none


@subroutine()
def _mixed(ranked, gain, row, stop):
    """Whether the documents of a block differ in gain."""
    others = 0
    for place in range(row + 1, stop):
        others += gain[ranked[place]] != gain[ranked[row]]
    return others > 0


@subroutine()
def _inverse_squares(x):
    """Sum of 1 / (x + j)**2 over j = 0, 1, 2, ..."""
    total = 0.0
    while x < _SERIES_FROM:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / x
    square = y * y
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return total + y * (1.0 + 0.5 * y + series)


@kernel(plain=True)
def inst(first, last, indptr, lists, tables, inverse, out):
    """The user goes on from rank i, where the gains add up to G, with ((a - 1) / a)**2.

    Here a = i + 2 T - G. Below the list, G does not change or rises by 1 at each rank.
    """
    ranked, tied, gain = lists.codes, lists.tied, tables.gain
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        start = indptr[q]
        end = start + lists.retrieved[q]
        shown = min(end - start, tables.limit)
        found, read, gained, chance = 0.0, 0.0, 0.0, 1.0
        a = 2.0 * tables.goal
        block = start
        for place in range(shown):
            row = start + place
            if row == block:
                block = end_of_block(tied, row, end)
                if _mixed(ranked, gain, row, block):
                    return q
            worth = gain[ranked[row]]
            found += chance * worth
            read += chance
            gained += worth
            a = place + 1.0 + 2.0 * tables.goal - gained
            chance *= ((a - 1.0) / a) * ((a - 1.0) / a)
        left = tables.limit - shown
        if tables.full:
            on = ((a - 1.0) / a) * ((a - 1.0) / a)
            for _ in range(left):
                found += chance
                read += chance
                chance *= on
                if chance < 1e-18 * read:
                    break
        else:
            read += chance * (a * a) * (_inverse_squares(a) - _inverse_squares(a + left))
        out[q] = found / read * inverse[q]
    return -1


@kernel(plain=True)
def bpm(first, last, indptr, lists, tables, inverse, out):
    """The user stops where the gains reach the goal, or at the limit."""
    ranked, tied, gain = lists.codes, lists.tied, tables.gain
    enough = tables.goal - ROUNDING
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        start = indptr[q]
        end = start + lists.retrieved[q]
        shown = min(end - start, tables.limit)
        gained = 0.0
        rank = 0
        block = start
        while rank < shown and gained < enough:
            row = start + rank
            if row == block:
                block = end_of_block(tied, row, end)
                if _mixed(ranked, gain, row, block):
                    total, least = gained, 1.0
                    for place in range(row, block):
                        total += gain[ranked[place]]
                        least = min(least, gain[ranked[place]])
                    if total - least >= enough or block - start > tables.limit:
                        return q
            gained += gain[ranked[row]]
            rank += 1
        if gained < enough:
            more = tables.limit - rank
            if tables.full:
                more = min(more, math.ceil(enough - gained))
                gained += more
            rank += more
        out[q] = gained / rank * inverse[q]
    return -1


@kernel(plain=True)
def nearly_err(first, last, indptr, lists, tables, inverse, out):
    """The user stops at a document with the probability of its gain, and elsewhere by `reach`."""
    ranked, tied, gain = lists.codes, lists.tied, tables.gain
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        start = indptr[q]
        end = start + lists.retrieved[q]
        shown = min(end - start, tables.limit)
        found, read, unsatisfied = 0.0, 0.0, 1.0
        block = start
        for place in range(shown):
            if unsatisfied == 0:
                break
            row = start + place
            if row == block:
                block = end_of_block(tied, row, end)
                if _mixed(ranked, gain, row, block):
                    return q
            worth = gain[ranked[row]]
            chance = unsatisfied * tables.reach[place]
            found += chance * worth
            read += chance
            unsatisfied *= 1.0 - worth
        if tables.full:  # the rank below satisfies all
            found += unsatisfied * tables.reach[shown]
            read += unsatisfied * tables.reach[shown]
        else:
            read += unsatisfied * tables.rest[shown]
        out[q] = found / read * inverse[q]
    return -1
