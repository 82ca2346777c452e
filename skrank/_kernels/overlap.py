"""Compatibility: the largest rank-biased overlap of the list with an ideal ranking.

That ideal ranking orders documents by label and, within a label, as the list does. A relevant
document at rank r of the list and rank i of the ideal ranking is in both down to every depth d from
max(r, i) on. It adds p**(d-1)/d for each of these depths. C. Clarke, A. Vtyurina, M. Smucker,
Assessing Top-k Preferences, TOIS 2021.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.ranking import end_of_block
from skrank._kernels.tiles import longest


class Overlap(NamedTuple):
    """The ideal ranking and the weights of depths, for compatibility."""

    relevant: np.ndarray  # by code
    better: np.ndarray  # by query and code: number of relevant documents of a higher label
    total: np.ndarray  # by query: number of relevant documents
    share: np.ndarray  # by depth, from 0: sum of p**(d-1)/d over depths of at most that
    weight: np.ndarray  # by depth, from 0: sum of p**(d-1)
    normalize: bool  # whether to divide by the overlap of the ideal ranking with itself


@subroutine()
def _block(above, size, count, before, depth, share, chance):
    """Mean, over the orders of `size` tied documents, of the sum of `count` documents of one label.

    `above` documents rank above the block, and `before` documents rank above these `count` in the
    ideal ranking. `chance[j]`, a workspace, is the probability that j of the `count` documents rank
    above the current rank.
    """
    worth = 0.0
    chance[0] = 1.0
    for j in range(1, count + 1):
        chance[j] = 0.0
    for step in range(size):
        rank = above + step + 1
        for j in range(min(step, count - 1), -1, -1):
            hit = chance[j] * (count - j) / (size - step)
            worth += hit * (share[depth] - share[max(rank, before + j + 1) - 1])
            chance[j + 1] += hit
            chance[j] -= hit
    return worth


def _workspace(first, last, indptr, lists, tables, *_):
    placed, held = np.empty((2, len(tables.relevant)), np.int64)
    return placed, held, np.empty(longest(first, last, indptr) + 1)


@kernel(plain=True, work=_workspace)
def compat(first, last, indptr, lists, tables, inverse, out, work):
    """Fill in compatibility times `inverse`."""
    ranked, tied, relevant, share = lists.codes, lists.tied, tables.relevant, tables.share
    placed, held, chance = work
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        start = indptr[q]
        end = start + lists.retrieved[q]
        depth = max(lists.retrieved[q], tables.total[q])
        for code in range(len(relevant)):
            placed[code] = 0
        score = 0.0
        row = start
        while row < end:
            stop = end_of_block(tied, row, end)
            for code in range(len(relevant)):
                held[code] = 0
            for place in range(row, stop):
                held[ranked[place]] += 1
            for code in range(len(relevant)):
                if relevant[code] and held[code] > 0:
                    before = tables.better[q, code] + placed[code]
                    score += _block(
                        row - start, stop - row, held[code], before, depth, share, chance
                    )
                    placed[code] += held[code]
            row = stop
        best = tables.weight[depth]
        if tables.normalize:
            best = 0.0
            for place in range(tables.total[q]):
                best += share[depth] - share[place]
        out[q] = score / best * inverse[q]
    return -1
