"""Turn labels into codes and count them."""

import numpy as np

from skrank._kernels.forms import njit
from skrank._kernels.tiles import options


@njit(**options, exact=True)
def encode_grades(first, last, indptr, labels, unjudged, codes):
    """Codes of labels that are whole numbers below `unjudged`; NaN becomes `unjudged`.

    Returns whether there are labels that are none of these. All are looked at, in SIMD.
    """
    start, stop = indptr[first], indptr[last]
    given, target = labels[start:stop], codes[start:stop]
    others = False
    for i in range(stop - start):
        label = given[i]
        few = label >= 0 and label < unjudged
        code = np.uint8(label if few else unjudged)
        target[i] = code
        others |= label == label and (not few or label != code)
    return others


@njit(**options, allocates=True, exact=True)
def count(first, last, indptr, codes, counts):
    """Number of documents of each code in each query.

    Four counters take turns: most codes are those of the row before, and a sum has to be in memory
    before it is read again.
    """
    parts = np.empty(4 * counts.shape[1], np.int64)
    for part in range(len(parts)):
        parts[part] = 0
    for q in range(first, last):
        for row in range(indptr[q], indptr[q + 1]):
            parts[4 * np.int64(codes[row]) + (row & 3)] += 1
        for code in range(counts.shape[1]):
            total = 0
            for part in range(4 * code, 4 * code + 4):
                total += parts[part]
                parts[part] = 0
            counts[q, code] = total


@njit(**options, exact=True)
def sum_runs(first, last, indptr, ordered, worth, totals):
    """Sum of a worth per code over the documents of each query, whose equal codes stand together.

    Code by code, as counts times worth are added up.
    """
    for q in range(first, last):
        total = 0.0
        low, stop = indptr[q], indptr[q + 1]
        while low < stop:
            high = low + 1
            while high < stop and ordered[high] == ordered[low]:
                high += 1
            total += (high - low) * worth[ordered[low]]
            low = high
        totals[q] = total


@njit(**options, exact=True)
def count_unknown(first, last, indptr, lists, unjudged, counts):
    """Number of documents that were neither retrieved nor judged, from ranked codes."""
    ranked = lists.codes
    for q in range(first, last):
        counts[q] = 0
        for row in range(indptr[q] + lists.retrieved[q], indptr[q + 1]):
            counts[q] += ranked[row] >= unjudged


@njit(**options, exact=True)
def arrange(first, last, indptr, counts, best_first, ranked):
    """The codes of each query in the order `best_first`, as many as there is room for."""
    for q in range(first, last):
        row, stop = indptr[q], indptr[q + 1]
        for code in best_first:
            same = ranked[row : min(row + counts[q, code], stop)]
            for i in range(len(same)):
                same[i] = code
            row += len(same)
            if row == stop:
                break


@njit(**options, exact=True)
def blend(first, last, indptr, counts, best, form, weights):
    """One over rank + beta * cumulated gain along the best list; 0 beyond `depth` ranks.

    `best` holds the codes from the highest gain on; where there are no `counts`, the best lists.
    """
    gain, beta = form.gain, form.beta
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        mine = weights[start:stop]
        shown = min(stop - start, form.depth)
        above, rank = 0.0, 0
        if counts is None:
            while rank < shown:
                code = best[start + rank]
                step = 1.0 + beta * gain[code]
                same = 0
                while rank < shown and best[start + rank] == code:
                    same += 1
                    mine[rank] = 1.0 / (above + step * same)
                    rank += 1
                above += step * same
        else:
            for code in best:
                run = mine[rank : min(rank + counts[q, code], shown)]
                if len(run) > 0:
                    step = 1.0 + beta * gain[code]
                    for i in range(len(run)):
                        run[i] = 1.0 / (above + step * (i + 1))
                    above += step * len(run)
                    rank += len(run)
        mine[shown:] = 0.0
