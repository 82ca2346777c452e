"""Rank documents by score inside each query, best first; ties keep the order of rows."""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.tiles import longest, padded

LONGEST_SORTED = 2048  # documents that `rank` sorts itself; NumPy sorts longer lists faster
_WIDTH = 32  # scores are compared in batches of this size
_LANES = 8  # double precision numbers per SIMD instruction


class Ranked(NamedTuple):
    """Documents in rank order: those of query q have the rows from ``indptr[q]`` on."""

    codes: np.ndarray  # by row: code of the label
    tied: np.ndarray  # by row: 1 if the score equals the score of the rank above
    retrieved: np.ndarray  # by query: number of documents with a score above -inf


@subroutine()
def end_of_block(tied, row, end):
    """End of the block of ties that starts at `row`."""
    stop = row + 1
    while stop < end and tied[stop]:
        stop += 1
    return stop


@subroutine()
def _insert(scores, most_moves, keys, order):
    """Sort by insertion, starting from the given `order`; fill `keys` with the scores by rank.

    Returns False, with `order` partly sorted, after more than `most_moves` moves.
    """
    n_moves = 0
    for i in range(len(scores)):
        item = order[i]
        key, j = scores[item], i
        while j > 0 and (keys[j - 1] < key or (keys[j - 1] == key and order[j - 1] > item)):
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, item
        n_moves += i - j
        if n_moves > most_moves:
            return False
    return True


def _sort_by_numpy(scores, work, order):
    """The order of `_sort`, in plain Python."""
    order[:] = np.argsort(-scores, kind="stable")
    work[0][: len(scores)] = scores[order]


@subroutine(plain=_sort_by_numpy)
def _sort(scores, work, order):
    """Sort by the number of higher scores of each document, O(n^2) comparisons in SIMD.

    Scores are compared in single precision, twice as many per SIMD instruction, as differences to
    the first score. `_insert` then separates different scores that single precision rounds to one.
    """
    keys, single, n_above, n_placed = work
    n = len(scores)
    origin = scores[0] if n > 0 and scores[0] > -np.inf else 0.0
    n_compared = padded(n, _WIDTH)
    for i in range(n_compared):
        single[i] = scores[i] - origin if i < n else -np.inf
    for i in range(n):
        key, above = single[i], np.int32(0)
        for j in range(n_compared):
            above = np.int32(above + (single[j] > key))
        n_above[i], n_placed[i] = above, 0
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
        _insert(scores, n * n, keys, order)


def _workspace(first, last, indptr, *_):
    size = longest(first, last, indptr) + _WIDTH
    keys, single = np.empty(size), np.empty(size, np.float32)
    return keys, single, np.empty(size, np.int64), np.empty(size, np.int64)


@kernel(plain=True, work=_workspace)
def rank(first, last, indptr, sizes, scores, codes, warm, order, out, work):
    """Fill `order` (position by rank) and `out`. Scores must not be NaN.

    Query q has ``sizes[q]`` rows from ``indptr[q]`` on. With `warm`, the sort starts from `order`,
    the order of similar scores. So it does in lists of more than LONGEST_SORTED documents, whose
    order `sort_long` has filled in before. The result is that of a sort from the start.
    """
    ranked, tied, retrieved = out
    keys = work[0]
    for q in range(first, last):
        start, n = indptr[q], sizes[q]
        stop = start + n
        scores_of_query, positions = scores[start:stop], order[start:stop]
        if not warm and n <= LONGEST_SORTED:
            for i in range(n):
                positions[i] = i
        # With 0 moves, it tests whether the list is sorted, as in many files. In lists of
        # some hundred documents, 6 n moves take about the time of `_sort`.
        if not _insert(scores_of_query, 6 * n if warm else 0, keys, positions):
            _sort(scores_of_query, work, positions)
        code_of, target = codes[start:stop], ranked[start:stop]
        for r in range(n):
            target[r] = code_of[positions[r]]
        if n > 0:
            tied[start] = 0
        for r in range(1, n):
            tied[start + r] = keys[r] == keys[r - 1]
        n_retrieved = n
        while n_retrieved > 0 and keys[n_retrieved - 1] == -np.inf:
            n_retrieved -= 1
        retrieved[q] = n_retrieved


def sort_long(first, last, indptr, sizes, scores, order):
    """Fill in the order of the lists of more than LONGEST_SORTED documents."""
    for q in first + np.flatnonzero(sizes[first:last] > LONGEST_SORTED):
        rows = slice(indptr[q], indptr[q] + sizes[q])
        order[rows] = np.argsort(-scores[rows], kind="stable")


def _head_workspace(first, last, indptr, scores, codes, depth, out):
    # 2 parts of a list for each rank: 1 takes longer in long lists, 4 in short lists
    sort = _workspace(first, last, indptr)
    size, tops = len(sort[0]), np.empty(padded(2 * depth, _LANES))
    return np.empty(size), np.empty(size, np.int64), np.empty(size, np.int32), tops, sort


@kernel(plain=True, work=_head_workspace)
def head(first, last, indptr, scores, codes, depth, out, work):
    """Rank at least `depth` documents, and all documents that tie with a ranked document.

    Fills `out` with these documents only. Scores must not be NaN. They are the documents whose
    score reaches a bound, the `depth`-th highest entry of `tops`, which has the highest score of
    each part of the list: document i belongs to part i modulo the number of entries. Returns True,
    with `out` incomplete, if too many documents of a query reach its bound.
    """
    ranked, tied, retrieved = out
    best, positions, order, tops, sort = work
    keys, n_parts = sort[0], len(tops)
    for q in range(first, last):
        start = indptr[q]
        scores_of_query = scores[start : indptr[q + 1]]
        for j in range(n_parts):
            tops[j] = -np.inf
        for base in range(0, len(scores_of_query), n_parts):
            block = scores_of_query[base : base + n_parts]
            for j in range(len(block)):
                tops[j] = block[j] if block[j] > tops[j] else tops[j]
        bound = np.inf
        for i in range(n_parts):
            n_above = 0
            for j in range(n_parts):
                n_above += tops[j] > tops[i]
            if n_above < depth and tops[i] < bound:
                bound = tops[i]
        n = 0
        for i in range(len(scores_of_query)):
            best[n], positions[n] = scores_of_query[i], i  # in any case: a branch is slower
            n += scores_of_query[i] >= bound and scores_of_query[i] > -np.inf
        if n > LONGEST_SORTED:
            return True
        _sort(best[:n], sort, order[:n])
        for r in range(n):
            ranked[start + r] = codes[start + positions[order[r]]]
            tied[start + r] = r > 0 and keys[r] == keys[r - 1]
        retrieved[q] = n
    return False
