"""Sort the documents of one query by score, best first; ties keep the order of rows.

Each function fills two arrays by rank: `order` with the index of the document in `scores`, and
`keys` with its score. Which function is the fastest depends on the list:

    resort       lists whose order is almost known, as in the next round of boosting
    sort         any list: by counting up to COUNT_UP_TO documents, longer lists by merging
"""

import numpy as np

from skrank._kernels.jit import subroutine

COUNT_UP_TO = 256
_RUN = 16  # documents of the shortest runs that are merged
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
def _sort_by_counting(scores, single, keys, n_above, n_placed, order):
    """Sort by the number of higher scores of each document, O(n^2) comparisons in SIMD.

    Scores are compared in single precision, twice as many per SIMD instruction, as differences to
    the first score. `resort` then separates different scores that single precision rounds to one.
    """
    n = len(scores)
    origin = scores[0] if n > 0 and scores[0] > -np.inf else 0.0
    n_compared = (n + WIDTH - 1) // WIDTH * WIDTH
    for i in range(n_compared):
        single[i] = scores[i] - origin if i < n else -np.inf
    for i in range(n):
        key = single[i]
        above = np.int32(0)
        for j in range(n_compared):
            above = np.int32(above + (single[j] > key))
        n_above[i] = above
        n_placed[i] = 0
    for i in range(n):  # documents with the same number of higher scores keep the order of rows
        rank = n_above[i]
        order[rank + n_placed[rank]] = i
        n_placed[rank] += 1
    rises, before = False, np.inf
    for r in range(n):
        key = scores[order[r]]
        rises |= key > before
        keys[r] = before = key
    if rises:
        resort(scores, n * n, keys, order)


@subroutine()
def _sort_by_merging(scores, keys, order, left):
    """Sort runs of _RUN documents by insertion, then merge neighbouring runs; `left` is workspace.

    numba's own sort takes 1.5 s to compile.
    """
    n = len(scores)
    for low in range(0, n, _RUN):
        for i in range(low, min(low + _RUN, n)):
            key, j = scores[i], i
            while j > low and keys[j - 1] < key:
                keys[j], order[j] = keys[j - 1], order[j - 1]
                j -= 1
            keys[j], order[j] = key, i
    width = _RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            for i in range(width):
                left[i] = order[low + i]
            i, j, r, high = 0, low + width, low, min(low + 2 * width, n)
            while i < width:  # the rest of the right run is in its place
                from_left = j == high or scores[left[i]] >= scores[order[j]]
                order[r] = left[i] if from_left else order[j]
                i, j, r = i + from_left, j + (not from_left), r + 1
        width *= 2
    for r in range(n):
        keys[r] = scores[order[r]]


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
        _sort_by_merging(scores, keys, order, n_placed)
