"""Sort the documents of one query by score, best first; ties keep the order of rows.

Each function fills two arrays by rank: `order` with the index of the document in `scores`, and
`keys` with its score. Which function is the fastest depends on the list:

    resort       lists whose order is almost known, as in the next round of boosting
    sort         any list: by counting up to COUNT_UP_TO documents, longer lists by NumPy
"""

import numpy as np

from skrank._kernels.jit import subroutine
from skrank._kernels.tiles import padded

COUNT_UP_TO = 256
GAPS = np.array([1750, 701, 301, 132, 57, 23, 10, 4, 1])  # Ciura's, for Shell's sort
WIDTH = 32  # `_sort_by_counting` pads the number of scores to a multiple of this


@subroutine()
def resort(scores, most_moves, keys, order):
    """Sort by insertion, starting from the given `order`.

    Returns False, with `order` partly sorted, after more than `most_moves` moves.
    """
    n_moves = 0
    for i in range(len(scores)):
        item = order[i]
        key = scores[item]
        j = i
        while j > 0 and (keys[j - 1] < key or (keys[j - 1] == key and order[j - 1] > item)):
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, item
        n_moves += i - j
        if n_moves > most_moves:
            return False
    return True


@subroutine()
def _count_above(scores, single, n_above):
    """Fill in the number of higher scores of each document, in single precision."""
    n = len(scores)
    origin = scores[0] if n > 0 and scores[0] > -np.inf else 0.0
    n_compared = padded(n, WIDTH)
    for i in range(n):
        single[i] = scores[i] - origin
    for i in range(n, n_compared):
        single[i] = -np.inf
    for i in range(n):
        key = single[i]
        above = np.int32(0)
        for j in range(n_compared):
            above = np.int32(above + (single[j] > key))
        n_above[i] = above


@subroutine()
def _place(n, n_above, n_placed, order):
    """Fill in `order`. Documents with the same number of higher scores keep the order of rows."""
    for i in range(n):
        n_placed[i] = 0
    for i in range(n):
        rank = n_above[i]
        order[rank + n_placed[rank]] = i
        n_placed[rank] += 1


@subroutine()
def _read_keys(scores, order, keys):
    """Fill in the scores by rank. Returns whether a score rises from rank to rank."""
    rises, before = False, np.inf
    for r in range(len(scores)):
        key = scores[order[r]]
        rises |= key > before
        keys[r] = before = key
    return rises


@subroutine()
def _sort_by_counting(scores, single, keys, n_above, n_placed, order):
    """Sort by the number of higher scores of each document, O(n^2) comparisons in SIMD.

    Scores are compared in single precision, twice as many per SIMD instruction, as differences to
    the first score. `resort` then separates different scores that single precision rounds to one.
    """
    n = len(scores)
    _count_above(scores, single, n_above)
    _place(n, n_above, n_placed, order)
    if _read_keys(scores, order, keys):
        resort(scores, n * n, keys, order)


def _sort_by_numpy(scores, single, keys, n_above, n_placed, order):
    """The order of `sort`, in plain Python."""
    order[:] = np.argsort(-scores, kind="stable")
    keys[: len(scores)] = scores[order]


@subroutine(plain=_sort_by_numpy)
def sort(scores, single, keys, n_above, n_placed, order):
    """Sort any list. `single`, `n_above` and `n_placed` are workspace with WIDTH more entries."""
    if len(scores) <= COUNT_UP_TO:
        _sort_by_counting(scores, single, keys, n_above, n_placed, order)
    else:
        by_score = np.argsort(-scores, kind="mergesort")
        for r in range(len(scores)):
            keys[r], order[r] = scores[by_score[r]], by_score[r]
