"""Metrics of users who stop depending on the gains that they have read: INST, BPM, nearly ERR.

The value is the mean gain of the ranks read: sum of chance * gain / sum of chance, where `chance`
is the probability that the user reads the rank. Each kernel returns the first query in which the
order of tied documents matters, or -1.
"""

import math
from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.strict import end_of_block

ROUNDING = 1e-9  # sums of gains may be lower than the goal by rounding errors up to this
_SERIES_FROM = 20  # from this x on, the asymptotic series of `_inverse_squares` has 15 digits


class Reader(NamedTuple):
    """Parameters of a user model."""

    gain: np.ndarray  # by code: gain / highest gain, in [0, 1]
    limit: int  # the user reads at most so many ranks
    goal: float  # T: the sum of gains that the user wants
    reach: np.ndarray  # by rank, then 0: chance that the user reads it if no document satisfies
    rest: np.ndarray  # by rank, then 0: sum of `reach` from this rank on
    full: bool  # whether ranks below the list have the gain 1; else they have the gain 0


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
    """The user goes on from rank i to rank i + 1 with the probability ((a - 1) / a)**2.

    Here a = i + 2 T - G, where G is the sum of the gains down to rank i. Below the list, G is
    constant, or rises by 1 at each rank if ``tables.full``.
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
    """The user stops at the rank where the sum of gains reaches the goal, or at the limit."""
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
                    # the order matters if the user may stop above the last document of the block
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
    """The user stops at a document with the probability `gain`; if not, `reach` decides."""
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
        if tables.full:  # a gain of 1 at the first rank below satisfies all users
            found += unsatisfied * tables.reach[shown]
            read += unsatisfied * tables.reach[shown]
        else:
            read += unsatisfied * tables.rest[shown]
        out[q] = found / read * inverse[q]
    return -1
